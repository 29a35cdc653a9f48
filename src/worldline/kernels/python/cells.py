"""Running the cells of a notebook on the simulated world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from worldline.kernels.python.bridge import FileSystem
from worldline.kernels.python.run import _ADDRESS, PythonLimits, PythonUnknown, _converse

__all__ = ["Cell", "CellResult", "run_cells"]

_LIBRARIES = ("/usr/lib/python311.zip", "/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload")


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
    """Name of the exception that ended it; empty where none did, or where the cell cannot be parsed."""
    slept: float
    """Seconds that it slept."""


def run_cells(
    cells: Sequence[Cell],
    files: FileSystem,
    *,
    cwd: str,
    env: Mapping[str, str],
    uid: int = 1000,
    closed: bool = True,
    limits: PythonLimits | None = None,
) -> CellResult:
    """Run all cells of a session as Python 3.11 would; what the last one gives is the result.

    Args:
        cells: The session so far, and the cell that is asked for.
        files: The simulated files as they were when the session began; changes are made in them.
        cwd: Working directory at the start, absolute.
        env: Environment variables.
        uid: The user.
        closed: Every installed package is known, so that a module that is not found is missing.
        limits: What all cells together may use.

    Raises:
        PythonUnknown: The kernel does not know what would happen.
        KernelError: No worker can be started.
    """
    asked = [
        {"source": cell.source, "number": cell.number, "now": cell.now.timestamp(), "how": cell.how} for cell in cells
    ]
    if "\0" in cells[-1].source:
        raise PythonUnknown("the cell holds a NUL byte")
    request = {
        "cells": asked,
        "argv": [""],
        "directory": cwd,
        "path": ["", *_LIBRARIES],
        "caches": True,
        "cwd": cwd,
        "env": dict(env),
        "stdin": "",
        "uid": uid,
        "now": cells[-1].now.timestamp(),
        "closed": closed,
        "terminal": False,
        **asdict(limits or PythonLimits()),
    }
    message = _converse(request, files, uid, cells[-1].now, None)
    if "unknown" in message:
        raise PythonUnknown(str(message["unknown"]))
    text = str(message["stdout"])
    if _ADDRESS.search(text):
        raise PythonUnknown("the output shows what differs between runs")
    output = text.encode("latin-1")
    return CellResult(output, bool(message["status"]), str(message.get("error", "")), float(message["slept"]))
