"""The reward of reinforcement learning: rubric and rules mixed, as a function of TRL's shape.

The paper gives ``r_rubric`` in [5, 25], ``r_rule`` in {0, 25} "on a subset of the data", and a mix of 9 to 1, but not
whether 9:1 weighs the two parts of one reward or shares out the rows. Our reading, `per_answer`::

    r = (w_rubric * r_rubric + w_rule * r_rule) / (w_rubric + w_rule)     where the row has rules
    r = r_rubric                                                          where it has none
    r = 0                                                                 where the answer cannot be read

so that every reward lies in [0, 25]. The other reading, `per_row`, draws rows with rules by a hash of their id, at the
share w_rule / (w_rubric + w_rule), and scores these by the rules alone and all others by the rubric alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal
from pydantic import Field, field_validator, model_validator

from worldline.data.rows import TrainingRow
from worldline.errors import ConfigError, FormatError
from worldline.train.rewards.answer import Answer, read_answer
from worldline.train.rewards.moment import Grounds, GroundsCache, Moment, read_moment
from worldline.train.rewards.rubric import DIMENSIONS, UNANSWERED, Rubric, executed_rubric
from worldline.train.rewards.rules import Rules, rule_part
from worldline.types import Frozen, JsonDict, drawn

__all__ = [
    "JudgeOptions",
    "RewardFunction",
    "RewardOptions",
    "RubricSource",
    "Scored",
    "columns",
    "completion_text",
    "reward_function",
]

_Weight = Annotated[float, Field(ge=0)]
_Count = Annotated[int, Field(ge=1)]


class JudgeOptions(Frozen):
    """Who judges answers in place of the executed rubric."""

    model: Annotated[str, Field(min_length=1)]
    """`URL#NAME`, a name from models.yaml, or `local:NAME`."""
    concurrency: _Count = 16
    """Answers that are judged at the same time."""
    tries: _Count = 3
    """Calls for an answer whose judgement cannot be read; after the last one the answer gets 0."""
    again: Annotated[int, Field(ge=0)] = 2
    """Further rounds for an answer whose calls got no answer."""
    patience: _Count = 3
    """Batches in a row in which the judge answers nothing, until training stops."""


class RewardOptions(Frozen):
    """How an answer is rewarded."""

    rubric: _Weight = 9.0
    rule: _Weight = 1.0
    reading: Literal["per_answer", "per_row"] = "per_answer"
    """What the ratio means (see the module)."""
    legality: bool = True
    """Whether rules hold legality as well, or the rows' own checks alone."""
    steps: Annotated[int, Field(ge=0, le=3)] = 2
    """Recorded actions behind a turn that must stay consistent with its answer."""
    execute: bool = True
    """Whether kernels are run at all."""
    judge: JudgeOptions | None = None
    """Scores the rubric part in place of the executed rubric. A text is short for its `model`."""
    thinking: bool | None = None
    """Whether prompts end inside `<think>`: then reasoning that is never closed is no answer."""

    @field_validator("judge", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return {"model": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _some_weight(self) -> RewardOptions:
        if not self.rubric + self.rule > 0:
            raise ValueError("rubric and rule cannot both weigh nothing")
        return self


class RubricSource(Protocol):
    """What scores answers in place of the executed rubric, many at a time."""

    async def score(self, asked: Sequence[tuple[Moment, Answer]]) -> list[Rubric]:
        """Score answers, in their order. Failures of a judge are no exceptions: such a rubric has no scores."""

    async def aclose(self) -> None:
        """Free connections."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A rewarded completion."""

    reward: float
    """0..25."""
    answer: Answer
    rubric: Rubric
    rules: Rules


def columns(row: TrainingRow) -> JsonDict:
    """Return the columns that a trainer's data set needs of a row: the prompt, and the row's id for the reward."""
    return {"prompt": [{"role": m.role, "content": m.content} for m in row.messages], "row": row.id}


def completion_text(completion: Any) -> str:
    """Return what was written, of a completion that is a text or a chat.

    Raises:
        FormatError: It is neither.
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and all(isinstance(message, Mapping) for message in completion):
        said = [message for message in completion if message.get("role", "assistant") == "assistant"]
        if not said:
            return ""
        content = said[-1].get("content") or ""
        thought = said[-1].get("reasoning_content") or said[-1].get("reasoning")
        text = content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)
        return f"<think>{thought}</think>\n{text}" if thought else text
    raise FormatError(f"a completion cannot be {type(completion).__name__}", hint="a text or a list of messages")


@dataclass
class RewardFunction:
    """Rewards completions of known rows; call it as a trainer does.

    Args:
        moments: The turns, by id of their rows.
        options: How.
        judge: Scores in place of the executed rubric.
    """

    moments: Mapping[str, Moment]
    options: RewardOptions = field(default_factory=RewardOptions)
    judge: RubricSource | None = None
    cache: GroundsCache = field(default_factory=GroundsCache)
    tally: list[tuple[str, dict[str, float]]] | None = None
    """Where there is a list, the figures of every answer go there as well, each with the id of its row."""
    _loop: tuple[ExitStack, BlockingPortal] | None = None
    _sums: dict[str, tuple[float, int]] = field(default_factory=lambda: defaultdict(lambda: (0.0, 0)))
    """Sum and number of each figure's values since the last call of `metrics`, which not everybody calls."""

    def __post_init__(self) -> None:
        self.__name__ = "worldline_reward"  # what trainers name curves by

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        """Reward completions.

        Args:
            prompts: Of the completions; not looked at.
            completions: Texts or chats.
            **columns: Of the data set: `row` is the id of each completion's row. TRL's `log_metric` gets the metrics.

        Raises:
            ConfigError: There is no column `row`, or it names unknown rows.
        """
        ids = columns.get("row")
        if ids is None or len(ids) != len(completions):
            raise ConfigError("the reward needs the column 'row', one id for each completion")
        scored = self.score(list(zip(ids, map(completion_text, completions), strict=True)))
        log = columns.get("log_metric")
        if callable(log):
            for name, value in self.metrics().items():
                log(name, value)
        return [one.reward for one in scored]

    def score(self, asked: Sequence[tuple[str, str]]) -> list[Scored]:
        """Score completions, each given with the id of its row.

        Raises:
            ConfigError: A row is unknown.
        """
        read = []
        for id, text in asked:
            moment = self.moments.get(id)
            if moment is None:
                raise ConfigError(f"the reward knows no row {id}", hint="build the data set of the same rows")
            answer = read_answer(text, moment.domain, moment.world, thinking=self.options.thinking)
            read.append((moment, answer))
        scored = [self._mixed(*each) for each in zip(read, self._rubrics(read), strict=True)]
        for (id, _), one in zip(asked, scored, strict=True):
            figures = self._figures(one)
            for name, value in figures.items():
                total, count = self._sums[name]
                self._sums[name] = total + value, count + 1
            if self.tally is not None:
                self.tally.append((id, figures))
        return scored

    def metrics(self) -> dict[str, float]:
        """Return the means since the last call, and begin anew: the reward, the five dimensions, shares of faults."""
        means = {name: total / count for name, (total, count) in sorted(self._sums.items())}
        self._sums.clear()
        return means

    def close(self) -> None:
        """Free the kernels that are held, and end the judge's thread."""
        self.cache.close()
        if self._loop is not None:
            if self.judge is not None:
                self._loop[1].call(self.judge.aclose)
            self._loop[0].close()
            self._loop = None

    def _rubrics(self, read: Sequence[tuple[Moment, Answer]]) -> list[Rubric]:
        if self.judge is None:
            return [self._executed(*each) for each in read]
        found = self._portal().call(self.judge.score, read)
        # Answers to one prompt are weighed against each other, so that all of them are measured by the same rubric.
        groups = {moment.id for (moment, _), rubric in zip(read, found, strict=True) if rubric.failure == UNANSWERED}
        pairs = zip(read, found, strict=True)
        return [self._executed(*each) if each[0].id in groups else rubric for each, rubric in pairs]

    def _executed(self, moment: Moment, answer: Answer) -> Rubric:
        return replace(executed_rubric(moment, answer, self._grounds(moment, answer)), unjudged=self.judge is not None)

    def _portal(self) -> BlockingPortal:
        """A thread with an event loop of its own, kept: a judge's connections live in one loop."""
        if self._loop is None:
            opened = ExitStack()
            self._loop = opened, opened.enter_context(start_blocking_portal())
        return self._loop[1]

    def _grounds(self, moment: Moment, answer: Answer) -> Grounds | None:
        """Of answers that need any: the truth and what cannot be read are settled without a kernel."""
        if not self.options.execute or answer.observation is None:
            return None
        exact = moment.domain.compare(answer.observation, moment.truth).exact
        return None if exact else self.cache.of(moment)

    def _mixed(self, asked: tuple[Moment, Answer], rubric: Rubric) -> Scored:
        moment, answer = asked
        how = self.options
        rules = Rules(None)
        if how.rule:
            grounds = self._grounds(moment, answer) if how.legality else None
            rules = rule_part(moment, answer, grounds, legality=how.legality, steps=how.steps)
        total = how.rubric + how.rule
        if answer.observation is None or rubric.failure is not None:
            reward = 0.0
        elif rules.reward is None:
            reward = rubric.reward
        elif how.reading == "per_row":
            reward = rules.reward if drawn(f"rule:{moment.id}") < how.rule / total else rubric.reward
        else:
            reward = (how.rubric * rubric.reward + how.rule * rules.reward) / total
        return Scored(reward, answer, rubric, rules)

    def _figures(self, one: Scored) -> dict[str, float]:
        figures = {
            "reward": one.reward,
            "unreadable": float(one.answer.observation is None),
            "failed": float(one.rubric.failure is not None),
            "exact": float(one.rubric.exact),
            "copied": float(one.rubric.copied),
            "flagged": float(bool(one.answer.flags)),
        }
        if self.judge is not None:
            figures["unjudged"] = float(one.rubric.unjudged)
        figures |= {name: one.rubric.scores[name] for name in DIMENSIONS if name in one.rubric.scores}
        if one.rules.passed is not None:
            figures["rules"] = float(one.rules.passed)
        if one.rubric.told is not None:
            figures["told"] = one.rubric.told
        return figures


def reward_function(
    rows: Iterable[TrainingRow], options: RewardOptions | None = None, *, judge: RubricSource | None = None
) -> RewardFunction:
    """Make the reward of a set of RL rows.

    Args:
        rows: Whose completions will be rewarded; their data set has the columns of :func:`columns`.
        options: How.
        judge: Scores in place of the executed rubric; default the judge of the options (see
            :mod:`worldline.train.rewards.judged`).

    Raises:
        ConfigError: There is no such judge.
        FormatError: A row is none of reinforcement learning.
    """
    how = options or RewardOptions()
    if judge is None and how.judge is not None:
        # judged.py lays rows out as the evaluation does; who needs no judge loads none of that
        from worldline.train.rewards.judged import resolve_judge

        judge = resolve_judge(how.judge)
    moments = {moment.id: moment for moment in map(read_moment, rows)}
    return RewardFunction(moments, how, judge, GroundsCache(steps=how.steps))
