"""How changes are printed: normal, unified, context, side by side, ed script."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worldline.kernels.shell.builtins.text.counts import cell_width
from worldline.kernels.shell.builtins.text.differences import Change

__all__ = ["Layout", "Sides", "context", "ed", "normal", "side_by_side", "unified"]

_MISSING = b"\\ No newline at end of file\n"
_FUNCTION = re.compile(rb"[A-Za-z$_]")


@dataclass(frozen=True)
class Sides:
    """Two files as lines with their ends, and their headers."""

    old: list[bytes]
    new: list[bytes]
    old_label: str = ""
    new_label: str = ""
    show_function: bool = False


@dataclass(frozen=True)
class Layout:
    """Options of the side by side style."""

    width: int = 130
    left_column: bool = False
    suppress: bool = False
    expand: bool = False


def _line(prefix: bytes, line: bytes) -> bytes:
    return prefix + line if line.endswith(b"\n") else prefix + line + b"\n" + _MISSING


def _numbers(start: int, end: int) -> str:
    """A range as the normal style prints it, from half-open indexes."""
    return str(end) if end <= start + 1 else f"{start + 1},{end}"


def normal(sides: Sides, changes: Sequence[Change], *, tab: bytes = b" ") -> bytes:
    """Print `5c5` commands with `<` and `>` lines."""
    parts: list[bytes] = []
    for change in changes:
        letter = "c" if change.deleted and change.inserted else "d" if change.deleted else "a"
        old = _numbers(change.old_start, change.old_end) if change.deleted else str(change.old_start)
        new = _numbers(change.new_start, change.new_end) if change.inserted else str(change.new_start)
        parts.append(f"{old}{letter}{new}\n".encode())
        parts += [_line(b"<" + tab, line) for line in sides.old[change.old_start : change.old_end]]
        if letter == "c":
            parts.append(b"---\n")
        parts += [_line(b">" + tab, line) for line in sides.new[change.new_start : change.new_end]]
    return b"".join(parts)


def _hunks(changes: Sequence[Change], size: int) -> list[list[Change]]:
    """Group changes whose contexts touch."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * size:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _bounds(group: list[Change], size: int, sides: Sides) -> tuple[int, int, int, int]:
    return (
        max(0, group[0].old_start - size),
        min(len(sides.old), group[-1].old_end + size),
        max(0, group[0].new_start - size),
        min(len(sides.new), group[-1].new_end + size),
    )


def _function(sides: Sides, start: int) -> bytes:
    if not sides.show_function:
        return b""
    for line in reversed(sides.old[:start]):
        if _FUNCTION.match(line):
            return b" " + line.rstrip(b"\n")[:40].rstrip()
    return b""


def _unified_range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(end)
    return f"{start + 1 if count else start},{count}"


def unified(sides: Sides, changes: Sequence[Change], size: int) -> bytes:
    """Print hunks with `-` and `+` lines."""
    parts = [f"--- {sides.old_label}\n+++ {sides.new_label}\n".encode()]
    for group in _hunks(changes, size):
        old_start, old_end, new_start, new_end = _bounds(group, size, sides)
        head = f"@@ -{_unified_range(old_start, old_end)} +{_unified_range(new_start, new_end)} @@"
        parts.append(head.encode() + _function(sides, old_start) + b"\n")
        at = old_start
        for change in group:
            parts += [_line(b" ", line) for line in sides.old[at : change.old_start]]
            parts += [_line(b"-", line) for line in sides.old[change.old_start : change.old_end]]
            parts += [_line(b"+", line) for line in sides.new[change.new_start : change.new_end]]
            at = change.old_end
        parts += [_line(b" ", line) for line in sides.old[at:old_end]]
    return b"".join(parts)


def _context_range(start: int, end: int) -> str:
    return str(end) if end <= start + 1 else f"{start + 1},{end}"


def context(sides: Sides, changes: Sequence[Change], size: int) -> bytes:
    """Print hunks with both versions one after the other."""
    parts = [f"*** {sides.old_label}\n--- {sides.new_label}\n".encode()]
    for group in _hunks(changes, size):
        old_start, old_end, new_start, new_end = _bounds(group, size, sides)
        parts.append(b"***************" + _function(sides, old_start) + b"\n")
        parts.append(f"*** {_context_range(old_start, old_end)} ****\n".encode())
        if any(change.deleted for change in group):
            spans = [(c.old_start, c.old_end, b"! " if c.inserted else b"- ") for c in group]
            parts += _marked(sides.old, old_start, old_end, spans)
        parts.append(f"--- {_context_range(new_start, new_end)} ----\n".encode())
        if any(change.inserted for change in group):
            spans = [(c.new_start, c.new_end, b"! " if c.deleted else b"+ ") for c in group]
            parts += _marked(sides.new, new_start, new_end, spans)
    return b"".join(parts)


def _marked(lines: list[bytes], start: int, end: int, spans: list[tuple[int, int, bytes]]) -> list[bytes]:
    marks = {index: mark for low, high, mark in spans for index in range(low, high)}
    return [_line(marks.get(index, b"  "), lines[index]) for index in range(start, end)]


def ed(sides: Sides, changes: Sequence[Change]) -> bytes:
    """Print an ed script, last change first."""
    parts: list[bytes] = []
    for change in reversed(changes):
        letter = "c" if change.deleted and change.inserted else "d" if change.deleted else "a"
        place = _numbers(change.old_start, change.old_end) if change.deleted else str(change.old_start)
        parts.append(f"{place}{letter}\n".encode())
        if change.inserted:
            parts += [*sides.new[change.new_start : change.new_end], b".\n"]
    return b"".join(parts)


def _fill(column: int, target: int, expand: bool) -> bytes:
    text = b""
    if not expand:
        stop = column + 8 - column % 8
        while stop <= target:
            text += b"\t"
            column = stop
            stop += 8
    return text + b" " * (target - column)


def _half(line: bytes, indent: int, bound: int, expand: bool) -> tuple[bytes, int]:
    """As much of a line as fits, and the column reached; tabs go to the stops of the whole line."""
    result = b""
    column = reached = 0
    for char in line.rstrip(b"\n").decode("utf-8", "surrogateescape"):
        if char == "\t":
            stop = column + 8 - column % 8
            width = stop - column
            if column == reached:
                if expand:
                    limit = min(stop, bound)
                    result += b" " * (limit - reached)
                    reached = limit
                elif stop < bound:
                    reached = stop
                    result += b"\t"
                    if indent % 8:
                        result = result[:-1] + b" " * width
            column = stop
            continue
        column += cell_width(char) if char >= " " else 0
        if column <= bound:
            reached = column
            result += char.encode("utf-8", "surrogateescape")
    return result, reached


def side_by_side(sides: Sides, changes: Sequence[Change], layout: Layout) -> bytes:
    """Print both files in two columns."""
    step = 1 if layout.expand else 8
    offset = (layout.width + step + 3) // (2 * step) * step
    half = max(0, min(offset - 3, layout.width - offset))
    second = offset if half else layout.width

    def row(left: bytes | None, mark: str, right: bytes | None) -> bytes:
        text, column, ended = b"", 0, False
        if left is not None:
            ended = left.endswith(b"\n")
            text, column = _half(left, 0, half, layout.expand)
        if mark != " ":
            middle = (half + second - 1) // 2
            text += _fill(column, middle, layout.expand)
            column = middle + 1
            if mark == "|" and right is not None and ended != right.endswith(b"\n"):
                mark = "/" if ended else "\\"
            text += mark.encode()
        if right is not None:
            ended = ended or right.endswith(b"\n")
            if right != b"\n":
                text += _fill(column, second, layout.expand) + _half(right, second, half, layout.expand)[0]
        return text + (b"\n" if ended else b"")

    return b"".join(_rows(sides, changes, layout, row))


def _rows(
    sides: Sides, changes: Sequence[Change], layout: Layout, row: Callable[[bytes | None, str, bytes | None], bytes]
) -> list[bytes]:
    parts: list[bytes] = []
    i = j = 0

    def common(old_end: int) -> None:
        nonlocal i, j
        while i < old_end:
            if not layout.suppress:
                left, right = sides.old[i], sides.new[j]
                parts.append(row(left, "(", None) if layout.left_column else row(left, " ", right))
            i, j = i + 1, j + 1

    for change in changes:
        common(change.old_start)
        both = min(change.deleted, change.inserted)
        for _ in range(both):
            parts.append(row(sides.old[i], "|", sides.new[j]))
            i, j = i + 1, j + 1
        for index in range(j, change.new_end):
            parts.append(row(None, ">", sides.new[index]))
        for index in range(i, change.old_end):
            parts.append(row(sides.old[index], "<", None))
        i, j = change.old_end, change.new_end
    common(len(sides.old))
    return parts
