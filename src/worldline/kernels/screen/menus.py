"""`select` at the terminal: its menu, and the answer to it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.domains.terminal.ps1 import width
from worldline.kernels.screen.programs.base import Host, Shown

__all__ = ["Menu", "laid_out"]

_END = "END_OF_TYPED_LINE"


def laid_out(items: Sequence[str], columns: int) -> str:
    """The menu as bash lays it out, downwards in columns that tabs and blanks set apart."""
    if not items:
        return "\n"
    digits = len(str(len(items)))
    widest = max(map(width, items)) + digits + 4
    across = max(1, columns // widest)
    down = -(-len(items) // across)
    across = -(-len(items) // down)
    if down == 1:
        down, across = across, 1
    lines = []
    for row in range(down):
        line, place = "", 0
        for index in range(row, len(items), down):
            number = f"{index + 1:>{len(str(down)) if place == 0 else digits}d}) "
            line += number + items[index]
            if index + down >= len(items):
                break
            line += _gap(place + len(number) + width(items[index]), place + widest)
            place += widest
        lines.append(f"{line}\n")
    return "".join(lines)


def _gap(here: int, there: int) -> str:
    out = ""
    while here < there:
        if there // 8 > here // 8:
            out, here = f"{out}\t", here + 8 - here % 8
        else:
            out, here = f"{out} ", here + 1
    return out


@dataclass
class Menu:
    """A `select` that waits for an answer."""

    name: ClassVar[str] = "select"
    silent: ClassVar[bool] = False
    variable: str
    items: tuple[str, ...]
    prompt: str
    listed: bool = False
    """The menu stands there already; only the question is asked."""
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Show the menu, and ask."""
        return Shown(("" if self.listed else laid_out(self.items, host.columns)) + self.prompt)

    def feed(self, text: str, host: Host) -> Shown:
        """Take an answer; an empty one brings the menu again."""
        answer = text.removesuffix("\n")
        if not answer.strip():
            return Shown(laid_out(self.items, host.columns) + self.prompt)
        number = int(answer) if re.fullmatch(r"\s*\d+\s*", answer) else 0
        value = self.items[number - 1] if 0 < number <= len(self.items) else ""
        run = host.run(f"read -r REPLY <<'{_END}'\n{answer}\n{_END}\n{self.variable}={shlex.quote(value)}")
        return Shown(run.text, ended=True, status=0, unknown="" if run.known else run.why)

    def end_of_input(self, host: Host) -> Shown:
        """C-d leaves the menu."""
        return Shown("\n", ended=True, status=1)

    def interrupt(self, host: Host) -> Shown:
        """C-c ends it."""
        return Shown(ended=True, status=130)
