"""Operators of vim: deleting, changing, copying, shifting, switching case over a stretch of text."""

from __future__ import annotations

from dataclasses import replace

from worldline.kernels.screen.programs.vim_motion import move
from worldline.kernels.screen.programs.vim_objects import Span, object_span
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["apply", "joined", "more_or_fewer", "operate", "shifted"]

_LINES = frozenset(("j", "k", "G", "gg", "+", "-", "\r", "\n", "_", "H", "M", "L", "\x0e", "\x10"))
_INCLUSIVE = frozenset(("e", "E", "$", "%", "ge", "gE", "g_", ";", ","))


def more_or_fewer(vim: VimView, change: int) -> None:
    """Say how many lines came or went, where it is more than two."""
    if vim.text.empty:
        vim.say("--No lines in buffer--")
    elif abs(change) > 2:
        vim.say(f"{abs(change)} {'more' if change > 0 else 'fewer'} lines")


def operate(vim: VimView, operator: str, motion: str, count: int, given: bool) -> None:
    """Carry out an operator over what a motion goes over."""
    text = vim.text
    if motion == operator or motion == operator[-1] or (len(operator) == 2 and motion == operator):
        last = text.y + count - 1
        if last >= len(text.lines) and operator in ("<", ">") and text.y == len(text.lines) - 1:
            vim.failed = True
            return
        apply(vim, operator, Span((text.y, 0), (min(last, len(text.lines) - 1), 0), True), doubled=True)
        return
    found = _span(vim, operator, motion, count, given)
    if found is None:
        vim.failed = True
        return
    apply(vim, operator, found)


def _span(vim: VimView, operator: str, motion: str, count: int, given: bool) -> Span | None:
    text = vim.text
    y, x = text.y, text.x
    if len(motion) == 2 and motion[0] in "ia":
        return object_span(text, motion, count)
    if operator == "c" and motion in ("w", "W") and x < len(text.line) and text.line[x] not in " \t":
        motion = "e" if motion == "w" else "E"
        # at the end of a word it changes this word only
        kinds = text.classes(y, motion == "E")
        if x + 1 >= len(kinds) or kinds[x + 1] != kinds[x]:
            if count == 1:
                return Span((y, x), (y, x + 1))
            count -= 1
    if motion in ("w", "W"):
        return _words(vim, motion, count)
    if motion in ("l", " "):
        return Span((y, x), (y, min(x + count, len(text.line))))
    if not move(vim, motion, count, given):
        text.y, text.x = y, x
        return None
    place = (text.y, text.x)
    text.y, text.x = y, x
    start, end = sorted(((y, x), place))
    if motion in _LINES or motion[0] == "'":
        return Span(start, end, True)
    if motion in _INCLUSIVE or motion[0] in "ft":
        if motion in (";", ",") and place < (y, x):
            return Span(start, end)
        return Span(start, (end[0], min(end[1] + 1, len(text.lines[end[0]]))))
    if end[0] > start[0] and not end[1]:
        # up to the start of a line means up to the end of the one before
        if start[1] <= text.first_nonblank(start[0]) and operator not in ("g~", "gu", "gU"):
            return Span(start, (end[0] - 1, 0), True)
        return Span(start, (end[0] - 1, len(text.lines[end[0] - 1])))
    return Span(start, end)


def _words(vim: VimView, motion: str, count: int) -> Span:
    text = vim.text
    y, x = text.y, text.x
    end, before = (y, x), (y, x)
    for _ in range(count):
        before, end = end, text.word_forward(end[0], end[1], motion == "W")
    if end[0] != before[0]:
        # the last word that is gone over ends its line: so does the stretch
        end = (before[0], len(text.lines[before[0]]))
    elif end[0] == len(text.lines) - 1 and end[1] >= len(text.lines[-1]):
        end = (end[0], len(text.lines[-1]))
    return Span((y, x), end)


def apply(vim: VimView, operator: str, span: Span, *, doubled: bool = False) -> None:
    """Carry out an operator over a stretch of text."""
    text = vim.text
    if operator in "dcy":
        vim.keep(operator)
        (_take_lines if span.lines else _take_part)(vim, operator, span)
        vim.kept()
    elif operator in ("<", ">"):
        shifted(vim, operator, span.start[0], span.end[0], 1)
    elif operator in ("g~", "gu", "gU"):
        _cases(vim, operator, span)
    elif operator == "=":
        _aligned(vim, span)
    else:
        vim.doubt = vim.doubt or f"the operator {operator} of vim"
    text.wanted = text.cursor_column(vim.mode == "insert")


def _take_lines(vim: VimView, operator: str, span: Span) -> None:
    text, first, last = vim.text, span.start[0], span.end[0]
    if operator == "y":
        moved = text.y != first
        text.register, text.linewise, text.y = tuple(text.lines[first : last + 1]), True, first
        if moved:
            text.x = min(span.start[1], max(len(text.line) - 1, 0)) if span.start[1] else text.x
        if last - first > 1:
            vim.say(f"{last - first + 1} lines yanked")
    elif operator == "d":
        more_or_fewer(vim, -text.cut_lines(first, last))
    else:
        text.remember()
        text.register, text.linewise = tuple(text.lines[first : last + 1]), True
        indent = vim.kept_indent(first)
        text.lines[first : last + 1] = [indent]
        text.y, text.x = first, len(indent)
        vim.begin_insert(remember=False)
        if last - first > 2:
            vim.say(f"{last - first} fewer lines")


def _take_part(vim: VimView, operator: str, span: Span) -> None:
    text = vim.text
    start, end = span.start, span.end
    if start == end and operator == "d":
        vim.failed = vim.failed or not text.line
        return
    pieces = text.take(start, end)
    if operator == "y":
        text.register, text.linewise = pieces, False
        text.y, text.x = start
        if len(pieces) > 2:
            vim.say(f"{len(pieces)} lines yanked")
        return
    if operator == "d" and end[0] > start[0] and not text.lines[start[0]][: start[1]].strip():
        rest = text.lines[end[0]][end[1] :]
        if not rest.strip() and not vim.visual:
            # a stretch of several lines with nothing left beside it is deleted by lines
            more_or_fewer(vim, -text.cut_lines(start[0], end[0]))
            return
    text.y, text.x = start
    text.remember()
    text.register, text.linewise = pieces, False
    text.cut(start, end)
    if operator == "c":
        vim.begin_insert(remember=False)
    if end[0] - start[0] > 2:
        vim.say(f"{end[0] - start[0]} fewer lines")


def shifted(vim: VimView, operator: str, first: int, last: int, times: int) -> None:
    """Shift lines to the right or left."""
    text, width = vim.text, vim.shift_width
    text.y = first
    text.remember()
    text.undos[-1] = replace(text.undos[-1], count=last + 1 - first)
    for y in range(first, last + 1):
        line = text.lines[y]
        bare = line.lstrip(" \t")
        if not bare:
            continue
        indent = len(line[: len(line) - len(bare)].expandtabs(vim.tab_stop))
        indent = max(indent + (width if operator == ">" else -width) * times, 0)
        text.lines[y] = vim.blanks(indent) + bare
    text.y = first
    text.x = text.first_nonblank(first)
    if last - first > 1:
        vim.say(f"{last - first + 1} lines {operator}ed {times} time{'' if times == 1 else 's'}")


def _cases(vim: VimView, operator: str, span: Span) -> None:
    text = vim.text
    text.remember()
    change = {"g~": str.swapcase, "gu": str.lower, "gU": str.upper}[operator]
    (first, x), (last, stop) = span.start, span.end
    for y in range(first, last + 1):
        line = text.lines[y]
        begin = x if y == first and not span.lines else 0
        end = stop if y == last and not span.lines else len(line)
        text.lines[y] = line[:begin] + change(line[begin:end]) + line[end:]
    text.y, text.x = first, 0 if span.lines else x


def _aligned(vim: VimView, span: Span) -> None:
    text, first, last = vim.text, span.start[0], span.end[0]
    if vim.kind != "plain" or any(char in line for line in text.lines for char in "{}"):
        vim.doubt = vim.doubt or "how vim indents lines anew"
    text.remember()
    for y in range(first, last + 1):
        text.lines[y] = text.lines[y].lstrip(" \t")
    text.y, text.x = first, 0
    if last - first > 1:
        vim.say(f"{last - first + 1} lines indented")


def joined(vim: VimView, first: int, last: int, *, blanks: bool = True) -> None:
    """Join lines into one."""
    text = vim.text
    text.remember()
    text.y = first
    for _ in range(last - first):
        if text.y + 1 >= len(text.lines):
            break
        below = text.lines.pop(text.y + 1)
        below = below.lstrip(" \t") if blanks else below
        space = blanks and below and not below.startswith(")") and not text.line.endswith((" ", "\t")) and text.line
        text.x = len(text.line)
        text.lines[text.y] = text.line + (" " if space else "") + below
    text.clamp()
