"""Basic regular expressions of POSIX in Python's syntax, as far as both agree."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Call

__all__ = ["translate"]

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "\\x21-\\x7e", "lower": "a-z", "print": "\\x20-\\x7e", "punct": "!-/:-@\\[-`{-~", "space": "\\s",
    "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


def translate(call: Call, pattern: str) -> re.Pattern[str]:
    r"""Compile a basic regular expression (GNU's, with `\+`, `\?` and `\|`).

    Alternatives are given up, since POSIX takes the longest and Python the first.

    Raises:
        Unknown: It holds something whose meaning differs.
    """
    result, at, start = "", 0, True
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            result, start = result + _escaped(call, pattern[at + 1]), pattern[at + 1] == "("
            at += 2
            continue
        if char == "[":
            bracket, at = _bracket(call, pattern, at)
            result += bracket
        elif char == "*" and start:
            result, at = result + "\\*", at + 1
        elif (char == "^" and not start) or (
            char == "$" and at + 1 < len(pattern) and pattern[at + 1 : at + 3] != "\\)"
        ):
            result, at = result + "\\" + char, at + 1
        else:
            result += char if char in ".*^$" else re.escape(char)
            at += 1
        start = char == "^" and start
    try:
        return re.compile(result, re.DOTALL)
    except re.error:
        call.unknown(f"the regular expression {pattern}")


def _escaped(call: Call, char: str) -> str:
    if char in "(){}+?":
        return char
    if char in "wWsSb":
        return "\\" + char
    if char in "123456789":
        return f"(?:\\{char})"
    if char in "|<>`'B":
        call.unknown(f"\\{char} in a regular expression")
    return re.escape(char)


def _bracket(call: Call, pattern: str, at: int) -> tuple[str, int]:
    end = at + 1
    if pattern[end : end + 1] == "^":
        end += 1
    if pattern[end : end + 1] == "]":
        end += 1
    while end < len(pattern) and pattern[end] != "]":
        if pattern[end : end + 2] == "[:":
            end = pattern.find(":]", end) + 1
            if end == 0:
                call.unknown("an open class")
        end += 1
    if end >= len(pattern):
        call.unknown("an open bracket")
    body = pattern[at + 1 : end]
    negated = body.startswith("^")
    body = body[1:] if negated else body
    text = re.sub(r"\[:(\w+):\]", lambda found: f"\0{found[1]}\0", body)
    text = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("^", "\\^")
    text = re.sub("\0(\\w+)\0", lambda found: _CLASSES.get(found[1], ""), text)
    return f"[{'^' if negated else ''}{text}]", end + 1
