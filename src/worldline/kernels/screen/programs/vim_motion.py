"""Moving in vim."""

from __future__ import annotations

from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["MOTIONS", "move"]

MOTIONS = frozenset((*"hjkl0^$wWbBeEGnN+-_HML;,\r\n\x0e\x10\x7f |", "gg"))


def move(vim: VimView, key: str, count: int, given: bool) -> bool:
    """Carry out a motion; false where it cannot be.

    Args:
        vim: The editor.
        key: The motion.
        count: How often.
        given: Whether the number was typed.
    """
    text = vim.text
    if key in ("j", "k", "\x0e", "\x10"):
        return text.up_down(count if key in ("j", "\x0e") else -count, False)
    if key in ("n", "N"):
        vim.find(count, vim.backward != (key == "N"))
        return True
    if key in ("+", "\r", "\n", "-", "_"):
        step = {"-": -count, "_": count - 1}.get(key, count)
        if not 0 <= text.y + step < len(text.lines):
            return False
        text.y += step
        text.x = text.first_nonblank(text.y)
    elif key in ("G", "gg"):
        text.y = min(count, len(text.lines)) - 1 if given else (len(text.lines) - 1 if key == "G" else 0)
        text.x = text.first_nonblank(text.y)
    elif key in ("H", "M", "L", ";", ",", "|"):
        vim.doubt = vim.doubt or f"the motion {key} in vim"
    elif key[0] in "fFtT":
        return _to_char(vim, key, count)
    else:
        _within(vim, key, count)
    text.wanted = 10**6 if key == "$" else text.cursor_column(False)
    return True


def _within(vim: VimView, key: str, count: int) -> None:
    text = vim.text
    if key in ("h", "\x7f"):
        text.x = max(text.x - count, 0)
    elif key in ("l", " "):
        text.x = min(text.x + count, max(len(text.line) - 1, 0))
    elif key == "0":
        text.x = 0
    elif key == "^":
        text.x = text.first_nonblank(text.y)
    elif key == "$":
        text.y = min(text.y + count - 1, len(text.lines) - 1)
        text.x = max(len(text.line) - 1, 0)
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
