"""Telling test runs, whose outcome only reality knows, from other commands; and the few outcomes that follow."""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from worldline.kernels.repository.tree import Tree

__all__ = ["TestRun", "foreseen", "test_run"]

_HARMLESS = frozenset(["cd", "tail", "head", "grep", "cat", "wc", "echo", "true", "false", "export", "sort", "uniq"])
_PARTS = re.compile(r"\|\||&&|;|\n|\|")
_WRITES = re.compile(r"open\(|write|unlink|remove\(|rename|mkdir|rmtree|shutil|subprocess|os\.system|touch|dump\(")
_PYTHON = re.compile(r"(?:/usr/bin/)?python(?:3(?:\.\d+)?)?")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_ASKING = frozenset({"--version", "--help", "-V", "-h"})
_PIP = frozenset({"list", "show", "freeze", "check"})

Reader = Callable[[str], str | None]
"""Text of a file by the path a command names; None where it is not known."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """A command that runs tests or other code, and writes nothing that a tool would show."""

    __test__ = False  # the test runner collects classes of this name

    kind: str
    """`pytest`, `unittest`, `python` (some code) or `program` (asks a program about itself)."""


def test_run(command: str, read: Reader) -> TestRun | None:
    """Read a command; None where it does anything beside running tests, code that only reads, and filters."""
    kind = ""
    plain = re.sub(r"2>&1|2>/dev/null|>/dev/null", "", command)
    if re.search(r"[<>`]|\$\(|&(?!&)", _QUOTED.sub("", plain.replace("&&", ";"))):
        return None
    for part in _split(plain):
        words = _words(part)
        if words is None:
            return None
        if not words or words[0] in _HARMLESS:
            continue
        found = _kind(words, read)
        if found is None:
            return None
        kind = found if kind in ("", "python", "program") else kind
    return TestRun(kind) if kind else None


test_run.__test__ = False  # type: ignore[attr-defined]


def _words(part: str) -> list[str] | None:
    """Words of a simple command, without what is set for it alone; None where its quotes do not match."""
    try:
        words = shlex.split(part)
    except ValueError:
        return None
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words.pop(0)
    return words[2:] if words[:1] == ["timeout"] else words


def _split(command: str) -> list[str]:
    """Parts between the shell's operators that stand outside of quotes."""
    masked = _QUOTED.sub(lambda found: "q" * len(found[0]), command)
    places = [(0, 0), *[found.span() for found in _PARTS.finditer(masked)], (len(command), len(command))]
    return [command[left[1] : right[0]] for left, right in itertools.pairwise(places)]


def _kind(words: list[str], read: Reader) -> str | None:
    if words[0] in ("pytest", "py.test"):
        return "pytest"
    if len(words) == 2 and words[1] in _ASKING:
        return "program"
    if words[0] in ("pip", "pip3"):
        return "program" if words[1:2] and words[1] in _PIP else None
    if not _PYTHON.fullmatch(words[0]):
        return None
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
    if rest[:1] == ["-m"] and len(rest) > 1:
        return rest[1] if rest[1] in ("pytest", "unittest") else _kind(rest[1:], read) if len(rest) > 2 else None
    if rest[:1] == ["-c"]:
        return "python" if rest[1:] and not _WRITES.search(rest[1]) else None
    text = read(rest[0]) if rest else None
    return "python" if text is not None and not _WRITES.search(text) else None


# --- outcomes that follow from the files alone

_PYTEST = re.compile(
    r"\s*(?:python3? -m pytest|pytest)((?: +[^\s|;&<>]+| +'[^']*')*)\s*(2>&1)?\s*(?:\|\s*(tail|head) -n? ?(\d+)\s*)?"
)
_PLAIN_OPTION = re.compile(r"-x|-q|--tb=\w+|-r\w+|-s|-l")
_SETTINGS = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def foreseen(command: str, tree: Tree, directory: str) -> tuple[str, int] | None:
    """Output and status of a quiet test run of files that are not there or hold nothing; None for any other run.

    Nothing is ever foreseen to pass.
    """
    found = _PYTEST.fullmatch(command)
    if found is None or any("addopts" in _text(tree, posixpath.join(tree.root, name)) for name in _SETTINGS):
        return None
    targets, quiet = _targets(shlex.split(found[1]))
    if not quiet or not targets:
        return None
    places = [posixpath.normpath(posixpath.join(directory, target.partition("::")[0])) for target in targets]
    missing = [target for target, place in zip(targets, places, strict=True) if tree.kind(place) is None]
    lines, status = ["", "no tests ran in 0.00s"], 5
    if missing:
        error = f"ERROR: file or directory not found: {missing[0]}"
        lines, status = [error, "", *lines], 4
    elif not all(tree.kind(place) == "file" and _says_nothing(_text(tree, place)) for place in places):
        return None
    if found[3] is None:
        return "\n".join(lines), status
    if found[2] is None:
        return None  # what is an error passes by the filter, and who comes first is chance
    count = int(found[4])
    return "\n".join(lines[-count:] if found[3] == "tail" else lines[:count]), 0


def _targets(words: list[str]) -> tuple[list[str], bool]:
    """The files of a test run and whether it is quiet; no files where an option is not known."""
    options = [word for word in words if word.startswith("-")]
    if not all(_PLAIN_OPTION.fullmatch(word) for word in options):
        return [], False
    return [word for word in words if not word.startswith("-")], options.count("-q") == 1


def _says_nothing(text: str) -> bool:
    return all(not line.strip() or line.startswith("#") for line in text.split("\n"))


def _text(tree: Tree, path: str) -> str:
    """Text of a file; empty where there is none."""
    try:
        return tree.read(path).decode("utf-8", "replace")
    except OSError:
        return ""
