"""`rm -i`, `mv -i`, `cp -i`, `ln -i` at the terminal: each question waits for a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Run, Shown

__all__ = ["Confirmation", "asks"]

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
