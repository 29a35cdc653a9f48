"""`read` at the terminal, which turns a typed line into variables."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Shown

__all__ = ["ReadLine"]


@dataclass
class ReadLine:
    """A `read` that waits for a line."""

    name: ClassVar[str] = "read"
    silent: ClassVar[bool] = False
    words: list[str]
    """Options and variables, without `-p` and `-s`."""
    prompt: str = ""
    hidden: bool = False
    joined: str = ""
    """Lines that ended in a backslash."""
    literal: bool = False
    raw: bool = False
    readline: bool = False

    @classmethod
    def of(cls, words: list[str]) -> ReadLine | None:
        """Take a call of `read` apart; None for options that are not simulated."""
        kept: list[str] = []
        found = cls(kept)
        rest = list(words)
        while rest and rest[0].startswith("-") and len(rest[0]) > 1:
            letters, word = rest.pop(0)[1:], ""
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter == "r":
                    found.literal = True
                elif letter == "s":
                    found.hidden = True
                elif letter in ("p", "a"):
                    if not letters and not rest:
                        return None
                    word, letters = (letters, "") if letters else (rest.pop(0), "")
                    if letter == "p":
                        found.prompt = word
                    else:
                        kept += ["-a", word]
                elif letter == "e":
                    found.readline = True
                else:
                    return None
        kept += rest
        if found.literal:
            kept.insert(0, "-r")
        return found

    def start(self, host: Host) -> Shown:
        """Show the prompt."""
        return Shown(self.prompt, echo=not self.hidden)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        if not self.literal and text.endswith("\\\n"):
            self.joined += text
            return Shown("> ", echo=not self.hidden)
        return self._end(self.joined + text, host)

    def _end(self, text: str, host: Host) -> Shown:
        mark = "END_OF_TYPED_LINE"
        run = host.run(f"read {shlex.join(self.words)} <<'{mark}'\n{text.removesuffix(chr(10))}\n{mark}")
        return Shown(run.text, ended=True, status=run.status, unknown="" if run.known else run.why)

    def end_of_input(self, host: Host) -> Shown:
        """Nothing was typed: the variables become empty, the status 1."""
        run = host.run(f"read {shlex.join(self.words)} < /dev/null")
        return Shown(run.text, ended=True, status=1, unknown="" if run.known else run.why)

    def interrupt(self, host: Host) -> Shown:
        """C-c ends it."""
        return Shown(ended=True, status=130)
