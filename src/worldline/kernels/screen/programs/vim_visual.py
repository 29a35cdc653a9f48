"""Selecting text in vim, and what is done with it."""

from __future__ import annotations

from worldline.kernels.screen.programs.vim_motion import MOTIONS, move
from worldline.kernels.screen.programs.vim_objects import Span, object_span
from worldline.kernels.screen.programs.vim_operate import apply, joined, more_or_fewer, shifted
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["BLOCK", "begin", "leave", "press", "select_again"]

BLOCK = "\x16"
_SHORT = "dd xd Xd Dd yy Yy cc sc Sc Cc Rc"
_OPERATORS = {pair[0]: pair[1] for pair in _SHORT.split()} | {
    "\x1b[3~": "d", "~": "g~", "u": "gu", "U": "gU", "gu": "gu", "gU": "gU", "g~": "g~", "=": "=",
}  # fmt: skip
"""The operator that a key stands for while text is selected."""


def begin(vim: VimView, kind: str) -> None:
    """Begin to select."""
    vim.visual, vim.anchor, vim.dollar = kind, (vim.text.y, vim.text.x), False
    vim.say("")


def leave(vim: VimView, *, said: bool = True) -> None:
    """Select no longer."""
    text = vim.text
    vim.last_visual = (vim.visual, vim.anchor, (text.y, text.x))
    vim.visual = ""
    text.clamp()
    if said:
        vim.say(f"recording @{vim.recording}" if vim.recording else "")


def select_again(vim: VimView) -> None:
    """`gv`."""
    if vim.last_visual is None:
        vim.failed = True
        return
    kind, anchor, place = vim.last_visual
    vim.visual, vim.anchor = kind, anchor
    vim.text.y, vim.text.x = place
    vim.say("")


def _span(vim: VimView) -> Span:
    text = vim.text
    start, end = sorted((vim.anchor, (text.y, text.x)))
    if vim.visual == "V":
        return Span(start, end, True)
    line = text.lines[end[0]]
    if end[1] >= len(line) and end[0] + 1 < len(text.lines):
        return Span(start, (end[0] + 1, 0))  # the end of the line is selected, too
    return Span(start, (end[0], min(end[1] + 1, len(line))))


def press(vim: VimView, key: str, count: int, given: bool) -> None:
    """Take a command while text is selected.

    Args:
        vim: The editor.
        key: The command.
        count: How often.
        given: Whether a number was typed.
    """
    text = vim.text
    if key in ("\x1b", "\x03"):
        leave(vim)
    elif key in ("v", "V", BLOCK):
        if key == vim.visual:
            leave(vim)
        else:
            vim.visual = key
    elif key in ("o", "O"):
        here = (text.y, text.x)
        (text.y, text.x), vim.anchor = vim.anchor, here
        if key == "O" and vim.visual == BLOCK:
            vim.doubt = vim.doubt or "the other corner of a block in vim"
        text.wanted = text.virtual(text.y, text.x)
    elif len(key) == 2 and key[0] in "ia":
        _select_object(vim, key, count)
    elif key in MOTIONS or key[0] in "fFtT'`":
        vim.dollar = key == "$" or (vim.dollar and key in ("j", "k"))
        vim.failed = not move(vim, key, count, given)
    elif vim.visual == BLOCK:
        _block(vim, key)
    elif key in _OPERATORS:
        _operated(vim, _OPERATORS[key], key)
    elif key in (">", "<"):
        span = _span(vim)
        leave(vim)
        shifted(vim, key, span.start[0], max(span.end[0], span.start[0]), count)
    else:
        _other(vim, key, count)


def _select_object(vim: VimView, key: str, count: int) -> None:
    text = vim.text
    found = object_span(text, key, count)
    if found is None:
        vim.failed = True
        return
    if vim.anchor != (text.y, text.x):
        vim.doubt = vim.doubt or "an object that widens what is selected in vim"
    vim.anchor = found.start
    if found.lines:
        vim.visual = "V"
        text.y, text.x = found.end[0], 0
    else:
        text.y, text.x = found.end[0], max(found.end[1] - 1, 0)
    text.wanted = text.cursor_column(False)


def _operated(vim: VimView, operator: str, key: str) -> None:
    span = _span(vim)
    if key in "XDYSCR" or (span.lines and vim.visual != "V"):
        span = Span(span.start, (max(vim.anchor[0], vim.text.y), 0), True)
    if operator == "y" and span.lines:
        vim.text.x = span.start[1] if vim.anchor > (vim.text.y, vim.text.x) else vim.anchor[1]
    kind = vim.visual
    leave(vim)
    vim.visual = kind  # operators treat what was selected a little differently
    apply(vim, operator, span)
    vim.visual = ""
    if operator != "c":
        vim.text.clamp()


def _other(vim: VimView, key: str, count: int) -> None:
    text = vim.text
    span = _span(vim)
    if key in ("J", "gJ"):
        last = max(vim.anchor[0], text.y)
        first = span.start[0]
        leave(vim)
        joined(vim, first, max(last, first + 1), blanks=key == "J")
    elif key[0] == "r" and len(key) == 2:
        leave(vim)
        text.remember()
        for y in range(span.start[0], span.end[0] + 1):
            line = text.lines[y]
            begin = span.start[1] if y == span.start[0] and not span.lines else 0
            end = span.end[1] if y == span.end[0] and not span.lines else len(line)
            text.lines[y] = line[:begin] + key[1] * (end - begin) + line[end:]
        text.y, text.x = span.start[0], 0 if span.lines else span.start[1]
    elif key in ("p", "P"):
        _put_over(vim, span)
    elif key in ("I", "A"):
        if span.lines:
            vim.doubt = vim.doubt or "inserting beside selected lines in vim"
        leave(vim)
        vim.begin_insert()
        text.y, text.x = span.start if key == "I" else span.end
    else:
        vim.doubt = vim.doubt or f"the key {key!r} for selected text in vim"
        leave(vim)


def _put_over(vim: VimView, span: Span) -> None:
    """Put a register in the place of what is selected."""
    text = vim.text
    parts, lines = vim.named(vim.target) if vim.target else (text.register, text.linewise)
    vim.target = ""
    leave(vim)
    text.remember()
    taken = tuple(text.lines[span.start[0] : span.end[0] + 1]) if span.lines else text.take(span.start, span.end)
    text.register, text.linewise = taken, span.lines
    if span.lines:
        text.lines[span.start[0] : span.end[0] + 1] = list(parts)
        text.y = span.start[0]
        text.x = text.first_nonblank(text.y)
        more_or_fewer(vim, len(parts) - len(taken))
        return
    if lines or len(parts) > 1:
        vim.doubt = vim.doubt or "putting lines over a part of one in vim"
    text.cut(span.start, span.end)
    piece = parts[0] if parts else ""
    text.lines[text.y] = text.line[: text.x] + piece + text.line[text.x :]
    text.x = max(text.x + len(piece) - 1, 0)
    text.wanted = text.cursor_column(False)


def _block(vim: VimView, key: str) -> None:
    """Commands for a block; tabs and wide characters in it are left open."""
    text = vim.text
    first, last = sorted((vim.anchor[0], text.y))
    left, right = vim.columns_of_block()
    if any("\t" in line or not line.isascii() for line in text.lines[first : last + 1]):
        vim.doubt = vim.doubt or "a block with tabs in vim"
    ends = 10**6 if vim.dollar else right + 1
    operator = _OPERATORS.get(key)
    dollar = vim.dollar
    leave(vim)
    if operator == "y":
        text.register, text.linewise = tuple(line[left:ends] for line in text.lines[first : last + 1]), False
        vim.registers["block"] = (("block",), False)
        text.y, text.x = first, left
        if last > first + 1:
            vim.say(f"block of {last - first + 1} lines yanked")
    elif operator in ("d", "c") or key[0] == "r" or operator in ("gu", "gU", "g~"):
        text.y, text.x = first, left
        text.remember()
        change = {"gu": str.lower, "gU": str.upper, "g~": str.swapcase}.get(operator or "", lambda part: "")
        for y in range(first, last + 1):
            line = text.lines[y]
            part = line[left:ends]
            new = key[1] * len(part) if key[0] == "r" else change(part)
            text.lines[y] = line[:left] + new + line[left + len(part) :]
        text.y, text.x = first, left
        if operator == "c":
            vim.begin_insert(remember=False)
            vim.block = (first, last, left, False)
    elif key in ("I", "A"):
        text.y = first
        if key == "A" and (dollar or any(len(line) < right + 1 for line in text.lines[first : last + 1])):
            vim.doubt = vim.doubt or ("" if dollar else "appending to short lines in vim")
        text.x = left if key == "I" else (len(text.line) if dollar else right + 1)
        vim.begin_insert()
        vim.block = (first, last, -1 if dollar and key == "A" else text.x, key == "A")
    elif key in (">", "<"):
        vim.doubt = vim.doubt or "shifting a block in vim"
    else:
        vim.doubt = vim.doubt or f"the key {key!r} for a block in vim"
    text.clamp(vim.mode == "insert")
