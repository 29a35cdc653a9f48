"""Values and texts as JavaScript has them, for servers that run on Node."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

__all__ = [
    "SAFE_INTEGER",
    "as_number",
    "collation_key",
    "length",
    "number_text",
    "pad_end",
    "pad_start",
    "stringify",
    "trim",
    "type_name",
]

SAFE_INTEGER = 2**53 - 1
"""Largest integer that a number holds exactly."""

_BLANK = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TRIM = re.compile(f"^[{_BLANK}]+|[{_BLANK}]+$")
_DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_RADIX = re.compile(r"0(?:[xX]([0-9a-fA-F]+)|[oO]([0-7]+)|[bB]([01]+))")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')


def trim(text: str) -> str:
    """Remove white space at both ends, as `String.prototype.trim` does."""
    return _TRIM.sub("", text)


def length(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text) + sum(char > "\uffff" for char in text)


def pad_end(text: str, width: int) -> str:
    """Fill up with blanks behind."""
    return text + " " * (width - length(text))


def pad_start(text: str, width: int) -> str:
    """Fill up with blanks in front."""
    return " " * (width - length(text)) + text


def number_text(value: float) -> str:
    """Write a number as `String(value)` does (ECMAScript, Number::toString)."""
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    sign, digits, exponent = _digits(number)
    count, point = len(digits), exponent + 1
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
        text = f"{mantissa}e{'+' if exponent > 0 else '-'}{abs(exponent)}"
    return sign + text


def _digits(number: float) -> tuple[str, str, int]:
    """Sign, shortest digits and decimal exponent of the first one."""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    lead = len(whole + fraction) - len(digits)
    place = len(whole) - 1 - lead + int(exponent or 0)
    return "-" if number < 0 else "", digits.rstrip("0") or "0", place


def as_number(value: Any) -> float:
    """Turn a JSON value into a number, as `Number(value)` does; NaN where it is none."""
    if isinstance(value, bool) or value is None:
        return float(bool(value))
    if isinstance(value, int | float):
        return _real(value)
    if isinstance(value, str):
        return _text_number(trim(value))
    if isinstance(value, list):
        return _text_number(trim(_joined(value)))
    return math.nan


def _real(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _text_number(text: str) -> float:
    if not text:
        return 0.0
    radix = _RADIX.fullmatch(text)
    if radix is not None:
        base = 16 if radix[1] else 8 if radix[2] else 2
        return _real(int(radix[1] or radix[2] or radix[3], base))
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def _joined(items: list[Any]) -> str:
    return ",".join("" if item is None else _plain(item) for item in items)


def _plain(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return number_text(_real(item))
    if isinstance(item, list):
        return _joined(item)
    return item if isinstance(item, str) else "[object Object]"


def type_name(value: Any) -> str:
    """Name the type of a JSON value as messages of zod do."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "NaN" if math.isnan(_real(value)) else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"


def stringify(value: Any, indent: int = 0) -> str:
    """Write a JSON value as `JSON.stringify(value, null, indent)` does."""
    return _value(value, indent, "")


def _value(value: Any, indent: int, margin: str) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        number = _real(value)
        return number_text(number) if math.isfinite(number) else "null"
    if isinstance(value, str):
        return _quoted(value)
    inner = margin + " " * indent
    if isinstance(value, list | tuple):
        return _block("[]", [_value(item, indent, inner) for item in value], indent, margin)
    colon = ": " if indent else ":"
    items = [f"{_quoted(str(key))}{colon}{_value(item, indent, inner)}" for key, item in value.items()]
    return _block("{}", items, indent, margin)


def _block(brackets: str, items: list[str], indent: int, margin: str) -> str:
    if not items:
        return brackets
    if not indent:
        return f"{brackets[0]}{','.join(items)}{brackets[1]}"
    inner = margin + " " * indent
    body = f",\n{inner}".join(items)
    return f"{brackets[0]}\n{inner}{body}\n{margin}{brackets[1]}"


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: _ESCAPES.get(found[0], f"\\u{ord(found[0]):04x}"), text) + '"'


_ORDER = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789"
_EXPANDED = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o\u0338", "Ø": "O\u0338"})
_ACCENTS = {char: place for place, char in enumerate("\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u0303\u0307\u0338", 1)}
"""Combining marks in the order of their weights."""
_PLACES = {char: place for place, char in enumerate(_ORDER, 10)}


def collation_key(text: str) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[bool, ...]]:
    """Sort key of `String.prototype.localeCompare` in an English locale (CLDR root order).

    Letters are compared without case and accents first, then accents, then lower before upper case. Exact for
    ASCII and Latin letters; other scripts are ordered by code point behind them.
    """
    letters: list[tuple[int, int]] = []
    accents: list[int] = []
    cases: list[bool] = []
    for char in unicodedata.normalize("NFD", text.translate(_EXPANDED)):
        if unicodedata.combining(char) and letters:
            accents[-1] = accents[-1] * 0x11000 + _ACCENTS.get(char, ord(char))
            continue
        if unicodedata.category(char) == "Cc" and char not in "\t\n\v\f\r\x85":
            continue
        folded = char.lower()
        if char.isspace():
            place = (0, ord(char) if char != " " else 6)
        elif folded in _PLACES:
            place = (1, _PLACES[folded])
        else:
            place = (2 if folded.isalpha() else 1, ord(folded[0]) + (0 if folded.isalpha() else 100))
        letters.append(place)
        accents.append(0)
        cases.append(char != folded)
    return tuple(letters), tuple(accents), tuple(cases)
