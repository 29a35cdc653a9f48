"""Numbers of `bc`: decimal fractions with a fixed number of places, truncated and never rounded (POSIX bc)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

__all__ = ["Number", "add", "divide", "multiply", "negate", "parse", "power", "remainder", "show", "square_root"]

_DIGITS = "0123456789ABCDEF"


@dataclass(frozen=True, slots=True)
class Number:
    """`value * 10 ** -scale`."""

    value: int
    scale: int = 0

    def at(self, scale: int) -> int:
        """The value with that many places, truncated towards zero."""
        if scale >= self.scale:
            return self.value * int(10 ** (scale - self.scale))
        return _quotient(self.value, 10 ** (self.scale - scale))

    def cut(self, scale: int) -> Number:
        """The number with at most that many places."""
        return self if scale >= self.scale else Number(self.at(scale), scale)

    def compare(self, other: Number) -> int:
        """Negative, zero or positive."""
        scale = max(self.scale, other.scale)
        left, right = self.at(scale), other.at(scale)
        return (left > right) - (left < right)


def _quotient(left: int, right: int) -> int:
    result = abs(left) // abs(right)
    return result if (left < 0) == (right < 0) else -result


def add(left: Number, right: Number) -> Number:
    """Sum; as many places as the longer one."""
    scale = max(left.scale, right.scale)
    return Number(left.at(scale) + right.at(scale), scale)


def negate(number: Number) -> Number:
    """The opposite."""
    return Number(-number.value, number.scale)


def multiply(left: Number, right: Number, scale: int) -> Number:
    """Product, with `min(a + b, max(scale, a, b))` places."""
    places = min(left.scale + right.scale, max(scale, left.scale, right.scale))
    return Number(left.value * right.value, left.scale + right.scale).cut(places)


def divide(left: Number, right: Number, scale: int) -> Number:
    """Quotient with `scale` places.

    Raises:
        ZeroDivisionError: The divisor is zero.
    """
    return Number(_quotient(left.value * 10 ** (scale + right.scale), right.value * 10**left.scale), scale)


def remainder(left: Number, right: Number, scale: int) -> Number:
    """What division with `scale` places leaves.

    Raises:
        ZeroDivisionError: The divisor is zero.
    """
    quotient = divide(left, right, scale)
    places = max(left.scale, scale + right.scale)
    return Number(left.at(places) - Number(quotient.value * right.value, scale + right.scale).at(places), places)


def power(base: Number, exponent: int, scale: int) -> Number:
    """Integer power.

    Raises:
        ZeroDivisionError: Zero to a negative power.
    """
    if exponent == 0:
        return Number(1)
    whole = Number(base.value ** abs(exponent), base.scale * abs(exponent))
    if exponent < 0:
        return divide(Number(1), whole, scale)
    return whole.cut(min(base.scale * exponent, max(scale, base.scale)))


def square_root(number: Number, scale: int) -> Number:
    """Square root with `max(scale, places)` places.

    Raises:
        ValueError: The number is negative.
    """
    places = max(scale, number.scale)
    return Number(isqrt(number.at(2 * places)), places)


def parse(text: str, base: int) -> Number:
    """Read a literal in an input base; a digit too large for it counts as its largest one."""
    whole, _, fraction = text.partition(".")
    if len(whole) == 1 and not fraction:
        return Number(_DIGITS.index(whole))
    limit = base - 1
    value = 0
    for digit in whole:
        value = value * base + min(_DIGITS.index(digit), limit)
    if not fraction:
        return Number(value)
    scale = len(fraction)
    part = 0
    for digit in fraction:
        part = part * base + min(_DIGITS.index(digit), limit)
    return Number(value * 10**scale + part * 10**scale // base**scale, scale)


def show(number: Number, base: int) -> str:
    """Return the digits in an output base, without line breaks."""
    sign = "-" if number.value < 0 else ""
    if number.value == 0:
        return "0"
    whole, rest = divmod(abs(number.value), 10**number.scale)
    if base == 10:
        fraction = f".{rest:0{number.scale}d}" if number.scale else ""
        return f"{sign}{whole or ''}{fraction}" if whole or fraction else "0"
    digits = []
    while whole:
        whole, digit = divmod(whole, base)
        digits.append(digit)
    digits.reverse()
    places = []
    reach = 1
    while number.scale and len(str(reach)) <= number.scale:
        rest *= base
        digit, rest = divmod(rest, 10**number.scale)
        places.append(digit)
        reach *= base
    if base <= 16:
        text = "".join(_DIGITS[digit] for digit in digits)
        return sign + text + ("." + "".join(_DIGITS[digit] for digit in places) if places else "")
    width = len(str(base - 1))
    text = "".join(f" {digit:0{width}d}" for digit in digits)
    if places:
        text += "." + " ".join(f"{digit:0{width}d}" for digit in places)
    return sign + text
