"""Whether a refusal would come again for another call of the same tool, by what its words say of the first one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["refused_again"]

_NUMBER = re.compile(r"(?<![\w.:/-])\d+(?:\.\d+)?(?![\w:/-]|\.\d)")
"""A number by itself: no part of a word, a date or a path."""
_LARGEST = 2**53
"""Up to here every whole number is told from its neighbours; beyond, numbers are not held against each other."""


def refused_again(text: str, before: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Return what a refusal would say of other arguments, or None where its cause may be gone.

    A number that stands in it, and is an argument or the sum of a list of them, is held against the other numbers that
    it names: the new one must lie on the same side of them. Else it is about the values that stand in it; where there
    are none, about the arguments whose value shares a word with it, or else whose name does: these must be as before.

    Args:
        text: What was said.
        before: The arguments that were refused.
        arguments: Those of the other call.
    """
    told = list(_leaves(before))
    given = {value for _, value in _leaves(arguments)}
    again, compared = _compared(text, before, arguments)
    if again is None:
        return None
    words = _words(text)
    named = {value for _, value in told if len(value) > 1 and value not in compared and _stands_in(value, text)}
    about = named or {value for _, value in told if words & _words(value)}
    if not about and not compared:
        about = {value for name, value in told if words & _words(name)}
    return again if about <= given else None


def _compared(text: str, before: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[str | None, set[str]]:
    """Put the call's own numbers in the text in place of the first one's; and which those were.

    None in place of the text where a number lies on the other side of one it was held against, or equals it.
    """
    totals, compared = dict(_totals(arguments)), set[str]()
    numbers = [float(number) for number in _NUMBER.findall(text)]
    for name, total in _totals(before):
        others = [number for number in numbers if number != total]
        if total not in numbers or not others or name not in totals:
            continue
        compared.add(_shown(total))
        if any(_sign(total, other) != _sign(totals[name], other) for other in others):
            return None, compared
        text = _with(text, total, totals[name])
    return text, compared


def _with(text: str, old: float, new: float) -> str:
    return _NUMBER.sub(lambda found: _shown(new) if float(found[0]) == old else found[0], text)


def _totals(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The numbers in arguments by where they stand; those of a list's items summed up."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _totals(inner, f"{name}.{key}")
    elif isinstance(value, list):
        sums: dict[str, float] = {}
        for item in value:
            for where, number in _totals(item, f"{name}[]"):
                sums[where] = sums.get(where, 0) + number
        yield from sums.items()
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        yield name, float(value)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts and numbers in arguments, with the name each stands under."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def _stands_in(value: str, text: str) -> bool:
    if _NUMBER.fullmatch(value):
        return value in _NUMBER.findall(text)
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def _sign(one: float, other: float) -> int:
    return (one > other) - (one < other)


def _shown(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)
