"""Patterns of file names as regular expressions: globs, and the regular expressions of `find -regex`."""

from __future__ import annotations

import re

__all__ = ["PatternError", "basic_regex", "glob_regex", "path_regex"]

_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "word": r"\w",
}


class PatternError(ValueError):
    """The pattern cannot be read."""


def glob_regex(pattern: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Return a regular expression for a glob; `*` matches slashes and leading dots too (fnmatch without flags)."""
    text, position = "", 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            text += ".*"
        elif char == "?":
            text += "."
        elif char == "[":
            group, position = _bracket(pattern, position)
            text += group
        elif char == "\\" and position < len(pattern):
            text += re.escape(pattern[position])
            position += 1
        else:
            text += re.escape(char)
    try:
        return re.compile(rf"(?s:{text})\Z", re.IGNORECASE if ignore_case else 0)
    except re.error:  # a range that runs backwards matches nothing
        return re.compile(r"(?!)")


def _bracket(pattern: str, start: int) -> tuple[str, int]:
    """Translate a bracket expression whose inside starts at `start`; a lone `[` stands for itself."""
    position, body = start, ""
    negated = pattern[position : position + 1] in ("!", "^")
    position += negated
    first = True
    while position < len(pattern) and (pattern[position] != "]" or first):
        first = False
        match = re.compile(r"\[:(\w+):\]").match(pattern, position)
        if match and match.group(1) in _CLASSES:
            body += _CLASSES[match.group(1)]
            position = match.end()
            continue
        low = re.escape(pattern[position])
        if pattern[position + 1 : position + 2] == "-" and pattern[position + 2 : position + 3] not in ("", "]"):
            body += f"{low}-{re.escape(pattern[position + 2])}"
            position += 3
        else:
            body += low
            position += 1
    if position >= len(pattern):
        return r"\[", start
    return f"[{'^' if negated else ''}{body}]", position + 1


def path_regex(pattern: str, kind: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Return a regular expression for `find -regex`, which must match the whole path.

    Args:
        pattern: As given.
        kind: `emacs` (the default of find), `posix-basic` (and its like) or `posix-extended`.
        ignore_case: For `-iregex`.

    Raises:
        PatternError: It is no regular expression.
    """
    basic = kind in ("emacs", "findutils-default", "posix-basic", "grep", "ed", "sed", "posix-minimal-basic")
    extra = "+?" if kind in ("emacs", "findutils-default") else ""
    text = _from_basic(pattern, extra) if basic else _brackets(pattern)
    try:
        return re.compile(rf"(?s:{text})\Z", re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise PatternError(str(error)) from error


def basic_regex(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for a basic one of POSIX with GNU's extensions, to be searched for.

    Raises:
        PatternError: It is no regular expression.
    """
    try:
        return re.compile(_from_basic(pattern, ""))
    except re.error as error:
        raise PatternError(str(error)) from error


def _from_basic(pattern: str, special: str) -> str:
    """Translate a regular expression in which escaped parentheses, bars and braces are the operators."""
    text, position = "", 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "\\" and position < len(pattern):
            following = pattern[position]
            position += 1
            text += following if following in "(){}|" or (following in "+?" and not special) else "\\" + following
        elif char == "[":
            group, position = _bracket(pattern, position)
            text += group
        elif char in "(){}|" or (char in "+?" and char not in special):
            text += "\\" + char
        else:
            text += char
    return text


def _brackets(pattern: str) -> str:
    text, position = "", 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "\\":
            text += pattern[position - 1 : position + 1]
            position += 1
        elif char == "[":
            group, position = _bracket(pattern, position)
            text += group
        else:
            text += char
    return text
