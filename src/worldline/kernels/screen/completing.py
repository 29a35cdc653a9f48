"""Tab at the shell's prompt: completing file names as readline does."""

from __future__ import annotations

import re
import shlex

from worldline.domains.terminal.ps1 import width
from worldline.kernels.screen.host import Executor
from worldline.kernels.screen.lines import LineEditor

__all__ = ["complete"]

_BREAKS = " \t\n\"'@><=;|&(:"
_SPECIAL = re.compile(r"([ \t\n\\\"'`@$><=;|&({*?\[\]#!])")
_COMMAND_FOLLOWS = re.compile(r"(?:^|[;|&(]|\b(?:do|then|else|sudo|time|if|while|until))\s*$")


def complete(editor: LineEditor, executor: Executor) -> str | None:
    """Complete the word before the cursor; return what is written to the terminal, None where that is not known.

    Args:
        editor: Changed in place.
        executor: Lists directories.
    """
    before = editor.text[: editor.point]
    if not before.strip() and not editor.tabbed:
        editor.tabbed = True  # all commands there are, which have nothing in common
        return "\x07"
    start = len(before)
    while start and (before[start - 1] not in _BREAKS or before[start - 2 : start - 1] == "\\"):
        start -= 1
    word = re.sub(r"\\(.)", r"\1", before[start:])
    quoted = before[:start].count('"') % 2 or before[:start].count("'") % 2
    if quoted or "$" in word or "`" in word or (_COMMAND_FOLLOWS.search(before[:start]) and "/" not in word):
        return None
    folder, slash, base = word.rpartition("/")
    names = _names(folder + slash, executor)
    if names is None:
        return None
    found = sorted(name for name in names if name.startswith(base))
    if not found:
        editor.tabbed = True
        return "\x07"
    first, last = found[0], found[-1]
    same = next(
        (place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(min(first, last, key=len))
    )
    common = first[:same]
    whole = len(found) == 1
    rest = _SPECIAL.sub(r"\\\1", common)[len(_SPECIAL.sub(r"\\\1", base)) :]
    if whole and not common.endswith("/"):
        rest += " "
    if rest:
        editor.tabbed = False
        shown = "".join(editor.key(letter, []) for letter in rest)
        return shown + ("" if whole else "\x07")
    if not editor.tabbed:
        editor.tabbed = True
        return "\x07"
    if len(found) > 100:
        return None
    return editor.leave() + "\r\n" + _table(found, editor.columns) + editor.again()


def _names(folder: str, executor: Executor) -> list[str] | None:
    """Names in a directory, directories with a slash; None where they are not known."""
    home = re.match(r"~(?=/)", folder)
    place = ("~" + shlex.quote(folder[1:])) if home else shlex.quote(folder or ".")
    run = executor.execute(f"ls -1apN {place} | cat", keep=False)
    if not run.known:
        return None
    if run.status or run.text.startswith("ls: "):
        return []
    return [name for name in run.text.split("\n") if name and name not in ("./", "../")]


def _table(names: list[str], columns: int) -> str:
    """The choices in columns, as readline lays them out."""
    widest = max(map(width, names)) + 2
    across = max(1, columns // widest)
    if across != 1 and across * widest == columns:
        across -= 1
    down = -(-len(names) // across)
    lines = []
    for row in range(down):
        cells = names[row::down]
        lines.append("".join(name + " " * (widest - width(name)) for name in cells).rstrip() + "\r\n")
    return "".join(lines)
