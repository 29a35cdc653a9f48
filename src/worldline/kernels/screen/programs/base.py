"""What a program is that owns the terminal for a while: a REPL, a pager, an editor, a script that reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

__all__ = ["Host", "Program", "Run", "Shown", "Starter"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a program writes to the terminal in answer to a key or a line."""

    text: str = ""
    """As the program writes it: `\\n` for a new line (the terminal makes CR LF of it), escape sequences as they are."""
    ended: bool = False
    """The program has given the terminal back."""
    status: int = 0
    """Its exit status, once it ended."""
    seconds: float = 0.0
    """Virtual time it took before the text appears."""
    unknown: str = ""
    """Why the text is only a guess; empty where it is known."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a command answered that a program had the shell kernel run."""

    text: str
    """Both streams, merged in order."""
    status: int
    known: bool
    why: str
    classes: tuple[str, ...] = ()


class Host(Protocol):
    """What a program may ask of the terminal it runs in."""

    columns: int
    lines: int
    cwd: str

    def run(self, command: str) -> Run:
        """Run a shell command on the session's state, its effects included."""

    def read(self, path: str) -> bytes:
        """Read a file, a relative path being taken from `cwd`.

        Raises:
            OSError: It is missing, a directory or forbidden, with the errno of reality.
            Unknown: Its content is not known.
        """

    def write(self, path: str, data: bytes) -> None:
        """Write a file as the session's user, with the mode a new file gets.

        Raises:
            OSError: It may not be written, with the errno of reality.
            Unknown: It is not known whether it may.
        """


class Program(Protocol):
    """A program in the foreground.

    Its attributes are plain data (numbers, texts, lists, dicts, frozen dataclasses of those), so that a state can be
    copied by `copy.deepcopy` and written down; the host is handed in with each call and never kept.
    """

    name: ClassVar[str]
    raw: bool
    """It reads single keys and echoes them itself (readline, curses). Otherwise the terminal edits and echoes lines."""

    def start(self, host: Host) -> Shown:
        """Begin; called once."""

    def feed(self, text: str, host: Host) -> Shown:
        """Take input: a key or several (`raw`), or one line with its newline."""

    def end_of_input(self, host: Host) -> Shown:
        """Take the end of the input (C-d on an empty line); not called for a `raw` program, which gets the key."""

    def interrupt(self, host: Host) -> Shown:
        """Take C-c; not called for a `raw` program, which gets the key. The terminal has shown `^C` already."""


Starter = Callable[[Sequence[str]], "Program | None"]
"""Builds the program for a simple command's words, or None where it would not take the terminal (`python3 x.py` that
never reads, `bc < file`)."""
