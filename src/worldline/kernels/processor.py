"""Limits of processor time, so that an answer does not depend on what else the machine does.

Behind each stands a limit of wall clock time, which only ends what blocks without computing.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from types import TracebackType

__all__ = ["WALL", "Watch", "charge"]

WALL = 30.0
"""Seconds of wall clock time after which what blocks is stopped, where nothing else is said."""
_PERIOD = 0.05
"""Seconds between two looks at what runs."""


class Watch:
    """Stops what this thread computes when it has used too much processor time.

    A context manager, for the thread that computes. What others compute for it counts too, once it is charged. From the
    moment that the limit is broken, `stop` is called again and again until the context ends, from another thread: a
    stop between two pieces of work may be lost. After the context it is called no more.

    Args:
        seconds: Processor time.
        stop: Stops the work; quick, and callable from any thread.
        wall: Wall clock time, in seconds.
    """

    def __init__(self, seconds: float, stop: Callable[[], object], *, wall: float = WALL) -> None:
        self.fired = False
        """Whether a limit was broken."""
        self._seconds, self._wall, self._stop = seconds, wall, stop
        self._charged = 0.0
        self._outer: Watch | None = None

    def __enter__(self) -> Watch:
        self._outer = getattr(_current, "watch", None)
        _current.watch = self
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        _current.watch = self._outer
        if self._outer is not None:
            self._outer.charge(self._charged)  # what this thread used itself, the outer watch sees by itself

    def start(self) -> None:
        """Begin to count, for work that ends elsewhere than in a context; nothing is charged to it."""
        self._clock = _thread_clock()
        self._begun, self._entered = self._clock(), time.monotonic()
        self._dog = _watchdog(os.getpid())
        self._dog.add(self)

    def end(self) -> None:
        """Stop counting, in any thread; `stop` is called no more."""
        self._dog.remove(self)

    @property
    def used(self) -> float:
        """Seconds of processor time since the context began."""
        return self._clock() - self._begun + self._charged

    def charge(self, seconds: float) -> None:
        """Count time that another thread or process computed for this one."""
        self._charged += seconds

    def look(self) -> None:
        """Stop the work if it has used too much."""
        if self.fired or self.used > self._seconds or time.monotonic() - self._entered > self._wall:
            self.fired = True
            self._stop()


def charge(seconds: float) -> None:
    """Count processor time that another thread or process used for what this thread computes, if that is watched."""
    watch: Watch | None = getattr(_current, "watch", None)
    if watch is not None:
        watch.charge(seconds)


_current = threading.local()


def _thread_clock() -> Callable[[], float]:
    """A clock of this thread's processor time that other threads can read; of the process's where there is none."""
    if sys.platform == "linux":
        clock = time.pthread_getcpuclockid(threading.get_ident())
        return lambda: time.clock_gettime(clock)
    return time.process_time


class _Watchdog:
    """The thread that looks at everything that runs; it sleeps where nothing does."""

    def __init__(self) -> None:
        self._watches: set[Watch] = set()
        self._lock = threading.Lock()
        self._some = threading.Event()
        threading.Thread(target=self._run, name="worldline-watchdog", daemon=True).start()

    def add(self, watch: Watch) -> None:
        with self._lock:
            self._watches.add(watch)
            self._some.set()

    def remove(self, watch: Watch) -> None:
        with self._lock:  # a stop in progress has ended, and no other follows
            self._watches.discard(watch)

    def _run(self) -> None:
        while self._some.wait():
            time.sleep(_PERIOD)
            with self._lock:
                for watch in self._watches:
                    watch.look()
                if not self._watches:
                    self._some.clear()


@cache
def _watchdog(process: int) -> _Watchdog:
    """The watchdog of a process; threads do not live on in a forked one."""
    return _Watchdog()
