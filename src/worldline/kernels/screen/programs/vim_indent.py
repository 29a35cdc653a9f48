"""How vim indents new lines by the kind of the file, where that is simple: Python, comments of scripts, plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["WIDTH", "indent_again", "kind_of", "new_start"]

WIDTH = 4
"""Columns of one level of Python."""
_PLAIN = re.compile(r"(?:.*/)?(?:[^./]+|\.\w+)|.*\.(?:txt|log|csv|tsv|dat|out|text|md|markdown|conf|cfg)", re.DOTALL)
_PYTHON = re.compile(r".*\.py[w3]?")
_SHELL = re.compile(r".*\.(?:sh|bash)|(?:.*/)?\.(?:bashrc|bash_profile|profile)")
_INI = re.compile(r".*\.ini|(?:.*/)?(?:\.gitconfig|\.editorconfig|setup\.cfg)")
_MAKE = re.compile(r"(?:.*/)?(?:[Mm]akefile|GNUmakefile|Dockerfile)")
_CONF = re.compile(r".*\.conf", re.DOTALL)
_BARE = re.compile(r"(?:.*/)?[^./]+", re.DOTALL)
_STOPS = re.compile(r"(?:return|break|continue|raise|pass)\b")


def kind_of(path: str, first_line: str) -> str:
    """The kind of a file: `plain`, `python`, `shell`, `ini`, `conf` or `other`.

    Args:
        path: Its name.
        first_line: What it begins with, which counts for names without an ending.
    """
    if _MAKE.fullmatch(path):
        return "other"
    if _PYTHON.fullmatch(path) or (first_line.startswith("#!") and "python" in first_line):
        return "python"
    if _SHELL.fullmatch(path) or re.match(r"#!.*\b(?:ba|da)?sh\b", first_line):
        return "shell"
    if _INI.fullmatch(path):
        return "ini"
    if first_line and (_CONF.fullmatch(path) or (first_line.startswith("#") and _BARE.fullmatch(path))):
        return "conf"
    return "plain" if _PLAIN.fullmatch(path) else "other"


def new_start(kind: str, lines: Sequence[str], y: int) -> str | None:
    """What a new line begins with; None where that is not known.

    Args:
        kind: The kind of the file.
        lines: The text before the new line comes in.
        y: Index that the new line will have.
    """
    if kind == "plain":
        return ""
    if kind == "python":
        return _python(lines, y)
    before = lines[y - 1] if y else ""
    if kind == "ini":
        return None if re.match(r"[ \t]*[;#]", before) else ""
    comment = re.match(r"[ \t]*#[ \t]*", before)
    if kind in ("shell", "conf") and comment is not None:
        return comment[0]
    if kind == "conf":
        return ""
    return None if before.strip() or kind == "other" else ""


def _depth(line: str) -> int:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|#.*", "", line)
    return sum(char in "([{" for char in bare) - sum(char in ")]}" for char in bare)


def _python(lines: Sequence[str], y: int) -> str | None:
    above = next((index for index in range(min(y, len(lines)) - 1, -1, -1) if lines[index].strip()), None)
    if above is None:
        return ""
    line = lines[above]
    indent = len(line) - len(line.lstrip(" "))
    if "\t" in line[: len(line) - len(line.lstrip())] or '"""' in line:
        return None
    depth = _depth(line)
    if depth > 0:
        return " " * (indent + 2 * WIDTH)
    if depth < 0:
        # The statement began where its bracket was opened.
        while depth < 0 and above:
            above -= 1
            depth += _depth(lines[above])
        return " " * (len(lines[above]) - len(lines[above].lstrip(" ")))
    bare = re.sub(r"\s+#.*$", "", line).rstrip()
    if bare.endswith("\\"):
        return None
    if bare.endswith(":") and not bare.lstrip().startswith("#"):
        return " " * (indent + WIDTH)
    if _STOPS.match(bare.lstrip()):
        return " " * max(indent - WIDTH, 0)
    return " " * indent


def indent_again(kind: str, lines: Sequence[str], y: int, key: str) -> int | None:
    """The indent that a line gets after a key was typed in it; None where it stays.

    Args:
        kind: The kind of the file.
        lines: The text with the key in it.
        y: The line.
        key: What was typed.
    """
    line = lines[y]
    word = re.match(r" *(elif|else|except|finally)\b", line)
    if kind != "python" or word is None or not (key == ":" or line.strip() in ("elif", "except")):
        return None
    above = next((index for index in range(y - 1, -1, -1) if lines[index].strip()), None)
    if above is None:
        return None
    indent, before = len(line) - len(line.lstrip(" ")), len(lines[above]) - len(lines[above].lstrip(" "))
    if word[1] in ("elif", "else"):
        return None if indent <= before - WIDTH else max(before - WIDTH, 0)
    for index in range(above, -1, -1):
        if re.match(r" *(?:try|except)\b", lines[index]):
            found = len(lines[index]) - len(lines[index].lstrip(" "))
            if found <= indent:
                return found
    return None
