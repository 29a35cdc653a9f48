"""`mapfile` at the terminal: lines up to C-d become an array of the shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import command_line

__all__ = ["Gathering", "gather_program"]

_MARK = "END_OF_TYPED_LINES"


@dataclass
class Gathering:
    """It reads until the end of the input."""

    name: ClassVar[str] = "mapfile"
    silent: ClassVar[bool] = False
    command: str
    lines: list[str] = field(default_factory=list)
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Wait."""
        return Shown()

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        self.lines.append(text)
        return Shown()

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d."""
        typed = "".join(self.lines)
        source = f"<<'{_MARK}'\n{typed}{_MARK}" if typed else "</dev/null"
        run = host.run(f"{self.command} {source}")
        return Shown(run.text, ended=True, status=run.status, unknown="" if run.known else run.why)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c."""
        return Shown(ended=True, status=130)


def gather_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `mapfile` without a redirection."""
    if any(isinstance(word, Operator) for word in words) or any(word.startswith(("-u", "-C")) for word in words):
        return None
    return Gathering(command_line(words))
