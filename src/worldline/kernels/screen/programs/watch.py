"""`watch`: a command again and again on the second screen."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.rows import Layout, lay_out

__all__ = ["Watch", "watch_program"]


@dataclass
class Watch:
    """It draws anew whenever its interval is over."""

    name: ClassVar[str] = "watch"
    silent: ClassVar[bool] = True
    command: str
    interval: float
    title: bool = True
    wraps: bool = True
    begun: float = 0.0
    times: int = 0
    """How often the interval was over."""
    doubt: str = ""
    raw: bool = True
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Run the command for the first time."""
        self.begun = host.moment
        return Shown("\x1b[?1049h" + self._draw(host), unknown=self.doubt)

    def feed(self, text: str, host: Host) -> Shown:
        """Take keys: only C-c ends it."""
        if "\x03" in text:
            return Shown("\x1b[?1049l", ended=True, unknown=self.doubt)
        return Shown(unknown=self.doubt)

    def end_of_input(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def interrupt(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def tick(self, seconds: int, host: Host) -> str:
        """What is drawn once time has passed."""
        # each round takes a little longer than the interval
        times = int((host.moment - self.begun - 0.02) / self.interval)
        if times <= self.times:
            return ""
        self.times = times
        return self._draw(host)

    def _draw(self, host: Host) -> str:
        run = host.run(f"sh -c {shlex.quote(self.command)} 2>&1 | cat")
        if not run.known:
            self.doubt = run.why
        room = host.lines - (2 if self.title else 0)
        rows = [row.text[: host.columns] for row in lay_out(run.text.replace("\r", ""), Layout(host.columns))]
        if not self.wraps:
            rows = [line[: host.columns] for line in run.text.expandtabs().split("\n")]
        head = [self._title(host), ""] if self.title else []
        shown = [*head, *rows[:room]]
        body = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(shown, 1) if row)
        return f"\x1b[H\x1b[2J{body}\x1b[{host.lines};{host.columns}H"

    def _title(self, host: Host) -> str:
        begun = int(self.begun + self.times * self.interval + 1e-6)
        back = host.now - begun
        date = f"date -d '{back} seconds ago' '+%a %b %e %H:%M:%S %Y'" if back else "date '+%a %b %e %H:%M:%S %Y'"
        run = host.run(f'printf "%s: %s" "$(hostname)" "$({date})"', keep=False)
        if not run.known:
            self.doubt = run.why
        left = f"Every {self.interval:.1f}s: {self.command}"
        if len(left) + 1 + len(run.text) > host.columns:
            left = f"{left[: host.columns - len(run.text) - 4]}..."
        return f"{left:<{host.columns - len(run.text)}}{run.text}"


def watch_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `watch` and its command."""
    if any(isinstance(word, Operator) for word in words):
        return None
    rest, found = list(words[1:]), Watch("", 2.0)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        value = re.fullmatch(r"(?:-n|--interval=)(\d*\.?\d+)", word)
        if word in ("-n", "--interval") and rest and re.fullmatch(r"\d*\.?\d+", rest[0]):
            found.interval = max(float(rest.pop(0)), 0.1)
        elif value is not None:
            found.interval = max(float(value[1]), 0.1)
        elif re.fullmatch(r"-[tdcpwx]+", word) or word in ("--no-title", "--differences", "--color", "--no-wrap"):
            found.title = found.title and not ("t" in word if word[1] != "-" else word == "--no-title")
            found.wraps = found.wraps and not (word == "--no-wrap" or (word[1] != "-" and "w" in word))
        else:
            return None
    if not rest:
        return None
    found.command = " ".join(rest)
    return found
