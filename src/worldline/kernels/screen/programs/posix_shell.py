"""`sh` typed at: dash runs again with all lines so far, and what is new is shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.domains.terminal.syntax import Fault, Incomplete, parse
from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import Tape

__all__ = ["PosixShell", "posix_shell"]

_GOES_ON = "@@worldline-goes-on@@"
_PROBE = f'\necho "{_GOES_ON}$?@"\n'
_READ = re.compile(
    r"\s*read(?:\s+-r)?(?:\s+-p\s+(?P<prompt>'[^']*'|\"[^\"$`\\]*\"|\w+))?(?P<names>(?:\s+[A-Za-z_]\w*)+)\s*\n"
)
_ANSWER = "/tmp/.worldline-answer"
_MISPLACED = re.compile(r"^(\S+): line \d+: syntax error near unexpected token `(.*)'\n", re.MULTILINE)
"""How the shell library tells of a syntax error, which has the words of bash."""
_TAKES_TERMINAL = re.compile(
    r"(?:^|[;&|(]\s*|\b(?:do|then)\s+)(?:vim?|view|nano|less|more|man|top|python3?|bc|sqlite3|bash|sh|dash|ed|select)\b|"
    r"(?:^|[;&(]\s*)(?:cat|sort|wc|grep \S+|tail|head|tr .*|tee .*)\s*(?:$|[;|&)])|&\s*$|\$\$|\bRANDOM\b",
    re.MULTILINE,
)
"""Commands that would read what is typed, or whose answer differs from run to run."""


@dataclass
class PosixShell:
    """A dash that reads lines; it edits none."""

    name: ClassVar[str] = "sh"
    silent: ClassVar[bool] = False
    tape: Tape
    prompt: str = "$ "
    pending: str = ""
    reading: str = ""
    """A `read` that waits for its line."""
    status: int = 0
    """Of the last command."""
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Show the prompt."""
        return Shown(self.prompt)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        if self.reading:
            line, self.reading = self.reading, ""
            answer = shlex.quote(text.removesuffix("\n"))
            plain = re.sub(r"-p\s+('[^']*'|\"[^\"]*\"|\w+)", "", line.strip())
            text = f"printf '%s\\n' {answer} >{_ANSWER}; {plain} <{_ANSWER}; rm -f {_ANSWER}\n\n"
        elif not self.pending and (asked := _READ.fullmatch(text)) is not None:
            self.reading = text
            return Shown((asked["prompt"] or "").strip("\"'"), unknown="; ".join(self.tape.doubts[:3]))
        self.pending += text
        try:
            parse(self.pending.removesuffix("\n"))
        except Incomplete:
            run = host.run(self.tape.command, stdin=self.tape.typed + self.pending, keep=False)
            if not _MISPLACED.search(run.text):
                return Shown("> ")
        except Fault:
            pass
        lines, self.pending = self.pending, ""
        if _TAKES_TERMINAL.search(lines) or ("worldline" not in lines and re.search(r"\bread\s", lines)):
            self.tape.doubts.append("a command in `sh` that may read the terminal")
        typed, before, spent = self.tape.typed + lines, self.tape.text, self.tape.seconds
        run = host.run(self.tape.command, stdin=typed + _PROBE, keep=False)
        if not run.known:
            self.tape.doubts += [doubt for doubt in run.why.split("; ") if not doubt.startswith("the order in which")]
        seen, goes_on, status = run.text.partition(_GOES_ON)
        if not seen.startswith(before):
            self.tape.doubts.append("what it writes changes with what it reads later")
        new, seconds = seen[len(before) :], max(run.seconds - spent, 0.0)
        unknown = "; ".join(self.tape.doubts[:3])
        if goes_on:
            self.tape.typed, self.tape.text, self.tape.seconds = typed, seen, run.seconds
            self.status = int(status.partition("@")[0])
            return Shown(new + self.prompt, seconds=seconds, unknown=unknown)
        fault = _MISPLACED.search(new)
        if fault is not None:
            # Typed at, it goes on after an error that ends a script.
            number = self.tape.typed.count("\n") + 1
            said = f'{new[: fault.start()]}{fault[1]}: {number}: Syntax error: "{fault[2]}" unexpected\n'
            self.tape.typed += "(exit 2)" + "\n" * lines.count("\n")
            return Shown(said + self.prompt, unknown=unknown or "the wording of a syntax error")
        self.tape.typed = typed
        return self._leave(new, host)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d."""
        return self._leave("\n", host)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c, which gives up the line."""
        self.pending = self.reading = ""
        return Shown(f"\n{self.prompt}", unknown="; ".join(self.tape.doubts[:3]))

    def _leave(self, text: str, host: Host) -> Shown:
        run = self.tape.run(host, self.tape.typed, keep=True)
        return Shown(text, ended=True, status=run.status, unknown="; ".join(self.tape.doubts[:3]))


def posix_shell(words: Sequence[str]) -> Program | None:
    """Build the program for `sh` or `dash` without a script."""
    if any(isinstance(word, Operator) for word in words) or set(words[1:]) - {"-i"}:
        return None
    return PosixShell(Tape(words[0]))
