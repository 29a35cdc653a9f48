"""Commands of vim that change the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from worldline.kernels.screen.programs.vim_operate import joined, more_or_fewer, operate
from worldline.kernels.screen.programs.vim_text import Change
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["CHANGES", "undo"]


def _delete_chars(vim: VimView, count: int) -> None:
    vim.failed = not vim.text.line
    if vim.text.line:
        vim.keep("d")
        vim.text.cut_part(vim.text.x, min(vim.text.x + count, len(vim.text.line)))
        vim.kept()


def _delete_before(vim: VimView, count: int) -> None:
    vim.failed = not vim.text.x
    if vim.text.x:
        vim.keep("d")
        vim.text.cut_part(max(vim.text.x - count, 0), vim.text.x)
        vim.kept()


def _put(vim: VimView, count: int, after: bool) -> None:
    name, text = vim.target, vim.text
    kept = (text.register, text.linewise)
    if name:
        text.register, text.linewise = vim.named(name)
    if not text.register:
        vim.say(f"E353: Nothing in register {name or chr(34)}")
        vim.failed = True
    else:
        more_or_fewer(vim, text.put(count, after))
    text.register, text.linewise = kept
    vim.target = ""
    vim.text.wanted = vim.text.cursor_column(False)


def _open(vim: VimView, place: int) -> None:
    vim.begin_insert()
    start = vim.start_of(vim.text.lines[:place], place, vim.text.line)
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
        vim.failed = True
        return
    joined(vim, text.y, min(text.y + max(count - 1, 1), len(text.lines) - 1))


def _add(vim: VimView, count: int) -> None:
    """Add to the number at the cursor or behind it."""
    text = vim.text
    pattern = r"0[xX][0-9a-fA-F]+|0[bB][01]+|-?\d+"
    found = next((match for match in re.finditer(pattern, text.line) if match.end() > text.x), None)
    if found is None:
        vim.failed = True
        return
    word = found[0]
    if word[:2].lower() in ("0x", "0b") or (len(word.lstrip("-")) > 1 and word.lstrip("-")[0] == "0"):
        vim.doubt = vim.doubt or "numbers with leading zeros in vim"
    text.remember()
    number = str(int(word, 16 if word[:2].lower() == "0x" else 10) + count) if word[:2].lower() != "0b" else word
    text.lines[text.y] = text.line[: found.start()] + number + text.line[found.end() :]
    text.x = found.start() + len(number) - 1
    text.wanted = text.cursor_column(False)


def _insert_again(vim: VimView, count: int) -> None:
    """`gi`: insert where inserting ended last."""
    y, x = vim.marks.get("^", (0, 0))
    vim.begin_insert()
    vim.text.y = min(y, len(vim.text.lines) - 1)
    vim.text.x = min(x, len(vim.text.line))
    vim.text.wanted = vim.text.virtual(vim.text.y, vim.text.x)


def _replace_mode(vim: VimView, count: int) -> None:
    vim.begin_insert()
    vim.mode = "replace"


def _tell(vim: VimView, count: int) -> None:
    """C-g: the name and the size."""
    text = vim.text
    many, mark = len(text.lines), " [Modified]" if text.modified else ""
    if not vim.file:
        vim.doubt = vim.doubt or "what C-g says of a buffer without a name"
    elif text.empty:
        vim.say(f'"{vim.file}"{mark} --No lines in buffer--')
    else:
        words = f"{many} line{'' if many == 1 else 's'}"
        vim.say(f'"{vim.file}"{mark} {words} --{(text.y + 1) * 100 // many}%--')


def _code(vim: VimView, count: int) -> None:
    """`ga`: the code of the character at the cursor."""
    char = vim.text.line[vim.text.x : vim.text.x + 1]
    if not char:
        vim.say("NUL")
    elif char < "\x7f" and char >= " ":
        vim.say(f"<{char}>  {ord(char)},  Hex {ord(char):02x},  Octal {ord(char):03o}")
    else:
        vim.doubt = vim.doubt or "what vim says of a character"


def _switch_case(vim: VimView, count: int) -> None:
    text = vim.text
    text.remember()
    part = text.line[text.x : text.x + count].swapcase()
    text.lines[text.y] = text.line[: text.x] + part + text.line[text.x + len(part) :]
    text.x = min(text.x + len(part), max(len(text.line) - 1, 0))


def undo(vim: VimView, back: bool) -> None:
    """Take a change back, or do it again."""
    text = vim.text
    if back:
        _restore(vim, text.undos, text.redos, "before")
    else:
        _restore(vim, text.redos, text.undos, "after")


def _restore(vim: VimView, taken: list[Change], given: list[Change], word: str) -> None:
    text = vim.text
    if not taken:
        vim.say("Already at oldest change" if word == "before" else "Already at newest change")
        return
    change = taken.pop()
    now, then = ([] if text.empty else text.lines), list(change.lines)
    given.append(replace(change, lines=tuple(text.lines)))
    same = 0
    while same < min(len(now), len(then)) and now[same] == then[same]:
        same += 1
    text.lines = then
    text.empty = len(then) == 1 and not then[0] and change.number == 1 and not text.saved
    blocked = change.count or len(then) < len(now)
    text.y = min(change.place[0] if blocked else min(same, change.place[0]), len(then) - 1)
    text.x = (
        text.first_nonblank(text.y) if text.y != change.place[0] else min(change.place[1], max(len(text.line) - 1, 0))
    )
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
    "D": lambda vim, count: operate(vim, "d", "$", count, False),
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
    "gJ": lambda vim, count: joined(
        vim, vim.text.y, min(vim.text.y + max(count - 1, 1), len(vim.text.lines) - 1), blanks=False
    ),
    "\x01": _add,
    "\x18": lambda vim, count: _add(vim, -count),
    "gi": _insert_again,
    "gI": lambda vim, count: _insert_at(vim, 0),
    "R": _replace_mode,
    "\x07": _tell,
    "ga": _code,
    "~": _switch_case,
    "u": lambda vim, count: undo(vim, True),
    "\x12": lambda vim, count: undo(vim, False),
    "\x0c": lambda vim, count: vim.say(""),
}
"""Commands of one key."""
