"""Standard streams that are a terminal: what was typed arrives line by line, and a read beyond it ends the run.

What is typed is a text of lines. A line that holds nothing but `INTERRUPT` or `END` stands for C-c and C-d; one of
`INTERRUPT` and a number for C-c while the script sleeps for so manieth time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .frames import abstain
from .streams import TextInput, TextOutput, written

__all__ = [
    "END",
    "HIDDEN",
    "INTERRUPT",
    "UNSURE",
    "TerminalOutput",
    "TypedInput",
    "handlers",
    "note_hidden",
    "note_sleep",
    "note_unsure",
    "on_terminal",
    "waiter",
]

END, INTERRUPT = "\x04", "\x03"
SLEEPS = "@@worldline-sleeps-%g@@"
HIDDEN = "@@worldline-hidden@@"
"""Left where what is typed next is not shown."""
UNSURE = "@@worldline-unsure@@"
"""Left where from here on what is shown is only a guess."""
_MOST_SLEEPS, _MOST_SECONDS = 3000, 900.0
"""A script that sleeps longer is not followed any further."""

_leave = os._exit
waiter: list[Callable[[], None]] = []
"""Sends what was written so far; set where the streams are a terminal."""


def on_terminal() -> bool:
    """Whether the streams are a terminal."""
    return bool(waiter)


def wait() -> NoReturn:
    """End the run: the script waits for what was not typed yet."""
    waiter[0]()
    _leave(0)


handlers: dict[int, Any] = {}
"""What a script does at signals, by number."""


def interrupted(*, asleep: bool = False) -> None:
    """C-c came: the script's own handler is called, or the usual exception raised."""
    handler = handlers.get(2)
    if callable(handler):
        handler(2, None)
        abstain("what goes on after a handler of signals")
    stop = KeyboardInterrupt()
    if asleep:
        stop.asleep = True  # type: ignore[attr-defined]
    raise stop


_slept: list[float] = []
_interrupted: set[int] = set()
"""Numbers of the sleeps, from 1, in which C-c comes."""


def note_sleep(seconds: float) -> None:
    """Leave a mark where the script slept.

    Raises:
        KeyboardInterrupt: C-c came meanwhile.
    """
    if not waiter:
        return
    written.append((SLEEPS % seconds).encode())
    _slept.append(seconds)
    if len(_slept) in _interrupted:
        interrupted(asleep=True)
    if len(_slept) > _MOST_SLEEPS or sum(_slept) > _MOST_SECONDS:
        wait()


def note_hidden() -> None:
    """Leave a mark where what is typed next is not shown."""
    if waiter:
        written.append(HIDDEN.encode())


def note_unsure() -> None:
    """Leave a mark where what is shown becomes a guess."""
    if waiter:
        written.append(UNSURE.encode())


class _Lines(io.RawIOBase):
    """The terminal as a script reads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        lines = text.splitlines(keepends=True)
        for line in lines:
            if line.startswith(f"{INTERRUPT} "):
                _interrupted.add(int(line[2:]))
        self._events: Iterator[str] = iter([line for line in lines if not line.startswith(f"{INTERRUPT} ")])
        self._rest = b""

    def readable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            event = next(self._events, None)
            if event is None:
                wait()
            if event.rstrip("\n") == INTERRUPT:
                interrupted()
            if event.rstrip("\n") == END:
                return 0
            self._rest = event.encode("utf-8", "surrogateescape")
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


class TypedInput(TextInput):
    """Standard input at a terminal."""

    def __init__(self, text: str) -> None:
        io.TextIOWrapper.__init__(self, io.BufferedReader(_Lines(text)), "utf-8", "surrogateescape")

    def isatty(self) -> bool:
        return True


class TerminalOutput(TextOutput):
    """Standard output or error at a terminal: each line is shown when it is complete."""

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(name, limit)
        self.reconfigure(line_buffering=True)

    def isatty(self) -> bool:
        return True
