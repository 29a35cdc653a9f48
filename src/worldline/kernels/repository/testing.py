"""Telling test runs, whose outcome only reality knows, from other commands."""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import dataclass

__all__ = ["TestRun", "test_run"]

_HARMLESS = frozenset(
    {"cd", "tail", "head", "grep", "cat", "wc", "echo", "true", "false", "export", "sort", "uniq", "tee"}
)
_FILTERS = frozenset({"tail", "head", "grep", "cat", "wc", "sort", "uniq"})
_PARTS = re.compile(r"\|\||&&|;|\n|\|")
_WRITES = re.compile(r"open\(|write|unlink|remove|rename|mkdir|rmtree|shutil|subprocess|os\.system|touch")
_PYTHON = re.compile(r"(?:/usr/bin/)?python(?:3(?:\.\d+)?)?")


@dataclass(frozen=True, slots=True)
class TestRun:
    """A command that runs tests or other code of the repository, and writes nothing that a tool would show."""

    __test__ = False  # the test runner collects classes of this name

    kind: str
    """`pytest`, `unittest` or `python`."""


def test_run(command: str) -> TestRun | None:
    """Read a command; None where it does anything beside running tests, Python code that only reads, and filters."""
    kind = ""
    plain = re.sub(r"2>&1|2>/dev/null|>/dev/null", "", command)
    if re.search(r"[<>`]|\$\(|&(?!&)", re.sub(r"&&|'[^']*'|\"[^\"]*\"", "", plain)):
        return None
    for part in _split(plain):
        try:
            words = shlex.split(part)
        except ValueError:
            return None
        while words and re.fullmatch(r"\w+=.*", words[0]):
            words.pop(0)
        if words and words[0] == "timeout":
            words = words[2:]
        if not words or (words[0] in _HARMLESS and words[0] != "tee"):
            continue
        found = _kind(words)
        if found is None:
            return None
        kind = found if kind in ("", "python") else kind
    return TestRun(kind) if kind else None


test_run.__test__ = False  # type: ignore[attr-defined]


def _split(command: str) -> list[str]:
    """Parts between the shell's operators that stand outside of quotes."""
    masked = re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", lambda found: "q" * len(found[0]), command)
    places = [(0, 0), *[found.span() for found in _PARTS.finditer(masked)], (len(command), len(command))]
    return [command[left[1] : right[0]] for left, right in itertools.pairwise(places)]


def _kind(words: list[str]) -> str | None:
    if words[0] in ("pytest", "py.test"):
        return "pytest"
    if not _PYTHON.fullmatch(words[0]):
        return None
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        rest = rest[2:] if rest[0] in ("-W", "-X") else rest[1:]
    if rest[:1] == ["-m"] and rest[1:2] and rest[1] in ("pytest", "unittest"):
        return rest[1]
    if rest[:1] == ["-c"] and rest[1:] and not _WRITES.search(rest[1]):
        return "python"
    return None
