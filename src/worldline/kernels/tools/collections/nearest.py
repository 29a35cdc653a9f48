"""Guessing an answer from the recorded call that is most like the one asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rapidfuzz import fuzz

from worldline.types import canonical_json

__all__ = ["Told", "carried_over", "nearest"]


class Told(NamedTuple):
    """A call of some tool and what it was answered."""

    text: str
    error: bool
    arguments: Mapping[str, Any]


def nearest(calls: Iterable[Told], arguments: Mapping[str, Any]) -> Told | None:
    """Return the answer of the call with the most similar arguments, with the asked call's arguments in their place.

    Args:
        calls: Calls of the same tool; of two that are alike, the first one counts.
        arguments: Those of the call asked.
    """
    asked = canonical_json(dict(arguments))
    best: tuple[float, Told] | None = None
    for call in calls:
        score = fuzz.ratio(asked, canonical_json(dict(call.arguments)), score_cutoff=best[0] if best else 0)
        if best is None or score > best[0]:
            best = score, call
    if best is None:
        return None
    text = carried_over(best[1].text, best[1].arguments, arguments)
    return Told(text, best[1].error, arguments)


def carried_over(text: str, before: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Return a text in which the arguments that it quotes are those of another call."""
    changed: dict[str, str] = {}
    for name, value in before.items():
        other = arguments.get(name)
        if _quotable(value) and _quotable(other) and value != other:
            changed.setdefault(str(value), str(other))
    if not changed:
        return text
    found = "|".join(rf"(?<!\w){re.escape(value)}(?!\w)" for value in sorted(changed, key=len, reverse=True))
    return re.sub(found, lambda match: changed[match[0]], text)


def _quotable(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and len(str(value)) > 1
