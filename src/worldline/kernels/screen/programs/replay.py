"""Interactive programs by replay: the program runs again with all lines so far, and what is new is shown.

The runs are trials; the last one is kept, so that files are written once. This is right for programs whose output is a
function of what they have read.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.kernels.screen.programs.base import Host, Operator, Run, Shown

__all__ = ["Tape", "command_line", "split_pipes"]


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
        doubt = "" if run.known else run.why
        if run.text.startswith(self.text) and self.out is None:
            new = run.text[len(self.text) :]
        else:
            new = self._apart(host, before, typed)
            doubt = doubt or ("" if self.out is not None else "what it writes changes with what it reads later")
        self.text = run.text
        seconds, self.seconds = max(run.seconds - self.seconds, 0.0), max(run.seconds, self.seconds)
        if doubt:
            self.doubts.append(doubt)
        return Shown(new, status=run.status, seconds=seconds, unknown=doubt or (self.doubts[0] if self.doubts else ""))

    def _apart(self, host: Host, before: str, typed: str) -> str:
        """What is new on each stream; errors are written at once, so they come first."""
        if self.out is None:
            self.out, self.err = self._streams(host, before)
        out, err = self._streams(host, typed)
        assert self.err is not None
        if not (out.startswith(self.out) and err.startswith(self.err)):
            self.out = self.err = None
            return ""
        new = err[len(self.err) :] + out[len(self.out) :]
        self.out, self.err = out, err
        return new

    def _streams(self, host: Host, typed: str) -> tuple[str, str]:
        out = host.run(f"{{ {self.command}; }} 2>/dev/null", stdin=typed, keep=False)
        err = host.run(f"{{ {self.command}; }} 2>&1 >/dev/null", stdin=typed, keep=False)
        return out.text, err.text
