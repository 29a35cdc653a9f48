"""Shell commands of both families on the shell kernel: each in a fresh shell, the directory kept or given."""

from __future__ import annotations

import dataclasses
import posixpath
import re
import shlex
from dataclasses import dataclass

from worldline.kernels.base import Proposal
from worldline.kernels.repository.answer import shortened
from worldline.kernels.shell.kernel import ShellKernel
from worldline.types import Action, Observation, Turn

__all__ = [
    "Envelope",
    "RepositoryShell",
    "editor_text",
    "envelope_text",
    "read_editor",
    "read_envelope",
    "said",
    "within",
]

_PGID = 7
"""Stands for a process group that nobody can know."""
_OF_THE_SHELL = re.compile(
    r"(?<![\w-])(?:export|alias|unalias|set|shopt|unset|declare|typeset|readonly|source|\.|trap|exec|function|eval|read|"
    r"local|umask|ulimit|pushd|popd|for|while|getopts|mapfile|printf)(?![\w-])|\w=|\(\)|\$[({]|&\s*$"
)
"""What may leave something behind in a shell beside its directory."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What can be read off an answer to a shell command."""

    output: str
    status: int | None


_PYTHON = re.compile(r"(?:(?<=^)|(?<=[;&|(]\s)|(?<=[;&|(])|(?<=&&\s)|(?<=\bthen\s)|(?<=\bdo\s))python(?=\s|$)", re.M)
_NO_MODULE = re.compile(r"^(?:ModuleNotFoundError|ImportError): ", re.MULTILINE)
_PYTHON_SAID = re.compile(r"^python3: ", re.MULTILINE)


def bash(command: str) -> Action:
    """The command as the shell kernel takes it, to which `python` is `python3`."""
    return Action(name="bash", arguments={"command": _PYTHON.sub("python3", command)})


def said(command: str, output: str) -> str:
    """Output as the command that was given has it."""
    if not _PYTHON.search(command):
        return output
    return _PYTHON_SAID.sub("python: ", output).replace("/usr/bin/python3: ", "/usr/local/bin/python: ")


class RepositoryShell:
    """The shell kernel, brought to where a command is to run before each one.

    Args:
        kernel: The files and git live in it.
    """

    def __init__(self, kernel: ShellKernel) -> None:
        self.kernel = kernel
        self.plain: bytes | None = None
        """The shell as a fresh one is."""
        self.used = False
        """Whether a command may have left something in the shell."""

    def fork(self) -> RepositoryShell:
        """Return an independent copy."""
        twin = RepositoryShell(self.kernel.fork())
        twin.plain, twin.used = self.plain, self.used
        return twin

    def propose(self, command: str, directory: str) -> Proposal:
        """Run a command in a directory on a trial state."""
        self._ready(directory)
        found = self.kernel.propose(bash(command))
        if found.known and "python" in command and _NO_MODULE.search(found.observation.text):
            # where modules lie is a matter of settings that the Python kernel does not read
            return dataclasses.replace(found, known=False, why="it is not known whether there is such a module")
        return found

    def accept(self, command: str) -> None:
        """Make the trial the state; what the shell itself keeps is dropped before the next command."""
        self.kernel.accept()
        self.used = self.used or _OF_THE_SHELL.search(command) is not None

    def follow(self, command: str, seen: Envelope, directory: str) -> None:
        """Let the state follow an answer that was not ours."""
        self._ready(directory)
        status = seen.status if seen.status is not None else 0
        observation = Observation(
            text=seen.output + "\n" if seen.output else "", exit_code=status, is_error=status != 0
        )
        self.kernel.absorb(Turn(action=bash(command), observation=observation))
        self.used = True

    def show(self, path: str, content: bytes | None) -> None:
        """Believe what a file was seen to hold; None: that it is not there."""
        command = f"cat {shlex.quote(path)}"
        text = f"cat: {path}: No such file or directory\n"
        observation = (
            Observation(text=text, exit_code=1, is_error=True)
            if content is None
            else Observation.from_text(content, is_error=False).model_copy(update={"exit_code": 0})
        )
        self.kernel.absorb(Turn(action=bash(command), observation=observation))

    def _ready(self, directory: str) -> None:
        kernel = self.kernel
        kernel.reject()
        if kernel.settled.ended:
            kernel.revive()
            self.used = True
        if self.plain is None:
            self.plain = kernel.portray()
        if self.used:
            kernel.become(self.plain)
            self.used = False
        if kernel.settled.cwd != directory:
            kernel.propose(bash(f"cd {shlex.quote(directory)}"))
            kernel.accept()
        kernel.adjust(status=0)


# --- what the families show


def editor_text(output: str, status: int, note: str) -> tuple[str, bool]:
    """The answer of Bash and whether it is an error; `note` is what is said of the directory."""
    text = shortened(output.rstrip("\n")) + note
    if status:
        return f"Exit code {status}\n{text}".rstrip("\n"), True
    return text or "Tool ran without output", False


def read_editor(observation: Observation) -> Envelope:
    """Undo :func:`editor_text` as far as it goes."""
    text = re.sub(r"\n?Shell cwd was reset to [^\n]*\Z", "", observation.text)
    found = re.match(r"Exit code (\d+)(?:\n|\Z)", text)
    if found is not None:
        return Envelope(text[found.end() :], int(found[1]))
    return Envelope("" if text == "Tool ran without output" else text, 0)


def envelope_text(command: str, directory: str | None, output: str, status: int) -> tuple[str, bool]:
    """The answer of run_shell_command and whether it is an error."""
    lines = [
        f"Command: {command}",
        f"Directory: {directory or '(root)'}",
        f"Output: {shortened(output.rstrip(chr(10))) or '(empty)'}",
        "Error: (none)",
        f"Exit Code: {status}",
        "Signal: (none)",
        "Background PIDs: (none)",
        f"Process Group PGID: {_PGID}",
    ]
    return "\n".join(lines), status != 0


def read_envelope(observation: Observation) -> Envelope:
    """Undo :func:`envelope_text` as far as it goes."""
    found = re.search(
        r"^Output: (.*)\nError: [^\n]*\nExit Code: (\d+|\(none\))\nSignal: ", observation.text, re.DOTALL | re.MULTILINE
    )
    if found is None:
        return Envelope("", None)
    output = "" if found[1] == "(empty)" else found[1]
    return Envelope(output, int(found[2]) if found[2].isdigit() else None)


def within(root: str, directory: str) -> bool:
    """Whether a directory is the root or lies in it."""
    return posixpath.commonpath([root, directory]) == root
