"""The lines that a command of vim names before its own name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.screen.programs.vim_pattern import regex_of
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["Lines", "read_address", "read_lines"]

_BASE = re.compile(r"\s*(\d+|\.|\$|'.|/(?:\\.|[^/\\])*/?|\?(?:\\.|[^?\\])*\??)?")
_STEP = re.compile(r"\s*([+-])\s*(\d*)")


@dataclass(frozen=True)
class Lines:
    """First and last line, from 0, and how many numbers were given."""

    first: int
    last: int
    given: int
    error: str = ""


def read_address(vim: VimView, line: str, here: int) -> tuple[int | None, str, str]:
    """Read one address; the line from 0 (None: there was none), the rest, and what is wrong."""
    match = _BASE.match(line)
    assert match is not None
    word, rest = match[1], line[match.end() :]
    place: int | None = None
    if word is not None:
        if word.isdigit():
            place = int(word) - 1
        elif word in ".$":
            place = here if word == "." else len(vim.text.lines) - 1
        elif word[0] == "'":
            found = _mark(vim, word[1])
            if found is None:
                return None, rest, "E20: Mark not set"
            place = found
        else:
            pattern = word[1:].removesuffix(word[0]) or vim.pattern
            found = _search(vim, pattern, word[0] == "?", here)
            if found is None:
                return None, rest, f"E486: Pattern not found: {pattern}"
            vim.pattern, vim.backward = pattern, word[0] == "?"
            place = found
    while step := _STEP.match(rest):
        place = (here if place is None else place) + int(step[2] or 1) * (1 if step[1] == "+" else -1)
        rest = rest[step.end() :]
    return place, rest, ""


def _mark(vim: VimView, name: str) -> int | None:
    if name in "<>" and vim.last_visual is not None:
        rows = sorted((vim.last_visual[1][0], vim.last_visual[2][0]))
        return rows[0] if name == "<" else rows[1]
    place = vim.marks.get(name)
    return place[0] if place else None


def _search(vim: VimView, pattern: str, backward: bool, here: int) -> int | None:
    regex = regex_of(pattern)
    if regex is None:
        vim.doubt = vim.doubt or "a pattern in vim"
        return None
    found = [y for y, line in enumerate(vim.text.lines) if regex.search(line)]
    if not found:
        return None
    if backward:
        return next((y for y in reversed(found) if y < here), found[-1])
    return next((y for y in found if y > here), found[0])


def read_lines(vim: VimView, line: str) -> tuple[Lines, str]:
    """Read the lines that a command names; the rest is the command."""
    here = vim.text.y
    line = line.lstrip(" :")
    if line.startswith("%"):
        return Lines(0, len(vim.text.lines) - 1, 2), line[1:].lstrip()
    if line.startswith("*"):
        line = "'<,'>" + line[1:]
    places: list[int] = []
    while True:
        place, line, error = read_address(vim, line, here)
        if error:
            return Lines(0, 0, 0, error), ""
        line = line.lstrip()
        goes_on = line[:1] in (",", ";") and bool(line)
        if place is not None or goes_on or places:
            places.append(here if place is None else place)
        if not goes_on:
            break
        if line[0] == ";":
            here = places[-1]
        line = line[1:]
    if not places:
        return Lines(vim.text.y, vim.text.y, 0), line.lstrip()
    first, last = places[-2] if len(places) > 1 else places[-1], places[-1]
    return Lines(first, last, min(len(places), 2)), line.lstrip()
