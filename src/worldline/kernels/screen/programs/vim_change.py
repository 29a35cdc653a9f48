"""Commands of vim that change the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from worldline.kernels.screen.programs.vim_indent import new_start
from worldline.kernels.screen.programs.vim_motion import move
from worldline.kernels.screen.programs.vim_text import Change
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["CHANGES", "more_or_fewer", "operate"]


def more_or_fewer(vim: VimView, change: int) -> None:
    """Say how many lines came or went, where it is more than two."""
    if vim.text.empty:
        vim.say("--No lines in buffer--")
    elif abs(change) > 2:
        vim.say(f"{abs(change)} {'more' if change > 0 else 'fewer'} lines")


def operate(vim: VimView, operator: str, motion: str, count: int, given: bool) -> None:
    """Delete, change or copy what a motion goes over."""
    text = vim.text
    if motion == operator:
        _lines(vim, operator, text.y, min(text.y + count - 1, len(text.lines) - 1))
        return
    if motion in ("j", "k", "G", "gg", "+", "-", "\r"):
        start = text.y
        if move(vim, motion, count, given):
            first, last = sorted((start, text.y))
            _lines(vim, operator, first, last)
        return
    if motion not in ("w", "W", "e", "E", "b", "B", "$", "0", "^", "h", "l", " ") and motion[0] not in "fFtT":
        vim.doubt = vim.doubt or f"the command {operator}{motion} of vim"
        return
    y, x = text.y, text.x
    inclusive = motion in ("e", "E", "$") or motion[0] in "ft"
    if operator == "c" and motion in ("w", "W") and x < len(text.line) and text.line[x] not in " \t":
        motion, inclusive = motion.replace("w", "e").replace("W", "E"), True
        text.x = max(x - 1, -1)
    if motion in ("w", "W"):
        end_y, end_x = y, x
        for _ in range(count):
            end_y, end_x = text.word_forward(end_y, end_x, motion == "W")
        if end_y != y:
            end_y, end_x = y, len(text.line)
    elif motion in ("l", " "):
        end_y, end_x = y, min(x + count, len(text.line))
    else:
        if not move(vim, motion, count, given):
            text.y, text.x = y, x
            return
        end_y, end_x = text.y, text.x
    text.y, text.x = y, x
    if end_y != y:
        vim.doubt = vim.doubt or f"{operator}{motion} over lines in vim"
        return
    start, end = (x, end_x + inclusive) if end_x >= x else (end_x, x)
    if operator == "y":
        text.register, text.linewise, text.x = (text.line[start:end],), False, start
        return
    if start == end and operator == "d":
        return
    text.cut_part(start, end)
    if operator == "c":
        vim.begin_insert(remember=False)
    text.wanted = text.cursor_column(vim.mode == "insert")


def _lines(vim: VimView, operator: str, first: int, last: int) -> None:
    text = vim.text
    if operator == "y":
        text.register, text.linewise, text.y = tuple(text.lines[first : last + 1]), True, first
        if last - first > 1:
            vim.say(f"{last - first + 1} lines yanked")
    elif operator == "d":
        more_or_fewer(vim, -text.cut_lines(first, last))
    else:
        text.remember()
        text.register, text.linewise = tuple(text.lines[first : last + 1]), True
        text.lines[first : last + 1] = [""]
        text.y, text.x = first, 0
        vim.begin_insert(remember=False)
    text.wanted = text.cursor_column(vim.mode == "insert")


def _delete_chars(vim: VimView, count: int) -> None:
    if vim.text.line:
        vim.text.cut_part(vim.text.x, min(vim.text.x + count, len(vim.text.line)))


def _delete_before(vim: VimView, count: int) -> None:
    if vim.text.x:
        vim.text.cut_part(max(vim.text.x - count, 0), vim.text.x)


def _put(vim: VimView, count: int, after: bool) -> None:
    if not vim.text.register:
        vim.doubt = vim.doubt or "an empty register in vim"
    more_or_fewer(vim, vim.text.put(count, after))
    vim.text.wanted = vim.text.cursor_column(False)


def _open(vim: VimView, place: int) -> None:
    vim.begin_insert()
    start = new_start(vim.kind, vim.text.lines[:place], place)
    if start is None:
        vim.doubt = vim.doubt or "how vim indents the new line"
    vim.text.lines.insert(place, start or "")
    vim.text.y, vim.text.x, vim.text.empty = place, len(start or ""), False
    vim.text.wanted, vim.automatic = vim.text.x, bool(start) and not (start or "").strip()


def _insert_at(vim: VimView, x: int) -> None:
    vim.begin_insert()
    vim.text.x = x
    vim.text.wanted = vim.text.virtual(vim.text.y, x)


def _substitute(vim: VimView, count: int) -> None:
    _delete_chars(vim, count)
    vim.begin_insert(remember=not vim.text.line)


def _join(vim: VimView, count: int) -> None:
    text = vim.text
    if text.y + 1 >= len(text.lines):
        return
    text.remember()
    for _ in range(max(count - 1, 1)):
        if text.y + 1 >= len(text.lines):
            break
        below = text.lines.pop(text.y + 1).lstrip(" \t")
        space = " " if below and not below.startswith(")") and not text.line.endswith((" ", "\t")) and text.line else ""
        text.x = len(text.line)
        text.lines[text.y] = text.line + space + below
    text.clamp()


def _switch_case(vim: VimView, count: int) -> None:
    text = vim.text
    text.remember()
    part = text.line[text.x : text.x + count].swapcase()
    text.lines[text.y] = text.line[: text.x] + part + text.line[text.x + len(part) :]
    text.x = min(text.x + len(part), max(len(text.line) - 1, 0))


def _restore(vim: VimView, taken: list[Change], given: list[Change], word: str) -> None:
    text = vim.text
    if not taken:
        vim.say("Already at oldest change" if word == "before" else "Already at newest change")
        return
    change = taken.pop()
    now, then = ([] if text.empty else text.lines), list(change.lines)
    given.append(replace(change, lines=tuple(text.lines), place=(text.y, text.x)))
    same = 0
    while same < min(len(now), len(then)) and now[same] == then[same]:
        same += 1
    text.lines = then
    text.empty = len(then) == 1 and not then[0] and change.number == 1 and not text.saved
    blocked = change.count or len(then) < len(now)
    text.y = min(change.place[0] if blocked else min(same, change.place[0]), len(then) - 1)
    text.x = text.first_nonblank(text.y) if len(now) != len(then) else min(change.place[1], max(len(text.line) - 1, 0))
    difference = len(then) - len(now)
    changed = change.count or sum(a != b for a, b in zip(now, then, strict=False))
    if difference:
        few = {1: "1 more line", -1: "1 line less"}
        words = few.get(difference, f"{abs(difference)} {'more' if difference > 0 else 'fewer'} lines")
    else:
        words = "1 change" if changed <= 1 else f"{changed} changes"
    age = text.clock - change.time
    ago = "1 second ago" if age == 1 else f"{age} seconds ago"
    vim.say(f"{words}; {word} #{change.number}  {ago}", guessed=age > 99)


CHANGES: Mapping[str, Callable[[VimView, int], None]] = {
    "x": _delete_chars,
    "\x1b[3~": _delete_chars,
    "X": _delete_before,
    "D": lambda vim, count: vim.text.cut_part(vim.text.x, len(vim.text.line)) if vim.text.line else None,
    "C": lambda vim, count: operate(vim, "c", "$", 1, False) if vim.text.line else vim.begin_insert(),
    "S": lambda vim, count: operate(vim, "c", "c", count, False),
    "s": _substitute,
    "Y": lambda vim, count: operate(vim, "y", "y", count, False),
    "p": lambda vim, count: _put(vim, count, True),
    "P": lambda vim, count: _put(vim, count, False),
    "o": lambda vim, count: _open(vim, vim.text.y + 1),
    "O": lambda vim, count: _open(vim, vim.text.y),
    "i": lambda vim, count: _insert_at(vim, vim.text.x),
    "I": lambda vim, count: _insert_at(vim, vim.text.first_nonblank(vim.text.y) if vim.text.line else 0),
    "a": lambda vim, count: _insert_at(vim, min(vim.text.x + 1, len(vim.text.line))),
    "A": lambda vim, count: _insert_at(vim, len(vim.text.line)),
    "J": _join,
    "~": _switch_case,
    "u": lambda vim, count: _restore(vim, vim.text.undos, vim.text.redos, "before"),
    "\x12": lambda vim, count: _restore(vim, vim.text.redos, vim.text.undos, "after"),
    "\x0c": lambda vim, count: vim.say(""),
}
"""Commands of one key."""
