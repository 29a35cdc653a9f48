"""Differences of a merge against both its parents at once (`diff --cc`), with git's rules on which hunks count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.git.linediff import line_changes, lines_of
from worldline.kernels.git.patch import PatchStyle, quoted

__all__ = ["combined_patch"]

_COMMENT = 40
_BOTH = 3


@dataclass(slots=True)
class _Lost:
    text: bytes
    parents: int
    """Bits of the parents that had the line."""


@dataclass(slots=True)
class _Line:
    """A line of the result, and what was lost before it; the last one stands for the end."""

    text: bytes = b""
    added: int = 0
    """Bits of the parents that do not have it."""
    lost: list[_Lost] = field(default_factory=list)
    marked: bool = False
    bare: bool = False
    """Shown only as context before a change, so that what was lost before it is not shown."""
    places: list[int] = field(default_factory=lambda: [0, 0])


def combined_patch(
    path: str,
    names: tuple[str, str, str],
    sides: tuple[bytes, bytes],
    result: bytes,
    style: PatchStyle,
    *,
    always: bool,
) -> bytes:
    """The patch of one file against two parents.

    Args:
        path: The file.
        names: Abbreviated names of both parents' versions and of the result.
        sides: The parents' versions.
        result: The result.
        style: How it looks.
        always: Whether the header is shown without hunks too (for the working tree).
    """
    lines = _lines(sides, result)
    _mark(lines, style.context)
    body = _hunks(lines)
    if not body and not always:
        return b""
    old, new = quoted(path, style.old_prefix), quoted(path, style.new_prefix)
    head = f"diff --cc {quoted(path)}\nindex {names[0]},{names[1]}..{names[2]}\n--- {old}\n+++ {new}\n"
    return head.encode("utf-8", "surrogateescape") + body


def _lines(sides: tuple[bytes, bytes], result: bytes) -> list[_Line]:
    lines = [_Line(text) for text in lines_of(result)] + [_Line()]
    texts = [line.text for line in lines[:-1]]
    for number, side in enumerate(sides):
        bit, old = 1 << number, lines_of(side)
        for change in line_changes(old, texts):
            gone = [text.removesuffix(b"\n") for text in old[change.old_start : change.old_end]]
            lines[change.new_start].lost = _joined(lines[change.new_start].lost, gone, bit)
            for index in range(change.new_start, change.new_end):
                lines[index].added |= bit
        place = 1
        for line in lines:
            line.places[number] = place
            place += sum(bool(lost.parents & bit) for lost in line.lost) + (not line.added & bit)
    return lines


def _joined(before: list[_Lost], gone: list[bytes], bit: int) -> list[_Lost]:
    """Join what another parent lost to what is noted; lines that both lost are noted once."""
    sizes = [[0] * (len(gone) + 1) for _ in range(len(before) + 1)]
    for i, lost in enumerate(before, 1):
        for j, text in enumerate(gone, 1):
            same = lost.text == text
            sizes[i][j] = sizes[i - 1][j - 1] + 1 if same else max(sizes[i][j - 1], sizes[i - 1][j])
    found: list[_Lost] = []
    i, j = len(before), len(gone)
    while i or j:
        if i and j and before[i - 1].text == gone[j - 1]:
            i, j = i - 1, j - 1
            found.append(_Lost(gone[j], before[i].parents | bit))
        elif j and (not i or sizes[i][j - 1] >= sizes[i - 1][j]):
            j -= 1
            found.append(_Lost(gone[j], bit))
        else:
            i -= 1
            found.append(before[i])
    return found[::-1]


def _tail(lines: list[_Line], begin: int, end: int) -> int:
    return end - 1 if begin + 1 <= end and not lines[end - 1].added else end


def _next(lines: list[_Line], start: int, marked: bool) -> int:
    while start < len(lines) and lines[start].marked != marked:
        start += 1
    return start


def _mark(lines: list[_Line], context: int) -> None:
    """Mark the lines to show: hunks in which the parents differ from the result in different ways."""
    for line in lines:
        line.marked = bool(line.added or line.lost)
    begin = _next(lines, 0, True)
    while begin < len(lines):
        end = _hunk_end(lines, begin, context)
        kinds = {line.added for line in lines[begin:end] if line.added}
        kinds |= {lost.parents for line in lines[begin:end] for lost in line.lost}
        if len(kinds) < 2 and kinds != {_BOTH}:
            for line in lines[begin:end]:
                line.marked = False
        begin = _next(lines, end, True)
    _give_context(lines, context)


def _hunk_end(lines: list[_Line], begin: int, context: int) -> int:
    end = begin + 1
    while end < len(lines):
        if not lines[end].marked:
            ahead = min(_tail(lines, begin, end) + context, len(lines))
            further = [index for index in range(end, ahead) if lines[index].marked]
            if not further:
                break
            end = further[-1]
        end += 1
    return min(end, len(lines))


def _give_context(lines: list[_Line], context: int) -> None:
    at = _next(lines, 0, True)
    while at < len(lines):
        for index in range(max(0, at - context), at):
            lines[index].bare = lines[index].bare or not lines[index].marked
            lines[index].marked = True
        while True:
            end = _next(lines, at, False)
            if end >= len(lines):
                return
            further = _next(lines, end, True)
            end = _tail(lines, at, end)
            if further >= end + context:
                break
            for index in range(end, further):
                lines[index].marked = True
            at = further
            if at >= len(lines):
                return
        for index in range(end, min(end + context, len(lines))):
            lines[index].marked = True
        at = further


def _comment(text: bytes) -> bytes:
    """What a hunk's header quotes of a line; as in git, its last letter is cut off."""
    part = text[:_COMMENT].split(b"\n")[0]
    end = len(part.rstrip()) - 1
    return b" " + part[:end] if end > 0 else b""


def _hunks(lines: list[_Line]) -> bytes:
    out: list[bytes] = []
    at = 0
    while True:
        comment = b""
        while at < len(lines) and not lines[at].marked:
            if re.match(rb"[A-Za-z_$]", lines[at].text):
                comment = lines[at].text
            at += 1
        if at >= len(lines):
            return b"".join(out)
        end = _next(lines, at + 1, False)
        count = end - at - (end >= len(lines))
        last = [lines[end].places[n] if end < len(lines) else _after(lines, n) for n in (0, 1)]
        spans = "".join(f" -{lines[at].places[n]},{last[n] - lines[at].places[n]}" for n in (0, 1))
        out.append(f"@@@{spans} +{at + 1},{count} @@@".encode() + _comment(comment) + b"\n")
        for index in range(at, end):
            line = lines[index]
            for lost in () if line.bare else line.lost:
                out.append(_shown(lost.parents, "-", lost.text))
            if index < len(lines) - 1:
                out.append(_shown(line.added, "+", line.text))
        at = end


def _after(lines: list[_Line], number: int) -> int:
    return lines[-1].places[number] + sum(bool(lost.parents & 1 << number) for lost in lines[-1].lost)


def _shown(bits: int, sign: str, text: bytes) -> bytes:
    prefix = "".join(sign if bits & 1 << number else " " for number in (0, 1)).encode()
    return prefix + text.removesuffix(b"\n") + b"\n"
