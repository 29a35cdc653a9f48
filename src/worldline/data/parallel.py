"""Making training sets in several processes: the same rows in the same order as in one.

This process reads, and decides what depends on more than one trajectory; the others get small batches and give back
rows as they are written. A bounded number of batches is under way, so that memory does not grow with the input.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice

from worldline.data.building import BuildReport, Checks, DataOptions, admitted, rows_of
from worldline.data.overlap import Reference
from worldline.data.rows import TrainingRow
from worldline.data.sets import packed_row
from worldline.errors import WorldlineError
from worldline.types import Trajectory

__all__ = ["build_rows_in_parallel"]

_BATCH = 8
"""Trajectories of a batch: enough that handing them over costs little, few enough that an interruption is quick."""
_AHEAD = 4
"""Batches under way for each process."""

_Result = tuple[list[bytes], BuildReport]


class _Worker:
    """What every batch of a process needs; set once, when the process starts."""

    options: DataOptions
    benchmarks: Reference | None
    checks: Checks | None


def build_rows_in_parallel(
    trajectories: Iterable[Trajectory],
    options: DataOptions,
    report: BuildReport,
    *,
    jobs: int,
    benchmarks: Reference | None = None,
    checks: Checks | None = None,
) -> Iterator[TrainingRow | bytes]:
    """Give what `build_rows` gives, made by `jobs` processes; from other processes rows come as lines of the set.

    An input that fits into one batch, or one job, is worked off in this process.

    Args:
        trajectories: What to learn from.
        options: How.
        report: Filled in while the rows are taken.
        jobs: Processes.
        benchmarks: Benchmarks that training must not see.
        checks: RL: rule checks of a trajectory by position; a function that another process can import.

    Raises:
        ConfigError: A trajectory is simulated and that was not asked for.
        WorldlineError: Whatever reading or making rows raises, in the order of the input; or a process was lost.
    """
    found = admitted(trajectories, options, report)
    if jobs > 1:
        first = list(islice(found, _BATCH))
        if len(first) == _BATCH:
            yield from _side_by_side(first, found, options, report, jobs, benchmarks, checks)
            return
        found = iter(first)
    for trajectory in found:
        yield from rows_of(trajectory, options, report, benchmarks=benchmarks, checks=checks)


def _side_by_side(
    first: list[Trajectory],
    found: Iterator[Trajectory],
    options: DataOptions,
    report: BuildReport,
    jobs: int,
    benchmarks: Reference | None,
    checks: Checks | None,
) -> Iterator[bytes]:
    # spawned: a fork would inherit locks that the kernels' threads may hold
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(options, benchmarks, checks))
    under_way: deque[Future[_Result]] = deque()
    failure: WorldlineError | None = None
    batch = first
    try:
        while batch or under_way:
            if batch:
                with _uninterrupted():  # the first one starts the processes, which are to inherit this
                    under_way.append(pool.submit(_make, batch))
                batch = []
                try:
                    for trajectory in islice(found, _BATCH):
                        batch.append(trajectory)
                except WorldlineError as exc:  # told once everything before it has been worked off
                    failure = exc
            if not batch or len(under_way) > _AHEAD * jobs:
                lines, part = under_way.popleft().result()
                report.add(part)
                yield from lines
        if failure is not None:
            raise failure
    except BrokenProcessPool as exc:
        raise WorldlineError(
            "a process that makes rows was lost", hint="was it killed, or memory short? Try again with --jobs 1"
        ) from exc
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interruption wait until the end of the block; processes started in it are never interrupted."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(options: DataOptions, benchmarks: Reference | None, checks: Checks | None) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG: a killed build leaves none behind
    _Worker.options, _Worker.benchmarks, _Worker.checks = options, benchmarks, checks


def _make(batch: list[Trajectory]) -> _Result:
    report = BuildReport()
    lines = [
        packed_row(row)
        for trajectory in batch
        for row in rows_of(trajectory, _Worker.options, report, benchmarks=_Worker.benchmarks, checks=_Worker.checks)
    ]
    return lines, report
