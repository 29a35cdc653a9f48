"""What the words of an error say of its cause: which conditions they make less far-fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from worldline.worlds.learning.columns import Scope, is_number
from worldline.worlds.learning.guards import Condition

__all__ = ["related", "shortages", "speaks_of_absence", "speaks_of_shortage"]

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
_PLAIN_COST = 2
"""How far-fetched a condition is that says in numbers what the error says in words."""
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
    said = _words(told)
    kinds = {
        kind
        for kind, speaks in (("absence", speaks_of_absence), ("amount", speaks_of_shortage))
        if told and speaks(told)
    }
    eased = []
    for condition in candidates:
        words = _words([condition.text]) - _PLAIN_WORDS
        ease = _EASE * bool(words & said)
        ease += bool(ease) and condition.kind in kinds
        eased.append(replace(condition, cost=max(1, condition.cost - ease)) if ease else condition)
    return sorted(eased, key=lambda c: (c.cost, len(c.text)))


def shortages(scope: Scope, texts: Iterable[str]) -> Iterator[Condition]:
    """Yield conditions that there is less of what an error speaks of than the call asks for (`not enough seats`).

    That is so likely what such words mean that one call tells it, if no call that went well speaks against it.
    """
    told = list(texts)
    if not (told and speaks_of_shortage(told)):
        return
    said = _words(told)
    numbers = scope.numbers()
    asked = [c for c in numbers if re.match(r"\(?(?:args|item)\.", c.text)]
    for stock in numbers:
        if stock in asked or not _words([stock.text]) & said:
            continue
        for count in asked:
            holds = tuple(_less(a, b) for a, b in zip(stock.values, count.values, strict=True))
            # An argument that chooses the stock says that it is the one which is asked for.
            cost = _PLAIN_COST if "[args." in stock.text or "[item." in stock.text else _PLAIN_COST + 1
            yield Condition(f"{stock.text} < {count.text}", holds, cost, "amount")


def _less(one: object, other: object) -> bool | None:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one < other if is_number(one) and is_number(other) else None
    return None


def _words(texts: Iterable[str]) -> set[str]:
    """The words of texts and of names in expressions, without their plural."""
    return {word.rstrip("s") for text in texts for word in re.findall(r"[a-z]{4,}", text.lower())}
