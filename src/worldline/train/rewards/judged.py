"""The rubric from a judge: the same five dimensions, asked of a chat model, many answers at a time.

A judge is shown the block's content and nothing else of a completion, laid out and read as in the evaluation (see
:mod:`worldline.bench.agentworld.judging`): scores that are not five whole numbers from 1 to 5 are a failure, which is
tried again. After the last try the answer gets 0 (Qwen-AgentWorld), and that is counted.

A judge that gives no answer at all (unreachable, overloaded) says nothing about the answer, and is asked again in
further rounds. After the last one the rubric says so, and :class:`worldline.train.rewards.mixing.RewardFunction` scores
the whole group of answers to that prompt by the executed rubric: rewards within a group are compared, so that two
rubrics side by side would teach their difference. Where a judge answers nothing over several batches, training stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import TRIES, Judge, judge_generation
from worldline.bench.agentworld.records import EvalRow, Generation
from worldline.domains.answers import CLOSE_TAG, OPEN_TAG, OPENING
from worldline.errors import ConfigError, EndpointError, ModelError
from worldline.models.base import ChatModel
from worldline.models.config import resolve_model
from worldline.train.rewards.answer import Answer
from worldline.train.rewards.mixing import JudgeOptions
from worldline.train.rewards.moment import Moment
from worldline.train.rewards.rubric import DIMENSIONS, UNANSWERED, Rubric, told_share
from worldline.types import content_id

__all__ = ["JudgedRubric", "eval_row", "judge_domain", "resolve_judge", "shown_generation"]

_LIKE = {"database": "mcp", "code": "terminal"}
"""Domains that are judged by the rules of another one, where there is no prompt of their own."""


@dataclass(slots=True)
class JudgedRubric:
    """Scores answers by asking a judge; satisfies :class:`worldline.train.rewards.mixing.RubricSource`.

    Args:
        judge: Who is asked.
        prompts: What the judge is told; default ours.
        concurrency: Answers that are judged at the same time.
        tries: Calls for an answer whose judgement cannot be read.
        again: Further rounds for an answer whose calls failed (the client has its own retries beneath).
        pause: Seconds before a further round; doubled for each.
        seed: Of the calls.
        patience: Batches in a row without a single answer until that is an error; None: any number.
    """

    judge: Judge | ChatModel
    prompts: JudgePrompts = field(default_factory=JudgePrompts)
    concurrency: int = 16
    tries: int = TRIES
    again: int = 2
    pause: float = 1.0
    seed: int = 0
    patience: int | None = None
    ask_exact: bool = False
    """Whether to ask about answers that equal the truth; otherwise they get five in every dimension."""
    asked: int = 0
    """Answers that were put to the judge."""
    retried: int = 0
    """Further rounds that were needed."""
    failed: int = 0
    """Answers that got 0 because no judgement of them could be read."""
    unanswered: int = 0
    """Answers about which the judge said nothing, to the end."""
    _silent: int = 0
    """Batches in a row."""
    _last: ModelError | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.tries < 1 or self.again < 0:
            raise ConfigError("a judge needs a concurrency and a number of tries of at least 1")

    async def score(self, asked: Sequence[tuple[Moment, Answer]]) -> list[Rubric]:
        """Judge answers, in their order; what cannot be read is not put to the judge.

        Raises:
            ConfigError: There is no prompt for a domain.
            EndpointError: The judge answered nothing in so many batches in a row.
        """
        asked_before, unanswered_before = self.asked, self.unanswered
        judge = self.judge if isinstance(self.judge, Judge) else Judge(self.judge)
        room = asyncio.Semaphore(self.concurrency)
        found = list(await asyncio.gather(*(self._one(judge, room, *each) for each in asked)))
        if self.asked > asked_before:
            self._note_silence(self.unanswered - unanswered_before == self.asked - asked_before)
        return found

    def _note_silence(self, silent: bool) -> None:
        self._silent = self._silent + 1 if silent else 0
        if self.patience is not None and self._silent >= self.patience:
            raise EndpointError(
                f"the judge answered nothing in {self._silent} batches in a row: {self._last}",
                hint="bring it back and go on with --resume, or take the judge out of the recipe",
            )

    async def aclose(self) -> None:
        """Close the judge's connections; it opens new ones when it is asked again."""
        await (self.judge.model if isinstance(self.judge, Judge) else self.judge).aclose()

    async def _one(self, judge: Judge, room: asyncio.Semaphore, moment: Moment, answer: Answer) -> Rubric:
        if answer.observation is None:
            return Rubric({}, failure=answer.failure)
        exact = moment.domain.compare(answer.observation, moment.truth).exact
        told = told_share(moment, answer)
        if exact and not self.ask_exact:
            scores = dict.fromkeys(DIMENSIONS, 5.0)
        elif "empty" in answer.flags and not exact:
            return Rubric({}, failure="empty")
        else:
            row = eval_row(moment, judge_domain(self.prompts, moment))
            async with room:
                judged = await self._judged(judge, row, shown_generation(row, answer))
            if isinstance(judged, str):
                return Rubric({}, exact, failure=judged)
            scores = {name: float(judged[name]) for name in DIMENSIONS}
        if told is not None:
            scores["consistency"] = 1 + (scores["consistency"] - 1) * told
        return Rubric(scores, exact, told=told)

    async def _judged(self, judge: Judge, row: EvalRow, shown: Generation) -> dict[str, int] | str:
        """Return the scores, or why there are none."""
        self.asked += 1
        for round in range(self.again + 1):
            if round:
                self.retried += 1
                await asyncio.sleep(self.pause * 2 ** (round - 1))
            judgement = await judge_generation(
                judge, row, shown, prompts=self.prompts, seed=self.seed, repeat=round, tries=self.tries
            )
            if judgement.scores is not None:
                return judgement.scores
            if judgement.outcome == "error":
                self._last = ModelError((judgement.error or {}).get("message", "no answer"))
        if judgement.outcome == "error":
            self.unanswered += 1
            return UNANSWERED
        self.failed += 1
        return "the judge's answer cannot be read"


def resolve_judge(options: JudgeOptions) -> JudgedRubric:
    """Build the judge that options name.

    Raises:
        ConfigError: There is no such model.
    """
    model = resolve_model(options.model, overrides={"concurrency": options.concurrency})
    return JudgedRubric(
        model,
        concurrency=options.concurrency,
        tries=options.tries,
        again=options.again,
        patience=options.patience,
    )


def judge_domain(prompts: JudgePrompts, moment: Moment) -> str:
    """Return the domain whose judge prompt applies to a moment.

    Raises:
        ConfigError: There is none.
    """
    name = moment.world.domain
    try:
        prompts.check_domain(name)
    except ConfigError:
        if name not in _LIKE:
            raise
        return _LIKE[name]
    return name


def eval_row(moment: Moment, domain: str | None = None) -> EvalRow:
    """Lay a moment out as a row of the evaluation.

    Args:
        moment: The turn.
        domain: Whose judge prompt applies; default the world's.
    """
    asked = tuple(message.content for message in moment.messages if message.role == "user")
    content = {
        "domain": domain or moment.world.domain,
        "id": moment.id,
        "trajectory": moment.id,
        "turn": max(1, len(asked)),
        "system": "\n\n".join(message.content for message in moment.messages if message.role == "system"),
        "prompts": asked,
        "responses": tuple(message.content for message in moment.messages if message.role == "assistant"),
        "action": moment.action.render(),
        "truth": _written(moment),
    }
    return EvalRow.model_validate({**content, "key": content_id(content, length=32)})


def _written(moment: Moment) -> str:
    """The truth in the form of an answer, without its tags."""
    text = moment.domain.write_answer(moment.truth, moment.world)
    return text.removeprefix(OPENING).removesuffix(CLOSE_TAG).strip("\n")


def shown_generation(row: EvalRow, answer: Answer) -> Generation:
    """Lay out an answer for a judge: the block alone, as if it were all that was written."""
    content = f"{OPEN_TAG}\n{answer.body}{CLOSE_TAG}"
    key = content_id([row.key, content], length=32)
    # an empty reasoning says that all of the content is answer, whatever tags the block shows
    return Generation(key=key, row=row.key, model="policy", outcome="ok", content=content, reasoning="")
