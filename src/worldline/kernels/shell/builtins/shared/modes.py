"""Permission bits: `rwxr-xr-x` strings and the mode language of chmod, mkdir -m and find -perm."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import FileStat

__all__ = ["KIND_LETTER", "ModeError", "apply_mode", "mode_string", "permission_string"]

KIND_LETTER = {"file": "-", "directory": "d", "symlink": "l", "fifo": "p"}

_CLAUSE = re.compile(r"^([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]|[0-7]+))+)$")
_STEP = re.compile(r"([-+=])([rwxXst]*|[ugo]|[0-7]+)(?=[-+=]|$)")
_WHO_MASK = {"u": 0o4700, "g": 0o2070, "o": 0o1007}
_SHIFT = {"u": 6, "g": 3, "o": 0}


class ModeError(ValueError):
    """The text is not a mode."""


def permission_string(mode: int) -> str:
    """Return nine letters such as `rwxr-xr-x`, with `s`, `S`, `t` and `T` for the special bits."""
    letters = ["rwx"[index % 3] if mode >> (8 - index) & 1 else "-" for index in range(9)]
    for position, bit, letter in ((2, 0o4000, "s"), (5, 0o2000, "s"), (8, 0o1000, "t")):
        if mode & bit:
            letters[position] = letter if letters[position] == "x" else letter.upper()
    return "".join(letters)


def mode_string(stat: FileStat) -> str:
    """Return the ten letters that `ls -l` shows."""
    return KIND_LETTER[stat.kind] + permission_string(stat.mode)


def apply_mode(text: str, mode: int, *, directory: bool, umask: int) -> int:
    """Apply a mode as chmod reads it to present permission bits.

    Args:
        text: Octal (`755`) or symbolic (`u+x,go-w`).
        mode: The present bits.
        directory: Whether it is a directory: `X` always applies, and octal modes keep set-id bits.
        umask: The bits that a clause without `ugoa` leaves alone.

    Raises:
        ModeError: It is no mode.
    """
    if re.fullmatch(r"[0-7]+", text):
        value = int(text, 8)
        if value > 0o7777:
            raise ModeError(text)
        return value | (mode & 0o6000 if directory and len(text) < 5 else 0)
    if re.fullmatch(r"[-+=][0-7]+", text):
        value = int(text[1:], 8)
        return {"+": mode | value, "-": mode & ~value, "=": value}[text[0]] & 0o7777
    for clause in text.split(","):
        match = _CLAUSE.match(clause)
        if match is None:
            raise ModeError(text)
        for step in _STEP.finditer(match.group(2)):
            mode = _step(mode, match.group(1), step.group(1), step.group(2), directory, umask)
    return mode


def _step(mode: int, who: str, sign: str, permissions: str, directory: bool, umask: int) -> int:
    letters = "ugo" if not who or "a" in who else who
    affected = 0
    for letter in letters:
        affected |= _WHO_MASK[letter]
    value = _bits(mode, permissions, directory) & affected
    if not who:
        value &= ~umask
        affected &= ~umask
    if sign == "+":
        return mode | value
    if sign == "-":
        return mode & ~value
    kept = mode & 0o6000 if directory else 0
    return (mode & ~affected if who else 0) | kept | value


def _bits(mode: int, permissions: str, directory: bool) -> int:
    if permissions in ("u", "g", "o"):
        return (mode >> _SHIFT[permissions] & 7) * 0o111
    value = 0
    for letter in permissions:
        if letter in "rwx":
            value |= {"r": 0o444, "w": 0o222, "x": 0o111}[letter]
        elif letter == "X":
            value |= 0o111 if directory or mode & 0o111 else 0
        else:
            value |= 0o6000 if letter == "s" else 0o1000
    return value
