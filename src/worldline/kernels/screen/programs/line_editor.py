"""`ed` at the terminal: lines of commands and of text, answered at once."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import Tape, command_line
from worldline.kernels.shell.builtins.text.ed_command import AT_TERMINAL, READS_ON

__all__ = ["LineEd", "ed_program"]


@dataclass
class LineEd:
    """The editor; it runs again on all lines so far, and for good with the last."""

    name: ClassVar[str] = "ed"
    silent: ClassVar[bool] = False
    tape: Tape
    raw: bool = False
    readline: bool = False
    warned: bool = False
    """C-d was answered with a warning."""

    def start(self, host: Host) -> Shown:
        """Tell the size of the file."""
        return self._answer(self.tape.feed(host, ""), host)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        self.warned = False
        return self._answer(self.tape.feed(host, text), host)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d, which is answered as `q` is."""
        if self.warned:
            return self.feed("Q\n", host)
        shown = self.feed("q\n", host)
        self.warned = not shown.ended
        return shown

    def interrupt(self, host: Host) -> Shown:
        """Take C-c, which only gives up the line."""
        return Shown("\n?\n", unknown="; ".join(self.tape.doubts[:3]))

    def _answer(self, shown: Shown, host: Host) -> Shown:
        if shown.status == READS_ON:
            return shown
        run = self.tape.run(host, self.tape.typed, keep=True)
        return Shown(shown.text, ended=True, status=run.status, unknown=shown.unknown)


def ed_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `ed` and its file."""
    options = [word for word in words[1:] if word.startswith("-")]
    if any(isinstance(word, Operator) for word in words) or set(options) - {"-s", "-", "-p", "--quiet", "--silent"}:
        return None
    place, name = posixpath.split(words[0])
    return LineEd(Tape(f"{AT_TERMINAL}=1 {command_line([posixpath.join(place, name), *words[1:]])}"))
