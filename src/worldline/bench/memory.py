"""Memory at scale: how long a directory of many transitions takes to build, how large it is, how fast it answers.

The transitions are our recordings, varied: in each copy of a session the names and words of its actions are replaced
by others, in the actions and in the answers alike, so that texts are as in reality and differ from copy to copy.
"""

from __future__ import annotations

import itertools
import json
import platform
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from worldline import __version__
from worldline.bench.peak import peak_memory_mib
from worldline.formats import read_trajectories
from worldline.memory import Memory
from worldline.memory.reground import Substitution
from worldline.memory.shape import shape_of
from worldline.memory.shipped import shipped_footings
from worldline.memory.transition import UNTOLD, Footing, as_footing, session_values
from worldline.memory.writer import MemoryWriter
from worldline.recordings import path as recording_path
from worldline.types import Action, Frozen, Trajectory, Turn, content_id

__all__ = ["BuildFigures", "QueryFigures", "build_figures", "query_figures", "varied"]

_SYLLABLES = ("ba", "co", "du", "fe", "gi", "ka", "lo", "mi", "no", "pu", "ra", "se", "ti", "vo", "wa", "ze")
_WARM_UP = 50
_FRESH = 1_000_003
"""Added to the seed for actions that were not recorded."""


class BuildFigures(Frozen):
    """What building cost."""

    n: int
    """Transitions."""
    trajectories: int
    seconds: float
    """Spent in adding and committing; making up the transitions is not counted."""
    cpu_seconds: float
    """Processor time of the same, all threads together: what it would take on a machine with nothing else to do."""
    peak_mib: float
    """Peak resident memory of the building process, everything counted."""
    disk_mib: float
    added_seconds: float
    """For adding 1,000 more afterwards, opening and closing included."""
    seed: int
    versions: dict[str, str]


class QueryFigures(Frozen):
    """Latencies of one kind of query, in milliseconds."""

    kind: str
    n: int
    found: int
    """Queries that had an answer."""
    p50_ms: float
    p99_ms: float
    max_ms: float
    cpu_p50_ms: float
    """Processor time: what a query takes on a machine with nothing else to do and the files in its cache."""
    cpu_p99_ms: float


def varied(n: int, seed: int = 0, domain: str = "terminal") -> Iterator[tuple[Trajectory, list[Footing]]]:
    """Make up at least `n` transitions from the recorded train split: whole sessions with other names and words.

    Args:
        n: Transitions.
        seed: Seed of the variation.
        domain: Whose recordings.

    Yields:
        Trajectories, each with what its turns stood on.
    """
    recorded = list(read_trajectories(recording_path(domain, "train")))
    known = shipped_footings(domain)
    made = 0
    for copy in itertools.count():
        for trajectory in recorded:
            if made >= n:
                return
            footings = [as_footing(value) for value in known.get(trajectory.id, [UNTOLD] * len(trajectory.turns))]
            yield _variant(trajectory, footings, f"{seed}/{copy}")
            made += len(trajectory.turns)


def _variant(trajectory: Trajectory, footings: Sequence[Footing], name: str) -> tuple[Trajectory, list[Footing]]:
    chance = random.Random(f"{name}/{trajectory.id}")
    turns, stood = [], []
    values: dict[str, str] = {}
    for turn, footing in zip(trajectory.turns, footings, strict=True):
        for slot in shape_of(turn.action).slots:
            for word in _words(slot):
                if word not in values:
                    values[word] = "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4)))
        changed = Substitution(values, frozenset())
        action, observation = turn.action, turn.observation
        if action.command is not None:
            action = Action(name=action.name, arguments={"command": changed.text(action.command)})
        observation = changed.observation(observation) or observation
        turns.append(Turn.model_construct(**{**dict(turn), "action": action, "observation": observation}))
        different = footing.footprint and content_id([footing.footprint, name])
        stood.append(footing._replace(footprint=different if footing.footprint else footing.footprint))
    made = trajectory.model_copy(update={"turns": tuple(turns), "id": f"{trajectory.id}/{name}"})
    return made, stood


def _words(slot: str) -> Iterator[str]:
    """The words of a value that are names: at least four letters, and no part of a pattern or program."""
    if not any(char in slot for char in "$`*[]^(){}|"):
        for word in slot.replace("/", " ").replace(".", " ").replace("-", " ").replace("_", " ").split():
            if len(word) > 3 and word.isalpha():
                yield word


class _Stopwatch:
    """Adds up wall time, and this thread's processor time, spent inside its blocks."""

    def __init__(self) -> None:
        self.seconds = self.cpu_seconds = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.thread_time()

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter() - self._began[0]
        self.cpu_seconds += time.thread_time() - self._began[1]


def build_figures(
    folder: Path, n: int, seed: int = 0, domain: str = "terminal", on_done: Callable[[int], Any] | None = None
) -> BuildFigures:
    """Build a memory directory of `n` made-up transitions. Run it in a process of its own: peak memory counts all.

    Args:
        folder: An empty directory, or one that is not there yet.
        n: Transitions.
        seed: Seed of the variation.
        domain: Whose recordings.
        on_done: Called with the number of transitions of each trajectory added.

    Raises:
        StorageError: The directory cannot be written.
    """
    making, building = _Stopwatch(), _Stopwatch()
    made, trajectories, before = 0, 0, time.process_time()
    with building:
        writer = MemoryWriter(folder)
    source = varied(n, seed, domain)
    while True:
        with making:
            item = next(source, None)
        if item is None:
            break
        with building:
            trajectories += writer.add(*item)
        made += len(item[0].turns)
        if on_done is not None:
            on_done(len(item[0].turns))
    with building:
        writer.flush()
        writer.close()
    # Threads of the word index work while transitions are made up, too, so theirs is what is left of the whole.
    cpu_seconds = time.process_time() - before - making.cpu_seconds
    more = list(varied(1000, seed + 2 * _FRESH, domain))
    began = time.perf_counter()
    with MemoryWriter(folder) as again:
        for trajectory, footings in more:
            again.add(trajectory, footings)
    added = time.perf_counter() - began
    return BuildFigures(
        n=made,
        trajectories=trajectories,
        seconds=building.seconds,
        cpu_seconds=cpu_seconds,
        peak_mib=peak_memory_mib(),
        disk_mib=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20,
        added_seconds=added,
        seed=seed,
        versions=_versions(),
    )


def query_figures(
    folder: Path, queries: int = 2000, seed: int = 0, domain: str = "terminal"
) -> tuple[list[QueryFigures], float]:
    """Time queries against a memory directory made by :func:`build_figures` with the same seed.

    Returns:
        The latencies, and the peak resident memory of this process in MiB.
    """
    known, fresh = _sample(queries, seed, domain), _sample(queries, seed + _FRESH, domain)
    with Memory.open(folder) as memory:

        def recall(trajectory: Trajectory, action: Action, stood: Footing) -> bool:
            return memory.recall(trajectory.world, action, stood.footprint) is not None

        def nearest(trajectory: Trajectory, action: Action, stood: Footing) -> bool:
            return bool(memory.nearest(domain, action, 3))

        def near(trajectory: Trajectory, action: Action, stood: Footing) -> bool:
            return memory.near(domain, action, session_values(trajectory.world), stood) is not None

        figures = [
            _timed("recall", recall, known),
            _timed("recall, not recorded", recall, fresh),
            _timed("nearest", nearest, fresh),
            _timed("near", near, fresh),
        ]
    return figures, peak_memory_mib()


_Query = tuple[Trajectory, Action, Footing]


def _sample(queries: int, seed: int, domain: str) -> list[_Query]:
    found = [
        (trajectory, turn.action, stood)
        for trajectory, footings in varied(4 * queries, seed, domain)
        for turn, stood in zip(trajectory.turns, footings, strict=True)
    ]
    return random.Random(seed).sample(found, min(queries + _WARM_UP, len(found)))


def _timed(kind: str, ask: Callable[[Trajectory, Action, Footing], bool], queries: Sequence[_Query]) -> QueryFigures:
    times, found = [], 0
    for query in queries:
        began = time.perf_counter(), time.thread_time()
        answered = ask(*query)
        times.append((1000 * (time.perf_counter() - began[0]), 1000 * (time.thread_time() - began[1])))
        found += answered
    kept = np.array(times[_WARM_UP:] or times)
    (p50, cpu_p50), (p99, cpu_p99) = (map(float, row) for row in np.percentile(kept, [50, 99], axis=0))
    return QueryFigures(
        kind=kind,
        n=len(queries),
        found=found,
        p50_ms=p50,
        p99_ms=p99,
        max_ms=float(kept[:, 0].max()),
        cpu_p50_ms=cpu_p50,
        cpu_p99_ms=cpu_p99,
    )


def _versions() -> dict[str, str]:
    return {
        "worldline": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "tantivy": version("tantivy"),
        "machine": platform.machine(),
    }


def _main() -> None:
    """Run one half in a process of its own: `python -m worldline.bench.memory build|query FOLDER N SEED DOMAIN`."""
    import sys

    half, folder, n, seed, domain = sys.argv[1:]
    if half == "build":

        def tell(turns: int) -> None:
            sys.stderr.write(f"{turns}\n")

        result: Any = build_figures(Path(folder), int(n), int(seed), domain, tell).model_dump()
    else:
        figures, peak = query_figures(Path(folder), int(n), int(seed), domain)
        result = {"queries": [figure.model_dump() for figure in figures], "peak_mib": peak}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    _main()
