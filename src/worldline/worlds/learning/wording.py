"""What the words of an error say of its cause: which conditions they make less far-fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from worldline.worlds.learning.guards import Condition

__all__ = ["related", "speaks_of_absence", "speaks_of_shortage"]

_PLAIN_WORDS = frozenset({"args", "item", "defined", "length", "attribute", "startswith", "selectattr", "told", "seen"})
_ABSENCE = re.compile(
    r"\bnot? (?:be )?(?:found|available|exist\w*|such|known|recogni[sz]ed|registered|longer|valid)\b"
    r"|\b(?:does|do|did)(?: not|n't) exist|\bno such\b|\bunknown\b|\binvalid\b|\bmissing\b|\bunavailable\b"
    r"|\bcannot find\b|\bnonexist\w*",
    re.IGNORECASE,
)
_SHORTAGE = re.compile(
    r"\bnot enough\b|\binsufficient\b|\bexceed|\btoo (?:many|much|few|little|low|high|large|small)\b"
    r"|\b(?:more|less|fewer|greater|higher|lower) than\b|\bat (?:most|least)\b|\bout of\b|\blimit\b|\bm(?:ax|in)imum\b",
    re.IGNORECASE,
)
_EASE = 2
"""How much less far-fetched a condition is that shares a word with the error."""


def speaks_of_absence(texts: Iterable[str]) -> bool:
    """Whether all of some errors say that something is not there."""
    return all(_ABSENCE.search(text) for text in texts)


def speaks_of_shortage(texts: Iterable[str]) -> bool:
    """Whether all of some errors say that something is too little or too much."""
    return all(_SHORTAGE.search(text) for text in texts)


def related(candidates: Sequence[Condition], texts: Iterable[str]) -> list[Condition]:
    """Order conditions by how well they go with an error's text, the plainest first.

    One that shares a word with the text is less far-fetched, and so is one of the kind that the text speaks of: that
    something is not there, or that a number is too small.
    """
    told = list(texts)
    said = {word.rstrip("s") for text in told for word in re.findall(r"[a-z]{4,}", text.lower())}
    kinds = {
        kind
        for kind, speaks in (("absence", speaks_of_absence), ("amount", speaks_of_shortage))
        if told and speaks(told)
    }
    eased = []
    for condition in candidates:
        words = {word.rstrip("s") for word in re.findall(r"[a-z]{4,}", condition.text.lower())} - _PLAIN_WORDS
        ease = _EASE * bool(words & said)
        ease += bool(ease) and condition.kind in kinds
        eased.append(replace(condition, cost=max(1, condition.cost - ease)) if ease else condition)
    return sorted(eased, key=lambda c: (c.cost, len(c.text)))
