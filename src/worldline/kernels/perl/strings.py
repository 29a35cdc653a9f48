"""Finds variables and escapes in the strings and patterns of Perl."""

from __future__ import annotations

import re
from collections.abc import Iterator

from worldline.kernels.perl.values import PerlGap

__all__ = ["pieces"]

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "e": "\x1b", "f": "\f"}
_CASES = {"L": "lower", "U": "upper", "E": "end", "Q": "quote", "u": "first", "l": "firstlow"}
_NAME = re.compile(r"\$(?:\{\^?\w+\}|(?:::)?[A-Za-z_]\w*(?:::\w+)*|\d+|[&!@,;.0/\\]|\+(?=\{))|\$\$(?=\w)")
_ARRAY = re.compile(r"@(?:\{?[A-Za-z_]\w*\}?|\$\w+)")


def pieces(text: str, *, pattern: bool = False) -> Iterator[tuple[str, str]]:
    """Yield `(kind, value)`: `text`, `scalar` and `list` with the expression's source, or a change of case."""
    plain: list[str] = []
    index = 0
    while index < len(text):
        letter = text[index]
        if letter == "\\" and index + 1 < len(text):
            follower = text[index + 1]
            index += 2
            if follower in _CASES and not (pattern and follower in "lu"):
                if plain:
                    yield "text", "".join(plain)
                plain = []
                yield _CASES[follower], ""
            elif pattern:
                plain.append("\\" + follower)
            else:
                value, index = _escape(text, follower, index)
                plain.append(value)
            continue
        end = _reference(text, index, pattern=pattern) if letter in "$@" else index
        if end > index:
            if plain:
                yield "text", "".join(plain)
            plain = []
            yield ("list" if letter == "@" else "scalar"), text[index:end]
            index = end
            continue
        plain.append(letter)
        index += 1
    if plain or not text:
        yield "text", "".join(plain)


def _escape(text: str, follower: str, index: int) -> tuple[str, int]:
    if follower == "x":
        match = re.compile(r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{1,2})").match(text, index)
        if match is None:
            return "\0", index
        code = int(match[1] or match[2], 16)
        if code > 255:
            raise PerlGap("a wide character")
        return chr(code), match.end()
    if follower == "0":
        match = re.compile(r"[0-7]{0,2}").match(text, index)
        assert match is not None
        return chr(int("0" + match[0], 8)), match.end()
    if follower in "Nc1234567":
        raise PerlGap("a rare escape")
    return _ESCAPES.get(follower, follower), index


def _reference(text: str, index: int, *, pattern: bool) -> int:
    """Find where a variable that starts at an index ends; the index itself where there is none."""
    if text[index] == "@":
        if text.startswith("@{", index):
            return _closing(text, index + 1) + 1
        match = _ARRAY.match(text, index)
        if match is None:
            return index
        return _subscripts(text, match.end(), pattern=pattern, once=True)
    if text.startswith("${", index) and not re.match(r"\$\{\^?\w+\}", text[index:]):
        end = _closing(text, index + 1) + 1
        return _subscripts(text, end, pattern=pattern)
    last = None if pattern else re.compile(r"\$#\w+").match(text, index)
    if last is not None:
        return last.end()
    if text.startswith("$#{", index) and not pattern:
        return _closing(text, index + 2) + 1
    if not pattern and re.match(r"\$[`'<>()\[\]|~=%^:?*+-](?!\{)", text[index:]):
        raise PerlGap("a rare variable in a string")
    match = _NAME.match(text, index)
    if match is None:
        return index
    if pattern and match[0] in ("$|", "$)", "$.", "$/", "$\\", "$,", "$;", "$!", "$@"):
        return index
    end = match.end()
    if match[0] == "$$":
        inner = re.compile(r"\w+").match(text, end)
        assert inner is not None
        end = inner.end()
    return _subscripts(text, end, pattern=pattern)


def _subscripts(text: str, end: int, *, pattern: bool, once: bool = False) -> int:
    while end < len(text):
        start = end
        if text.startswith("->", end) and text[end + 2 : end + 3] in ("[", "{"):
            start = end + 2
        if text[start : start + 1] == "[":
            simple = re.compile(r"\[\s*(?:-?\d+|\$#?\w+(?:\s*[-+*%]\s*(?:\d+|\$\w+))?)\s*\]").match(text, start)
            several = re.compile(r"\[[-\d,.\s$\w#]+\]").match(text, start) if once and not pattern else None
            if simple is None and several is None and (pattern or once):
                return end
            if simple is None and several is None and not re.match(r"\[[$\w-]", text[start:]):
                return end
        elif text[start : start + 1] != "{" or (pattern and re.match(r"\{\d*,?\d*\}", text[start:])):
            return end
        end = _closing(text, start) + 1
        if once:
            return end
    return end


def _closing(text: str, start: int) -> int:
    opening = text[start]
    closing = {"{": "}", "[": "]"}[opening]
    depth = 0
    for index in range(start, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if not depth:
                return index
    raise PerlGap("a variable in a string that does not end")
