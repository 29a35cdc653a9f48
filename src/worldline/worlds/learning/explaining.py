"""Finding a template that gives what calls answered, from arguments and records."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.kernels.tools.collections.expressions import BrokenError, arithmetic, literal
from worldline.types import canonical_json
from worldline.worlds.learning.columns import MISSING, UNKNOWN, Column, Scope, is_number, known
from worldline.worlds.learning.guards import Condition, conditions, find_condition, indicators
from worldline.worlds.learning.numeric import find_number
from worldline.worlds.learning.quoting import fillings, quoting, skeleton

__all__ = ["Explained", "Explainer"]

_BASE_SHARE = 0.5
"""Share of a record's fields that must be those of another one for it to be a changed copy."""
_ROOM = 400
"""Records of a list that are looked at."""
_MISFITS = 0.03
"""Share of the examples that a template may get wrong, as real traces are not without faults."""
_MAPPED = 0.8
"""Share of the lists that must be as long as another one to be made from it item by item."""
_PLAIN_COST = 6
"""How far-fetched a condition may be that decides between two fields."""
_LEAST_SHARE = 0.3
"""Share of the examples in which a template must be told."""

_NUMBER = re.compile(r"-?\d{1,100}(\.\d{1,100})?")

Targets = Mapping[int, Any]
"""What is to be explained, by the number of the example."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A template, and in how many of the examples it could be told."""

    template: Any
    told: int


class Explainer:
    """Explains answers of one tool.

    Args:
        scope: All calls of the tool, whether they succeeded or not.
        keys: Parts of each store's key.
    """

    def __init__(self, scope: Scope, keys: Mapping[str, tuple[str, ...]]) -> None:
        self.scope = scope
        self.keys = keys

    def text(self, targets: Mapping[int, str]) -> Explained | None:
        """Explain answers that are texts."""
        return self._text(targets, self.scope)

    def refusal(self, targets: Mapping[int, str], good: Sequence[int]) -> Explained | None:
        """Explain the text of an error.

        Of two numbers that it names, one is taken to be what the other should have been: where calls go well, the two
        are equal, which tells more of how the first is computed.
        """
        texts = list(targets.values())
        if len(set(texts)) == 1:
            return Explained(literal(texts[0]), len(texts))
        return self._slotted(targets, self.scope, good) or self._quoting(targets, self.scope)

    def value(self, targets: Targets) -> Explained | None:
        """Explain answers that are data."""
        return self._value(targets, self.scope, "answer")

    def _value(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        if not targets:
            return None
        copied = self._copied(targets, scope, hint) or self._sequenced(targets, scope)
        if copied is not None:
            return copied
        values = list(targets.values())
        if all(isinstance(value, dict) for value in values):
            return self._record(targets, scope, hint)
        if all(isinstance(value, list) for value in values):
            return self._list(targets, scope, hint)
        if all(is_number(value) for value in values):
            return self._number(targets, scope, hint) or self._either(targets, scope, hint)
        if all(isinstance(value, str) for value in values):
            return self._text(targets, scope) or self._either(targets, scope, hint)
        return self._either(targets, scope, hint)

    def _copied(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        """A literal, or something that stands in the arguments or a record as it is."""
        constant = len({canonical_json(value) for value in targets.values()}) == 1
        best: tuple[tuple[int, ...], Column] | None = None
        for number, column in enumerate(scope.columns):
            told = _agreement(column, targets)
            if told is None:
                continue
            named = column.last == hint
            varied = len({canonical_json(v) for v in column.values if known(v)}) > 1
            if constant and not (named and (varied or column.text.startswith("args"))):
                continue
            # That an argument chooses among fields is no accident, even where it always chose the same one.
            place = (int(column.text.startswith(("args", "item"))), int("[args." in column.text))
            score = (int(named), told, *place, -column.depth, -number)
            if best is None or score > best[0]:
                best = score, column
        if best is not None:
            return self._widened(best[1], best[0][1], targets, scope)
        if constant and (len(targets) > 1 or not isinstance(next(iter(targets.values())), dict | list)):
            value = next(iter(targets.values()))
            if not isinstance(value, dict | list) or not value:
                return Explained(literal(value) if isinstance(value, str) else value, len(targets))
        return None

    def _widened(self, column: Column, told: int, targets: Targets, scope: Scope) -> Explained:
        """A column that gives the targets, with another in front of it for examples in which it is not known."""
        plain = Explained(f"{{{{ {column.text} }}}}", told)
        unknown = {n for n in targets if column.values[n] is UNKNOWN}
        if len(unknown) < max(2, 0.05 * len(targets)):
            return plain
        candidates: list[Condition] | None = None
        best: tuple[int, int, str] | None = None
        for other in sorted(scope.columns, key=lambda c: (c.last != column.last, c.depth)):
            wanted = [n for n in unknown if _equal(other.values[n], targets[n])]
            if other is column or len(wanted) < max(2, 0.2 * len(unknown)):
                continue
            unwanted = [
                n for n, v in targets.items() if other.values[n] is not UNKNOWN and not _equal(other.values[n], v)
            ]
            if not unwanted:
                return Explained(f"{{{{ {other.text} }}}}", told + len(wanted))
            candidates = candidates if candidates is not None else conditions(scope)
            condition = find_condition(scope, candidates, wanted, unwanted, 0.5, may_miss=True)
            if condition is None or condition.cost > _PLAIN_COST:
                continue
            gained = sum(condition.holds[n] is True for n in wanted)
            if best is None or (gained, -condition.cost) > best[:2]:
                best = gained, -condition.cost, f"{other.text} if {condition.text} else {column.text}"
        return plain if best is None else Explained(f"{{{{ {best[2]} }}}}", told + best[0])

    def _sequenced(self, targets: Targets, scope: Scope) -> Explained | None:
        """New ids: each call of a session that makes something gets the next one of the same list."""
        counts = next((c for c in scope.columns if c.text == "made"), None)
        if counts is None or not all(isinstance(v, str | int) for v in targets.values()):
            return None
        by_count: dict[int, set[str | int]] = {}
        for number, target in targets.items():
            by_count.setdefault(counts.values[number], set()).add(target)
        if len(targets) < 3 or len(by_count) < 2 or any(len(values) > 1 for values in by_count.values()):
            return None
        told = [next(iter(by_count[n])) for n in range(len(by_count)) if n in by_count]
        if len(told) != len(by_count) or len(set(told)) < len(told):
            return None
        return Explained(_counted(told) or f"{{{{ {canonical_json(told)}[made] }}}}", len(targets))

    def _either(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        """Two things, and a condition that says when it is which."""
        partial: list[tuple[int, Column, frozenset[int]]] = []
        for column in scope.columns:
            right = frozenset(n for n, v in targets.items() if _equal(column.values[n], v))
            if right:
                partial.append((len(right), column, right))
        partial.sort(key=lambda entry: (-entry[0], entry[1].last != hint, entry[1].depth))
        candidates: list[Condition] | None = None
        tried = 0
        for _, first, right in partial[:6]:
            rest = {n: v for n, v in targets.items() if n not in right and first.values[n] is not UNKNOWN}
            for _, second, also in partial:
                if tried > 24 or not all(n in also or second.values[n] is UNKNOWN for n in rest) or second is first:
                    continue
                if len([n for n in rest if n in also]) < max(1, _LEAST_SHARE * len(rest)):
                    continue
                tried += 1
                candidates = candidates if candidates is not None else conditions(scope)
                must = [n for n in rest if n in also]
                must_not = [n for n in right if second.values[n] is not UNKNOWN and n not in also]
                condition = find_condition(scope, candidates, must, must_not) if must_not else None
                if condition is not None:
                    text = f"{{{{ {second.text} if {condition.text} else {first.text} }}}}"
                    return Explained(text, len(right) + len(must))
        return None

    def _number(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        column = self.number_column(targets, scope)
        if column is None:
            return None
        told = sum(known(column.values[n]) for n in targets)
        return Explained(f"{{{{ {column.text} }}}}", told)

    def number_column(self, targets: Targets, scope: Scope) -> Column | None:
        """Return the computed column that gives numbers, or None."""
        wanted = [targets.get(n, UNKNOWN) for n in range(len(scope.envs))]
        least = max(2, int(_LEAST_SHARE * len(targets)))
        pool = [*scope.numbers(), *indicators(scope.columns)]
        return find_number(wanted, pool, least)

    def _record(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        changed = self._changed_copy(targets, scope)
        if changed is not None:
            return changed
        names = list(next(iter(targets.values())))
        if any(set(value) != set(names) for value in targets.values()):
            return None
        return self._fields(targets, scope, names, {}, hint)

    def _fields(
        self, targets: Targets, scope: Scope, names: Sequence[str], made: dict[str, Any], hint: str
    ) -> Explained | None:
        """Explain fields one by one, lists first: what they hold may be needed for sums."""
        told = len(targets)
        found: dict[str, Any] = {}
        ordered = sorted(names, key=lambda name: not all(isinstance(v.get(name), list) for v in targets.values()))
        for name in ordered:
            explained = self._value({n: v[name] for n, v in targets.items()}, scope, name)
            if explained is None:
                return None
            found[name] = explained.template
            told = min(told, explained.told)
        return Explained({**made, **{name: found[name] for name in names}}, told)

    def _changed_copy(self, targets: Targets, scope: Scope) -> Explained | None:
        """A known record with some fields changed."""
        best: tuple[float, Column, dict[str, bool]] | None = None
        for column in scope.columns:
            if not column.all_are(dict) or column.is_map:
                continue
            pairs = [(column.values[n], v) for n, v in targets.items() if isinstance(column.values[n], dict)]
            if len(pairs) < max(1, _LEAST_SHARE * len(targets)):
                continue
            names = list(pairs[0][1])
            if any(list(base) != list(value) or list(value) != names for base, value in pairs):
                continue
            same = {name: all(base[name] == value[name] for base, value in pairs) for name in names}
            share = sum(base[name] == value[name] for base, value in pairs for name in names) / (
                len(names) * len(pairs)
            )
            if share >= _BASE_SHARE and (best is None or share > best[0]):
                best = share, column, same
        if best is None:
            return None
        _, base, same = best
        changed = [name for name, is_same in same.items() if not is_same]
        counted = {n: v for n, v in targets.items() if isinstance(base.values[n], dict)}
        # What changes is also where the arguments could have changed it.
        explained = self._fields(counted, scope, changed, {"$base": f"{{{{ {base.text} }}}}"}, "")
        if explained is None:
            return None
        return Explained(explained.template, min(explained.told, len(counted)))

    def _list(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        for find in (self._mapped, self._appended):
            if (found := find(targets, scope, hint)) is not None:
                return found
        return self._mapped(targets, scope, hint, _MAPPED)

    def _mapped(self, targets: Targets, scope: Scope, hint: str, share: float = 1) -> Explained | None:
        """A list that has one item for each of another list, in such a share of the examples at least."""
        for column in sorted(scope.columns, key=lambda c: (c.last != hint, c.depth)):
            if not column.all_are(list):
                continue
            counted = {n: v for n, v in targets.items() if isinstance(column.values[n], list)}
            if len(counted) < max(1, _LEAST_SHARE * len(targets)):
                continue
            alike = {n: v for n, v in counted.items() if len(v) == len(column.values[n])}
            if not any(counted.values()) or len(alike) < share * len(counted):
                continue
            explained = self._mapped_over(column, alike, scope, hint)
            if explained is not None:
                return explained
        return None

    def _mapped_over(self, column: Column, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        items = scope.items_of(column, self.keys)
        inner: dict[int, Any] = {}
        positions: dict[int, int] = {}
        for number, owner in enumerate(items.owners or ()):
            place = positions.get(owner, 0)
            positions[owner] = place + 1
            if owner in targets and len(inner) < _ROOM:
                inner[number] = targets[owner][place]
        explained = self._value(inner, items, hint)
        if explained is None:
            return None
        each = {"$each": f"{{{{ {column.text} }}}}", "$value": explained.template}
        lets = {name: items.lets[name] for name in items.lets if name in _words(explained.template)}
        if lets:
            each["$let"] = lets
        name = scope.let(f"new_{hint}" if hint.isidentifier() else "made", each)
        return Explained(f"{{{{ {name} }}}}", round(explained.told * len(targets) / max(1, len(inner))))

    def _appended(self, targets: Targets, scope: Scope, hint: str) -> Explained | None:
        """A known list with something behind it: one item, perhaps, or one for each of another list."""
        for column in sorted(scope.columns, key=lambda c: (c.last != hint, c.depth)):
            if not column.all_are(list):
                continue
            counted = {n: v for n, v in targets.items() if isinstance(column.values[n], list)}
            if len(counted) < max(1, _LEAST_SHARE * len(targets)):
                continue
            if any(v[: len(column.values[n])] != column.values[n] for n, v in counted.items()):
                continue
            added = {n: v[len(column.values[n]) :] for n, v in counted.items()}
            if not any(added.values()):
                continue
            one_each = all(len(added[n]) == len(column.values[n]) for n in added)
            mapped = self._mapped_over(column, added, scope, f"added_{hint}") if one_each else None
            if mapped is None and all(len(items) <= 1 for items in added.values()):
                return self._one_more(column, added, scope, hint)
            mapped = mapped or self._mapped(added, scope, f"added_{hint}")
            if mapped is not None:
                inner = str(mapped.template)[2:-2].strip()
                return Explained(f"{{{{ {column.text} + {inner} }}}}", mapped.told)
        return None

    def _one_more(self, column: Column, added: Mapping[int, list[Any]], scope: Scope, hint: str) -> Explained | None:
        present = {n: items[0] for n, items in added.items() if items}
        explained = self._value(present, scope, hint)
        if explained is None:
            return None
        without = [n for n, items in added.items() if not items]
        name = scope.let(f"added_{_one(hint)}", explained.template)
        whole = f"[{name}]"
        if without:
            special = []
            if isinstance(explained.template, dict):
                for field in explained.template:
                    special += [c for c in scope.columns if c.text == f"{name}.{field}" and c.all_are(int, float)]
            candidates = [*_of_given(explained.template, column, scope), *conditions(scope, special)]
            condition = find_condition(scope, _of_numbers(special, candidates), list(present), without)
            if condition is None:
                scope.forget(name)
                return None
            whole = f"([{name}] if {condition.text} else [])"
        return Explained(f"{{{{ {column.text} + {whole} }}}}", explained.told + len(without))

    def _text(self, targets: Mapping[int, str], scope: Scope) -> Explained | None:
        """A constant text, a worked-out expression, or a text with slots."""
        texts = list(targets.values())
        if len(set(texts)) == 1:
            return Explained(literal(texts[0]), len(texts))
        return self._worked_out(targets, scope) or self._slotted(targets, scope) or self._quoting(targets, scope)

    def _quoting(self, targets: Mapping[int, str], scope: Scope) -> Explained | None:
        """A text that quotes arguments, whatever parts of them all calls have in common."""
        found = quoting(targets, scope.columns, lambda texts: self._slot(texts, scope))
        return Explained(*found) if found is not None else None

    def _worked_out(self, targets: Mapping[int, str], scope: Scope) -> Explained | None:
        """The value of an arithmetic expression among the arguments, as programs print it."""
        for column in scope.columns:
            if not column.text.startswith("args") or not column.all_are(str):
                continue
            for form in ("{}", "{} | int", "{} | round(2)", "{} | round(4)", "{} | round(6)"):
                right = 0
                for number, text in targets.items():
                    right += _printed(column.values[number], form) == text
                if right >= max(2, (1 - _MISFITS) * len(targets)):
                    return Explained(f"{{{{ {form.format(f'arithmetic({column.text})')} }}}}", right)
        return None

    def _slotted(self, targets: Mapping[int, str], scope: Scope, good: Sequence[int] = ()) -> Explained | None:
        pieces = skeleton(list(targets.values()))
        if pieces is None:
            return None
        found = {n: fillings(text, pieces) for n, text in targets.items()}
        if not all(filled is not None for filled in found.values()):
            return None
        empty = [place for place, piece in enumerate(pieces, 1) if piece is None]
        slots = {
            place: {n: filled[number] for n, filled in found.items() if filled} for number, place in enumerate(empty)
        }
        columns = {place: self._slot(texts, scope) for place, texts in slots.items()}
        if good and len(slots) == 2:
            self._balance(slots, columns, scope, good)
        told = len(targets)
        parts: list[str] = []
        for place, piece in enumerate(pieces, 1):
            column = columns.get(place)
            if piece is None and column is None:
                return None
            if column is not None:
                parts.append(f"{{{{ {column.text} }}}}")
                told = min(told, sum(known(column.values[n]) for n in targets))
            elif piece is not None:
                parts.append(literal(piece))
        return Explained("".join(parts), told)

    def _balance(
        self,
        slots: Mapping[int, Mapping[int, str]],
        columns: dict[int, Column | None],
        scope: Scope,
        good: Sequence[int],
    ) -> None:
        """Explain one of two numbers by all calls: those that went well are those in which it equals the other."""
        simple = [place for place, column in columns.items() if column is not None and column.depth <= 2]
        for place, texts in slots.items():
            others = [other for other in simple if other != place]
            if not others or not all(_NUMBER.fullmatch(text) for text in texts.values()):
                continue
            other = columns[others[0]]
            assert other is not None
            targets: dict[int, Any] = {n: float(t) if "." in t else int(t) for n, t in texts.items()}
            targets.update({n: other.values[n] for n in good if is_number(other.values[n])})
            found = self.number_column(targets, scope)
            if found is not None and found.text != other.text:
                columns[place] = found
                return

    def _slot(self, targets: Mapping[int, str], scope: Scope) -> Column | None:
        """The column whose values, written out, are in the slot; or a computed number."""
        for column in sorted(scope.columns, key=lambda c: (c.depth, len(c.text))):
            if not column.all_are(str, int, float):
                continue
            told = [n for n in targets if known(column.values[n])]
            if len(told) >= max(1, _LEAST_SHARE * len(targets)) and all(
                str(column.values[n]) == targets[n] for n in told
            ):
                return column
        if all(_NUMBER.fullmatch(text) for text in targets.values()):
            numbers = {n: float(t) if "." in t else int(t) for n, t in targets.items()}
            return self.number_column(numbers, scope)
        return None


def _counted(told: Sequence[str | int]) -> str | None:
    """Ids that are numbered through: the same words before numbers that follow each other."""
    parts = [re.fullmatch(r"(.*?)(0|[1-9]\d{0,99})", str(value), re.DOTALL) for value in told]
    heads = {part[1] for part in parts if part}
    numbers = [int(part[2]) for part in parts if part]
    if len(heads) != 1 or len(numbers) != len(told) or numbers != list(range(numbers[0], numbers[0] + len(told))):
        return None
    if all(isinstance(value, int) for value in told):
        return f"{{{{ {numbers[0]} + made }}}}"
    return f"{{{{ {canonical_json(heads.pop())} ~ ({numbers[0]} + made) }}}}"


def _of_given(template: Any, column: Column, scope: Scope) -> Iterator[Condition]:
    """Conditions that an item is added because it was given, or given and not there yet."""
    given = next((c for c in scope.columns if template == f"{{{{ {c.text} }}}}" and c.text.startswith("args.")), None)
    if given is None:
        return
    pairs = list(zip(given.values, column.values, strict=True))
    there = tuple(known(value) for value, _ in pairs)
    fresh = tuple(known(value) and isinstance(items, list) and value not in items for value, items in pairs)
    yield Condition(f"{given.text} is defined", there, 0)
    yield Condition(f"{given.text} is defined and not ({given.text} in {column.text})", fresh, 1)


def _of_numbers(special: Sequence[Column], others: Sequence[Condition]) -> list[Condition]:
    """Conditions that an item is added because its number is not, or more than, nothing; then all others."""
    made = []
    for column in special:
        for sign in (">", "!="):
            holds = tuple((v > 0 if sign == ">" else v != 0) if is_number(v) else None for v in column.values)
            made.append(Condition(f"{column.text} {sign} 0", holds, 0))
    return [*made, *others]


def _agreement(column: Column, targets: Targets) -> int | None:
    """In how many examples a column gives the target; None where it gives something else too often, or too few."""
    right = wrong = 0
    for number, target in targets.items():
        value = column.values[number]
        if value is UNKNOWN:
            continue
        if _equal(value, target):
            right += 1
        else:
            wrong += 1
            if wrong > _MISFITS * len(targets):
                return None
    return right if right >= max(1, _LEAST_SHARE * len(targets)) else None


def _equal(value: Any, target: Any) -> bool:
    if value is MISSING or value is UNKNOWN or type(value) is not type(target):
        return False
    return bool(value == target) and (not isinstance(value, dict) or list(value) == list(target))


def _printed(text: Any, form: str) -> str | None:
    try:
        value = arithmetic(text)
    except BrokenError:
        return None
    if form.endswith("int"):
        return str(int(value)) if math.isfinite(value) and value == int(value) else None
    digits = re.search(r"round\((\d)\)", form)
    return str(round(value, int(digits[1]))) if digits else str(value)


def _words(template: Any) -> set[str]:
    return set(re.findall(r"\w+", canonical_json(template)))


def _one(name: str) -> str:
    return name[:-1] if name.endswith("s") and len(name) > 2 and name.isidentifier() else "item"
