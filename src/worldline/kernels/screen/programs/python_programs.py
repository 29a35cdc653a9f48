"""Python at the terminal: scripts that read, and Python's own prompt.

The Python kernel knows terminals: it runs with the lines so far and stops where it would wait for another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Run, Shown
from worldline.kernels.screen.programs.replay import command_line, timed
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.shell.builtins.system.python import TERMINAL, WAITING

__all__ = ["PythonPrompt", "PythonScreen", "python_program", "reads_in_python", "script_program"]

_READS = re.compile(r"(?<![\w.])input\s*\(|\bsys\.stdin\b|\bfrom sys import\b[^\n]*\bstdin\b|\bgetpass\b|\bcmd\.Cmd\b|"
                    r"\bfileinput\b|open\(0|/dev/(?:stdin|tty)|\bsleep\s*\(")  # fmt: skip
_IMPORTS = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)
_BANNER = (
    "Python 3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0] on linux\n"
    'Type "help", "copyright", "credits" or "license" for more information.\n'
)
_END, _INTERRUPT = "\x04\n", "\x03\n"


def reads_in_python(source: str, host: Host) -> bool:
    """Whether a script, or a module beside it that it imports, may read from the terminal."""
    if _READS.search(source):
        return True
    for name in _IMPORTS.findall(source):
        try:
            if _READS.search(host.read(f"{name}.py").decode("utf-8", "replace")):
                return True
        except (OSError, Unknown):
            continue  # no module of the script's own
    return False


@dataclass
class PythonScreen:
    """A Python script in the foreground."""

    name: ClassVar[str] = "python script"
    silent: ClassVar[bool] = False
    command: str
    typed: str = ""
    text: str = ""
    doubts: list[str] = field(default_factory=list)
    raw: bool = False
    readline: bool = False

    def start(self, host: Host) -> Shown:
        """Begin."""
        return self._go_on(host)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        self.typed += text
        return self._go_on(host)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d."""
        self.typed += _END
        return self._go_on(host)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c: `KeyboardInterrupt` where it waits."""
        self.typed += _INTERRUPT
        return self._go_on(host)

    def _go_on(self, host: Host) -> Shown:
        run = self._run(host, keep=False)
        text, waiting, _ = run.text.partition(WAITING)
        if not run.known:
            self.doubts.append(run.why)
        if not text.startswith(self.text):
            self.doubts.append("what it writes changes with what it reads later")
        new, self.text = text[len(self.text) :], text
        first, later = timed(new)
        if not waiting:
            self._run(host, keep=True)
        return Shown(
            first, ended=not waiting, status=run.status, later=later, unknown="; ".join(dict.fromkeys(self.doubts[:3]))
        )

    def _run(self, host: Host, *, keep: bool) -> Run:
        return host.run(self.command, stdin=TERMINAL + self.typed, keep=keep)


@dataclass
class PythonPrompt(PythonScreen):
    """Python's prompt."""

    name: ClassVar[str] = "python3"
    silent: ClassVar[bool] = True
    quiet: bool = False
    readline: bool = True

    def start(self, host: Host) -> Shown:
        """Begin, with the banner unless it is quiet; its text differs between builds."""
        shown = self._go_on(host)
        if self.quiet:
            return shown
        doubt = shown.unknown or "when this Python was built"
        return Shown(_BANNER + shown.text, ended=shown.ended, status=shown.status, unknown=doubt)


def python_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `python3`: its prompt, or a script that reads."""
    if any(isinstance(word, Operator) for word in words):
        return None
    rest, quiet = list(words[1:]), False
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "-c", "-m"):
        if not re.fullmatch(r"-[bBEIqsSuO]+", rest[0]):
            return None
        quiet = quiet or "q" in rest[0]
        rest.pop(0)
    if not rest:
        return PythonPrompt(command_line(words), quiet=quiet)
    if rest[0] == "-c" and len(rest) > 1:
        return PythonScreen(command_line(words)) if reads_in_python(rest[1], host) else None
    path = rest[0] if rest[0] != "-m" else f"{'/'.join(rest[1:2]).replace('.', '/')}.py"
    return script_program(words, path, host)


def script_program(words: Sequence[str], path: str, host: Host) -> Program | None:
    """Build the program for a Python script.

    Args:
        words: The command that runs it.
        path: The script.
        host: The terminal.
    """
    try:
        source = host.read(path).decode("utf-8", "replace")
    except (OSError, Unknown):
        return None  # the shell kernel says what is wrong
    return PythonScreen(command_line(words)) if reads_in_python(source, host) else None
