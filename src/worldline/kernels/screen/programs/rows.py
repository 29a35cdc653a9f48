"""Texts laid out in the rows of a screen, as pagers do it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Layout", "Row", "lay_out", "odd_text", "shown_line", "width_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a laid out text."""

    text: str
    line: int
    """Number of the line it belongs to, from 1."""
    first: bool
    """It is the first row of its line."""
    end: int
    """Bytes of the text up to its end, the newline included."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How lines become rows."""

    columns: int
    chop: bool = False
    """Long lines are cut off, a `>` in the last column, instead of wrapped."""
    numbers: bool = False
    """Line numbers stand before the lines, in eight columns."""
    raw: bool = False
    """Escape sequences of colours are passed on."""


def odd_text(text: str) -> bool:
    """Whether a text has what is not laid out here: backspaces, escapes, combining marks, undecodable bytes."""
    return any(
        char in "\b\x1b\r\x7f"
        or "\x80" <= char <= "\x9f"
        or 0xDC80 <= ord(char) <= 0xDCFF
        or unicodedata.combining(char)
        for char in text
    )


def width_of(char: str) -> int:
    """Columns that a character takes."""
    return 2 if char > "\u1100" and unicodedata.east_asian_width(char) in "WF" else 1


def shown_line(line: str, offset: int = 0) -> str:
    """A line with its tabs and control characters as they are shown; it begins `offset` columns from the left."""
    if line.isascii() and line.isprintable():
        return line
    out, column = "", offset
    for char in line:
        if char == "\t":
            piece = " " * (8 - (column - offset) % 8)
        elif char < " ":
            piece = f"^{chr(ord(char) + 64)}"
        else:
            piece = char
        out += piece
        column += sum(map(width_of, piece))
    return out


@lru_cache(maxsize=64)
def lay_out(text: str, layout: Layout, wanted: frozenset[int] | None = None) -> tuple[Row, ...]:
    """Lay a text out.

    Args:
        text: What is shown.
        layout: How.
        wanted: Numbers of the lines that are shown; None: all.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    rows: list[Row] = []
    place = 0
    room = layout.columns - (8 if layout.numbers else 0)
    for number, line in enumerate(lines, 1):
        size = len(line.encode("utf-8", "surrogateescape")) + 1
        if wanted is None or number in wanted:
            label = f"{number:>7} " if layout.numbers else ""
            pieces = _pieces(shown_line(line), room, layout.chop)
            for index, (piece, part) in enumerate(pieces):
                lead = label if index == 0 else " " * len(label)
                end = place + (size if index == len(pieces) - 1 else part)
                rows.append(
                    Row(lead + piece, number, index == 0, min(end, len(text.encode("utf-8", "surrogateescape"))))
                )
        place += size
    return tuple(rows)


def _pieces(line: str, room: int, chop: bool) -> list[tuple[str, int]]:
    """Cut a line into rows, each with the characters up to its end."""
    if sum(map(width_of, line)) <= room:
        return [(line, len(line))]
    if chop:
        return [(line[: room - 1] + ">", len(line))]
    pieces, start, column = [], 0, 0
    for index, char in enumerate(line):
        wide = width_of(char)
        if column + wide > room:
            pieces.append((line[start:index], index))
            start, column = index, 0
        column += wide
    return [*pieces, (line[start:], len(line))]
