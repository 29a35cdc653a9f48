"""Glob patterns as minimatch 10 reads them, with the option `dot`."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["LONGEST", "matches"]

LONGEST = 65_536
"""Characters that a pattern may have."""

_MOST = 1000
"""Alternatives that braces are expanded to."""
_MAGIC = "[^/]*?"
_BRACE_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")
_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "ascii": r"\x00-\x7f", "blank": r" \t", "digit": "0-9",
    "lower": "a-z", "upper": "A-Z", "word": r"\w", "space": r"\s", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


class _Unreadable(Exception):
    """The pattern uses what is not simulated."""


def matches(path: str, pattern: str) -> bool | None:
    """Tell whether a relative path matches; None where the pattern uses what is not simulated."""
    if len(pattern) > LONGEST:
        raise TypeError("pattern is too long")
    if pattern.startswith("#"):
        return False
    try:
        negated, expressions = _compiled(pattern)
    except (_Unreadable, re.error, RecursionError):
        return None
    if path == "":
        return (pattern == "") != negated
    return any(expression.fullmatch(path) for expression in expressions) != negated


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[bool, tuple[re.Pattern[str], ...]]:
    bare = pattern.lstrip("!")
    count = len(pattern) - len(bare)
    if count and bare.startswith("("):
        bare, count = "!" + bare, count - 1
    return bool(count % 2), tuple(re.compile(_whole(one), re.DOTALL) for one in _expand(bare))


# --- braces


def _expand(pattern: str) -> list[str]:
    """Expand `{a,b}` and `{1..3}` as brace-expansion does."""
    start = _opening(pattern)
    if start is None:
        return [pattern]
    end = _closing(pattern, start)
    if end is None:
        return [pattern[: start + 1] + rest for rest in _expand(pattern[start + 1 :])]
    body, before, after = pattern[start + 1 : end], pattern[:start], _expand(pattern[end + 1 :])
    parts = _parts(body)
    span = _BRACE_RANGE.fullmatch(body)
    if span is not None:
        middle = _range(span)
    elif len(parts) == 1:
        inner = _expand(body)
        middle = [f"{{{one}}}" for one in inner]
    else:
        middle = [one for part in parts for one in _expand(part)]
    found = [before + one + rest for one in middle for rest in after]
    if len(found) > _MOST:
        raise _Unreadable
    return found


def _opening(pattern: str) -> int | None:
    skip = False
    for place, char in enumerate(pattern):
        if skip:
            skip = False
        elif char == "\\":
            skip = True
        elif char == "{" and pattern[place - 1 : place] != "$":
            return place
    return None


def _closing(pattern: str, start: int) -> int | None:
    depth, skip = 0, False
    for place in range(start, len(pattern)):
        char = pattern[place]
        if skip:
            skip = False
        elif char == "\\":
            skip = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return place
    return None


def _parts(body: str) -> list[str]:
    parts, depth, current, skip = [], 0, "", False
    for char in body:
        if skip:
            skip = False
        elif char == "\\":
            skip = True
        elif char == "," and not depth:
            parts.append(current)
            current = ""
            continue
        depth += (char == "{") - (char == "}")
        current += char
    return [*parts, current]


def _range(span: re.Match[str]) -> list[str]:
    first, last, step = span[1], span[2], abs(int(span[3] or 1)) or 1
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit():
        return [f"{{{span[0]}}}"]
    numeric = first.lstrip("-").isdigit()
    low, high = (int(first), int(last)) if numeric else (ord(first), ord(last))
    if abs(high - low) // step > _MOST:
        raise _Unreadable
    values = range(low, high + (1 if high >= low else -1), step if high >= low else -step)
    if not numeric:
        return [chr(value) for value in values]
    padded = any(re.fullmatch(r"-?0\d+", end) for end in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [str(value).zfill(width) for value in values]


# --- paths


def _whole(pattern: str) -> str:
    """Regular expression of a pattern without braces."""
    parts = re.split(r"/+", pattern)
    while "." in parts[1:]:
        parts.remove(".") if parts[0] != "." else parts.pop(parts.index(".", 1))
    if ".." in parts:
        raise _Unreadable
    kept = [part for place, part in enumerate(parts) if part != "**" or parts[place - 1 : place] != ["**"]]
    text = ""
    for place, part in enumerate(kept):
        last = place == len(kept) - 1
        if part == "**":
            if len(kept) == 1:
                return f"{_names()}(?:/{_names()})*/?"
            if last:
                return text + f"{_names()}(?:/{_names()})*/?"
            text += f"(?:{_names()}/)*"
            continue
        text += _segment(part) + ("" if last else "/")
    return text + ("" if pattern.endswith("/") else "/?")


def _names() -> str:
    """One name, but not `.` or `..`."""
    return r"(?!\.{1,2}(?:/|$))[^/]+"


def _segment(part: str) -> str:
    if part == "":
        return ""
    body, magic = _translate(part)
    guard = r"(?!\.{1,2}(?:/|$))" if magic and not part.startswith(".") else ""
    some = "(?=[^/])" if magic else ""
    return guard + some + body


def _translate(part: str) -> tuple[str, bool]:
    """Regular expression of one name, and whether it holds anything but plain letters."""
    text, place, magic = "", 0, False
    while place < len(part):
        char = part[place]
        if char in "?*+@!" and part[place + 1 : place + 2] == "(":
            found, place = _extended(part, place)
            text, magic = text + found, True
            continue
        place += 1
        if char == "*":
            while part[place : place + 1] == "*":
                place += 1
            text, magic = text + _MAGIC, True
        elif char == "?":
            text, magic = text + "[^/]", True
        elif char == "[":
            found, place = _brackets(part, place)
            text, magic = text + found, magic or found != re.escape("[")
        elif char == "\\" and place < len(part):
            text, place = text + re.escape(part[place]), place + 1
        else:
            text += re.escape(char)
    return text, magic


def _extended(part: str, place: int) -> tuple[str, int]:
    kind, depth, current, options = part[place], 0, "", []
    position = place + 1
    while position < len(part):
        char = part[position]
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 1:
            options.append(current)
            current = ""
        elif depth == 0:
            options.append(current)
            break
        elif not (char == "(" and depth == 1):
            current += char
        position += 1
    else:
        return re.escape(part[place : place + 2]), place + 2
    body = "|".join(_translate(option)[0] for option in options)
    if kind == "!":
        rest = _translate(part[position + 1 :])[0]
        return f"(?:(?!(?:{body}){rest}(?:/|$))[^/]*?)", position + 1
    return f"(?:{body})" + {"?": "?", "*": "*", "+": "+", "@": ""}[kind], position + 1


def _brackets(part: str, place: int) -> tuple[str, int]:
    """Translate `[...]` whose inside begins at `place`."""
    start, negated = place, part[place : place + 1] in ("!", "^")
    place += negated
    ranges, first = "", True
    while place < len(part):
        char = part[place]
        if char == "]" and not first:
            body = ("^/" if negated else "") + ranges
            return (f"[{body}]" if ranges else "(?!)", place + 1)
        named = re.match(r"\[:(\w+):\]", part[place:])
        if named is not None and named[1] in _CLASSES:
            ranges += _CLASSES[named[1]]
            place += named.end()
        elif char == "\\" and place + 1 < len(part):
            ranges += re.escape(part[place + 1])
            place += 2
        elif part[place + 1 : place + 2] == "-" and part[place + 2 : place + 3] not in ("", "]"):
            low, high = char, part[place + 2]
            ranges += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
            place += 3
        else:
            ranges += re.escape(char)
            place += 1
        first = False
    return re.escape("["), start
