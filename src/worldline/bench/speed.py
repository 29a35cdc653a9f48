"""How fast and how small: steps per second against reality, forks, and many live sessions in one process."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from worldline.bench.peak import peak_memory_mib
from worldline.engines import EngineOptions, EngineParts
from worldline.errors import SessionError
from worldline.sessions import EventStore, Session
from worldline.types import Frozen, Trajectory, WorldSpec

__all__ = ["ForkTimes", "LiveSessions", "StepRates", "fork_times", "live_sessions", "step_rates"]

_FILES = 100


class StepRates(Frozen):
    """Steps per second of the same commands, simulated and real, one session after the other."""

    engine: str
    n: int
    """Steps of each."""
    simulated: float
    """Steps per second, persisted to an event log on disk; setting sessions up not counted."""
    real: float | None
    """Steps per second of the real shell in its sandbox; setting sandboxes up not counted."""
    ratio: float | None
    """Simulated over real."""
    ratio_with_setup: float | None
    """The same with worlds and sandboxes set up on the clock."""


class ForkTimes(Frozen):
    """Median times of forking a session with `files` files, in milliseconds."""

    files: int
    n: int
    fork_ms: float
    first_step_ms: float
    """Where each fork is closed before the next, which takes over its shell."""
    first_step_open_ms: float
    """Where all forks stay open, so that each starts a shell of its own."""


class LiveSessions(Frozen):
    """Memory of many live sessions in one process."""

    n: int
    peak_mib: float
    """Peak resident memory of the process, everything counted."""


def step_rates(trajectories: Sequence[Trajectory], engine: str, parts: EngineParts, *, real: bool = True) -> StepRates:
    """Run the same commands simulated and for real, in turn session by session, and compare the rates.

    Args:
        trajectories: Where the commands and worlds come from.
        engine: The simulating engine.
        parts: Its memory, model and calibration.
        real: Whether to run the real shell as well; needs the sandbox.
    """
    steps, spent = 0, {"simulated": 0.0, "simulated setup": 0.0, "real": 0.0, "real setup": 0.0}
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        store = EventStore(Path(folder) / "log.db")
        runner.run(_simulate(trajectories[0].world, ["true | cat"], engine, parts, store))  # imports, once a process
        for trajectory in trajectories:
            commands = [turn.action.command or "" for turn in trajectory.turns]
            setup, run, done = runner.run(_simulate(trajectory.world, commands, engine, parts, store))
            spent["simulated setup"] += setup
            spent["simulated"] += run
            steps += done
            if real:
                setup, run = _really_run(trajectory.world, commands[:done])
                spent["real setup"] += setup
                spent["real"] += run
        store.close()
    whole = (spent["real"] + spent["real setup"]) / (spent["simulated"] + spent["simulated setup"])
    return StepRates(
        engine=engine,
        n=steps,
        simulated=steps / spent["simulated"],
        real=steps / spent["real"] if real else None,
        ratio=spent["real"] / spent["simulated"] if real else None,
        ratio_with_setup=whole if real else None,
    )


async def _simulate(
    world: WorldSpec, commands: Sequence[str], engine: str, parts: EngineParts, store: EventStore
) -> tuple[float, float, int]:
    began = time.perf_counter()
    async with Session.start(world, engine, EngineOptions(), parts, store) as session:
        _ = session.state  # a kernel starts its shell when it is first asked: the counterpart of starting the sandbox
        ready = time.perf_counter()
        done = 0
        for command in commands:
            try:
                await session.step(command)
            except SessionError:
                break
            done += 1
        return ready - began, time.perf_counter() - ready, done


def _really_run(world: WorldSpec, commands: Sequence[str]) -> tuple[float, float]:
    from worldline.record.shell import RealShell

    began = time.perf_counter()
    with RealShell(world) as shell:
        ready = time.perf_counter()
        for command in commands:
            if shell.ended:
                break
            shell.run(command)
        return ready - began, time.perf_counter() - ready


def fork_times(n: int = 200, files: int = _FILES) -> ForkTimes:
    """Time `n` forks of a session with `files` files, and the first step of each."""
    world = WorldSpec(
        domain="terminal",
        initial_state={"files": {f"/home/user/data/{i}.txt": f"line {i}\n" * 20 for i in range(files)}},
    )
    forks, steps = asyncio.run(_forks(world, n, keep=False))
    _, open_steps = asyncio.run(_forks(world, n, keep=True))
    return ForkTimes(
        files=files,
        n=n,
        fork_ms=1000 * statistics.median(forks),
        first_step_ms=1000 * statistics.median(steps),
        first_step_open_ms=1000 * statistics.median(open_steps),
    )


async def _forks(world: WorldSpec, n: int, *, keep: bool) -> tuple[list[float], list[float]]:
    forks, steps = [], []
    kept: list[Session] = []
    async with Session.start(world, "kernel", EngineOptions(), EngineParts(), EventStore()) as session:
        await session.step("ls data | wc -l")
        for number in range(n):
            began = time.perf_counter()
            twin = await session.fork()
            forked = time.perf_counter()
            await twin.step(f"echo {number} >> data/0.txt")
            forks.append(forked - began)
            steps.append(time.perf_counter() - forked)
            if keep:
                kept.append(twin)
            else:
                twin.close()
        for twin in kept:
            twin.close()
    return forks, steps


def live_sessions(n: int = 1000, on_done: Callable[[], Any] | None = None) -> LiveSessions:
    """Keep `n` sessions alive, each with a file and two steps behind it, and read the process's peak memory.

    Run it in a process of its own: peak memory counts whatever the process did before.
    """
    asyncio.run(_live(n, on_done))
    return LiveSessions(n=n, peak_mib=peak_memory_mib())


async def _live(n: int, on_done: Callable[[], Any] | None) -> None:
    world = WorldSpec(domain="terminal", initial_state={"files": {"/home/user/a.txt": "b\na\n"}})
    store = EventStore()
    sessions = []
    for number in range(n):
        session = Session.start(world, "kernel", EngineOptions(), EngineParts(), store)
        await session.step("sort a.txt > b.txt")
        result = await session.step(f"cat b.txt; echo {number}")
        if result.observation != f"a\nb\n{number}\n":
            raise SessionError(f"session {number} answered {result.observation!r}")
        sessions.append(session)
        if on_done is not None:
            on_done()
    for session in sessions:
        session.close()
