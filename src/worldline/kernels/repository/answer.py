"""What a tool answers, and the lines that several tools show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["MOST_LINES", "Answer", "Refused", "cut", "numbered", "shortened", "snippet", "split_lines"]

MOST_LINES = 2000
"""Lines that reading a file shows."""
_MOST_COLUMNS = 2000
_MOST_OUTPUT = 30_000
_CONTEXT = 4
_TRUNCATED = "... [truncated]"


class Refused(Exception):
    """The tool refuses; the message is what it says."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says and does."""

    text: str
    error: bool = False
    writes: Mapping[str, bytes] = field(default_factory=dict)
    """Files written, by absolute path."""
    read: Mapping[str, str] = field(default_factory=dict)
    """Files that count as read from now on, with the hash of what was seen."""
    cls: str = ""
    """What sets this answer apart from others of its tool (`missing`, `range`)."""


def split_lines(text: str) -> list[str]:
    """Lines as an editor counts them: a final newline ends the last one."""
    return text.removesuffix("\n").split("\n")


def cut(line: str) -> str:
    """A line at most as long as a tool shows it."""
    return line if len(line) <= _MOST_COLUMNS else line[:_MOST_COLUMNS] + _TRUNCATED


def numbered(lines: list[str], first: int) -> str:
    """Lines behind their numbers."""
    return "\n".join(f"{number:6d}→{cut(line)}" for number, line in enumerate(lines, first))


def snippet(text: str, at: int, new: str) -> str:
    """The lines of an edit at a character, with four more on each side."""
    first = text[:at].count("\n")
    start = max(first - _CONTEXT, 0)
    end = first + new.count("\n") + _CONTEXT + 1
    return numbered(split_lines(text)[start:end], start + 1)


def shortened(text: str) -> str:
    """A long output without its middle."""
    if len(text) <= _MOST_OUTPUT:
        return text
    half = _MOST_OUTPUT // 2
    lost = text[half:-half].count("\n")
    return f"{text[:half]}\n\n... [{lost} lines truncated] ...\n\n{text[-half:]}"
