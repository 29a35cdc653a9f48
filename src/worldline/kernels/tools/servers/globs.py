"""Glob patterns as minimatch 10 reads them, with the option `dot`."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["LONGEST", "matches"]

LONGEST = 65_536
"""Characters that a pattern may have."""

_MOST_BRACES = 50
_MOST = 1000
"""Alternatives that braces are expanded to."""
_MOST_GROUPS, _MOST_STARS = 2, 3
"""In a name with `+(...)` and the like, whose alternatives may have to be tried in many ways."""
_MAGIC = "[^/]*?"
_BRACE_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?")


class _Unreadable(Exception):
    """The pattern uses what is not simulated."""


def matches(path: str, pattern: str) -> bool | None:
    """Tell whether a relative path matches; None where the pattern uses what is not simulated."""
    if len(pattern) > LONGEST:
        raise TypeError("pattern is too long")
    if pattern.startswith("#"):
        return False
    if pattern.count("{") > _MOST_BRACES:
        return None
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
    return bool((len(pattern) - len(bare)) % 2), tuple(re.compile(_whole(one), re.DOTALL) for one in _expand(bare))


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
    if len(parts) > 1 and parts[-1] == ".":
        raise _Unreadable
    while "." in parts[1:]:
        parts.remove(".") if parts[0] != "." else parts.pop(parts.index(".", 1))
    if ".." in parts:
        raise _Unreadable
    if parts.count("**") > _MOST_STARS:
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
    body, magic = _translate(part, last=True)
    guard = r"(?!\.{1,2}(?:/|$))" if magic and not part.startswith(".") else ""
    some = "(?=[^/])" if magic else ""
    return guard + some + body


def _translate(part: str, *, last: bool = False) -> tuple[str, bool]:
    """Regular expression of one name, and whether it holds anything but plain letters.

    Stars are tried at one place only, which is enough where no group stands behind them: what follows a star is taken
    at its first place, what follows the last one at the end. So no pattern takes long.
    """
    chunks, place, magic, groups = [""], 0, False, 0
    while place < len(part):
        char = part[place]
        if char in "?*+@!" and part[place + 1 : place + 2] == "(":
            found, place = _extended(part, place)
            groups, magic = groups + 1, True
            chunks[-1] += found
            continue
        place += 1
        if char == "*":
            while part[place : place + 1] == "*" and part[place + 1 : place + 2] != "(":
                place += 1
            chunks.append("")
            magic = True
        elif char == "?":
            chunks[-1] += "[^/]"
            magic = True
        elif char == "[":
            found, place = _brackets(part, place)
            chunks[-1] += found
            magic = magic or found != re.escape("[")
        elif char == "\\" and place < len(part):
            chunks[-1] += re.escape(part[place])
            place += 1
        else:
            chunks[-1] += re.escape(char)
    if groups > _MOST_GROUPS:
        raise _Unreadable
    if len(chunks) == 1:
        return chunks[0], magic
    if groups or not last:
        if len(chunks) > _MOST_STARS:
            raise _Unreadable
        return _MAGIC.join(chunks), magic
    middle = "".join(f"(?>{_MAGIC}{chunk})" for chunk in chunks[1:-1])
    return f"{chunks[0]}{middle}[^/]*{chunks[-1]}(?=/|$)", magic


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
    if any("(" in option for option in options) or (kind in "*+" and not _apart(options)):
        raise _Unreadable
    if kind == "!":
        rest = _translate(part[position + 1 :])[0]
        return f"(?:(?!(?:{body}){rest}(?:/|$))[^/]*?)", position + 1
    return f"(?:{body})" + {"?": "?", "*": "*", "+": "+", "@": ""}[kind], position + 1


def _apart(options: list[str]) -> bool:
    """Whether a text can be made of repeated options in one way only: plain ones that begin differently."""
    return all(re.fullmatch(r"[\w.-]+", one) for one in options) and len({one[0] for one in options}) == len(options)


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
        if part.startswith("[:", place):
            raise _Unreadable
        if char == "\\" and place + 1 < len(part):
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
