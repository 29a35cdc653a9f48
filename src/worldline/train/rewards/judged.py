"""The rubric from a judge: the same five dimensions, asked of a chat model, many answers at a time.

A judge is shown the block's content and nothing else of a completion, laid out and read as in the evaluation (see
:mod:`worldline.bench.agentworld.judging`): scores that are not five whole numbers from 1 to 5 are a failure, which is
tried again. After the last try the answer gets 0, and that is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import TRIES, Judge, judge_generation
from worldline.bench.agentworld.records import EvalRow, Generation
from worldline.domains.answers import CLOSE_TAG, OPEN_TAG, OPENING
from worldline.errors import ConfigError, ModelError
from worldline.models.base import ChatModel
from worldline.train.rewards.answer import Answer
from worldline.train.rewards.moment import Moment
from worldline.train.rewards.rubric import DIMENSIONS, Rubric, told_share
from worldline.types import content_id

__all__ = ["JudgedRubric", "eval_row"]

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
    """

    judge: Judge | ChatModel
    prompts: JudgePrompts = field(default_factory=JudgePrompts)
    concurrency: int = 16
    tries: int = TRIES
    again: int = 2
    pause: float = 1.0
    seed: int = 0
    ask_exact: bool = False
    """Whether to ask about answers that equal the truth; otherwise they get five in every dimension."""
    asked: int = 0
    """Answers that were put to the judge."""
    retried: int = 0
    """Further rounds that were needed."""
    failed: int = 0
    """Answers that got 0 because the judge failed to the end."""

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.tries < 1 or self.again < 0:
            raise ConfigError("a judge needs a concurrency and a number of tries of at least 1")

    async def score(self, asked: Sequence[tuple[Moment, Answer]]) -> list[Rubric]:
        """Judge answers, in their order; what cannot be read is not put to the judge.

        Raises:
            ConfigError: There is no prompt for a domain.
        """
        judge = self.judge if isinstance(self.judge, Judge) else Judge(self.judge)
        room = asyncio.Semaphore(self.concurrency)
        return list(await asyncio.gather(*(self._one(judge, room, *each) for each in asked)))

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
            row = eval_row(moment, self._domain(moment))
            async with room:
                judged = await self._judged(judge, row, _generation(row, answer))
            if judged is None:
                self.failed += 1
                return Rubric({}, exact, failure="the judge failed")
            scores = {name: float(judged[name]) for name in DIMENSIONS}
        if told is not None:
            scores["consistency"] = 1 + (scores["consistency"] - 1) * told
        return Rubric(scores, exact, told=told)

    async def _judged(self, judge: Judge, row: EvalRow, shown: Generation) -> dict[str, int] | None:
        self.asked += 1
        for round in range(self.again + 1):
            if round:
                self.retried += 1
                await asyncio.sleep(self.pause * 2 ** (round - 1))
            try:
                judgement = await judge_generation(
                    judge, row, shown, prompts=self.prompts, seed=self.seed, repeat=round, tries=self.tries
                )
            except ModelError:
                continue
            if judgement.scores is not None:
                return judgement.scores
        return None

    def _domain(self, moment: Moment) -> str:
        name = moment.world.domain
        try:
            self.prompts.check_domain(name)
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


def _generation(row: EvalRow, answer: Answer) -> Generation:
    """The block alone, as if it were all that was written."""
    content = f"{OPEN_TAG}\n{answer.body}{CLOSE_TAG}"
    key = content_id([row.key, content], length=32)
    # an empty reasoning says that all of the content is answer, whatever tags the block shows
    return Generation(key=key, row=row.key, model="policy", outcome="ok", content=content, reasoning="")
