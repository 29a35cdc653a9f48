"""Values of Perl programs: numbers from text and back, truth, sprintf, regular expressions.

Strings hold bytes, one character each (Latin-1), as Perl's do without `use utf8`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

__all__ = [
    "Compiled",
    "PerlGap",
    "Reference",
    "Value",
    "arithmetic",
    "number",
    "regex",
    "show",
    "sprintf",
    "truth",
]

Value = Any
"""None (undef), a string, an integer, a float or a :class:`Reference`."""

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))")
_LOW, _HIGH = -(2**63), 2**64 - 1


class PerlGap(Exception):
    """The program uses what is not simulated; `str()` says what."""


class Compiled(str):
    """A pattern made by `qr//`: what it shows, and beside it the source as patterns take it."""

    __slots__ = ("source",)
    source: str


class Reference:
    """A reference to an array, a hash, a scalar or a function.

    Args:
        kind: `ARRAY`, `HASH`, `SCALAR` or `CODE`.
        target: The list, dict, cell or function itself.
    """

    __slots__ = ("kind", "target")

    def __init__(self, kind: str, target: Any) -> None:
        self.kind = kind
        self.target = target


def truth(value: Value) -> bool:
    """Whether Perl takes a value for true."""
    if isinstance(value, str):
        return value not in ("", "0")
    return bool(value) if not isinstance(value, Reference) else True


def number(value: Value) -> int | float:
    """A value as a number: what a string starts with, 0 for undef."""
    if value is None:
        return 0
    if isinstance(value, int | float):
        return value
    if isinstance(value, Reference):
        raise PerlGap("the address of a reference")
    match = _NUMBER.match(value)
    if match is None:
        if re.match(r"\s*[+-]?(?:inf|nan)", value, re.IGNORECASE):
            raise PerlGap("infinity")
        return 0
    text = match[1]
    if re.fullmatch(r"[+-]?\d+", text):
        whole = int(text)
        return whole if _LOW <= whole <= _HIGH else float(whole)
    return float(text)


def show(value: Value) -> str:
    """A value as a string."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else ""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
        if value == int(value) and abs(value) < 1e15:
            return str(int(value))
        text = f"{value:.15g}"
        return re.sub(r"e([+-])(\d)$", r"e\g<1>0\2", text)
    raise PerlGap("the address of a reference")


def _fit(value: int | float) -> int | float:
    return float(value) if isinstance(value, int) and not _LOW <= value <= _HIGH else value


def arithmetic(operator: str, left: Value, right: Value) -> int | float:
    """Apply `+ - * / % **`.

    Raises:
        ZeroDivisionError: Division by zero.
    """
    one, two = number(left), number(right)
    if operator == "+":
        return _fit(one + two)
    if operator == "-":
        return _fit(one - two)
    if operator == "*":
        return _fit(one * two)
    if operator == "/":
        if two == 0:
            raise ZeroDivisionError("division")
        if isinstance(one, int) and isinstance(two, int) and one % two == 0:
            return one // two
        return one / two
    if operator == "%":
        whole, by = int(one), int(two)
        if by == 0:
            raise ZeroDivisionError("modulus")
        return whole % by
    try:
        if isinstance(one, int) and isinstance(two, int) and two >= 0:
            return one**two if abs(one).bit_length() * two <= 64 else float(one) ** two
        power: complex = float(one) ** float(two)
    except OverflowError:
        return math.inf
    if isinstance(power, complex):
        return math.nan
    return power


_FORMAT = re.compile(r"%(?:%|([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d+))?(?:[lhqLV]*)([a-zA-Z]))")


def sprintf(form: str, values: list[Value], text: Callable[[Value], str] = show) -> str:
    """Format values as Perl's `sprintf`.

    Args:
        form: The format.
        values: What is filled in; what is missing is undef.
        text: How a value becomes a string.
    """
    rest = list(values)

    def take() -> Value:
        return rest.pop(0) if rest else None

    def fill(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        flags, width, precision, kind = match[1], match[2], match[3], match[4]
        if width == "*":
            wide = int(number(take()))
            flags, width = (flags + "-", str(-wide)) if wide < 0 else (flags, str(wide))
        if precision == "*":
            precision = str(int(number(take())))
        spec = f"%{flags}{width or ''}" + (f".{precision}" if precision is not None else "")
        value = take()
        if kind == "s":
            return f"{spec.replace('0', '', 1) if flags == '0' else spec}s" % text(value)
        if kind == "c":
            return f"{spec}c" % chr(int(number(value)) & 255)
        if kind in "di":
            return f"{spec}d" % int(number(value))
        if kind in "uxXo":
            return f"{spec}{kind.replace('u', 'd')}" % (int(number(value)) & (2**64 - 1))
        if kind in "bB":
            digits = f"{int(number(value)) & (2**64 - 1):b}"
            digits = digits.rjust(int(width or 0), "0" if "0" in flags and "-" not in flags else " ")
            return digits.ljust(int(width or 0)) if "-" in flags else digits
        if kind in "feEgG":
            return f"{spec}{kind}" % float(number(value))
        raise PerlGap(f"the format {match[0]}")

    return _FORMAT.sub(fill, form)


_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
    "word": r"\w",
}
_COMPILED: dict[tuple[str, str], re.Pattern[str]] = {}


def regex(pattern: str, flags: str) -> re.Pattern[str]:
    """Translate a regular expression.

    Raises:
        PerlGap: It uses what Python's do not have.
    """
    key = (pattern, "".join(sorted(set(flags) & set("imsx"))))
    if key not in _COMPILED:
        if re.search(r"\\[KGRXpPN]|\(\?[&R0-9{|]|\(\*|\\g\{|\(\?\?", pattern):
            raise PerlGap(f"the regular expression {pattern}")
        text = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], ""), pattern)
        text = text.replace(r"\z", r"(?!\n)\Z").replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
        text = re.sub(r"(?<!\\)\\h", r"[ \\t]", text)
        text = re.sub(r"(?<!\\)((?:\\\\)*)\\Z", r"\1(?=\\n?\\Z)", text) if r"\Z" in pattern else text
        text = text.replace(r"(?!\n)\Z", r"\Z")
        text = re.sub(r"\\x\{([0-9a-fA-F]{1,2})\}", lambda found: f"\\x{found[1]:0>2}", text)
        text = re.sub(r"\\k<(\w+)>", r"(?P=\1)", text)
        value = re.ASCII
        for letter, flag in (("i", re.I), ("m", re.M), ("s", re.S), ("x", re.X)):
            value |= flag if letter in flags else re.ASCII
        try:
            _COMPILED[key] = re.compile(text, value)
        except re.error as error:
            raise PerlGap(f"the regular expression {pattern}: {error}") from error
    return _COMPILED[key]
