"""Running the cells of a notebook on the simulated world."""

from __future__ import annotations

import atexit
import os
import re
import socket
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from worldline.kernels.python.bridge import FileSystem, answer
from worldline.kernels.python.guest.channel import Channel, Closed
from worldline.kernels.python.pool import connect
from worldline.kernels.python.run import PythonLimits, PythonUnknown

__all__ = ["STOPPED", "Cell", "CellResult", "Notebook"]

STOPPED = "the cell was stopped: too slow, too large, or it left the rules"
_LIBRARIES = ("/usr/lib/python311.zip", "/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload")
_MARKS = re.compile(r"5f1d7e84|4242424")
"""The interpreter's marks for random names and the process id."""
_MOST_ALIVE = 16
"""Interpreters that wait for the next cell of their session; the one that waited longest ends first."""
_PROCESSOR = 120.0
"""Seconds of processor time of one interpreter, whatever the number of its cells."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a session."""

    source: str
    number: int
    """What tracebacks call it by: `<cell NUMBER>`."""
    now: datetime
    """The virtual time at which it runs."""
    how: Literal["run", "doubt", "skip"] = "run"
    """`doubt`: in reality it did something else than here; `skip`: only its definitions are known."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """What the last cell gave."""

    output: bytes
    """Both streams, in the order written."""
    failed: bool
    error: str
    """Name of the exception that ended it; empty where none did."""
    slept: float
    """Seconds that it slept."""
    used: float
    """Seconds of processor time that it took; the cells that ran before it in one call included."""
    doubts: tuple[str, ...] = ()
    """Why the output is only one of those that reality might give."""


class Notebook:
    """A session of Python 3.11, in an interpreter that lives from cell to cell.

    Args:
        cwd: Working directory at the start, absolute.
        env: Environment variables.
        uid: The user.
        closed: Every installed package is known, so that a module that is not found is missing.
        limits: What a cell may use; the cells that bring a new interpreter up to date count as one.
    """

    def __init__(
        self,
        *,
        cwd: str,
        env: Mapping[str, str],
        uid: int = 1000,
        closed: bool = True,
        limits: PythonLimits | None = None,
    ) -> None:
        self._limits = limits or PythonLimits()
        self._uid = uid
        self._first = {
            "argv": [""],
            "directory": cwd,
            "path": ["", *_LIBRARIES],
            "caches": True,
            "cwd": cwd,
            "env": dict(env),
            "stdin": "",
            "uid": uid,
            "closed": closed,
            "terminal": False,
            "processor": _PROCESSOR,
        }
        self._connection: tuple[socket.socket, Channel] | None = None
        self._process = os.getpid()
        self.busy = False
        """A cell is running."""

    def run(self, cells: Sequence[Cell], files: FileSystem, *, seconds: float | None = None) -> CellResult:
        """Run cells; what the last one gives is the result.

        Args:
            cells: After a start or a failure, all cells of the session; otherwise those that follow.
            files: The simulated files as they were before the first of them; changes are made in them.
            seconds: Processor time instead of the limits' own; the wall clock time grows with it.

        Raises:
            PythonUnknown: The kernel does not know what would happen. The interpreter is gone.
            KernelError: No worker can be started.
        """
        self.busy = True
        try:
            return self._run(cells, files, seconds or self._limits.seconds)
        finally:
            self.busy = False

    def _run(self, cells: Sequence[Cell], files: FileSystem, limit: float) -> CellResult:
        wall = self._limits.wall * max(1.0, limit / self._limits.seconds)
        request: dict[str, Any] = {"cells": [_asked(cell) for cell in cells]}
        if self._connection is None:
            self._connection, self._process = connect(wall + 5), os.getpid()
            request |= {**asdict(self._limits), **self._first, "now": cells[-1].now.timestamp()}
        request |= {"seconds": limit, "wall": wall}
        _keep_alive(self)
        try:
            self._connection[0].settimeout(wall + 5)
            message = self._converse(request, files, cells[-1].now)
        except (Closed, PythonUnknown) as exc:
            self.close()
            raise PythonUnknown(STOPPED if isinstance(exc, Closed) else str(exc)) from exc
        if "unknown" in message:
            self.close()
            raise PythonUnknown(str(message["unknown"]))
        text = str(message["stdout"])
        doubts = tuple(map(str, message["doubts"]))
        if _MARKS.search(text):
            doubts = (*doubts, "the output shows what differs between runs")
        return CellResult(
            text.encode("latin-1"),
            bool(message["status"]),
            str(message.get("error", "")),
            float(message["slept"]),
            float(message["used"]),
            doubts,
        )

    def _converse(self, request: dict[str, Any], files: FileSystem, now: datetime) -> dict[str, Any]:
        """Send the request and answer questions until the result comes."""
        assert self._connection is not None
        channel = self._connection[1]
        channel.send(request)
        while True:
            message = channel.receive()
            if not isinstance(message, dict):
                raise PythonUnknown("the worker was lost")
            if "ask" not in message:
                return message
            if message["ask"] == "run":
                raise PythonUnknown("running another command")
            if any(isinstance(one, str) and _MARKS.search(one) for one in message["arguments"]):
                raise PythonUnknown("a file shows what differs between runs")
            channel.send(answer(files, message["ask"], message["arguments"], uid=self._uid, now=now))

    @property
    def alive(self) -> bool:
        """Whether the interpreter holds the session's state."""
        if self._process != os.getpid():  # the interpreter is that of the process this one was forked from
            self._connection = None
        return self._connection is not None

    def close(self) -> None:
        """End the interpreter."""
        if self._connection is not None:
            self._connection[0].close()
            self._connection = None
        with _lock:
            _alive.pop(id(self), None)


_lock = threading.Lock()
_alive: OrderedDict[int, Notebook] = OrderedDict()


def _keep_alive(notebook: Notebook) -> None:
    """Count a notebook as used last, and end the interpreter of the one that waited longest."""
    with _lock:
        _alive[id(notebook)] = notebook
        _alive.move_to_end(id(notebook))
        idle = (one for one in _alive.values() if not one.busy)
        oldest = next(idle, None) if len(_alive) > _MOST_ALIVE else None
    if oldest is not None:
        oldest.close()


@atexit.register
def _end_all() -> None:
    for notebook in list(_alive.values()):
        notebook.close()


def _asked(cell: Cell) -> dict[str, Any]:
    return {"source": cell.source, "number": cell.number, "now": cell.now.timestamp(), "how": cell.how}
