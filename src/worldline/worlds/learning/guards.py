"""Finding the condition under which a call ends in one way and not in another."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.types import canonical_json
from worldline.worlds.learning.columns import MISSING, UNKNOWN, Column, Scope, is_number, known

__all__ = ["Condition", "conditions", "find_condition", "indicators", "prefixes"]

_FEW = 8
"""Distinct values of a column up to which it may be compared with each of them."""
_NUMBERS = 32
"""Number columns that are compared with each other."""
_NEITHER = 2
_SIGNS: dict[str, dict[int | None, bool | None]] = {
    "<": {-1: True, 0: False, 1: False, _NEITHER: False},
    ">": {-1: False, 0: False, 1: True, _NEITHER: False},
    "!=": {-1: True, 0: False, 1: True, _NEITHER: True},
}
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?")
_DAY = len("2024-05-15")
_STEPS = 40
"""Distinct values of a column up to which each is tried as a threshold."""
_UNSEEN_COST = 4
"""That something was never seen may have many reasons, unless the error speaks of it."""
_PAIRED = 150
"""Conditions that are tried in pairs."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition and in which examples it holds: True, False, or None where that cannot be told."""

    text: str
    holds: tuple[bool | None, ...]
    cost: int = 1
    """How far-fetched it is; of two that fit, the cheaper one is chosen."""
    kind: str = ""
    """What it is about: `absence` of something, an `amount`, or anything."""

    def negated(self) -> Condition:
        """The opposite."""
        holds = tuple(None if h is None else not h for h in self.holds)
        return Condition(f"not ({self.text})", holds, self.cost + 1, self.kind)


def conditions(scope: Scope, numbers: Sequence[Column] = ()) -> list[Condition]:
    """Return the conditions that can be made of a scope's columns, the plainest first; equal ones once.

    Args:
        scope: The examples.
        numbers: Number columns of special interest, which are compared with all others.
    """
    if not numbers and scope.told is not None and scope.told[0] == len(scope.columns):
        kept: list[Condition] = scope.told[1]
        return kept
    found: dict[tuple[bool | None, ...], Condition] = {}
    # How often a tool was called before says nothing about what it refuses.
    columns = [column for column in scope.columns if column.text != "made"]
    scalars = [column for column in scope.scalars() if column.text != "made"]
    made = itertools.chain(
        _presence(columns), _unseen(scope), _untold(scope), prefixes(scalars), _equalities(scalars),
        _constants(scalars), _members(scope), _thresholds(scalars), _past(scope),
        _comparisons(list(numbers), [column for column in scope.numbers() if column.text != "made"]),
    )  # fmt: skip
    for condition in made:
        told = {value for value in condition.holds if value is not None}
        if len(told) == 2 and (condition.holds not in found or found[condition.holds].cost > condition.cost):
            found[condition.holds] = condition
    ordered = sorted(found.values(), key=lambda c: (c.cost, len(c.text)))
    if not numbers:
        scope.told = len(scope.columns), ordered
    return ordered


def find_condition(
    scope: Scope,
    candidates: Sequence[Condition],
    wanted: Sequence[int],
    unwanted: Sequence[int],
    least: float = 0.5,
    *,
    may_miss: bool = False,
    about: re.Pattern[str] | None = None,
    ease: int = 0,
) -> Condition | None:
    """Find the condition that holds in some examples and not in others.

    Args:
        scope: The examples.
        candidates: Conditions, plainest first; pairs of them are tried where no single one fits.
        wanted: Examples in which it must hold, where it can be told.
        unwanted: Examples in which it must not.
        least: Share of the wanted examples in which it must be told.
        may_miss: It may not hold in the other wanted ones.
        about: What it must speak of.
        ease: How much less far-fetched a condition is than it looks.

    Returns:
        The plainest condition; of several, the one that is told in most of the wanted examples. The more far-fetched
        one is, the more tasks it must hold in.
    """
    share = least * len(wanted)
    best: tuple[float, int, int, Condition] | None = None
    half: list[Condition] = []
    for number, condition in enumerate(candidates):
        for tried in (condition, condition.negated()):
            told = [n for n in wanted if tried.holds[n] is True]
            if not told or len(told) < share or not _evident(scope, told, tried.cost - ease):
                continue
            if not may_miss and any(tried.holds[n] is False for n in wanted):
                continue
            if not any(tried.holds[n] is True for n in unwanted):
                if unwanted and not any(tried.holds[n] is False for n in unwanted):
                    continue
                # A plain condition that is told often enough beats a far-fetched one that is told more often.
                score = (-float(tried.cost), len(told), -number, tried)
                if (about is None or about.search(tried.text)) and (best is None or score[:3] > best[:3]):
                    best = score
            elif len(half) < _PAIRED:
                half.append(tried)
    return best[3] if best is not None else _pair(scope, half, wanted, unwanted, share, about)


def _pair(
    scope: Scope,
    half: Sequence[Condition],
    wanted: Sequence[int],
    unwanted: Sequence[int],
    share: float,
    about: re.Pattern[str] | None,
) -> Condition | None:
    """Two conditions that hold in the wanted examples, and never both in an unwanted one."""
    for one, other in itertools.combinations(half, 2):
        if about is not None and not (about.search(one.text) or about.search(other.text)):
            continue
        if any(one.holds[n] is True and other.holds[n] is True for n in unwanted):
            continue
        told = [n for n in wanted if one.holds[n] is True and other.holds[n] is True]
        cost = one.cost + other.cost + 1
        if told and len(told) >= share and _evident(scope, told, cost):
            holds = tuple(_and(a, b) for a, b in zip(one.holds, other.holds, strict=True))
            return Condition(f"({one.text}) and ({other.text})", holds, cost)
    return None


def _evident(scope: Scope, told: Sequence[int], cost: int) -> bool:
    """Whether a condition holds in enough different tasks for how far-fetched it is."""
    need = max(1, (cost + 1) // 2)
    return len({scope.groups[n] for n in told} if scope.groups else told) >= need


def indicators(columns: Sequence[Column]) -> Iterator[Column]:
    """Columns that are 1 where a text column has one of its few values, so that sums may hold them."""
    for column in columns:
        values = Counter(v for v in column.values if isinstance(v, str))
        if column.depth <= 1 and column.all_are(str) and 1 < len(values) <= 3:
            for value in values:
                text = f"(1 if {column.text} == {canonical_json(value)} else 0)"
                yield Column(text, [int(v == value) if known(v) else v for v in column.values], column.depth + 1)


def _and(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _presence(columns: Sequence[Column]) -> Iterator[Condition]:
    for column in columns:
        if any(value is MISSING for value in column.values):
            holds = tuple(None if v is UNKNOWN else v is not MISSING for v in column.values)
            yield Condition(f"{column.text} is defined", holds, 1 + column.depth, "absence")


def _unseen(scope: Scope) -> Iterator[Condition]:
    """Conditions that an id which a call names stood in no record or answer before."""
    if not scope.envs or "seen" not in scope.envs[0]:
        return
    for column in scope.scalars():
        if column.text.startswith(("args.", "item.")) and column.depth == 1 and column.all_are(str):
            pairs = zip(scope.envs, column.values, strict=True)
            holds = tuple(value not in env["seen"] if known(value) else None for env, value in pairs)
            yield Condition(f"{column.text} not in seen", holds, _UNSEEN_COST, "absence")


def _untold(scope: Scope) -> Iterator[Condition]:
    """Conditions that nothing is known of the records which a call names: of one of them, or of what an item is."""
    named = [c for c in scope.columns if c.depth == 0 and c.text in scope.lets and c.all_are(dict) and not c.is_map]
    for column in named:
        holds = tuple(not known(value) for value in column.values)
        yield Condition(f"{column.text} is not told", holds, _UNSEEN_COST, "absence")
    if scope.outer is not None and len(named) > 1:
        holds = tuple(not any(known(value) for value in row) for row in zip(*(c.values for c in named), strict=True))
        text = " and ".join(f"{column.text} is not told" for column in named)
        yield Condition(text, holds, _UNSEEN_COST, "absence")


def _equalities(columns: Sequence[Column]) -> Iterator[Condition]:
    texts = [column for column in columns if column.all_are(str) and column.depth <= 2]
    for one, other in itertools.combinations(texts, 2):
        related = one.last == other.last
        if related or ("args." in one.text) != ("args." in other.text):
            holds = tuple(
                a == b if known(a) and known(b) else None for a, b in zip(one.values, other.values, strict=True)
            )
            yield Condition(f"{one.text} == {other.text}", holds, 2 if related else 5)


def _constants(columns: Sequence[Column]) -> Iterator[Condition]:
    for column in columns:
        values = Counter(canonical_json(value) for value in column.values if known(value))
        if not 1 < len(values) <= _FEW and not (len(values) == 1 and any(v is MISSING for v in column.values)):
            continue
        for value in values:
            text = "none" if value == "null" else value
            holds = tuple(_equals(v, value) for v in column.values)
            yield Condition(f"{column.text} == {text}", holds, 3 + column.depth)


def _thresholds(columns: Sequence[Column]) -> Iterator[Condition]:
    """Days and numbers that a call gives, against one that was seen."""
    for column in columns:
        if not column.text.startswith(("args.", "item.")) or column.depth > 1:
            continue
        dates = all(isinstance(v, str) and _DATE.fullmatch(v) for v in column.values if known(v))
        values = sorted({v for v in column.values if known(v)}, key=str) if dates else []
        if not dates and column.all_are(int, float):
            values = sorted({v for v in column.values if known(v)})
        if not 1 < len(values) <= _STEPS:
            continue
        for value in values:
            # The threshold is a value that was refused, so that nothing milder is refused for it.
            for sign, most in (("<=", True), (">=", False)):
                holds = tuple((v <= value if most else v >= value) if known(v) else None for v in column.values)
                yield Condition(f"{column.text} {sign} {canonical_json(value)}", holds, 3 if dates else 5)


def _past(scope: Scope) -> Iterator[Condition]:
    """Conditions that a day which a call gives lies before the world's present time, or behind it."""
    now = scope.envs[0].get("now") if scope.envs else None
    if not now:
        return
    for column in scope.scalars():
        own = column.text.startswith(("args.", "item.")) and column.depth <= 1
        if own and all(isinstance(v, str) and _DATE.fullmatch(v) for v in column.values if known(v)):
            before = tuple(v < now[:_DAY] if known(v) else None for v in column.values)
            # Of thresholds that fit alike, the present is the likeliest.
            yield Condition(f"{column.text} < now[:{_DAY}]", before, 2)
            after = tuple(v[:_DAY] > now[:_DAY] if known(v) else None for v in column.values)
            yield Condition(f"{column.text} > now[:{_DAY}]", after, 2)


def _equals(value: Any, told: str) -> bool | None:
    if value is MISSING:
        return False
    return None if value is UNKNOWN else canonical_json(value) == told


def _members(scope: Scope) -> Iterator[Condition]:
    lists = [c for c in scope.columns if c.all_are(list) and c.depth <= 2]
    for column in lists:
        for one in [c for c in scope.columns if c.all_are(str, int) and c.depth <= 1]:
            if any(isinstance(v, list) and v and isinstance(v[0], dict) for v in column.values):
                continue
            holds = tuple(
                b in a if known(a) and known(b) else None for a, b in zip(column.values, one.values, strict=True)
            )
            yield Condition(f"{one.text} in {column.text}", holds, 3, "absence")


def _comparisons(special: list[Column], numbers: list[Column]) -> Iterator[Condition]:
    # What was looked up by an argument comes before what just stands somewhere.
    pool = [*special, *sorted(numbers, key=lambda c: ("[" not in c.text, c.depth, len(c.text)))]
    pool = pool[: _NUMBERS + len(special)]
    for number, one in enumerate(pool):
        above = tuple(None if v is UNKNOWN else is_number(v) and v > 0 for v in one.values)
        yield Condition(f"{one.text} > 0", above, 4 if number < len(special) else 6, "amount")
        for place, other in enumerate(pool[number + 1 :], number + 1):
            near = place < len(special)
            cost = 3 if near else (5 if number < len(special) else 6) - 2 * (one.last == other.last)
            signs = [_sign(a, b) for a, b in zip(one.values, other.values, strict=True)]
            for sign, told in _SIGNS.items():
                yield Condition(f"{one.text} {sign} {other.text}", tuple(map(told.get, signs)), cost, "amount")


def _sign(one: Any, other: Any) -> int | None:
    """How two numbers compare; what is not there is neither less nor more, but different."""
    if one is UNKNOWN or other is UNKNOWN:
        return None
    return (one > other) - (one < other) if is_number(one) and is_number(other) else _NEITHER


def prefixes(columns: Sequence[Column]) -> Iterator[Condition]:
    """Conditions that an id is of one of a few kinds, by the words it begins with (`gift_card_17`)."""
    for column in columns:
        if column.depth > 2 or not column.all_are(str):
            continue
        heads = [_head(value) if known(value) else value for value in column.values]
        kinds = Counter(head for head in heads if isinstance(head, str))
        if not 1 < len(kinds) <= _FEW or len(kinds) >= len(set(filter(known, column.values))):
            continue
        for kind in kinds:
            if kind:
                holds = tuple(None if h is UNKNOWN else h == kind for h in heads)
                yield Condition(f"{column.text}.startswith({canonical_json(kind)})", holds, 2 + column.depth)


def _head(value: str) -> str:
    found = re.match(r"[A-Za-z]+(?:[_-][A-Za-z]+)*[_-](?=\d)", value)
    return found[0] if found else ""
