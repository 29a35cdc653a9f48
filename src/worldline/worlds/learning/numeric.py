"""Finding how a number of an answer is computed from other numbers."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from worldline.worlds.learning.columns import UNKNOWN, Column, is_number, known

__all__ = ["find_number", "products"]

_MAX_TERMS = 40
_MAX_PRODUCTS = 700
_DEPTH = 3
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_STEP = 3
"""What a count may be off by: the calls before, and this one."""
_TRIED = 12
"""How many first terms of a sum are followed up."""


def find_number(targets: Sequence[Any], columns: Sequence[Column], least: int = 2) -> Column | None:
    """Find an expression that gives the targets.

    Args:
        targets: A number for each example; UNKNOWN where the example does not count.
        columns: Number columns to compute with.
        least: In how many examples it must be told, with at least two different values.

    Returns:
        A copy, a product with a constant or with another column, a count and a step, a difference or sum of two or
        the larger one, a difference times a third, or a sum of up to three products; the shortest first. None where
        nothing gives all the targets.
    """
    terms = _distinct(columns)[:_MAX_TERMS]
    for candidate in _simple(targets, terms):
        if _fits(candidate, targets, least):
            return candidate
    found = _sum_of_products(targets, terms, least, _DEPTH)
    return found


def products(columns: Sequence[Column]) -> list[Column]:
    """The columns and their products by twos, shortest first."""
    made = list(columns)
    for a, b in itertools.combinations(columns, 2):
        made.append(_combined(a, b, "*"))
    return made[:_MAX_PRODUCTS]


def _distinct(columns: Sequence[Column]) -> list[Column]:
    found: dict[tuple[Any, ...], Column] = {}
    for column in sorted(columns, key=lambda c: (c.depth, len(c.text))):
        key = tuple(v if known(v) else id(v) for v in column.values)
        if any(known(v) for v in column.values):
            found.setdefault(key, column)
    return list(found.values())


def _simple(targets: Sequence[Any], terms: Sequence[Column]) -> Iterator[Column]:
    yield from terms
    for a in terms:
        yield from _scaled(a, targets)
        yield from _counted_on(a, targets)
    for a, b in itertools.permutations(terms, 2):
        difference = _combined(a, b, "-")
        yield difference
        yield from _scaled(difference, targets)
        if a.text < b.text:
            yield _combined(a, b, "+")
            yield _combined(a, b, "*")
            yield _larger(a, b)
    for a, b in itertools.permutations(terms, 2):
        row = next((n for n, t in enumerate(targets) if is_number(t) and t and _both(a, b, n)), None)
        if row is None:
            continue
        difference = a.values[row] - b.values[row]
        for c in terms:
            # One example rules nearly all of them out, before any column is made.
            if is_number(c.values[row]) and difference * c.values[row] == targets[row]:
                yield _combined(_combined(a, b, "-"), c, "*")


def _both(a: Column, b: Column, row: int) -> bool:
    return is_number(a.values[row]) and is_number(b.values[row])


def _scaled(column: Column, targets: Sequence[Any]) -> Iterator[Column]:
    """The column times the constant that the first example asks for."""
    for target, value in zip(targets, column.values, strict=True):
        if is_number(target) and is_number(value) and value and target:
            factor = _constant(Fraction(target) / Fraction(value))
            if factor is not None and factor != 1:
                values = [factor * v if is_number(v) else v for v in column.values]
                yield Column(f"({factor} * {column.text})", values, column.depth + 1)
            return


def _counted_on(column: Column, targets: Sequence[Any]) -> Iterator[Column]:
    """A count of what was before, and a step."""
    if not (column.text == "made" or column.text.startswith("last.") or column.text.endswith("| length)")):
        return
    for target, value in zip(targets, column.values, strict=True):
        if is_number(target) and is_number(value):
            step = target - value
            if type(step) is int and 0 < abs(step) <= _STEP:
                values = [v + step if is_number(v) else v for v in column.values]
                yield Column(f"({column.text} {'+' if step > 0 else '-'} {abs(step)})", values, column.depth + 1)
            return


def _larger(a: Column, b: Column) -> Column:
    values = [
        max(x, y) if is_number(x) and is_number(y) else (x if not is_number(x) else y)
        for x, y in zip(a.values, b.values, strict=True)
    ]
    return Column(f"([{a.text}, {b.text}] | max)", values, max(a.depth, b.depth) + 1)


def _constant(ratio: Fraction) -> int | float | None:
    """A factor a person would write: a whole number, or one with at most two decimals."""
    if ratio.denominator == 1:
        return int(ratio) if abs(ratio) <= 10_000 else None
    return float(ratio) if ratio.denominator in (2, 4, 5, 10, 20, 25, 50, 100) and abs(ratio) < 100 else None


def _combined(a: Column, b: Column, sign: str) -> Column:
    compute = _SIGNS[sign]
    values = [
        compute(x, y) if is_number(x) and is_number(y) else (x if not is_number(x) else y)
        for x, y in zip(a.values, b.values, strict=True)
    ]
    return Column(f"({a.text} {sign} {b.text})", values, max(a.depth, b.depth) + 1)


def _fits(column: Column, targets: Sequence[Any], least: int) -> bool:
    told = set()
    count = 0
    for target, value in zip(targets, column.values, strict=True):
        if target is UNKNOWN or value is UNKNOWN:
            continue
        if not is_number(value) or value != target:
            return False
        told.add(target)
        count += 1
    return count >= least and (len(told) > 1 or len(set(map(str, targets))) == 1)


def _sum_of_products(targets: Sequence[Any], terms: Sequence[Column], least: int, depth: int) -> Column | None:
    """Take away the product that explains most examples by itself, then explain what is left by multiples."""
    features = products(terms)
    ranked: list[tuple[int, int, int, int, Column, list[Any]]] = []
    for feature in features:
        rest = [
            t - v if is_number(t) and is_number(v) else UNKNOWN for t, v in zip(targets, feature.values, strict=True)
        ]
        told = sum(is_number(r) for r in rest)
        zeros = sum(is_number(r) and r == 0 for r in rest)
        if told >= least and zeros >= max(2, 0.2 * told):
            ranked.append((zeros, -feature.depth, -len(feature.text), len(ranked), feature, rest))
    ranked.sort(key=lambda entry: entry[:4], reverse=True)
    for *_, feature, rest in ranked[:_TRIED]:
        if more := _multiples(rest, features, least, depth - 1):
            whole = _combined(feature, more, "+")
            if _fits(whole, targets, least):
                return whole
    return None


def _multiples(rest: Sequence[Any], features: Sequence[Column], least: int, depth: int) -> Column | None:
    """Explain what is left by a constant times a feature, and again what that leaves."""
    best: tuple[int, Column, list[Any]] | None = None
    before = sum(is_number(r) and r == 0 for r in rest)
    for feature in features:
        for scaled in _scaled(feature, rest):
            left = [
                r - v if is_number(r) and is_number(v) else UNKNOWN for r, v in zip(rest, scaled.values, strict=True)
            ]
            told = sum(is_number(x) for x in left)
            zeros = sum(is_number(x) and x == 0 for x in left)
            if told >= least and zeros == told:
                return scaled
            if told >= least and zeros > before and (best is None or zeros > best[0]):
                best = zeros, scaled, left
    if best is None or depth <= 1:
        return None
    more = _multiples(best[2], features, least, depth - 1)
    return _combined(best[1], more, "+") if more else None
