"""The errors of one tool: their words, and the condition under which each comes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.kernels.tools.collections.expressions import literal
from worldline.types import canonical_json
from worldline.worlds.learning.columns import UNKNOWN, Column, Scope, known
from worldline.worlds.learning.explaining import Explainer
from worldline.worlds.learning.guards import Condition, conditions, find_condition, prefixes
from worldline.worlds.learning.traces import TracedCall
from worldline.worlds.learning.wording import related, shortages, speaks_of_absence

__all__ = ["ENOUGH", "Example", "Refusal", "by_wording", "find_refusal", "in_order", "wording"]

_LEAST = 2
"""Calls a rule must rest on."""
_PRESUMED = re.compile(r"\bin seen\b|\bis not told\b")
ENOUGH = 0.6
"""Share of the errors of a kind that a condition must explain, of those that can be told."""
_NAMED = 0.3
"""The same for a condition that compares the very numbers which the error names: little else can be meant."""


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded call, and the names its rule may use: its arguments, and the stores as they were before."""

    call: TracedCall
    names: Mapping[str, Any]
    group: str = ""
    """Its task, or its session where there are few tasks."""
    odd: bool = False
    """It went against the tool's schema and was not refused for it: what it was answered is no example to go by."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A kind of error: its words, and when it comes."""

    template: str
    when: str
    lets: Mapping[str, Any]
    holds: tuple[bool | None, ...]
    members: tuple[int, ...]
    guess: bool = False
    """It was told in too few of its calls to be relied on."""
    hearsay: bool = False
    """It was learned of another tool."""

    @property
    def presumed(self) -> bool:
        """Whether it rests on what was never seen, which may be there nevertheless."""
        return bool(_PRESUMED.search(self.when + canonical_json(self.lets)))


def find_refusal(
    texts: Mapping[int, str],
    scope: Scope,
    keys: Mapping[str, tuple[str, ...]],
    explainer: Explainer,
    good: Sequence[int],
) -> Refusal | None:
    """Find out when errors of one wording come.

    Args:
        texts: The errors, by the number of the example.
        scope: All examples of the tool.
        keys: Parts of each store's key.
        explainer: Explains the errors' texts.
        good: Examples that went well.
    """
    return _of_items(texts, scope, keys, good) or _plain(texts, scope, explainer, good)


def by_wording(examples: Sequence[Example]) -> list[list[int]]:
    """Errors in groups of the same words; numbers, ids and quoted texts may differ."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        if example.call.error:
            groups[wording(example.call)].append(number)
    return list(groups.values())


def wording(call: TracedCall) -> str:
    """Return the words of an answer, with what the call gave, numbers, ids and quoted texts left out."""
    given = sorted(set(_scalars(call.arguments)), key=len, reverse=True)
    text = call.text
    for value in given:
        if len(value) > 1:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "\0", text)
    return re.sub(r"\S*\d\S*|(['\"]).*?\1", "\0", text)


def _scalars(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _scalars(item)]
    if isinstance(value, list):
        return [text for item in value for text in _scalars(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def _plain(texts: Mapping[int, str], scope: Scope, explainer: Explainer, good: Sequence[int]) -> Refusal | None:
    """An error that depends on the call as a whole."""
    explained = explainer.refusal(texts, good)
    if explained is None:
        return None
    # Numbers that the error names are likely those it is about.
    named = [_computed(scope, text) for text in re.findall(r"\{\{ (.+?) \}\}", str(explained.template))]
    numbers = [column for column in named if column is not None]
    candidates = _candidates(scope, texts, numbers)
    kind = _named_kind(texts, scope)
    unwanted = [n for n in good if kind is None or kind.holds[n] is not False]
    ease = 2 if kind is not None else 0
    condition = None
    if len(numbers) > 1:
        compared = [c for c in candidates if all(column.text in c.text for column in numbers)]
        # Where all good calls have them equal, it is the difference that is refused, not just one side of it.
        compared.sort(key=lambda c: " != " not in c.text)
        condition = find_condition(scope, compared, list(texts), unwanted, _NAMED, ease=ease)
    if condition is None:
        condition = find_condition(scope, candidates, list(texts), unwanted, ENOUGH, ease=ease)
    if condition is None and speaks_of_absence(texts.values()):
        # What is known to have gone tells it; most of what is refused so was never there, which nothing can tell.
        gone = [c for c in candidates if c.text.removesuffix(" is defined") in scope.lets]
        condition = find_condition(scope, gone, list(texts), unwanted, _NAMED, ease=ease)
    if kind is not None and not any(kind.holds[n] is True for n in good):
        condition = kind
    told = sum(condition.holds[n] is True for n in texts) if condition is not None else 0
    if condition is None or (told < _LEAST and condition.cost > 3):
        return None
    if kind is not None and kind is not condition:
        holds = tuple(False if k is False else c for k, c in zip(kind.holds, condition.holds, strict=True))
        condition = Condition(f"{kind.text} and {condition.text}", holds, condition.cost)
    guess = told < ENOUGH * len(texts)
    return Refusal(explained.template, condition.text, {}, condition.holds, tuple(texts), guess)


def _candidates(scope: Scope, texts: Mapping[int, str], numbers: Sequence[Column] = ()) -> list[Condition]:
    """Conditions an error may come under, those that go with its words first."""
    found = [*shortages(scope, texts.values()), *related(conditions(scope, numbers), texts.values())]
    return sorted(found, key=lambda c: c.cost)


def _named_kind(texts: Mapping[int, str], scope: Scope) -> Condition | None:
    """The kind of an id that an error speaks of (`Error: gift card balance ...` and `gift_card_17`)."""
    for kind in prefixes(scope.scalars()):
        words = re.findall(r"[a-z]+", kind.text.split("(", 1)[1].lower())
        named = all(all(word in text.lower() for word in words) for text in texts.values())
        if named and all(kind.holds[n] is True for n in texts):
            return kind
    return None


def _computed(scope: Scope, text: str) -> Column | None:
    """The column of an expression that stands in a message."""
    found = next((column for column in scope.columns if column.text == text), None)
    if found is not None:
        return found
    probe = Scope([dict(env) for env in scope.envs], [])
    name = probe.let("probe", f"{{{{ {text} }}}}")
    column = next((column for column in probe.columns if column.text == name), None)
    return Column(text, column.values, 1) if column is not None and column.all_are(int, float) else None


def _of_items(
    texts: Mapping[int, str], scope: Scope, keys: Mapping[str, tuple[str, ...]], good: Sequence[int]
) -> Refusal | None:
    """An error about one item of a list: the first for which a condition holds."""
    for column in [c for c in scope.columns if c.text.startswith("args.") and c.all_are(list)]:
        items = scope.items_of(column, keys)
        named = _named_items(texts, items)
        if not items.envs or len(named) < max(1, ENOUGH * len(texts)):
            continue
        spared = {n for n, owner in enumerate(items.owners or ()) if owner in set(good)}
        for owner, number in named.items():
            # The items before the one that is named were found to be right.
            spared |= {n for n, o in enumerate(items.owners or ()) if o == owner and n < number}
        about = re.compile(rf"\b(?:{'|'.join(['item', *items.lets])})\b")
        wanted = list(named.values())
        condition = find_condition(items, _candidates(items, texts), wanted, sorted(spared), ENOUGH, about=about)
        if condition is None:
            continue
        each: dict[str, Any] = {"$each": f"{{{{ {column.text} }}}}", "$if": f"{{{{ {condition.text} }}}}"}
        lets = {name: template for name, template in items.lets.items() if name in re.findall(r"\w+", condition.text)}
        if lets:
            each["$let"] = lets
        template = _worded(texts, named, items, scope)
        if template is None:
            continue
        holds = _any(condition, items, len(scope.envs), column)
        return Refusal(template, "wrong", {"wrong": each}, holds, tuple(texts))
    return None


def _named_items(texts: Mapping[int, str], items: Scope) -> dict[int, int]:
    """Which item of each call its error names, by an identifying field."""
    found: dict[int, int] = {}
    for column in items.columns:
        if not column.text.startswith("item.") or not column.all_are(str):
            continue
        for number, owner in enumerate(items.owners or ()):
            value = column.values[number]
            if owner not in texts or owner in found or not known(value):
                continue
            if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", texts[owner]):
                found[owner] = number
        if found:
            return found
    return found


def _worded(texts: Mapping[int, str], named: Mapping[int, int], items: Scope, scope: Scope) -> str | None:
    """The error's words, with the item's fields and the call's arguments in them."""
    pieces: set[str] = set()
    fields = [c for c in items.columns if c.text.startswith("item.") and c.all_are(str, int)]
    others = [c for c in scope.columns if c.text.startswith("args.") and c.all_are(str, int) and c.depth == 1]
    for owner, number in named.items():
        text = literal(texts[owner])
        for column, row, base in [*((c, number, "wrong[0]") for c in fields), *((c, owner, "") for c in others)]:
            value = column.values[row]
            if known(value) and len(str(value)) > 1:
                name = column.text.replace("item", base, 1) if base else column.text
                text = re.sub(rf"(?<![\w{{.]){re.escape(str(value))}(?![\w}}])", f"{{{{ {name} }}}}", text)
        pieces.add(text)
    return pieces.pop() if len(pieces) == 1 else None


def _any(condition: Condition, items: Scope, n: int, column: Column) -> tuple[bool | None, ...]:
    """Whether the condition holds for any item of each call; None where that cannot be told."""
    found: list[bool | None] = [None if value is UNKNOWN else False for value in column.values[:n]]
    for number, owner in enumerate(items.owners or ()):
        holds = condition.holds[number]
        if holds is True or (holds is None and found[owner] is False):
            found[owner] = True if holds else None
    return tuple(found)


def in_order(refusals: Sequence[Refusal]) -> list[Refusal]:
    """Put an error whose condition also holds where another came behind that other."""
    left, ordered = list(refusals), []
    while left:
        clashes = Counter(
            {
                number: sum(one.holds[n] is True for other in left if other is not one for n in other.members)
                for number, one in enumerate(left)
            }
        )
        number = min(range(len(left)), key=lambda n: (clashes[n], left[n].holds.count(None), -len(left[n].members)))
        ordered.append(left.pop(number))
    return ordered
