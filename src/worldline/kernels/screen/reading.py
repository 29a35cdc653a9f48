"""`read` at the terminal, which turns a typed line into variables."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
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
    seconds: float | None = None
    """It waits no longer than this."""
    count: int = 0
    """It ends after so many letters, without Enter (`-n`); 0: at the end of the line."""
    typed: str = ""
    """Letters taken so far, where it takes letters."""
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
                elif letter in ("p", "a", "t", "n", "N"):
                    if not letters and not rest:
                        return None
                    word, letters = (letters, "") if letters else (rest.pop(0), "")
                    if letter == "p":
                        found.prompt = word
                    elif letter == "t":
                        if re.fullmatch(r"\d+\.?\d*|\.\d+", word) is None or float(word) == 0:
                            return None
                        found.seconds = float(word)
                    elif letter in "nN":
                        if not word.isdigit() or word == "0":
                            return None
                        found.count, found.raw = int(word), True
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
        """Take a line, or a letter."""
        if self.raw:
            return self._letter(text, host)
        if not self.literal and text.endswith("\\\n"):
            self.joined += text
            return Shown("> ", echo=not self.hidden)
        return self._end(self.joined + text, host)

    def _end(self, text: str, host: Host) -> Shown:
        mark = "END_OF_TYPED_LINE"
        run = host.run(f"read {shlex.join(self.words)} <<'{mark}'\n{text.removesuffix(chr(10))}\n{mark}")
        return Shown(run.text, ended=True, status=run.status, unknown="" if run.known else run.why)

    def _letter(self, key: str, host: Host) -> Shown:
        if key == "\x03":
            return Shown("^C\n", ended=True, status=130)
        if key in ("\r", "\n"):
            shown = self._end(self.typed, host)
            return replace(shown, text=("" if self.hidden else "\n") + shown.text)
        if len(key) != 1 or key < " " or key == "\x7f":
            return Shown(unknown="a key that `read` takes by itself")
        self.typed += key
        echo = "" if self.hidden else key
        if len(self.typed) < self.count:
            return Shown(echo, echo=not self.hidden)
        shown = self._end(self.typed, host)
        return replace(shown, text=echo + shown.text)

    def expire(self, host: Host) -> Shown:
        """The time is over: the variables become empty, the status says so."""
        host.run(f"read {shlex.join(self.words)} < /dev/null")
        return Shown(ended=True, status=142)

    def end_of_input(self, host: Host) -> Shown:
        """Nothing was typed: the variables become empty, the status 1."""
        run = host.run(f"read {shlex.join(self.words)} < /dev/null")
        return Shown(run.text, ended=True, status=1, unknown="" if run.known else run.why)

    def interrupt(self, host: Host) -> Shown:
        """C-c ends it."""
        return Shown(ended=True, status=130)
