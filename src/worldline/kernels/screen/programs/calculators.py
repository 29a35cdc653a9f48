"""`bc` at the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import Tape, command_line

__all__ = ["Calculator", "bc_program"]

_BANNER = (
    "bc 1.07.1\n"
    "Copyright 1991-1994, 1997, 1998, 2000, 2004, 2006, 2008, 2012-2017 Free Software Foundation, Inc.\n"
    "This is free software with ABSOLUTELY NO WARRANTY.\n"
    "For details type `warranty'. \n"
)
_PROBE = "worldline-goes-on"
_LITERAL = re.compile(r'"[^"]*"|/\*.*?\*/|#[^\n]*', re.DOTALL)


@dataclass
class Calculator:
    """`bc`: each line is answered at once, without a prompt."""

    name: ClassVar[str] = "bc"
    silent: ClassVar[bool] = False
    tape: Tape
    quiet: bool
    raw: bool = False
    readline: bool = True

    def start(self, host: Host) -> Shown:
        """Begin, with the banner unless it is quiet."""
        run = self.tape.run(host, "")
        if run.text and run.status:
            return Shown(run.text, ended=True, status=run.status, unknown="" if run.known else run.why)
        self.tape.text = run.text
        return Shown(run.text if self.quiet else _BANNER + run.text, unknown="" if run.known else run.why)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        if not self._outside(text) or text.endswith("\\\n"):
            self.tape.typed += text  # nothing is executed before the brace closes
            return Shown()
        shown = self.tape.feed(host, text)
        if "syntax error" in shown.text:
            self._forget(text, host)
        if self._quits(text, host):
            return Shown(shown.text, ended=True, unknown=shown.unknown)
        return shown

    def _forget(self, line: str, host: Host) -> None:
        """Take back a line that bc threw away; it only counts."""
        self.tape.typed = self.tape.typed.removesuffix(line) + "\n"
        self.tape.text, self.tape.out = self.tape.run(host, self.tape.typed).text, None

    def _quits(self, line: str, host: Host) -> bool:
        """Whether that line ended it: `quit` wherever it is read, `halt` where it is executed."""
        if "quit" not in line and "halt" not in line:
            return False
        if re.search(r"(?<!\w)quit(?!\w)", _LITERAL.sub("", line)) and self._outside():
            return True
        probe = f'"{_PROBE}"\n'
        return self._outside() and _PROBE not in self.tape.run(host, self.tape.typed + probe).text

    def _outside(self, line: str = "") -> bool:
        """Whether what was typed so far, and a line, leave no quote, comment or brace open."""
        bare = _LITERAL.sub("", self.tape.typed + line)
        return '"' not in bare and "/*" not in bare and bare.count("{") == bare.count("}")

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d."""
        return Shown("\n", ended=True)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c, which it only remarks on."""
        return Shown("\n(interrupt) use quit to exit.\n")


def bc_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `bc` and its files."""
    if any(isinstance(word, Operator) for word in words) or {"-h", "--help", "-v", "--version"} & set(words):
        return None
    options = [word for word in words[1:] if word.startswith("-")]
    quiet = any(word == "--quiet" or (not word.startswith("--") and "q" in word) for word in options)
    return Calculator(Tape(command_line(words)), quiet)
