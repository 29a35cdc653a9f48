"""What the commands of vim work on: words, quoted parts, brackets, paragraphs, and what a motion goes over."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.screen.programs.vim_text import VimText

__all__ = ["OBJECTS", "Span", "matching", "object_span", "paragraph", "sentence"]

_PAIRS = {"(": "()", ")": "()", "b": "()", "[": "[]", "]": "[]", "{": "{}", "}": "{}", "B": "{}", "<": "<>", ">": "<>"}
OBJECTS = "wWsp\"'`()[]{}<>bBt"
"""Letters that name an object after `i` or `a`."""


@dataclass(frozen=True)
class Span:
    """A stretch of text; the end is behind its last character."""

    start: tuple[int, int]
    end: tuple[int, int]
    lines: bool = False
    """Whole lines, from that of the start to that of the end."""


def object_span(text: VimText, letters: str, count: int) -> Span | None:
    """The object that `letters` (`iw`, `a(`, ...) names at the cursor; None where there is none."""
    around, name = letters[0] == "a", letters[1]
    if name in "wW":
        return _word(text, around, name == "W", count)
    if name in "\"'`":
        return _quoted(text, around, name)
    if name in _PAIRS:
        return _bracketed(text, around, _PAIRS[name])
    if name == "p":
        return _paragraph_object(text, around, count)
    return None


def _word(text: VimText, around: bool, big: bool, count: int) -> Span | None:
    line, x = text.line, text.x
    kinds = text.classes(text.y, big)
    if not kinds:
        return Span((text.y, 0), (text.y, 0))
    start = end = x
    while start and kinds[start - 1] == kinds[x]:
        start -= 1
    for number in range(count):
        if end >= len(kinds):
            return None
        kind = kinds[end]
        while end < len(kinds) and kinds[end] == kind:
            end += 1
        if around:
            other = end
            while other < len(kinds) and (kinds[other] == 0) == (kind != 0) and (kind or kinds[other] == kinds[end]):
                other += 1
            if other == end and number == 0 and kind:
                while start and line[start - 1] in " \t":
                    start -= 1
            end = other
    return Span((text.y, start), (text.y, end))


def _quoted(text: VimText, around: bool, mark: str) -> Span | None:
    line = text.line
    places = [x for x, char in enumerate(line) if char == mark and (x == 0 or line[x - 1] != "\\")]
    pairs = list(zip(places[::2], places[1::2], strict=False))
    pair = next(((a, b) for a, b in pairs if a <= text.x <= b or text.x < a), None)
    if pair is None:
        return None
    start, end = pair
    if not around:
        return Span((text.y, start + 1), (text.y, end))
    end += 1
    blanks = len(line[end:]) - len(line[end:].lstrip(" \t"))
    if blanks:
        end += blanks
    else:
        start = len(line[:start].rstrip(" \t"))
    return Span((text.y, start), (text.y, end))


def _bracketed(text: VimText, around: bool, pair: str) -> Span | None:
    start = (text.y, text.x)
    if text.line[text.x : text.x + 1] == pair[1]:
        found = matching(text, start)
        if found is None:
            return None
        start = found
    elif text.line[text.x : text.x + 1] != pair[0]:
        depth, y, x = 1, text.y, text.x - 1
        while True:
            while x >= 0 and depth:
                char = text.lines[y][x]
                depth += (char == pair[1]) - (char == pair[0])
                x -= 1
            if not depth:
                start = (y, x + 1)
                break
            if not y:
                return None
            y -= 1
            x = len(text.lines[y]) - 1
    end = matching(text, start)
    if end is None:
        return None
    if around:
        return Span(start, (end[0], end[1] + 1))
    if start[0] != end[0] and not text.lines[start[0]][start[1] + 1 :].strip():
        inner_end = end[0] - 1 if not text.lines[end[0]][: end[1]].strip() else end[0]
        if inner_end < end[0] and inner_end > start[0]:
            return Span((start[0] + 1, 0), (inner_end, 0), True)
    return Span((start[0], start[1] + 1), end)


def matching(text: VimText, place: tuple[int, int]) -> tuple[int, int] | None:
    """The bracket that belongs to the one at a place."""
    y, x = place
    here = text.lines[y][x : x + 1]
    if not here or here not in "()[]{}<>":
        return None
    forward = here in "([{<"
    other = {"(": ")", ")": "(", "[": "]", "]": "[", "{": "}", "}": "{", "<": ">", ">": "<"}[here]
    depth, step = 0, 1 if forward else -1
    while 0 <= y < len(text.lines):
        line = text.lines[y]
        while 0 <= x < len(line):
            depth += (line[x] == here) - (line[x] == other)
            if not depth:
                return y, x
            x += step
        y += step
        if 0 <= y < len(text.lines):
            x = 0 if forward else len(text.lines[y]) - 1
    return None


def paragraph(text: VimText, step: int) -> None:
    """Move to the next empty line, or the end of the text, in a direction."""
    y = text.y
    while 0 <= y + step < len(text.lines) and not text.lines[y]:
        y += step
    while 0 <= y + step < len(text.lines) and text.lines[y]:
        y += step
    text.y = y
    at_end = step > 0 and y == len(text.lines) - 1 and text.lines[y]
    text.x = max(len(text.lines[y]) - 1, 0) if at_end else 0


def sentence(text: VimText, step: int) -> bool:
    """Move to the next start of a sentence in a direction; false where that is not simple."""
    starts: list[tuple[int, int]] = []
    fresh = True
    for y, line in enumerate(text.lines):
        if not line:
            if not starts or text.lines[starts[-1][0]]:
                starts.append((y, 0))
            fresh = True
            continue
        for match in re.finditer(r"\S", line) if fresh else []:
            starts.append((y, match.start()))
            break
        fresh = False
        for match in re.finditer(r"[.!?][)\]\"']*(?:\s+(?=\S)|$)", line):
            if match.end() < len(line):
                starts.append((y, match.end()))
            else:
                fresh = True
    here = (text.y, text.x)
    found = [place for place in starts if place > here] if step > 0 else [p for p in reversed(starts) if p < here]
    if found:
        text.y, text.x = found[0]
    elif step > 0:
        text.y, text.x = len(text.lines) - 1, max(len(text.lines[-1]) - 1, 0)
    else:
        text.y, text.x = 0, 0
    return True


def _paragraph_object(text: VimText, around: bool, count: int) -> Span | None:
    def blank(y: int) -> bool:
        return not text.lines[y].strip()

    first = last = text.y
    kind = blank(first)
    while first and blank(first - 1) == kind:
        first -= 1
    for number in range(count):
        if number:
            last += 1
        if last >= len(text.lines):
            return None
        kind = blank(last)
        while last + 1 < len(text.lines) and blank(last + 1) == kind:
            last += 1
        if around:
            if last + 1 < len(text.lines):
                last += 1
                while last + 1 < len(text.lines) and blank(last + 1) != kind:
                    last += 1
            else:
                while first and blank(first - 1) != kind:
                    first -= 1
    return Span((first, 0), (last, 0), True)
