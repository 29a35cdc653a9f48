"""What can be told from a screen that was not foreseen: the cursor, the status of commands, files that are in doubt."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from worldline.kernels.screen.host import Ran
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["confirmed", "read_column", "suspected", "written_by"]

_RUNNERS = frozenset({"bash", "sh", "dash", "python3", "python", "perl", "awk", "source", "."})
_ASKING = re.compile(r"[:>?$#\])]$")
"""Ends a question; a blank follows, which the screen does not show."""
_BARE = re.compile(r"(?<![\w./~-])[\w-]{3,}(?![\w./-])")
"""A word of an answer, or a file in the working directory."""
_WRITTEN = re.compile(r"(?:>\s*[\"']?|[\"'])([\w./~-]+\.\w+)")
"""A file that a script names so that it may write it."""
_NAMED = re.compile(r"(?:>|\b(?:w|wq|x|tee|save|write|open|saveas|output|o))\s*$")
"""Stands before the name of a file that is written."""


def confirmed(one: Ran, outputs: Mapping[str, str]) -> bool:
    """Whether what the screen shows of a command is what was foreseen, though it was only a guess."""
    seen = outputs.get(one.command.strip())
    return seen is not None and seen == _shown(one.text)


def _shown(text: str) -> str:
    """A text as the rows of a screen show it."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def read_column(row: str, was: str, column: int) -> int:
    """Where the cursor stands in the last row of a program that reads lines.

    Args:
        row: As it was seen.
        was: As it was foreseen.
        column: Of the cursor, as foreseen.
    """
    blank = column - len(was)
    if blank > 0 and was:
        return len(row) + blank
    return len(row) + (row != was and _ASKING.search(row) is not None)


def written_by(command: str, shell: ShellKernel) -> str:
    """The words of a command that may name files it writes: a script writes what it names, but not itself."""
    words = command.split()
    if not words:
        return ""
    script = words[0]
    if script.rpartition("/")[2] in _RUNNERS:
        script = next((word for word in words[1:] if not word.startswith("-")), "")
    try:
        source = shell.read_file(script).decode("utf-8", "replace") if script else ""
    except (OSError, Unknown):
        source = ""
    return " ".join([*(word for word in words[1:] if word != script), *_WRITTEN.findall(source)])


def suspected(text: str, shell: ShellKernel) -> str:
    """Leave out words of answers that name no file: those that are there, or are written to, stay."""
    table, cwd = shell.settled.table, shell.settled.cwd

    def kept(found: re.Match[str]) -> str:
        path = posixpath.join(cwd, found[0])
        return found[0] if path in table.nodes or _NAMED.search(text, 0, found.start()) else " "

    return _BARE.sub(kept, text)
