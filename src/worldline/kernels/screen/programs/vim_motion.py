"""Moving in vim."""

from __future__ import annotations

import re

from worldline.kernels.screen.programs.vim_objects import matching, paragraph, sentence
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["MOTIONS", "move"]

MOTIONS = frozenset((*"hjkl0^$wWbBeEGnN+-_HML;,\r\n\x0e\x10\x7f |%{}()*#", "gg", "ge", "gE", "g_", "gj", "gk", "g0"))
_JUMPS = frozenset(("G", "gg", "n", "N", "H", "M", "L", "%", "{", "}", "(", ")", "*", "#"))
"""Motions that remember where they began."""


def move(vim: VimView, key: str, count: int, given: bool) -> bool:
    """Carry out a motion; false where it cannot be.

    Args:
        vim: The editor.
        key: The motion.
        count: How often.
        given: Whether the number was typed.
    """
    text = vim.text
    before = (text.y, text.x)
    if key in _JUMPS:
        vim.set_jump()
    if key in ("gj", "gk"):
        key = key[1]
    if key in ("j", "k", "\x0e", "\x10"):
        return text.up_down(count if key in ("j", "\x0e") else -count, bool(vim.visual))
    if key in ("n", "N"):
        vim.find(count, vim.backward != (key == "N"))
        return not vim.failed
    if key in ("*", "#"):
        return _same_word(vim, count, key == "#")
    if key in ("+", "\r", "\n", "-", "_"):
        step = {"-": -count, "_": count - 1}.get(key, count)
        if not 0 <= text.y + step < len(text.lines):
            return False
        text.y += step
        text.x = text.first_nonblank(text.y)
    elif key in ("G", "gg"):
        text.y = min(count, len(text.lines)) - 1 if given else (len(text.lines) - 1 if key == "G" else 0)
        text.x = text.first_nonblank(text.y)
    elif key in ("H", "M", "L"):
        _on_screen(vim, key, count)
    elif key in (";", ","):
        return _again(vim, key, count)
    elif key == "|":
        text.x = min(count - 1, max(len(text.line) - 1, 0))
    elif key == "%":
        return _percent(vim, count, given)
    elif key in ("{", "}"):
        for _ in range(count):
            paragraph(text, 1 if key == "}" else -1)
    elif key in ("(", ")"):
        for _ in range(count):
            sentence(text, 1 if key == ")" else -1)
    elif key[0] in "'`" and len(key) == 2:
        return _to_mark(vim, key)
    elif key[0] in "fFtT":
        vim.found_char = (key[0], key[1:])
        return _to_char(vim, key, count)
    else:
        _within(vim, key, count)
    text.wanted = 10**6 if key == "$" else text.cursor_column(False)
    return (text.y, text.x) != before or key not in ("h", "l", "\x7f", " ", "w", "b", "e", "W", "B", "E")


def _on_screen(vim: VimView, key: str, count: int) -> None:
    text, window = vim.text, vim.window
    last = min(window.top + vim.rows, len(text.lines)) - 1
    if key == "M":
        text.y = (window.top + last) // 2
    else:
        off = 5
        first = window.top + max(count - 1, off if window.top else 0)
        lowest = last - max(count - 1, off if last < len(text.lines) - 1 else 0)
        text.y = min(first, last) if key == "H" else max(lowest, window.top)
    text.x = text.first_nonblank(text.y)


def _percent(vim: VimView, count: int, given: bool) -> bool:
    text = vim.text
    if given:
        text.y = min((count * len(text.lines) + 99) // 100, len(text.lines)) - 1
        text.x = text.first_nonblank(text.y)
        text.wanted = text.cursor_column(False)
        return True
    start = next((x for x in range(text.x, len(text.line)) if text.line[x] in "()[]{}"), None)
    found = matching(text, (text.y, start)) if start is not None else None
    if found is None:
        return False
    text.y, text.x = found
    text.wanted = text.cursor_column(False)
    return True


def _same_word(vim: VimView, count: int, backward: bool) -> bool:
    text = vim.text
    found = next((m for m in re.finditer(r"\w+", text.line) if m.end() > text.x), None)
    if found is None:
        if text.line.strip():
            vim.doubt = vim.doubt or "the word under the cursor in vim"
        vim.say("E348: No string under cursor")
        return False
    text.x = found.start()
    vim.pattern, vim.backward = rf"\<{found[0]}\>", backward
    vim.find(count, backward)
    return not vim.failed


def _to_mark(vim: VimView, key: str) -> bool:
    text, name = vim.text, "'" if key[1] == "`" else key[1]
    place = vim.marks.get(name)
    if name == "'":
        place = vim.marks.get("'", (0, 0))
    elif name in "<>" and vim.last_visual is not None:
        places = sorted(vim.last_visual[1:])
        place = places[0] if name == "<" else places[1]
    elif name not in vim.marks and not ("a" <= name <= "z"):
        vim.doubt = vim.doubt or f"the mark {name} of vim"
    if place is None:
        vim.say("E20: Mark not set")
        return False
    if place != (text.y, text.x):
        vim.set_jump()
    text.y = min(place[0], len(text.lines) - 1)
    text.x = text.first_nonblank(text.y) if key[0] == "'" else min(place[1], max(len(text.line) - 1, 0))
    text.wanted = text.cursor_column(False)
    return True


def _again(vim: VimView, key: str, count: int) -> bool:
    """`;` and `,`: the last search for a character again."""
    kind, char = vim.found_char
    if not kind:
        return False
    if key == ",":
        kind = kind.swapcase()
    text, x = vim.text, vim.text.x
    if kind in "tT" and count == 1:
        text.x += 1 if kind == "t" else -1
        if _to_char(vim, kind + char, 1):
            return True
        text.x = x
        return False
    return _to_char(vim, kind + char, count)


def _within(vim: VimView, key: str, count: int) -> None:
    text = vim.text
    if key in ("h", "\x7f"):
        text.x = max(text.x - count, 0)
    elif key in ("l", " "):
        text.x = min(text.x + count, max(len(text.line) - (0 if vim.visual else 1), 0))
    elif key == "0":
        text.x = 0
    elif key == "^":
        text.x = text.first_nonblank(text.y)
    elif key == "g0":
        text.x = 0
    elif key == "g_":
        text.x = max(len(text.line.rstrip()) - 1, 0)
    elif key in ("ge", "gE"):
        for _ in range(count):
            text.y, text.x = text.word_end_back(text.y, text.x, key == "gE")
    elif key == "$":
        text.y = min(text.y + count - 1, len(text.lines) - 1)
        text.x = len(text.line) if vim.visual else max(len(text.line) - 1, 0)
    else:
        step = {"w": text.word_forward, "b": text.word_back, "e": text.word_end}[key.lower()]
        for _ in range(count):
            text.y, text.x = step(text.y, text.x, key.isupper())
        text.clamp()


def _to_char(vim: VimView, key: str, count: int) -> bool:
    text, char = vim.text, key[1]
    forward = key[0] in "ft"
    places = [x for x, found in enumerate(text.line) if found == char and (x > text.x if forward else x < text.x)]
    if not forward:
        places.reverse()
    if len(places) < count:
        return False
    text.x = places[count - 1] - (key[0] == "t") + (key[0] == "T")
    text.wanted = text.cursor_column(False)
    return True
