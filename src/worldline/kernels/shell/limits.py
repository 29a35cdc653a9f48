"""What a step may use, and running a script of the shell library within that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bashkit import Bash

from worldline.kernels.processor import WALL, Watch

__all__ = ["Limits", "Ran", "run_limited"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one step may use before the kernel gives up."""

    seconds: float = 2.0
    """Processor time, so that the load of the machine does not change an answer."""
    wall: float = WALL
    """Wall clock time in seconds, for what blocks without computing."""
    commands: int = 100_000_000
    """Over a shell's whole life, since the library counts them so; a step is bounded by its seconds."""
    loop_iterations: int = 1_000_000
    memory: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ran:
    """What a script gave."""

    result: Any
    """The library's, whose stubs leave out the two fields of bytes."""
    error: str | None
    """Why it was given up: a limit, or what the library does not do."""
    used: float
    """Seconds of processor time."""


def run_limited(shell: Bash, script: str, limits: Limits) -> Ran:
    """Run a script in a shell of the library, within the limits of time.

    Raises:
        BashError: The library refuses the script.
    """
    watch = Watch(limits.seconds, shell.cancel, wall=limits.wall)
    try:
        with watch:
            result = shell.execute_sync(script)
            used = watch.used
    finally:
        if watch.fired:
            shell.clear_cancel()
    if not watch.fired:
        return Ran(result, result.error, used)
    spent = f"{limits.seconds:g} s of processor time" if used > limits.seconds else f"{limits.wall:g} s without an end"
    return Ran(result, f"more than {spent}", used)
