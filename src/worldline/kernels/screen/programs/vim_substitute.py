"""`:s` of vim, and the questions it asks."""

from __future__ import annotations

import re

from worldline.kernels.screen.programs.vim_pattern import regex_of, replaced
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["confirm", "substitute"]


def substitute(vim: VimView, first: int, last: int, rest: str) -> None:
    """Carry out `:s`; `rest` is what follows its name (empty: the last one again)."""
    pattern, replacement, flags = _read(vim, rest)
    regex = _regex(vim, pattern, flags)
    if regex is None or re.search(r"(?<!\\)~", replacement) or "\\=" in replacement or set(flags) - set("gieIcn"):
        vim.doubt = vim.doubt or f"the command :s{rest} of vim"
        return
    vim.substitute = (pattern, replacement, flags)
    vim.pattern, vim.backward = pattern, False
    text = vim.text
    if not any(regex.search(line) for line in text.lines[first : last + 1]):
        if "e" not in flags:
            vim.say(f"E486: Pattern not found: {pattern}")
            vim.failed = True
        return
    if "n" in flags:
        found = [
            len(regex.findall(line)) if "g" in flags else 1
            for line in text.lines[first : last + 1]
            if regex.search(line)
        ]
        words = f"{sum(found)} match{'' if sum(found) == 1 else 'es'}"
        vim.say(f"{words} on {len(found)} line{'' if len(found) == 1 else 's'}")
        return
    if "c" in flags:
        vim.asking = [first, 0, last, 0, 0, -1, len(text.undos)]
        _next(vim)
        return
    _all(vim, regex, first, last)


def _read(vim: VimView, rest: str) -> tuple[str, str, str]:
    if not rest or rest[0].isalnum() or rest[0] in "& ":
        pattern, replacement, flags = vim.substitute
        kept = flags if rest.startswith("&") else ""
        return pattern, replacement, kept + rest.strip("& ")
    mark = rest[0]
    parts = re.split(rf"(?<!\\){re.escape(mark)}", rest[1:])
    pattern, replacement = parts[0] or vim.pattern, parts[1] if len(parts) > 1 else ""
    if mark != "/":
        pattern, replacement = pattern.replace(f"\\{mark}", mark), replacement.replace(f"\\{mark}", mark)
    return pattern, replacement, parts[2].strip() if len(parts) > 2 else ""


def _regex(vim: VimView, pattern: str, flags: str) -> re.Pattern[str] | None:
    regex = regex_of(pattern) if pattern else None
    if regex is not None and ("i" in flags or (vim.options.get("ic") and "I" not in flags)):
        regex = re.compile(regex.pattern, re.IGNORECASE)
    return regex


def _all(vim: VimView, regex: re.Pattern[str], first: int, last: int) -> None:
    text, replacement = vim.text, vim.substitute[1]
    text.y, text.x = next(y for y in range(first, last + 1) if regex.search(text.lines[y])), 0
    text.remember()
    lines: list[str] = []
    count, changed, place = 0, 0, first
    for y in range(first, last + 1):
        new, times = regex.subn(
            lambda found: replaced(found, replacement), text.lines[y], count=0 if "g" in vim.substitute[2] else 1
        )
        if "\0" in new:
            vim.doubt = vim.doubt or "a NUL from :s in vim"
        pieces = new.split("\n")
        lines += pieces
        if times:
            count, changed, place = count + times, changed + 1, first + len(lines) - 1
    text.lines[first : last + 1] = lines
    _finish(vim, count, changed, place)


def _finish(vim: VimView, count: int, changed: int, y: int, x: int = -1) -> None:
    text = vim.text
    text.y = y
    text.x = text.first_nonblank(y) if x < 0 else x
    text.wanted = text.cursor_column(False)
    vim.counted = (vim.counted[0] + count, vim.counted[1] + changed)
    if count > 2:
        vim.say(f"{count} substitution{'' if count == 1 else 's'} on {changed} line{'' if changed == 1 else 's'}")


def _match(vim: VimView) -> re.Match[str] | None:
    assert vim.asking is not None
    regex = _regex(vim, vim.substitute[0], vim.substitute[2])
    assert regex is not None
    while vim.asking[0] <= vim.asking[2]:
        y, x = vim.asking[0], vim.asking[1]
        found = regex.search(vim.text.lines[y], x) if x <= len(vim.text.lines[y]) else None
        if found is not None and (x == 0 or not regex.pattern.startswith("^")):
            return found
        vim.asking[0], vim.asking[1] = y + 1, 0
    return None


def _next(vim: VimView) -> None:
    """Go to the next match, or end."""
    assert vim.asking is not None
    found = _match(vim)
    if found is None:
        _, _, _, count, changed, _, _ = vim.asking
        vim.asking = None
        vim.say("")
        if count > 2:
            vim.say(f"{count} substitutions on {changed} line{'' if changed == 1 else 's'}")
        return
    vim.text.y, vim.text.x = vim.asking[0], found.start()
    vim.text.wanted = vim.text.cursor_column(False)
    vim.say(f"replace with {vim.substitute[1]} (y/n/a/q/l/^E/^Y)?")


def _replace(vim: VimView, found: re.Match[str]) -> None:
    assert vim.asking is not None
    text, y = vim.text, vim.asking[0]
    if not vim.asking[3]:
        text.remember()
    new = replaced(found, vim.substitute[1])
    if "\n" in new or "\0" in new:
        vim.doubt = vim.doubt or "a new line from :s in vim"
    text.lines[y] = text.lines[y][: found.start()] + new + text.lines[y][found.end() :]
    vim.asking[3] += 1
    vim.asking[4] += vim.asking[5] != y
    vim.asking[5] = y
    _skip(vim, found.start() + len(new) + (found.start() == found.end()))


def _skip(vim: VimView, x: int) -> None:
    assert vim.asking is not None
    if "g" in vim.substitute[2]:
        vim.asking[1] = x
    else:
        vim.asking[0], vim.asking[1] = vim.asking[0] + 1, 0


def confirm(vim: VimView, key: str) -> None:
    """Take the answer to a question of `:s///c`."""
    assert vim.asking is not None
    found = _match(vim)
    if found is None:
        vim.asking = None
        return
    if key in "ylaYLA":
        _replace(vim, found)
    elif key in "nN":
        _skip(vim, max(found.end(), found.start() + 1))
    if key in "lLqQ\x1b\x03":
        vim.asking[0] = vim.asking[2] + 1
    if key in "aA":
        while (found := _match(vim)) is not None:
            _replace(vim, found)
        y = vim.asking[5]
        vim.text.y, vim.text.x = y, vim.text.first_nonblank(y)
        vim.text.wanted = vim.text.cursor_column(False)
    if key in "ylaYLAnNqQ\x1b\x03":
        _next(vim)
