"""A timer that stops statements that take too long."""

from __future__ import annotations

import threading

__all__ = ["Alarm"]

_AGAIN = 0.05
"""Seconds between two rings."""


class Alarm(threading.Timer):
    """Calls its function again and again, until it is cancelled: an interrupt between two statements is lost."""

    def run(self) -> None:
        wait = self.interval
        while not self.finished.wait(wait):
            self.function(*self.args, **self.kwargs)
            wait = _AGAIN

    def cancel(self) -> None:
        """Stop, so that nothing that runs afterwards is interrupted."""
        super().cancel()
        self.join()
