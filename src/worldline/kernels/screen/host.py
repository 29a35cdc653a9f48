"""What commands and programs of a terminal ask of the shell kernel behind it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from worldline.kernels.screen.programs.base import Operator, Run
from worldline.kernels.screen.state import State
from worldline.kernels.shell import ShellKernel
from worldline.types import Action

__all__ = ["Executor", "Ran", "TerminalHost"]

_EXPANDED = re.compile(r"[$`*?\[\]~{}\\'\"]")


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that the shell kernel ran in a turn."""

    command: str
    text: str
    known: bool
    why: str
    classes: tuple[str, ...]


class Executor:
    """Runs commands in the shell kernel at the terminal's present time.

    Args:
        shell: The shell and its files; every command it runs is accepted.
        state: The terminal.
    """

    def __init__(self, shell: ShellKernel, state: State) -> None:
        self.shell = shell
        self.state = state
        self.ran: list[Ran] = []
        self.exited = False
        """The last command ended its shell."""
        self.doubted = ""
        """Why what was found last may not be all there is."""

    def execute(self, command: str, *, keep: bool = True) -> Run:
        """Run a command, as a trial unless its effects are to be kept."""
        shell = self.shell
        shell.adjust(clock=shell.state.clock + timedelta(seconds=int(self.state.now + 1e-6)))
        vague = self.state.vague_status and "$?" in command
        if keep:
            self.state.vague_status = False
        proposal = shell.propose(Action(name="bash", arguments={"command": command}))
        details = proposal.details
        found = Run(
            proposal.observation.text,
            int(details.get("status", 2)),
            proposal.known and not vague,
            "the status of the last command" if vague else "" if proposal.known else proposal.why,
            proposal.classes,
            float(details.get("seconds", 0.0)),
            int(details.get("programs", 0)),
        )
        if not keep:
            shell.reject()
            return found
        shell.accept()
        self.place()
        self.ran.append(Ran(command, found.text, found.known, found.why, found.classes))
        if proposal.ended:
            self.exited = True
            shell.revive()
        return found

    def place(self) -> None:
        """Let the jobs know where the shell is."""
        home, cwd = self.shell.variable("HOME") or "", self.shell.settled.cwd
        inside = bool(home) and (cwd == home or cwd.startswith(f"{home}/"))
        self.state.jobs.here = f"~{cwd[len(home) :]}" if inside else cwd

    def with_pid(self, text: str) -> str:
        """Fill in `$!`."""
        text = text.replace("$-", "himBHs") if re.search(r"(?<![\\$])\$-", text) and "'" not in text else text
        if "$!" not in text:
            return text
        pid = self.state.jobs.last_pid
        return text.replace("$!", str(pid) if pid else "")

    def words(self, text: str) -> list[str] | None:
        """Expand words as the shell would; None where that is not known."""
        if not _EXPANDED.search(text):
            return text.split()
        if not re.search(r"[$`*?\[~{]", text):
            try:
                return shlex.split(text)
            except ValueError:
                return None
        run = self.execute(f"printf '%s\\n' x {self.with_pid(text)}", keep=False)
        if not run.known or run.status:
            return None
        return run.text.removesuffix("\n").split("\n")[1:]

    def expanded(self, tokens: Sequence[tuple[str, bool]]) -> list[str] | None:
        """Words and operators of a command, expanded; None where that is not known."""
        found: list[str] = []
        for token, operator in tokens:
            if operator:
                found.append(Operator(token))
                continue
            more = self.words(token)
            if more is None:
                return None
            found += more
        return found

    @property
    def host(self) -> TerminalHost:
        """What programs are given."""
        return TerminalHost(self)


class TerminalHost:
    """The terminal as a program sees it; satisfies :class:`~worldline.kernels.screen.programs.base.Host`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        display = executor.state.display
        self.columns: int = display.columns
        self.lines: int = display.lines
        self.row: int = display.row
        self.now: int = int(executor.state.now + 1e-6)
        self.moment: float = executor.state.now
        self.entries: int = executor.state.entries
        self.cwd: str = executor.shell.settled.cwd

    def read(self, path: str) -> bytes:
        """Read a file."""
        return self._executor.shell.read_file(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a file."""
        self._executor.shell.write_file(path, data)

    def run(self, command: str, *, stdin: str | None = None, keep: bool = True) -> Run:
        """Run a command, as a trial unless its effects are to be kept."""
        if stdin is not None:
            command = _with_input(command, stdin)
        return self._executor.execute(command, keep=keep)


def _with_input(command: str, stdin: str) -> str:
    """Let a command read a text."""
    if not stdin:
        return f"{{ {command}\n}} < /dev/null"
    quoted = "$'" + stdin.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return f"printf %s {quoted} | {{ {command}\n}}"
