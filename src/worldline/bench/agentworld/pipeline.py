"""Inference and judging as one pipeline: a row is judged as soon as it is answered, and nothing is asked twice.

Two pools of workers share a queue. What is appended to the run's files is the only state, so a run that was killed
goes on by reading them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from worldline.bench.agentworld.cost import Budget, prices_of
from worldline.bench.agentworld.inference import Generator
from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import Judge, judge_generation, judgeable, judgement_key
from worldline.bench.agentworld.records import EvalRow, Generation, Judgement, JudgeMode
from worldline.bench.agentworld.rows import RowIndex, RowRef
from worldline.bench.agentworld.store import RunWriter
from worldline.errors import EndpointError, WorldlineError
from worldline.models.base import ChatModel
from worldline.types import JsonDict, Usage

__all__ = ["Limits", "ModelJudge", "Pipeline", "RowJudge", "Tally", "first_error"]

_GUESSED_ANSWER = 1000
"""Tokens of an answer, before there is one to go by."""


class RowJudge(Protocol):
    """Judges a generation."""

    @property
    def model(self) -> ChatModel:
        """What it asks."""

    def key(self, domain: str, generation: str, repeat: int) -> str:
        """Key of the judgement of a generation's key, for a row of a domain."""

    async def judge(self, row: EvalRow, generation: Generation, repeat: int) -> Judgement:
        """Judge one generation; a failure of the judge is a record too."""


@dataclass
class ModelJudge:
    """A chat model that judges, with its prompts.

    Args:
        asked: The model in the role of a judge.
        prompts: What it is told.
        mode: How it judges.
        seed: Of its sampling, and of the order in which answers are shown.
        others: In `pairwise`, what generations are compared with instead of the truth: those of another run, by
            the keys of ours.
    """

    asked: Judge
    prompts: JudgePrompts
    mode: JudgeMode = "rubric"
    seed: int = 0
    others: Mapping[str, Generation] = field(default_factory=dict)

    @property
    def model(self) -> ChatModel:
        """What it asks."""
        return self.asked.model

    def key(self, domain: str, generation: str, repeat: int) -> str:
        """Key of a judgement; neither row nor generation has to be read for it."""
        row = EvalRow(
            key="",
            domain=domain,
            id="",
            trajectory="",
            turn=1,
            system="",
            prompts=(),
            responses=(),
            action="",
            truth="",
        )
        stand_in = Generation(key=generation, row="", model="", outcome="ok")
        return judgement_key(self.asked, row, stand_in, **self._options(generation, repeat))

    async def judge(self, row: EvalRow, generation: Generation, repeat: int) -> Judgement:
        """Judge one generation (see :func:`judge_generation`)."""
        return await judge_generation(self.asked, row, generation, **self._options(generation.key, repeat))

    def _options(self, generation: str, repeat: int) -> JsonDict:
        how: JsonDict = {"mode": self.mode, "prompts": self.prompts, "seed": self.seed, "repeat": repeat}
        return {**how, "other": self.others.get(generation)}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is done at once, and when to stop."""

    concurrency: int = 64
    """Requests to the model at once."""
    judge_concurrency: int = 64
    """Requests to the judge at once."""
    repeats: int = 1
    """Judgements of each generation."""
    give_up_after: int = 20
    """Failures in a row, without a success, after which the endpoint is taken to be gone."""


@dataclass
class Tally:
    """What a run has done; `on_change` of the pipeline is called with it."""

    rows: int = 0
    generated: int = 0
    """Rows with a generation, those of earlier runs included."""
    asked: int = 0
    """Generations of this run."""
    failed: int = 0
    """Generations without an answer."""
    truncated: int = 0
    to_judge: int = 0
    """Judgements that are due, so far."""
    judged: int = 0
    judge_asked: int = 0
    judge_failed: int = 0
    budget_reached: bool = False


@dataclass
class _Streak:
    """Failures in a row of one endpoint."""

    limit: int
    failures: int = 0

    def note(self, record: Generation | Judgement) -> None:
        """Count a record.

        Raises:
            EndpointError: There were too many failures in a row.
        """
        self.failures = self.failures + 1 if record.outcome == "error" else 0
        if self.failures >= self.limit:
            said = (record.error or {}).get("message", "no answer")
            raise EndpointError(
                f"{self.failures} requests in a row failed; the last one: {said}",
                hint="what was answered is kept; run the same command again to go on",
            )


@dataclass
class Pipeline:
    """Asks and judges the rows of a run.

    Args:
        writer: The run's folder.
        index: Where the rows are.
        generator: The model and how it is asked; None to judge only what is there.
        judge: The judge; None to infer only.
        limits: How much at once.
        budget: When to stop for money.
        on_change: Called after each record.
    """

    writer: RunWriter
    index: RowIndex
    generator: Generator | None = None
    judge: RowJudge | None = None
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    on_change: Callable[[Tally], None] = lambda tally: None
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self._answered: asyncio.Queue[tuple[RowRef, str] | None] = asyncio.Queue()
        self._streaks = (_Streak(self.limits.give_up_after), _Streak(self.limits.give_up_after))

    async def run(self, refs: Iterable[RowRef]) -> Tally:
        """Do what is still to be done.

        Returns:
            What was done; `budget_reached` says that the run stopped before its end.

        Raises:
            EndpointError: The model or the judge failed too often in a row.
            StorageError: A record cannot be written.
            FormatError: The data has changed.
        """
        wanted = list(refs)
        self.tally.rows = len(wanted)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._infer(wanted))
                if self.judge is not None:
                    for _ in range(min(self.limits.judge_concurrency, len(wanted) * self.limits.repeats)):
                        group.create_task(self._judge_worker(self.judge))
        except BaseExceptionGroup as error:
            raise first_error(error) from error
        finally:
            self.writer.generations.sync()
            self.writer.judgements.sync()
        self.tally.budget_reached = self.budget.stopped
        return self.tally

    async def _infer(self, wanted: list[RowRef]) -> None:
        try:
            if self.generator is None:
                self._queue_answers(wanted)
                return
            waiting = iter(wanted)
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.limits.concurrency, len(wanted))):
                    group.create_task(self._infer_worker(self.generator, waiting))
        finally:
            self._answered.put_nowait(None)

    def _queue_answers(self, wanted: list[RowRef]) -> None:
        by_row = {generation.row: generation.key for generation in self.writer.generations}
        for ref in wanted:
            if ref.key in by_row:
                self._note_known(ref, by_row[ref.key])

    async def _infer_worker(self, generator: Generator, waiting: Iterator[RowRef]) -> None:
        for ref in waiting:
            key = generator.key(ref.key)
            if self.writer.generations.is_settled(key):
                self._note_known(ref, key)
            elif not await self._ask(generator, ref, key):
                return

    async def _ask(self, generator: Generator, ref: RowRef, key: str) -> bool:
        row = self.index.read(ref)
        request = generator.request(row)
        expected = _expected_cost(generator.model, request.tokens)
        reserved = await self.budget.reserve("model", expected)
        if reserved is None:
            return False
        generation = await generator.generate(row, request)
        await self.budget.settle("model", reserved, expected, generation.usage)
        self.writer.generations.append(generation)
        self.tally.asked += 1
        self._note_generation(ref, generation)
        self._streaks[0].note(generation)
        return True

    def _note_known(self, ref: RowRef, key: str) -> None:
        generation = self.writer.generations.get(key)
        assert generation is not None
        self._note_generation(ref, generation)

    def _note_generation(self, ref: RowRef, generation: Generation) -> None:
        self.tally.generated += 1
        self.tally.truncated += generation.outcome == "truncated"
        usable = judgeable(generation)
        self.tally.failed += not usable
        if usable and self.judge is not None:
            self.tally.to_judge += self.limits.repeats
            self._answered.put_nowait((ref, generation.key))
        self.on_change(self.tally)

    async def _judge_worker(self, judge: RowJudge) -> None:
        while (item := await self._answered.get()) is not None:
            ref, generation = item
            for repeat in range(self.limits.repeats):
                key = judge.key(ref.domain, generation, repeat)
                if self.writer.judgements.is_settled(key):
                    self._note_judgement(self.writer.judgements.get(key))
                elif not await self._ask_judge(judge, ref, generation, repeat):
                    return
        self._answered.put_nowait(None)  # for the next worker

    async def _ask_judge(self, judge: RowJudge, ref: RowRef, key: str, repeat: int) -> bool:
        generation = self.writer.generations.get(key)
        assert generation is not None
        row = self.index.read(ref)
        usage = generation.usage or Usage()
        expected = _expected_cost(judge.model, usage.prompt_tokens + usage.completion_tokens)
        reserved = await self.budget.reserve("judge", expected)
        if reserved is None:
            return False
        judgement = await judge.judge(row, generation, repeat)
        await self.budget.settle("judge", reserved, expected, judgement.usage)
        self.writer.judgements.append(judgement)
        self.tally.judge_asked += 1
        self._note_judgement(judgement)
        self._streaks[1].note(judgement)
        return True

    def _note_judgement(self, judgement: Judgement | None) -> None:
        assert judgement is not None
        self.tally.judged += 1
        self.tally.judge_failed += judgement.scores is None and judgement.verdict is None
        self.on_change(self.tally)


def _expected_cost(model: ChatModel, tokens: int) -> float:
    prices = prices_of(model)
    if prices is None:
        return 0.0
    return prices.cost(Usage(prompt_tokens=tokens, completion_tokens=_GUESSED_ANSWER))


def first_error(group: BaseExceptionGroup) -> BaseException:
    """The error that a group of failed tasks is reported by: one of ours where there is any."""
    leaves = list(_leaves(group))
    return next((error for error in leaves if isinstance(error, WorldlineError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
