"""A timer that stops statements that take too long."""

from __future__ import annotations

from collections.abc import Callable

from worldline.kernels.processor import Watch

__all__ = ["Alarm"]


class Alarm:
    """Takes the place of a `threading.Timer`, but counts the processor time of the thread that starts it.

    It calls its function again and again, until it is cancelled: an interrupt between two statements is lost. What runs
    in threads of the engine's own would not count; DuckDB has none where it may use one thread.

    Args:
        interval: Seconds of processor time.
        function: Interrupts what runs.
    """

    daemon = True

    def __init__(self, interval: float, function: Callable[[], object]) -> None:
        self._watch = Watch(interval, function, wall=_WALL)

    def start(self) -> None:
        """Count from now on."""
        self._watch.start()

    def cancel(self) -> None:
        """Stop, so that nothing that runs afterwards is interrupted."""
        self._watch.end()


_WALL = 60.0
"""Seconds of wall clock time after which what blocks is interrupted."""
