"""Worldline-Real: our recordings, or anybody's trajectories, through any engine, into one table."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from worldline import __version__
from worldline.bench.baselines import BASELINES, build_baseline
from worldline.bench.journal import Journal
from worldline.bench.metrics import BenchRow, TurnScore, row
from worldline.bench.runner import EngineFactory, run, scored_turns
from worldline.domains import get_domain
from worldline.engines import EngineOptions, EngineParts, build_engine, engine_names
from worldline.errors import ConfigError, unknown_name
from worldline.formats import read_trajectories
from worldline.memory import Memory
from worldline.recordings import path as recording_path
from worldline.types import JsonDict, Source, Trajectory, WorldSpec, content_id

__all__ = [
    "BENCH_ENGINES",
    "DEFAULT_ENGINES",
    "Suite",
    "code_fingerprint",
    "default_engines",
    "engine_factory",
    "load_suite",
    "measure",
]

BENCH_ENGINES = (*BASELINES, "grounded", "kernel", "recall", "model", "model+memory", "real")
DEFAULT_ENGINES = (*BASELINES, "grounded")
_WITH_MODEL = ("model", "model+memory", "grounded")


def default_engines(domain: str, dialect: str | None) -> tuple[str, ...]:
    """Engines and baselines of a table. Where the bare shell cannot answer, the bare kernel stands in its place."""
    bare = "bare-shell" if domain == "terminal" else "kernel"
    return tuple(
        bare if name == "bare-shell" else name
        for name in DEFAULT_ENGINES
        if dialect != "keystrokes" or name != "bare-shell"
    )


NETWORK = re.compile(r"\b(?:curl|wget|https?|git\s+clone)\b")
"""A command that needs the network, by the words of the external check."""


@dataclass(frozen=True, slots=True)
class Suite:
    """What is measured on."""

    domain: str
    split: str
    trajectories: tuple[Trajectory, ...]
    left_out: int = 0
    """Trajectories dropped because they need the network."""
    dialect: str | None = None
    """Kind of the actions, where it is one of our recordings'."""

    @property
    def turns(self) -> int:
        """Number of turns that are scored."""
        return sum(len(scored_turns(t)) for t in self.trajectories)

    @property
    def title(self) -> str:
        """What is measured on, in a line."""
        left_out = f", {self.left_out} left out (network)" if self.left_out else ""
        name = f"{self.domain} {self.dialect}" if self.dialect else self.domain
        return f"{name} {self.split}: {self.turns} turns in {len(self.trajectories)} sessions{left_out}"

    def sampled(self, turns: int, seed: int) -> Suite:
        """Return whole sessions drawn by a seed until they have so many turns to score, in the suite's order."""
        order = list(range(len(self.trajectories)))
        random.Random(seed).shuffle(order)
        kept, found = set(), 0
        for index in order:
            if found >= turns:
                break
            kept.add(index)
            found += len(scored_turns(self.trajectories[index]))
        return replace(self, trajectories=tuple(t for index, t in enumerate(self.trajectories) if index in kept))

    @property
    def fingerprint(self) -> str:
        """Hash of the trajectories and their order."""
        return content_id([t.id for t in self.trajectories])


def load_suite(
    domain: str,
    split: str,
    *,
    data: Path | None = None,
    world: WorldSpec | None = None,
    limit: int | None = None,
    offline_only: bool = False,
    skip_bad: bool = False,
    dialect: str | None = None,
    where: str | None = None,
) -> Suite:
    """Load a split of our recordings, or foreign trajectories.

    Args:
        domain: Which domain's trajectories count.
        split: `train`, `dev` or `test`; a label only where `data` is given.
        data: Trajectories of any known format instead of our recordings.
        world: Starts every trajectory from this world; its task is kept.
        limit: At most so many trajectories.
        offline_only: Leave out whole tasks in which any command needs the network.
        skip_bad: Go on past records that cannot be read.
        dialect: Which of our recordings: `commands` (also None) or `keystrokes`.
        where: `KEY=VALUE`: only worlds whose initial state has this value (JSON, or a text), defaults included.

    Raises:
        ConfigError: `where` is no condition, or nothing is left to measure on.
        FormatError: The data cannot be read.
    """
    source = data if data is not None else recording_path(domain, split, dialect=dialect)
    found = [t for t in read_trajectories(source, skip_bad=skip_bad) if t.world.domain == domain and t.turns]
    simulated = sum(t.source is not Source.OBSERVED for t in found)
    if simulated:
        raise ConfigError(f"{source}: {simulated} trajectories are simulated", hint="measure on observed ones only")
    if where is not None:
        key, value = _condition(where)
        found = [t for t in found if _value(t.world, key) == value]
        if not found:
            raise ConfigError(f"no recorded world of {domain} {split} has {where}")
    kept = list(_offline(found)) if offline_only else found
    if world is not None:
        kept = [_started_from(t, world) for t in kept]
    if not kept:
        raise ConfigError(f"{source}: no {domain} trajectories", hint="check --domain and the file")
    return Suite(domain, data.name if data else split, tuple(kept[:limit]), len(found) - len(kept), dialect)


def engine_factory(
    name: str, memory: Memory, options: EngineOptions, parts: EngineParts, root: Path | None = None
) -> EngineFactory:
    """Return what builds engine or baseline `name` for each trajectory.

    Raises:
        ConfigError: The name is unknown.
    """
    if name in BASELINES:
        return lambda world: build_baseline(name, world, memory)
    if name == "real":
        from worldline.bench.reality import Reality

        return lambda world: Reality(world, root)
    measurable = {*BENCH_ENGINES, *engine_names()} - {"replay", "scripted"}
    if name not in measurable:
        raise unknown_name("engine", name, measurable)
    return lambda world: build_engine(name, world, options, parts)


def measure(
    suite: Suite,
    names: Sequence[str],
    *,
    memory: Memory,
    options: EngineOptions | None = None,
    parts: EngineParts | None = None,
    journal: Path | None = None,
    seed: int = 0,
    on_engine: Callable[[str], Callable[[Trajectory], None]] | None = None,
    tools: frozenset[str] | None = None,
) -> tuple[list[BenchRow], dict[str, list[TurnScore]]]:
    """Measure engines on a suite.

    Args:
        suite: What to measure on.
        names: Engines and baselines, each giving a row.
        memory: Recorded transitions for recall, evidence and the baselines.
        options: Thresholds.
        parts: Model, memory and calibration of the engines.
        journal: Stem of the journal files; with it a killed run goes on where it was.
        seed: Seed of the bootstrap.
        on_engine: Called with an engine's name before it runs; returns the callback for finished trajectories.
        tools: Only calls of these tools count; None: all.

    Returns:
        The rows, and every engine's scored turns.
    """
    options, parts = options or EngineOptions(), parts or EngineParts(memory=memory)
    for name in names:
        _check(name, suite, memory, options, parts)
    rows, scores = [], {}
    for name in names:
        model = parts.model.name if parts.model is not None and name in _WITH_MODEL else None
        with _journal(journal, name, suite, model, options, parts) if journal is not None else nullcontext() as kept:
            done = run(
                suite.trajectories,
                engine_factory(name, memory, options, parts),
                memory=memory,
                journal=kept,
                on_done=on_engine(name) if on_engine else None,
            )
        done = [score for score in done if tools is None or score.tool in tools]
        scores[name] = done
        rows.append(row(done, engine=name, model=model, domain=suite.domain, split=suite.split, seed=seed))
    return rows, scores


def _check(name: str, suite: Suite, memory: Memory, options: EngineOptions, parts: EngineParts) -> None:
    """Find what is wrong with an engine's name or parts before hours are spent on the engines before it."""
    factory = engine_factory(name, memory, options, parts)
    if name != "real" and suite.trajectories:
        factory(suite.trajectories[0].world).close()


def _journal(
    stem: Path, name: str, suite: Suite, model: str | None, options: EngineOptions, parts: EngineParts
) -> Journal[TurnScore]:
    asked = [model, str(parts.sampling), str(parts.prompts)] if model is not None else None
    fingerprint = content_id(
        [__version__, name, suite.fingerprint, asked, options.model_dump(mode="json"), code_fingerprint()]
    )
    return Journal(stem.with_name(f"{stem.name}.{name}.journal"), fingerprint, TurnScore)


def code_fingerprint() -> str:
    """Hash the package's own files, so that scores of other code are never taken over."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".json", ".j2"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _condition(where: str) -> tuple[str, object]:
    key, equals, text = where.partition("=")
    if not (key and equals):
        raise ConfigError(f"--where {where}: expected KEY=VALUE")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


def _value(world: WorldSpec, key: str) -> object:
    if key in world.initial_state:
        return world.initial_state[key]
    return get_domain(world.domain).validate_state(world.initial_state).get(key)


def _offline(trajectories: Iterable[Trajectory]) -> Iterable[Trajectory]:
    by_task: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        by_task.setdefault(trajectory.world.task or trajectory.id, []).append(trajectory)
    for group in by_task.values():
        if not any(NETWORK.search(turn.action.render()) for t in group for turn in t.turns):
            yield from group


def _started_from(trajectory: Trajectory, world: WorldSpec) -> Trajectory:
    """Put a trajectory into another world. Whether streams came merged is the trajectory's own: it was recorded so."""
    if world.domain != "terminal":
        return trajectory.model_copy(update={"world": world.model_copy(update={"task": trajectory.world.task})})
    state = dict(world.initial_state)
    recorded_shell: JsonDict = trajectory.world.initial_state.get("shell") or {}
    if all(turn.observation.merged for turn in trajectory.turns):
        state["shell"] = {**(state.get("shell") or recorded_shell), "merged": True}
    elif "shell" not in state and recorded_shell:
        state["shell"] = recorded_shell
    started = world.model_copy(update={"task": trajectory.world.task, "initial_state": state})
    return trajectory.model_copy(update={"world": started})
