"""Commands of vim's last line that work on lines of the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.vim_objects import Span
from worldline.kernels.screen.programs.vim_operate import apply, joined, more_or_fewer, shifted
from worldline.kernels.screen.programs.vim_pattern import regex_of
from worldline.kernels.screen.programs.vim_ranges import Lines, read_address
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["LINE_COMMANDS", "once", "run_global"]

Command = Callable[[VimView, Lines, str, Host], None]


def once(vim: VimView, changes: int, number: int, lines: tuple[str, ...], place: tuple[int, int]) -> None:
    """Count all changes since there were `changes` of them as one.

    Args:
        vim: The editor.
        changes: How many could be taken back before.
        number: The number of the last of them.
        lines: The text before.
        place: The cursor before.
    """
    text = vim.text
    if len(text.undos) > changes:
        first = text.undos[changes]
        text.undos[changes:] = [replace(first, lines=lines, number=number + 1)]
        text.changes = number + 1


def _counted(vim: VimView, lines: Lines, rest: str) -> tuple[Lines, str]:
    """Take a count and a register off the end of a command."""
    match = re.fullmatch(r"\s*([a-zA-Z\"_])?\s*(\d*)\s*", rest)
    if match is None:
        vim.doubt = vim.doubt or f"the arguments {rest} of a command of vim"
        return lines, ""
    if match[2]:
        lines = Lines(lines.last, min(lines.last + int(match[2]), len(vim.text.lines)) - 1, 2)
    return lines, match[1] or ""


def _take(vim: VimView, lines: Lines, rest: str, operator: str) -> None:
    lines, vim.target = _counted(vim, lines, rest)
    place = (vim.text.y, vim.text.x)
    apply(vim, operator, Span((lines.first, 0), (lines.last, 0), True))
    if operator == "y":
        vim.text.y, vim.text.x = place
        vim.text.wanted = vim.text.cursor_column(False)


def _put(vim: VimView, lines: Lines, rest: str, before: bool) -> None:
    text, name = vim.text, rest.strip()
    parts, _ = vim.named(name) if name else (text.register, True)
    if not parts:
        vim.say(f"E353: Nothing in register {name or chr(34)}")
        return
    text.remember()
    place = lines.last + (0 if before else 1)
    text.lines[place:place] = list(parts)
    text.y = place + len(parts) - 1
    _to_start(vim)
    more_or_fewer(vim, len(parts))


def _to_start(vim: VimView) -> None:
    vim.text.x = vim.text.first_nonblank(vim.text.y)
    vim.text.wanted = vim.text.cursor_column(False)


def _elsewhere(vim: VimView, lines: Lines, rest: str, move: bool) -> None:
    """`:m` and `:t`."""
    text = vim.text
    target, left, error = read_address(vim, rest, text.y)
    if rest.strip().startswith("0"):
        target, left, error = -1, rest.strip()[1:], ""
    if error or target is None or left.strip():
        vim.say(error or "E14: Invalid address")
        return
    if not -1 <= target < len(text.lines):
        vim.say("E16: Invalid range")
        return
    part = text.lines[lines.first : lines.last + 1]
    if move and lines.first <= target < lines.last:
        vim.say("E134: Cannot move a range of lines into itself")
        return
    text.remember()
    if move:
        text.undos[-1] = replace(text.undos[-1], count=len(part))
        count = len(part)
        del text.lines[lines.first : lines.last + 1]
        place = target + 1 - (count if target >= lines.last else 0)
        text.lines[place:place] = part
        text.y = place + count - 1
        if count > 2:
            vim.say(f"{count} lines moved")
    else:
        text.lines[target + 1 : target + 1] = part
        text.y = target + len(part)
        more_or_fewer(vim, len(part))
    _to_start(vim)


def _shift(vim: VimView, lines: Lines, rest: str, mark: str) -> None:
    times = 1 + len(rest) - len(rest.lstrip(mark))
    lines, _ = _counted(vim, lines, rest.lstrip(mark))
    shifted(vim, mark, lines.first, lines.last, times)
    vim.text.y = lines.last
    _to_start(vim)


def _join(vim: VimView, lines: Lines, rest: str, blanks: bool) -> None:
    lines, _ = _counted(vim, lines, rest)
    last = lines.last if lines.last > lines.first else lines.first + 1
    if last >= len(vim.text.lines):
        return
    joined(vim, lines.first, last, blanks=blanks)
    _to_start(vim)


def _sort(vim: VimView, lines: Lines, rest: str, backward: bool) -> None:
    """`:sort`, by bytes or numbers, as it is or backwards, each line once."""
    rest = rest.strip()
    if not re.fullmatch(r"[nui ]*", rest):
        vim.doubt = vim.doubt or f"the command :sort {rest} of vim"
        return
    text = vim.text
    first, last = (lines.first, lines.last) if lines.given else (0, len(text.lines) - 1)

    def key(line: str) -> tuple[int, int, bytes]:
        number = re.search(r"-?\d+", line) if "n" in rest else None
        if "n" in rest:
            return (number is not None, int(number[0]) if number else 0, b"")
        return (0, 0, (line.lower() if "i" in rest else line).encode("utf-8", "surrogateescape"))

    ordered = sorted(text.lines[first : last + 1], key=key, reverse=backward)
    if "u" in rest:
        ordered = [line for number, line in enumerate(ordered) if not number or key(line) != key(ordered[number - 1])]
    text.remember()
    text.undos[-1] = replace(text.undos[-1], count=last + 1 - first)
    before = len(text.lines)
    text.lines[first : last + 1] = ordered
    text.y, text.x, text.wanted = first, 0, 0
    more_or_fewer(vim, len(text.lines) - before)


def _normal(vim: VimView, lines: Lines, rest: str, host: Host) -> None:
    text = vim.text
    number, before = len(text.undos), (text.changes, tuple(text.lines), (text.y, text.x))
    count = len(text.lines)
    for y in range(lines.first, lines.last + 1) if lines.given else [text.y]:
        if lines.given:
            if y >= len(text.lines):
                break
            text.y, text.x = y, 0
        vim.mode, vim.typed = "normal", ""
        vim.type_again(rest, host)
        if vim.mode in ("insert", "replace"):
            vim.type_again("\x1b", host)
        vim.typed, vim.visual = "", ""
    once(vim, number, *before)
    vim.say("")
    more_or_fewer(vim, len(text.lines) - count)


def _aligned(vim: VimView, lines: Lines, rest: str, how: str) -> None:
    """`:le`, `:ce`, `:ri`."""
    width = int(rest.strip() or (0 if how == "le" else 80))
    if how == "le" and not any(line[:1] in (" ", "\t") for line in vim.text.lines[lines.first : lines.last + 1]):
        width = width or 0
    text = vim.text
    text.remember()
    for y in range(lines.first, lines.last + 1):
        line = text.lines[y].strip() if how != "le" else text.lines[y].lstrip()
        room = max(width - len(line), 0)
        indent = width if how == "le" else room if how == "ri" else room // 2
        text.lines[y] = vim.blanks(indent) + line if line else ""
    _to_start(vim)


def _print(vim: VimView, lines: Lines, rest: str, numbers: bool) -> None:
    shown = [
        (f"{y + 1:>3} " if numbers or vim.window.numbers else "") + vim.text.lines[y]
        for y in range(lines.first, lines.last + 1)
    ]
    vim.text.y = lines.last
    _to_start(vim)
    if len(shown) == 1:
        vim.say(shown[0])
    elif len(shown) < 30:
        vim.overlay = (vim.message, *shown)
    else:
        vim.doubt = vim.doubt or "many lines shown by vim"


def _mark(vim: VimView, lines: Lines, rest: str) -> None:
    name = rest.strip()
    if len(name) == 1 and name.isalpha():
        vim.marks[name] = (lines.last, 0)
    else:
        vim.doubt = vim.doubt or "a mark in vim"


def run_global(
    vim: VimView, lines: Lines, rest: str, host: Host, inverse: bool, run: Callable[[VimView, str, Host], str]
) -> None:
    """`:g` and `:v`: a command for each line that matches, or does not."""
    mark = rest[:1]
    parts = re.split(rf"(?<!\\){re.escape(mark)}", rest[1:], maxsplit=1) if mark else [""]
    pattern, command = parts[0] or vim.pattern, parts[1].strip() if len(parts) > 1 else ""
    regex = regex_of(pattern) if pattern else None
    if regex is None or re.match(r"(?:g|v|wq?|q|e|r|!)\b", command):
        vim.doubt = vim.doubt or f"the command :g{rest} of vim"
        return
    vim.pattern, vim.backward = pattern, False
    text = vim.text
    first, last = (lines.first, lines.last) if lines.given else (0, len(text.lines) - 1)
    chosen = [y for y in range(first, last + 1) if bool(regex.search(text.lines[y])) != inverse]
    if not chosen:
        vim.say(f"Pattern {'found in every line' if inverse else 'not found'}: {pattern}")
        vim.failed = True
        return
    if command in ("", "p", "print", "nu", "#", "number"):
        numbers = command in ("nu", "#", "number")
        shown = [(f"{y + 1:>3} " if numbers or vim.window.numbers else "") + text.lines[y] for y in chosen]
        vim.overlay = (vim.message, *shown)
        if len(shown) > 30:
            vim.doubt = vim.doubt or "many lines shown by vim"
        text.y = chosen[-1]
        _to_start(vim)
        return
    _each(vim, chosen, command, host, run)


def _each(vim: VimView, chosen: list[int], command: str, host: Host, run: Callable[[VimView, str, Host], str]) -> None:
    text = vim.text
    number, before = len(text.undos), (text.changes, tuple(text.lines), (text.y, text.x))
    count, message = len(text.lines), vim.message
    vim.counted = (0, 0)
    left = list(chosen)
    while left:
        y = left.pop(0)
        size = len(text.lines)
        text.y, text.x = y, 0
        vim.say("")
        run(vim, command, host)
        grown = len(text.lines) - size
        moved = bool(re.match(r"m(?:ove)?\s*(?:\d|\$)", command))
        if moved and re.match(r"m(?:ove)?\s*0", command):
            continue
        left = [other - 1 for other in left] if moved else [other + grown for other in left]
    once(vim, number, *before)
    vim.say(message)
    if vim.counted[0] > 2:
        many = vim.counted[1]
        vim.say(f"{vim.counted[0]} substitutions on {many} line{'' if many == 1 else 's'}")
    more_or_fewer(vim, len(text.lines) - count)


LINE_COMMANDS: Mapping[str, Command] = {
    "delete": lambda vim, lines, rest, host: _take(vim, lines, rest, "d"),
    "yank": lambda vim, lines, rest, host: _take(vim, lines, rest, "y"),
    "put": lambda vim, lines, rest, host: _put(vim, lines, rest, False),
    "put!": lambda vim, lines, rest, host: _put(vim, lines, rest, True),
    "move": lambda vim, lines, rest, host: _elsewhere(vim, lines, rest, True),
    "copy": lambda vim, lines, rest, host: _elsewhere(vim, lines, rest, False),
    ">": lambda vim, lines, rest, host: _shift(vim, lines, rest, ">"),
    "<": lambda vim, lines, rest, host: _shift(vim, lines, rest, "<"),
    "join": lambda vim, lines, rest, host: _join(vim, lines, rest, True),
    "join!": lambda vim, lines, rest, host: _join(vim, lines, rest, False),
    "sort": lambda vim, lines, rest, host: _sort(vim, lines, rest, False),
    "sort!": lambda vim, lines, rest, host: _sort(vim, lines, rest, True),
    "normal": _normal,
    "normal!": _normal,
    "left": lambda vim, lines, rest, host: _aligned(vim, lines, rest, "le"),
    "center": lambda vim, lines, rest, host: _aligned(vim, lines, rest, "ce"),
    "right": lambda vim, lines, rest, host: _aligned(vim, lines, rest, "ri"),
    "print": lambda vim, lines, rest, host: _print(vim, lines, rest, False),
    "number": lambda vim, lines, rest, host: _print(vim, lines, rest, True),
    "mark": lambda vim, lines, rest, host: _mark(vim, lines, rest),
}
"""By the whole name of the command."""
