"""The library of `bc -l`: sine, cosine, arctangent, logarithm and exponential, truncated at the scale."""

from __future__ import annotations

from decimal import ROUND_DOWN, Context, Decimal, localcontext

from worldline.kernels.shell.builtins.data.bc_numbers import Number

__all__ = ["FUNCTIONS", "call_function"]

FUNCTIONS = frozenset({"a", "c", "e", "l", "s"})
"""Names of the functions; `j` (Bessel) is left out."""

_GUARD = 25


def call_function(name: str, number: Number, scale: int) -> Number:
    """Compute one of the library's functions.

    Raises:
        ValueError: The argument has no sensible value, or is too large to be exact.
    """
    if number.value.bit_length() > 14_000 or scale > 1000:
        raise ValueError(name)
    x = Decimal(number.value).scaleb(-number.scale, Context(prec=len(str(abs(number.value))) + 5))
    size = max(0, x.adjusted()) if x else 0
    if size > 4 or (name == "e" and abs(x) > 2000):
        raise ValueError(name)
    digits = scale + _GUARD + size * 2 + (int(abs(x)) if name == "e" else 0)
    with localcontext(Context(prec=digits, Emax=10**6, Emin=-(10**6))) as context:
        if name == "e":
            value = context.exp(x)
        elif name == "l":
            if x <= 0:
                # What bc prints for it: 1 - 10^scale, as its library says.
                return Number((1 - 10**scale) * 10**scale, scale)
            value = context.ln(x)
        elif name == "a":
            value = _arctangent(x, digits)
        else:
            value = _sine(x, digits) if name == "s" else _sine(x + _pi(digits) / 2, digits)
        if scale and abs(value) < Decimal(10) ** -(scale + 2) and value and name != "e":
            return Number(0, scale)
        cut = value.scaleb(scale).to_integral_value(ROUND_DOWN)
    return Number(int(cut), scale)


def _arctangent(x: Decimal, digits: int) -> Decimal:
    if x < 0:
        return -_arctangent(-x, digits)
    halvings = 0
    while x > Decimal("0.1"):
        x = x / (1 + (1 + x * x).sqrt())
        halvings += 1
    total, term, square, index = Decimal(0), x, x * x, 1
    limit = Decimal(10) ** -digits
    while abs(term) > limit:
        total += term / index if index % 4 == 1 else -term / index
        term *= square
        index += 2
    return total * Decimal(2**halvings)


def _pi(digits: int) -> Decimal:
    return 4 * _arctangent(Decimal(1), digits)


def _sine(x: Decimal, digits: int) -> Decimal:
    turn = 2 * _pi(digits)
    x -= turn * (x / turn).to_integral_value(ROUND_DOWN)
    total, term, index = Decimal(0), x, 1
    limit = Decimal(10) ** -digits
    while abs(term) > limit:
        total += term
        term = -term * x * x / ((index + 1) * (index + 2))
        index += 2
    return total
