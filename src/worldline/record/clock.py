"""The frozen clock of a sandbox: a small preloaded C library and the file it reads the time from.

libfaketime would do for `date`, but it takes its settings from the environment (which a recorded `env` would show),
stops the monotonic clocks with the wall clock (so that waiting breaks) and fakes file times only as a whole. What a
sandbox needs is little: see `clock.c`.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from datetime import UTC, datetime
from pathlib import Path

from worldline.record.compiled import compiled

__all__ = ["BOX_DIRECTORY", "FrozenClock", "clock_library"]

BOX_DIRECTORY = "/run/.clock"
"""Where the library and its files lie inside the box."""

_ENTRIES = 511  # as in clock.c
_HEADER = struct.Struct("=qq")
_ENTRY = struct.Struct("=qq")
_SIZE = _HEADER.size + _ENTRIES * _ENTRY.size
_NS = 1_000_000_000
_COARSE = 5  # CLOCK_REALTIME_COARSE


def clock_library() -> Path:
    """Return the compiled preload library, building it on first use.

    Raises:
        SandboxError: There is no C compiler, or it fails.
    """
    return compiled("clock.c", "-shared", "-fPIC")


class FrozenClock:
    """Virtual time of one box, shared with its processes through two mapped files.

    Args:
        directory: An empty host directory that the box sees as `BOX_DIRECTORY`.
        start: What the clock shows at first.
        owner: Host user id that the box's processes run as; they write the sleep counter.
    """

    def __init__(self, directory: Path, start: datetime, owner: int | None) -> None:
        now, slept = directory / "now", directory / "slept"
        now.write_bytes(bytes(_SIZE))
        slept.write_bytes(bytes(16))
        now.chmod(0o644)
        slept.chmod(0o644)
        if owner is not None:
            os.chown(slept, owner, owner)
        self._now = _map(now)
        self._slept = _map(slept)
        self._count = 0
        self._exact = 0
        self._pool = 0
        self._seen = 0
        self._start = self._virtual = int(start.timestamp())
        self._append()

    @property
    def now(self) -> datetime:
        """The moment that the clock shows."""
        return datetime.fromtimestamp(self._virtual, UTC)

    def _append(self) -> None:
        # The kernel stamps files by its coarse clock: only what it stamps after the next tick belongs to this moment.
        tick = time.clock_gettime_ns(_COARSE)
        while (moment := time.clock_gettime_ns(_COARSE)) == tick:
            time.sleep(0.001)
        index = min(self._count, _ENTRIES - 1)  # a session that sleeps more often keeps only the latest moment
        _ENTRY.pack_into(self._now, _HEADER.size + index * _ENTRY.size, moment, self._virtual)
        self._count = index + 1
        _HEADER.pack_into(self._now, 0, self._count, self._exact)

    def advance(self, elapsed: float) -> int:
        """Move the clock on by the whole seconds that a command slept; call it when the command is over.

        Real time alone would make the clock depend on the machine's load, so what the command's processes asked
        to sleep bounds it; what sleeps on in the background is kept for the command that waits for it.

        Args:
            elapsed: Seconds of real time that the command took.

        Returns:
            By how many seconds the clock moved.
        """
        slept: int = struct.unpack_from("=q", self._slept, 0)[0]
        self._pool += max(0, slept - self._seen)
        self._seen = slept
        # a command that waits for a sleep begun just before it takes a little less than that
        seconds = min(int(elapsed + 0.05), self._pool // _NS)
        self._pool -= seconds * _NS
        if self._pool < _NS:
            self._pool = 0
        if seconds:
            self._virtual += seconds
            self._append()
        return seconds

    def reach(self, seconds: float) -> None:
        """Show the whole seconds of a time since the start; the clock never goes back.

        From the first call on, what sleeps in the box sleeps by this time.
        """
        self._exact = max(self._exact, self._start * _NS + max(1, round(seconds * _NS)))
        _HEADER.pack_into(self._now, 0, self._count, self._exact)
        moment = self._start + int(seconds + 1e-6)
        if moment > self._virtual:
            self._virtual = moment
            self._append()

    def close(self) -> None:
        """Unmap the files."""
        self._now.close()
        self._slept.close()


def _map(path: Path) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)
