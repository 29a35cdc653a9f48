"""`sqlite3` at the terminal."""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import Tape, command_line

__all__ = ["Database", "sqlite_program"]

_PROMPT, _MORE = "sqlite> ", "   ...> "
_BANNER = 'SQLite version 3.40.1 2022-12-28 14:03:47\nEnter ".help" for usage hints.\n'
_IN_MEMORY = 'Connected to a transient in-memory database.\nUse ".open FILENAME" to reopen on a persistent database.\n'
_PLACE = re.compile(r"^(Parse error|Runtime error) near line \d+: ", re.MULTILINE)
"""What errors say of their place where the input is no terminal."""
_COMMENT = re.compile(r"--[^\n]*\n|/\*.*?\*/", re.DOTALL)
_VALUED = frozenset(("-cmd", "-init", "-separator", "-nullvalue", "-newline", "-vfs"))


@dataclass
class Database:
    """The shell of SQLite: a prompt, statements over several lines, commands that begin with a dot."""

    name: ClassVar[str] = "sqlite3"
    silent: ClassVar[bool] = False
    tape: Tape
    in_memory: bool
    pending: str = ""
    """The statement that is not complete yet."""
    raw: bool = False
    readline: bool = True

    def start(self, host: Host) -> Shown:
        """Begin with the banner."""
        run = self.tape.run(host, "")
        doubt = "" if run.known else run.why
        if run.status and run.text:
            return Shown(run.text, ended=True, status=run.status, unknown=doubt)
        self.tape.text = run.text
        return Shown(_BANNER + (_IN_MEMORY if self.in_memory else "") + run.text + _PROMPT, unknown=doubt)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        if not self.pending.strip() and text.startswith("."):
            return self._dot(text, host)
        if not self.pending.strip() and (not text.strip() or text.startswith("#")):
            self.tape.typed += text
            return Shown(_PROMPT)
        self.pending += text
        if not _COMMENT.sub("", self.pending).strip():
            self.tape.typed, self.pending = self.tape.typed + "\n" * self.pending.count("\n"), ""
            return Shown(_PROMPT)
        if not (sqlite3.complete_statement(self.pending) or _ends(self.pending)):
            return Shown(_MORE)
        typed = self.tape.typed + self.pending
        self.pending = ""
        return self._answer(host, typed)

    def _answer(self, host: Host, typed: str) -> Shown:
        shown = self.tape.advance(host, typed)
        return Shown(_PLACE.sub(r"\1: ", shown.text) + _PROMPT, unknown=shown.unknown)

    def _dot(self, text: str, host: Host) -> Shown:
        words = text[1:].split()
        if words and words[0] in ("quit", "q", "exit"):
            return self._leave(host, self.tape.typed + text, "")
        if words and words[0] in ("output", "once", "excel", "log", "trace", "prompt", "shell", "system", "cd"):
            shown = self._answer(host, self.tape.typed + text)
            return Shown(shown.text, unknown=shown.unknown or f"the command .{words[0]} at the terminal")
        return self._answer(host, self.tape.typed + text)

    def _leave(self, host: Host, typed: str, before: str) -> Shown:
        shown = self.tape.advance(host, typed, keep=True)
        text = before + _PLACE.sub(r"\1: ", shown.text)
        return Shown(text, ended=True, status=shown.status if ".exit" in typed else 0, unknown=shown.unknown)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d; what is pending is run as it is."""
        return self._leave(host, self.tape.typed + self.pending, "\n\n")

    def interrupt(self, host: Host) -> Shown:
        """Take C-c, which readline keeps to itself."""
        return Shown(unknown="C-c at the prompt of sqlite3")


def _ends(text: str) -> bool:
    """Whether the last line alone says `go` or `/`, which end a statement too."""
    last = text.rstrip().rpartition("\n")[2].strip().lower()
    return last in ("go", "/") and "\n" in text.strip()


def sqlite_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `sqlite3` without SQL on its command line."""
    if any(isinstance(word, Operator) for word in words):
        return None
    operands, skip = [], False
    for word in words[1:]:
        if skip:
            skip = False
        elif re.sub("^--", "-", word) in _VALUED:
            skip = True
        elif not word.startswith("-"):
            operands.append(word)
        elif re.sub("^--", "-", word) in ("-help", "-version", "-batch"):
            return None
    if len(operands) > 1:
        return None
    file = operands[0] if operands else ""
    return Database(Tape(command_line(words) if operands else shlex.join([*words, ":memory:"])), not file)
