"""Frames of the interpreted script, and what happens when an exception passes through one."""

# This is the layer that stands in for the file system, so it speaks `os`; and a script may raise anything.
# ruff: noqa: PTH120

from __future__ import annotations

import ast
import os.path
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, TracebackType
from typing import Any, NoReturn

__all__ = [
    "Abstain",
    "Code",
    "Entry",
    "Exit",
    "Frame",
    "Noting",
    "Source",
    "abstain",
    "abstained",
    "entries",
    "forgive",
    "fresh",
    "note",
    "remember",
]


class Abstain(BaseException):
    """The kernel does not know what real Python would do here. No script can catch it."""


_reasons: list[str] = []


def abstain(why: str) -> NoReturn:
    """Give up on the script.

    Raises:
        Abstain: Always. The reason is kept, so that library code which swallows the exception changes nothing.
    """
    _reasons.append(why)
    raise Abstain(why)


def abstained() -> str | None:
    """The first reason given to :func:`abstain`, if any."""
    return _reasons[0] if _reasons else None


def forgive() -> str | None:
    """Go on after an :class:`Abstain`; give the first reason, if there was any."""
    reason = abstained()
    _reasons.clear()
    return reason


@dataclass(slots=True)
class Source:
    """One source text."""

    filename: str
    lines: list[str]
    """Lines shown in tracebacks; empty where real Python has none (`-c`, standard input)."""
    deferred: bool = False
    """Annotations are not evaluated (`from __future__ import annotations`)."""


@dataclass(slots=True)
class Code:
    """What a traceback needs to know about a function or module body."""

    name: str
    source: Source
    variables: tuple[str, ...] = ()


class Exit:
    """How a statement ended other than by running through."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Frame:
    """One activation of a module, class body, function or comprehension."""

    __slots__ = ("cell", "code", "first", "pos", "result", "top", "up", "vars")

    def __init__(self, code: Code, variables: dict[str, Any], up: Frame | None, top: dict[str, Any]) -> None:
        self.code = code
        self.vars = variables
        self.up = up
        self.top = top
        self.pos: Any = None
        self.result: Any = None
        self.cell: Any = None
        self.first: Any = None


@dataclass(slots=True)
class Entry:
    """One line of a traceback."""

    filename: str
    name: str
    line: int
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    text: str | None = None
    """The source line, with its indentation; None where it is not known."""
    frame: Frame | None = field(default=None, repr=False)


@dataclass(slots=True)
class _Trace:
    entries: list[Entry] = field(default_factory=list)
    last: Frame | None = None


_traces: dict[int, tuple[BaseException, _Trace]] = {}
_HERE = os.path.dirname(__file__)


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_HERE)


def _trace(error: BaseException) -> _Trace:
    known = _traces.get(id(error))
    if known is None or known[0] is not error:
        if len(_traces) > 2000:
            _traces.clear()
        known = _traces[id(error)] = (error, _Trace())
    return known[1]


def fresh(error: BaseException) -> None:
    """A `raise` statement names `error`: the frame it stands in is shown once more."""
    _trace(error).last = None


def entries(error: BaseException) -> list[Entry]:
    """The traceback of `error`, outermost first."""
    return _trace(error).entries


def remember(error: BaseException) -> Callable[[], None]:
    """Give what sets the traceback of `error` back: a context manager that lets it pass adds nothing to it."""
    trace = _trace(error)
    entries_now, last = list(trace.entries), trace.last

    def restore() -> None:
        trace.entries[:] = entries_now
        trace.last = last

    return restore


def note(error: BaseException, frame: Frame) -> None:
    """Record that `error` was raised in `frame` or passes through it."""
    if isinstance(error, (MemoryError, RecursionError)) and error.__traceback__ is not None:
        abstain(f"{type(error).__name__} in the kernel")
    trace = _trace(error)
    if trace.last is frame:
        error.__traceback__ = None
        return
    trace.last = frame
    trace.entries[:0] = [_entry(frame), *_library_entries(error.__traceback__)]
    error.__traceback__ = None


class Noting:
    """Around what runs in a frame: whatever is raised in it, or passes through it, is noted and goes on its way."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, Abstain):
            note(error, self._frame)


def _entry(frame: Frame) -> Entry:
    node: ast.expr | ast.stmt | None = frame.pos
    source = frame.code.source
    if node is None:
        return Entry(source.filename, frame.code.name, 1, frame=frame)
    text = source.lines[node.lineno - 1] if 0 < node.lineno <= len(source.lines) else None
    return Entry(
        source.filename,
        frame.code.name,
        node.lineno,
        node.end_lineno,
        node.col_offset,
        node.end_col_offset,
        text,
        frame,
    )


def _library_entries(traceback: TracebackType | None) -> list[Entry]:
    """Frames of standard library code written in Python that the error passed through since the last frame."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not _is_ours(code):
            positions = list(code.co_positions())[traceback.tb_lasti // 2]
            found.append(Entry(code.co_filename, code.co_name, traceback.tb_lineno, *positions[1:]))
        traceback = traceback.tb_next
    return found
