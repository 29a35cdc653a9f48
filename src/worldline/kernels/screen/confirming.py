"""`rm -i`, `mv -i`, `cp -i`, `ln -i` at the terminal: each question waits for a line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.host import Executor
from worldline.kernels.screen.programs.base import Host, Operator, Run, Shown

__all__ = ["Confirmation", "Removal", "asks", "protected"]

_NAMES = frozenset(("rm", "mv", "cp", "ln"))
_ASKING = re.compile(r"-[a-zA-Z]*[iI][a-zA-Z]*$|--interactive")
_QUESTION = re.compile(r"(?:rm|mv|cp|ln): [^\n?]*\? ")


def asks(words: Sequence[str]) -> bool:
    """Whether a command may ask before it does something."""
    if not words or words[0] not in _NAMES or any(isinstance(word, Operator) for word in words):
        return False
    return any(_ASKING.match(word) for word in words[1:])


def _doubt(run: Run) -> str:
    """Why what it wrote is not known; that it writes one stream only settles every order."""
    doubts = [] if run.known else [doubt for doubt in run.why.split("; ") if not doubt.startswith("the order in which")]
    return "; ".join(doubts)


@dataclass
class Confirmation:
    """A command that asks; it runs again with each further answer, and for good with the last."""

    name: ClassVar[str] = "question"
    silent: ClassVar[bool] = False
    command: str
    answers: list[str] = field(default_factory=list)
    shown: int = 0
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Ask the first question, if there is one."""
        return self._go_on(host)

    def feed(self, text: str, host: Host) -> Shown:
        """Take an answer."""
        self.answers.append(text)
        return self._go_on(host)

    def end_of_input(self, host: Host) -> Shown:
        """No more answers: all that is left is not done."""
        run = host.run(self.command, stdin="".join(self.answers))
        return Shown(run.text[self.shown :], ended=True, status=run.status, unknown=_doubt(run))

    def interrupt(self, host: Host) -> Shown:
        """C-c: what was answered is done."""
        run = host.run(self.command, stdin="".join(self.answers))
        return Shown(ended=True, status=130, unknown=_doubt(run))

    def _go_on(self, host: Host) -> Shown:
        run = host.run(self.command, stdin="".join(self.answers), keep=False)
        unknown = _doubt(run)
        questions = list(_QUESTION.finditer(run.text))
        if len(questions) <= len(self.answers):
            return self.end_of_input(host)
        end = questions[len(self.answers)].end()
        text, self.shown = run.text[self.shown : end], end
        return Shown(text, unknown=unknown)


def protected(executor: Executor, words: Sequence[str], *, typed: bool = False) -> list[str]:
    """The files that `rm` asks about at a terminal since they may not be written.

    Args:
        executor: Runs commands.
        words: The command; one with options, or with redirections, is not gone into.
        typed: The words are still as they were typed.
    """
    if words[:1] != ("rm",) and words[:1] != ["rm"]:
        return []
    if len(words) < 2 or any(isinstance(word, Operator) or word.startswith("-") for word in words):
        return []
    names = " ".join(words[1:]) if typed else shlex.join(words[1:])
    test = f'for f in {names}; do [ -f "$f" ] && [ ! -w "$f" ] && printf "%s\\n" "$f"; done'
    return executor.execute(test, keep=False).text.splitlines()


@dataclass
class Removal:
    """`rm` of files some of which are write-protected: it asks about those, and removes the others."""

    name: ClassVar[str] = "question"
    silent: ClassVar[bool] = False
    guarded: list[str]
    words: list[str]
    raw: bool = False
    readline: bool = False
    done: int = 1

    def start(self, host: Host) -> Shown:
        """Go on to the first question."""
        return self._go_on(host, "")

    def feed(self, text: str, host: Host) -> Shown:
        """Take an answer."""
        name, doubt, said = self.words[self.done], "", ""
        self.done += 1
        if text[:1] in ("y", "Y"):
            run = host.run(f"rm -f {shlex.quote(name)}")
            said, doubt = run.text, "" if run.known else run.why
        return self._go_on(host, said, doubt)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d: it stands for no."""
        return self.feed("\n", host)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c: nothing more is removed."""
        return Shown(ended=True, status=130)

    def _go_on(self, host: Host, said: str, doubt: str = "") -> Shown:
        status = 0
        while self.done < len(self.words):
            name = self.words[self.done]
            if name in self.guarded:
                empty = host.run(f"test -s {shlex.quote(name)}", keep=False).status
                kind = "regular empty file" if empty else "regular file"
                return Shown(f"{said}rm: remove write-protected {kind} {_quoted(name)}? ", unknown=doubt)
            run = host.run(f"rm {shlex.quote(name)}")
            said, status, doubt = said + run.text, max(status, run.status), doubt or ("" if run.known else run.why)
            self.done += 1
        return Shown(said, ended=True, status=status, unknown=doubt)


def _quoted(name: str) -> str:
    return f"'{name}'" if "'" not in name else f'"{name}"'
