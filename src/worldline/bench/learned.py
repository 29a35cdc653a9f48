"""How far a world learned from some tasks answers the calls of another one: leave one task out, for all tasks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from worldline import __version__
from worldline.bench.journal import Journal
from worldline.bench.metrics import BenchRow, TurnScore, row
from worldline.bench.runner import score_trajectory
from worldline.bench.suite import code_fingerprint, engine_factory
from worldline.engines import EngineOptions, EngineParts
from worldline.errors import ConfigError
from worldline.kernels import build_kernel
from worldline.memory import Memory
from worldline.types import Frozen, Source, Trajectory, WorldSpec, content_id
from worldline.worlds.learning import learn_world, new_world

__all__ = ["LEARNED_ENGINES", "LearnedReport", "LearnedScores", "measure_learned", "score_learned"]

LEARNED_ENGINES = ("most-frequent", "nearest", "recall", "kernel", "grounded")
"""Rows of the table: baselines, what memory alone and the learned rules alone answer, and both."""


class LearnedReport(Frozen):
    """The rows, and what could have been known."""

    domain: str
    tasks: int
    trajectories: int
    n: int
    """Turns."""
    n_errors: int
    n_recorded: int
    """Turns whose very call was made in another task, or earlier in the session."""
    n_computable: int
    """Further turns that a learned rule answers from what was declared or observed."""
    rows: tuple[BenchRow, ...]

    @property
    def n_knowable(self) -> int:
        """Size of the knowable slice."""
        return self.n_recorded + self.n_computable

    @property
    def ceiling(self) -> float:
        """Share of the turns that can be known at all without a model: the others read what was never seen."""
        return self.n_knowable / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class LearnedScores:
    """The turns of the tasks that were left out, scored by engine, and what could have been known of them."""

    domain: str
    tasks: int
    trajectories: int
    n_errors: int
    n_recorded: int
    by_engine: dict[str, list[TurnScore]]

    def report(self, seed: int) -> LearnedReport:
        """Sum the scores up; the seed is that of the bootstrap."""
        first = next(iter(self.by_engine.values()))
        return LearnedReport(
            domain=self.domain,
            tasks=self.tasks,
            trajectories=self.trajectories,
            n=len(first),
            n_errors=self.n_errors,
            n_recorded=self.n_recorded,
            n_computable=sum(score.knowable for score in first) - self.n_recorded,
            rows=tuple(
                row(done, engine=name, model=None, domain=self.domain, split="left out", seed=seed)
                for name, done in self.by_engine.items()
            ),
        )


def measure_learned(
    trajectories: Sequence[Trajectory],
    names: Sequence[str] = LEARNED_ENGINES,
    *,
    journal: Path | None = None,
    options: EngineOptions | None = None,
    seed: int = 0,
    only: Sequence[str] = (),
    on_task: Callable[[str], None] | None = None,
) -> LearnedReport:
    """Learn a world from all tasks but one, and measure it on that one, teacher-forced; for each task in turn.

    Args:
        trajectories: As in :func:`score_learned`, as all but the seed.
        names: Engines and baselines.
        journal: Stem of the journal files.
        options: Thresholds.
        seed: Seed of the bootstrap.
        only: Tasks to measure on.
        on_task: Called with a task's name when it is done.

    Raises:
        ConfigError: As :func:`score_learned`.
    """
    return score_learned(trajectories, names, journal=journal, options=options, only=only, on_task=on_task).report(seed)


def score_learned(
    trajectories: Sequence[Trajectory],
    names: Sequence[str],
    *,
    journal: Path | None = None,
    options: EngineOptions | None = None,
    only: Sequence[str] = (),
    on_task: Callable[[str], None] | None = None,
) -> LearnedScores:
    """Score what :func:`measure_learned` sums up.

    A turn is *knowable* if the same tool was called with the same arguments in another task or earlier in the session,
    or if a rule of the learned world tells its answer from what was declared or observed by then. That is decided once
    for all rows, by the learned kernel alone.

    Args:
        trajectories: Observed trajectories of one domain; all of a family (a task with its trials) are left out
            at once.
        names: Engines and baselines; `schemas` is a world made of the tools' schemas alone, without any trace.
        journal: Stem of the journal files; with it a killed run goes on where it was.
        options: Thresholds.
        only: Tasks to measure on; what is learned from stays the same. None: all.
        on_task: Called with a task's name when it is done.

    Raises:
        ConfigError: There are fewer than two tasks, several domains, simulated trajectories, or no such task.
    """
    domain, tasks = _tasks(trajectories)
    measured = _chosen(tasks, only)
    counted = [t for left_out in measured.values() for t in left_out]
    options = options or EngineOptions()
    scores: dict[str, list[TurnScore]] = {name: [] for name in names}
    with ExitStack() as opened:
        runner = opened.enter_context(asyncio.Runner())
        kept = _journals(opened, journal, names, trajectories, options) if journal is not None else {}
        for task, left_out in measured.items():
            fold = _Fold([t for t in trajectories if t.family != task], left_out, domain, options)
            for name in names:
                for trajectory in left_out:
                    done = kept[name].get(trajectory.id) if kept else None
                    if done is None:
                        done = runner.run(fold.scored(name, trajectory))
                        if kept:
                            kept[name].add(trajectory.id, done)
                    scores[name] += done
            if on_task is not None:
                on_task(task)
    found = _recorded(trajectories)
    return LearnedScores(
        domain=domain,
        tasks=len(measured),
        trajectories=len(counted),
        n_errors=sum(bool(turn.observation.is_error) for t in counted for turn in t.turns),
        n_recorded=sum(len(found[t.id]) for t in counted),
        by_engine=scores,
    )


def _journals(
    opened: ExitStack,
    stem: Path,
    names: Sequence[str],
    trajectories: Sequence[Trajectory],
    options: EngineOptions,
) -> dict[str, Journal[TurnScore]]:
    about = [__version__, [t.id for t in trajectories], options.model_dump(mode="json"), code_fingerprint()]
    return {
        name: opened.enter_context(
            Journal(stem.with_name(f"{stem.name}.{name}.journal"), content_id([name, *about]), TurnScore)
        )
        for name in names
    }


class _Fold:
    """The world and the memory of all tasks but one, made when they are first needed."""

    def __init__(
        self, others: Sequence[Trajectory], left_out: Sequence[Trajectory], domain: str, options: EngineOptions
    ) -> None:
        self._others = others
        self._left_out = left_out
        self._domain = domain
        self._options = options
        self._calls = {turn.action.render() for t in others for turn in t.turns}

    @cached_property
    def _world(self) -> WorldSpec:
        return learn_world(self._others, domain=self._domain)

    @cached_property
    def _memory(self) -> Memory:
        return Memory.from_trajectories(self._others)

    @cached_property
    def _knowable(self) -> dict[str, frozenset[int]]:
        """Positions of the turns that can be known, by trajectory."""
        return {t.id: frozenset(_repeated(t, self._calls)) | self._computable(t) for t in self._left_out}

    def _computable(self, trajectory: Trajectory) -> frozenset[int]:
        """Positions of the turns that the learned kernel answers, following what really happened."""
        kernel = build_kernel(self._world)
        try:
            found = set()
            for position, turn in enumerate(trajectory.turns):
                if kernel.propose(turn.action).known:
                    found.add(position)
                kernel.absorb(turn)
            return frozenset(found)
        finally:
            kernel.close()

    async def scored(self, name: str, trajectory: Trajectory) -> list[TurnScore]:
        """Score one engine on one trajectory that was left out, started from the learned world."""
        bare = name == "schemas"
        learned = new_world(trajectory.world.tools, domain=self._domain) if bare else self._world
        world = learned.model_copy(update={"task": trajectory.world.task})
        started = trajectory.model_copy(update={"world": world})
        parts = EngineParts(memory=self._memory)
        factory = engine_factory("kernel" if bare else name, self._memory, self._options, parts)
        done = await score_trajectory(started, factory)
        known = self._knowable[trajectory.id]
        return [score.model_copy(update={"knowable": score.turn in known}) for score in done]


def _tasks(trajectories: Sequence[Trajectory]) -> tuple[str, dict[str, list[Trajectory]]]:
    domains = {trajectory.world.domain for trajectory in trajectories}
    if len(domains) != 1:
        names = ", ".join(sorted(domains)) or "none"
        raise ConfigError(f"trajectories of one domain are needed, found {names}", hint="choose it with --domain")
    if any(trajectory.source is not Source.OBSERVED for trajectory in trajectories):
        raise ConfigError("some trajectories are simulated", hint="measure on observed ones only")
    tasks: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        tasks[trajectory.family or trajectory.id].append(trajectory)
    if len(tasks) < 2:
        raise ConfigError("at least two tasks are needed, one to leave out and one to learn from")
    return domains.pop(), dict(tasks)


def _chosen(tasks: dict[str, list[Trajectory]], only: Sequence[str]) -> dict[str, list[Trajectory]]:
    unknown = sorted(set(only) - set(tasks))
    if unknown:
        raise ConfigError(f"unknown task {unknown[0]!r}", hint=f"known: {', '.join(list(tasks)[:20])}")
    return {task: left_out for task, left_out in tasks.items() if not only or task in only}


def _recorded(trajectories: Sequence[Trajectory]) -> dict[str, list[int]]:
    """Positions of the turns whose very call was made in another task, or earlier in the session."""
    tasks: dict[str, set[str]] = defaultdict(set)
    for trajectory in trajectories:
        for turn in trajectory.turns:
            tasks[turn.action.render()].add(trajectory.family or trajectory.id)
    found = {}
    for trajectory in trajectories:
        own = trajectory.family or trajectory.id
        others = {call for call, where in tasks.items() if where - {own}}
        found[trajectory.id] = list(_repeated(trajectory, others))
    return found


def _repeated(trajectory: Trajectory, calls: set[str]) -> Iterator[int]:
    earlier: set[str] = set()
    for position, turn in enumerate(trajectory.turns):
        call = turn.action.render()
        if call in calls or call in earlier:
            yield position
        earlier.add(call)
