"""Tab at the shell's prompt: completing file names as readline does."""

from __future__ import annotations

import re
import shlex

from worldline.domains.terminal.ps1 import width
from worldline.kernels.screen.host import Executor
from worldline.kernels.screen.lines import LineEditor
from worldline.kernels.shell.programs import provided
from worldline.kernels.shell.script import KEYWORDS, SHELL_BUILTINS

__all__ = ["complete"]

_BREAKS = " \t\n\"'@><=;|&(:"
_SPECIAL = re.compile(r"([ \t\n\\\"'`@$><=;|&({*?\[\]#!])")
_VARIABLES = ("BASH", "BASH_VERSION", "HOME", "HOSTNAME", "LOGNAME", "PATH", "PWD", "OLDPWD", "SHELL", "USER", "UID")
"""Of those that every shell has, the ones that are typed most."""
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
    if re.fullmatch(r"\$\w+", word):
        return _variable(editor, executor, word[1:])
    if quoted or "$" in word or "`" in word:
        return None
    if _COMMAND_FOLLOWS.search(before[:start]) and "/" not in word and not word.startswith("~"):
        return _command(editor, executor, word)
    folder, slash, base = word.rpartition("/")
    names = _names(folder + slash, executor)
    if names is None:
        return None
    return _chosen(editor, sorted(name for name in names if name.startswith(base)), base)


def _variable(editor: LineEditor, executor: Executor, base: str) -> str | None:
    """Complete the name of a variable; one that names a directory gets a slash."""
    run = executor.execute(f"compgen -v {base}; echo", keep=False)
    found = sorted({*run.text.split(), *(name for name in _VARIABLES if name.startswith(base))})
    found = [name for name in found if name.startswith(base)]
    if len(found) != 1:
        return None
    value = executor.shell.variable(found[0]) or ""
    place = executor.execute(f"test -d {shlex.quote(value)}", keep=False)
    executor.doubted = "completing a variable"
    return _typed(editor, found[0][len(base) :] + ("/" if value and not place.status else " "))


def _command(editor: LineEditor, executor: Executor, base: str) -> str | None:
    """Complete the name of a command; the machine may have programs that the world does not name."""
    shell = executor.shell
    programs, _ = provided(shell.state.packages)
    inside = {name for name, folder in programs.items() if folder != "/usr/sbin"}
    known = SHELL_BUILTINS | KEYWORDS | inside | shell.settled.functions.keys() | shell.aliases().keys()
    found = sorted(name for name in known if name.startswith(base))
    executor.doubted = "completing the name of a command"
    return _chosen(editor, found, base)


def _typed(editor: LineEditor, rest: str) -> str:
    editor.tabbed = False
    return "".join(editor.key(letter, []) for letter in rest)


def _chosen(editor: LineEditor, found: list[str], base: str) -> str | None:
    """Insert what all choices have in common, or list them."""
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
