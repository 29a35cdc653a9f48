"""Reading vim's state off a screen that was not foreseen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from worldline.kernels.screen.programs.rows import shown_line

if TYPE_CHECKING:
    from worldline.kernels.screen.programs.vim import Vim

__all__ = ["resynchronise_vim"]

_RULER = re.compile(r"(?P<y>\d+),(?P<x>\d+)(?:-(?P<virtual>\d+))? +(?P<part>All|Top|Bot|\d+%)$")
_MODE = re.compile(
    r"-- (?P<mode>INSERT|REPLACE|VISUAL|VISUAL LINE|VISUAL BLOCK|\(insert\)) --(?:recording @(?P<tape>.))?"
)
_VISUAL = {"VISUAL": "v", "VISUAL LINE": "V", "VISUAL BLOCK": "\x16"}
_NUMBERED = re.compile(r" *\d+ ")


def resynchronise_vim(vim: Vim, rows: Sequence[str], columns: int) -> bool:
    """Bring the editor to the state that its screen shows; false where the screen does not tell.

    Args:
        vim: It is changed.
        rows: All rows of the screen.
        columns: Its width.
    """
    last = rows[-1]
    ruler = _RULER.search(last)
    if ruler is None or vim.overlay or len(rows) != vim.rows + 1:
        return False
    window = list(rows[:-1])
    numbers = bool(window and _NUMBERED.match(window[0] + " "))
    if numbers != vim.window.numbers and not _numbers_switched(vim, window, numbers):
        return False
    vim.window.numbers = numbers
    if vim.window.marks or any(len(row) >= columns for row in window):
        return False
    y, x = int(ruler["y"]) - 1, int(ruler["x"]) - 1
    if ruler["y"] == "0":
        vim.text.lines, vim.window.top = [""], 0
    elif not _take(vim, window, ruler["part"], y):
        return False
    text = vim.text
    text.empty = ruler["y"] == "0"
    text.y = min(max(y, 0), len(text.lines) - 1)
    text.x = _index(text.line, x)
    text.wanted = text.virtual(text.y, text.x)
    _take_mode(vim, last[: ruler.start()])
    vim.doubt, vim.guessed, vim.refused, vim.asking, vim.paused = "", False, "", None, ()
    text.wanted = text.cursor_column(vim.mode != "normal")
    return True


def _index(line: str, size: int) -> int:
    """The character at a byte of a line."""
    return len(line.encode("utf-8", "surrogateescape")[:size].decode("utf-8", "ignore"))


def _numbers_switched(vim: Vim, window: Sequence[str], numbers: bool) -> bool:
    """Whether rows with numbers agree with what is thought of the text."""
    bare = [_NUMBERED.sub("", row, count=1) if numbers else row for row in window]
    known = {shown_line(line).rstrip() for line in vim.text.lines}
    same = sum(row in known or row == "~" for row in bare)
    return same * 2 >= len(window)


def _bare(vim: Vim, window: Sequence[str]) -> list[str]:
    margin = vim.window.margin(vim.text)
    return [row[margin:] if margin and row != "~" else row for row in window]


def _take(vim: Vim, window: Sequence[str], part: str, y: int) -> bool:
    """Take the lines that the window shows."""
    text = vim.text
    rows = _bare(vim, window)
    if part in ("All", "Bot"):
        while rows and rows[-1] == "~":
            rows.pop()
    if part == "All":
        vim.window.top = 0
        text.lines = _merged(text.lines, rows) or [""]
        return True
    if part == "Bot":
        vim.window.top = _top(text.lines, rows, y) if y >= len(text.lines) else len(text.lines) - len(rows)
        head = text.lines[: max(vim.window.top, 0)]
        text.lines = head + _merged(text.lines[len(head) :], rows)
        return y < len(text.lines)
    top = 0 if part == "Top" else _top(text.lines, rows, y)
    if not 0 <= y - top < len(rows):
        return False
    vim.window.top = top
    shown = [shown_line(line).rstrip() for line in text.lines[top : top + len(rows)]]
    if shown == rows:
        return True
    if part != "Top" and sum(one != other for one, other in zip(shown, rows, strict=False)) > len(rows) // 2:
        return False
    text.lines[top : top + len(rows)] = _spliced(text.lines, top, rows)
    return True


def _spliced(lines: list[str], top: int, rows: Sequence[str]) -> list[str]:
    """The lines of a window in the middle; what was pushed out of it below stays where it is."""
    return _merged(lines[top : top + len(rows)], rows)


def _top(lines: Sequence[str], rows: Sequence[str], y: int) -> int:
    """The line at the top of a window, the line `y` being in it."""
    shown = [shown_line(line).rstrip() for line in lines]

    def same(top: int) -> int:
        return sum(one == other for one, other in zip(shown[top : top + len(rows)], rows, strict=False))

    return max(range(max(y - len(rows) + 1, 0), y + 1), key=same, default=0)


def _merged(lines: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Rows as lines; those that look as they were thought to keep their tabs and blanks at the end."""
    shown = [shown_line(line).rstrip() for line in lines]
    found: list[str] = []
    for kind, begin, end, first, last in SequenceMatcher(None, shown, list(rows), autojunk=False).get_opcodes():
        found += lines[begin:end] if kind == "equal" else rows[first:last]
    return found


def _take_mode(vim: Vim, left: str) -> None:
    match = _MODE.match(left)
    text = vim.text
    vim.typed = ""
    if match is None:
        recording = re.match(r"recording @(.)", left)
        if vim.mode in ("insert", "replace") or vim.visual:
            vim.keys = ""
        vim.mode, vim.visual = "normal", ""
        vim.recording = recording[1] if recording else ""
        pending = left[-11:].strip() if len(left) > 90 else ""
        vim.message = left[:-11].rstrip() if len(left) > 90 else left.rstrip()
        if pending and len(pending) < 4 and "^" not in pending:
            vim.typed = pending
        return
    vim.recording = match["tape"] or ""
    vim.message = ""
    if match["mode"] in _VISUAL:
        kind = _VISUAL[match["mode"]]
        if not vim.visual:
            vim.anchor = (text.y, text.x)
        vim.mode, vim.visual = "normal", kind
    else:
        vim.visual = ""
        vim.mode = "replace" if match["mode"] == "REPLACE" else "insert"
