"""Interactive programs by replay: the program runs again with all lines so far, and what is new is shown.

The runs are trials; the last one is kept, so that files are written once. This is right for programs whose output is a
function of what they have read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.kernels.screen.programs.base import Host, Operator, Run, Shown

__all__ = ["SLEEPS", "Tape", "command_line", "split_pipes", "timed"]

_ORDER = "the order in which"
"""How the shell kernel's doubts about merged streams begin."""


SLEEPS = re.compile(r"@@worldline-sleeps-([^@]*)@@")
"""What a script leaves in its output where it slept."""


def timed(text: str) -> tuple[str, tuple[tuple[float, str], ...]]:
    """Split an output at the marks where the script slept: what comes at once, and what comes later."""
    first, *rest = SLEEPS.split(text)
    later = [(_seconds(word), piece) for word, piece in zip(rest[::2], rest[1::2], strict=True)]
    return first, tuple(later)


def _seconds(word: str) -> float:
    match = re.fullmatch(r"(\d*\.?\d+)\.?([smhd]?)", word)
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]] if match else 0.0


def command_line(words: Sequence[str]) -> str:
    """Write a simple command or a pipe down again, quoted where it needs to be."""
    return " ".join(str(word) if isinstance(word, Operator) else shlex.quote(word) for word in words)


def split_pipes(words: Sequence[str]) -> list[list[str]]:
    """Split the words of a pipe into its commands."""
    parts: list[list[str]] = [[]]
    for word in words:
        if isinstance(word, Operator) and word in ("|", "|&"):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


@dataclass
class Tape:
    """What a command has read from the terminal, and what it has answered."""

    command: str
    typed: str = ""
    text: str = ""
    """Everything it wrote so far."""
    out: str | None = None
    """Its output stream alone, where the two streams had to be told apart."""
    err: str | None = None
    seconds: float = 0.0
    doubts: list[str] = field(default_factory=list)

    def run(self, host: Host, typed: str, *, keep: bool = False) -> Run:
        """Run the command on an input, as a trial unless it is to be kept."""
        return host.run(self.command, stdin=typed, keep=keep)

    def feed(self, host: Host, text: str) -> Shown:
        """Let the command read more; return what that adds."""
        return self.advance(host, self.typed + text)

    def advance(self, host: Host, typed: str, *, keep: bool = False) -> Shown:
        """Let the command have read `typed`, which begins with what it had read before."""
        before, self.typed = self.typed, typed
        run = self.run(host, typed, keep=keep)
        doubts = [] if run.known else run.why.split("; ")
        mixed = bool(doubts) and all(doubt.startswith(_ORDER) for doubt in doubts)
        if run.text.startswith(self.text) and self.out is None and not mixed:
            new = run.text[len(self.text) :]
        else:
            new, doubts = self._apart(host, before, typed)
        self.text = run.text
        seconds, self.seconds = max(run.seconds - self.seconds, 0.0), max(run.seconds, self.seconds)
        self.doubts += doubts
        return Shown(new, status=run.status, seconds=seconds, unknown="; ".join(self.doubts[:3]))

    def _apart(self, host: Host, before: str, typed: str) -> tuple[str, list[str]]:
        """What is new on each stream, and what is not known of it."""
        doubts: list[str] = []
        if self.out is None:
            self.out, self.err = self._streams(host, before, doubts)
        out, err = self._streams(host, typed, doubts)
        assert self.err is not None
        if not (out.startswith(self.out) and err.startswith(self.err)):
            self.out = self.err = None
            return "", [*doubts, "what it writes changes with what it reads later"]
        new_out, new_err = out[len(self.out) :], err[len(self.err) :]
        self.out, self.err = out, err
        if new_out and new_err:
            doubts.append(f"{_ORDER} it wrote to both streams")
        return new_err + new_out, doubts

    def _streams(self, host: Host, typed: str, doubts: list[str]) -> tuple[str, str]:
        found = []
        for redirect in ("2>/dev/null", "2>&1 >/dev/null"):
            run = host.run(f"{{ {self.command}; }} {redirect}", stdin=typed, keep=False)
            if not run.known:
                doubts += [doubt for doubt in run.why.split("; ") if not doubt.startswith(_ORDER)]
            found.append(run.text)
        return found[0], found[1]
