"""Python at the terminal: scripts that read, and Python's own prompt.

The Python kernel knows terminals: it runs with the lines so far and stops where it would wait for another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Run, Shown
from worldline.kernels.screen.programs.replay import SLEEPS, command_line, timed
from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.shell.builtins.system.python import TERMINAL, WAITING

__all__ = ["PythonPrompt", "PythonScreen", "python_program", "reads_in_python", "script_program"]

_READS = re.compile(
    r"(?<![\w.])input\b(?!\s*=[^=])|\bsys\.stdin\b|\bfrom sys import\b[^\n]*\bstdin\b|\bgetpass\b|\bcmd\.Cmd\b|"
    r"\bfileinput\b|open\(0|/dev/(?:stdin|tty)|\bsleep\s*\(|\bimport (?:cmd|readline)\b"
)
_IMPORTS = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)
_BANNER = (
    "Python 3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0] on linux\n"
    'Type "help", "copyright", "credits" or "license" for more information.\n'
)
_END, _INTERRUPT = "\x04\n", "\x03\n"
_HIDDEN, _UNSURE = "@@worldline-hidden@@", "@@worldline-unsure@@"
_VARIES = "the output shows what differs between runs"
_ADDRESS = re.compile(r"(?<= at 0x)[0-9a-f]{6,}")
_EDITS = re.compile(r"^\s*(?:import|from)\s+(?:cmd|readline)\b", re.MULTILINE)
"""A script that imports these has its lines edited."""


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
    forgets: ClassVar[bool] = False
    """A doubt is of account for the lines that it brings only."""
    command: str
    typed: str = ""
    text: str = ""
    silent: bool = False
    pending: int = 0
    """Sleeps that were told of last."""
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
        text = _ADDRESS.sub(lambda found: "f" * len(found[0]), text)
        same = text.startswith(self.text)
        new, self.text = text[len(self.text) if same else 0 :], text
        if not same:
            self.doubts.append("what it writes changes with what it reads later")
        if not run.known and not (run.why.endswith(_VARIES) and not _ADDRESS.search(new)):
            self.doubts.append(run.why)
        if _UNSURE in new:
            self.doubts.append("a statement of which it is not known what it does")
        hidden = new.endswith(_HIDDEN)
        first, later = timed(new.replace(_HIDDEN, "").replace(_UNSURE, ""))
        self.pending = len(later)
        if not waiting:
            self._run(host, keep=True)
        doubt = "; ".join(dict.fromkeys(self.doubts[:3]))
        if self.forgets:
            self.doubts.clear()
        return Shown(first, ended=not waiting, status=run.status, later=later, echo=not hidden, unknown=doubt)

    def interrupt_sleep(self, left: int, host: Host) -> Shown:
        """Take C-c while it sleeps.

        Args:
            left: How many of the sleeps that it told of are not over.
            host: The terminal.
        """
        marks = [mark.end() for mark in SLEEPS.finditer(self.text)]
        number = len(marks) - left + 1
        self.typed += f"\x03 {number}\n"
        self.text = self.text[: marks[number - 1]]
        return self._go_on(host)

    def _run(self, host: Host, *, keep: bool) -> Run:
        return host.run(self.command, stdin=TERMINAL + self.typed, keep=keep)


@dataclass
class PythonPrompt(PythonScreen):
    """Python's prompt."""

    name: ClassVar[str] = "python3"
    forgets: ClassVar[bool] = True
    silent: bool = True
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
    rest, quiet, stays = list(words[1:]), False, False
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "-c", "-m"):
        if not re.fullmatch(r"-[bBEIqsSuOi]+", rest[0]):
            return None
        quiet, stays = quiet or "q" in rest[0], stays or "i" in rest[0]
        rest.pop(0)
    if not rest:
        return PythonPrompt(command_line(words), quiet=quiet)
    if stays:
        return PythonPrompt(command_line(words), quiet=True) if rest[0] != "-m" else None
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
    if not reads_in_python(source, host):
        return None
    edits = _EDITS.search(source) is not None
    return PythonScreen(command_line(words), silent=edits, readline=edits)
