"""What an expression may name, evaluated over all examples at once: one column of values for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Undefined

from worldline.kernels.tools.collections.expressions import BrokenError, Missing, Unknown, UnknownError, render
from worldline.kernels.tools.collections.stores import StoreView
from worldline.worlds.learning.reading import path_text

__all__ = ["MISSING", "UNKNOWN", "Column", "Scope", "is_number", "known"]

_LARGEST = 10**100
"""Numbers from here on are not computed with; the product of any three below fits a float."""


class _Mark:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


MISSING = _Mark("MISSING")
"""There is no such thing in this example."""
UNKNOWN = _Mark("UNKNOWN")
"""It cannot be told in this example."""

_DEPTH = 3
_MANY_KEYS = 4
_BOUND = 0.2
"""Share of the values of a column that must be keys of a store for the column to refer to it."""
_LOOKED_UP = 0.3
_MATCHED = 0.1


def known(value: Any) -> bool:
    """Whether a column's value is one, and not a mark."""
    return value is not MISSING and value is not UNKNOWN


def is_number(value: Any) -> bool:
    """Whether a value is a number to compute with: no truth value, not endless, and none whose products might be."""
    return type(value) in (int, float) and -_LARGEST < value < _LARGEST


@dataclass(slots=True)
class Column:
    """An expression and its value in each example."""

    text: str
    values: list[Any]
    depth: int = 0
    is_map: bool = False
    """A mapping whose keys are data, not field names."""

    @property
    def last(self) -> str:
        """Name of the field it ends in."""
        return self.text.rsplit(".", 1)[-1]

    def all_are(self, *types: type) -> bool:
        """Whether all values that there are have one of the types."""
        present = [value for value in self.values if known(value)]
        return bool(present) and all(type(value) in types for value in present)


@dataclass
class Scope:
    """Examples, the names an expression may use in them, and their columns.

    Args:
        envs: Names and values of each example; they grow with the lets.
        roots: Names whose fields become columns.
        owners: For items of a list: which example of the outer scope each belongs to.
    """

    envs: list[dict[str, Any]]
    roots: list[str]
    lets: dict[str, Any] = field(default_factory=dict)
    columns: list[Column] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    """What each example belongs to: examples of one task say less than those of several."""
    owners: list[int] | None = None
    outer: Scope | None = None
    inner: dict[str, Scope] = field(default_factory=dict)
    told: tuple[int, Any] | None = None
    """Conditions made of the columns, with how many columns there were then."""

    def __post_init__(self) -> None:
        for root in self.roots:
            self._add_root(root)

    def _add_root(self, root: str) -> None:
        self.columns += _walk(root, [_seen(env.get(root, MISSING)) for env in self.envs], 0)

    def let(self, name: str, template: Any, *, walk: bool = True) -> str:
        """Name a template; returns the name, which is another one if it was taken."""
        for there, before in self.lets.items():
            if before == template:
                return there
        base, number = name, 2
        while name in self.envs[0] or name in self.lets:
            name, number = f"{base}_{number}", number + 1
        self.lets[name] = template
        for env in self.envs:
            env[name] = _rendered(template, env)
        if walk:
            self._add_root(name)
        return name

    def forget(self, name: str) -> None:
        """Take a name away again."""
        self.lets.pop(name, None)
        for env in self.envs:
            env.pop(name, None)
        self.columns = [column for column in self.columns if not _belongs(column.text, name)]

    def scalars(self) -> list[Column]:
        """Columns of texts, numbers and truth values."""
        return [column for column in self.columns if column.all_are(str, int, float, bool)]

    def numbers(self) -> list[Column]:
        """Columns of numbers: as they stand, lengths of lists, and sums of a number over a list's records."""
        found = [column for column in self.columns if column.all_are(int, float)]
        for column in self.columns:
            if column.all_are(list):
                found.append(_derived(column, f"({column.text} | length)", len))
                found += _sums(column)
        return found

    def bind_stores(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Name the records that arguments, and records named already, refer to."""
        for _ in range(2):
            for column in list(self.columns):
                if column.is_map or not column.all_are(str, int):
                    continue
                for store, parts in keys.items():
                    if len(parts) == 1:
                        self._bind(store, [column])
            for store, parts in keys.items():
                if len(parts) > 1 and (chosen := self._named_parts(parts)):
                    self._bind(store, chosen)
            self._look_into_maps()

    def _named_parts(self, parts: tuple[str, ...]) -> list[Column] | None:
        """Columns called like the parts of a key, those of the innermost name first."""
        found = []
        for part in parts:
            called = [c for c in self.columns if c.last == part and c.all_are(str, int)]
            called.sort(key=lambda c: (not c.text.startswith("item."), not c.text.startswith("args."), c.depth))
            if not called:
                return None
            found.append(called[0])
        return found

    def _bind(self, store: str, parts: Sequence[Column]) -> None:
        if self.outer is not None and not any(part.text.startswith("item") for part in parts):
            return
        rows = [row for row in zip(*(part.values for part in parts), strict=True) if all(known(v) for v in row)]
        if not rows:
            return
        key = ", ".join(part.text for part in parts)
        records = [
            _looked_up(env[store], row) if all(known(v) for v in row) else MISSING
            for env, row in zip(self.envs, zip(*(part.values for part in parts), strict=True), strict=True)
        ]
        if sum(isinstance(record, dict) for record in records) < max(1, _BOUND * len(rows)):
            return
        if not self._seen_already(records):
            self.let(store[:-1] if store.endswith("s") else f"{store}_record", f"{{{{ {store}[{key}] }}}}")

    def _seen_already(self, values: list[Any]) -> bool:
        """Whether a column has these values: two ways to one record are one."""
        return any(_same(column.values, values) for column in self.columns if column.depth == 0)

    def _look_into_maps(self) -> None:
        for mapping in [column for column in self.columns if column.is_map]:
            for column in [c for c in self.columns if c.all_are(str) and not c.is_map]:
                if self.outer is not None and not column.text.startswith("item"):
                    continue
                pairs = list(zip(mapping.values, column.values, strict=True))
                asked = [(m, v) for m, v in pairs if known(m) and known(v)]
                if not asked or sum(v in m for m, v in asked) < _LOOKED_UP * len(asked):
                    continue
                if _belongs(column.text, mapping.text):
                    continue
                self.let(_singular(mapping.last), f"{{{{ {mapping.text}[{column.text}] }}}}")

    def items_of(self, column: Column, keys: Mapping[str, tuple[str, ...]]) -> Scope:
        """Return the scope of a list's records, with what they refer to."""
        if column.text in self.inner:
            return self.inner[column.text]
        envs, owners = [], []
        for number, value in enumerate(column.values):
            for item in value if isinstance(value, list) else ():
                envs.append({**self.envs[number], "item": item})
                owners.append(number)
        groups = [self.groups[owner] for owner in owners] if self.groups else []
        scope = Scope(envs, [], groups=groups, owners=owners, outer=self)
        # Whatever the outer scope names may be used inside.
        for outer in self.columns:
            scope.columns.append(Column(outer.text, [outer.values[o] for o in owners], outer.depth, outer.is_map))
        if envs:
            scope._add_root("item")
            scope._match_lists(column)
            scope.bind_stores(keys)
            scope._look_up_by_arguments()
        self.inner[column.text] = scope
        return scope

    def look_up_by_arguments(self) -> None:
        """Look into records by the value of an argument (`prices[args.cabin]`)."""
        self._look_up_by_arguments()

    def _look_up_by_arguments(self) -> None:
        names = [c for c in self.columns if c.all_are(str) and c.depth <= 1]
        for record in [c for c in self.columns if c.all_are(dict) and not c.is_map and 0 < c.depth < _DEPTH]:
            for name in names:
                pairs = [(r, n) for r, n in zip(record.values, name.values, strict=True) if known(r) and known(n)]
                if pairs and all(n in r for r, n in pairs) and len({n for _, n in pairs}) > 0:
                    values = [
                        r.get(n, MISSING) if known(r) and known(n) else _weaker(r, n)
                        for r, n in zip(record.values, name.values, strict=True)
                    ]
                    self.columns.append(Column(f"{record.text}[{name.text}]", values, record.depth + 1))

    def _match_lists(self, own: Column) -> None:
        """Name the record of another list that has the item's identifying fields (`old` for a flight kept)."""
        fields = [c for c in self.columns if c.text.startswith("item.") and c.depth == 1 and c.all_are(str)]
        for column in [c for c in self.columns if c.all_are(list) and c.text != own.text and c.depth <= 1]:
            common = [f for f in fields if _in_all(column, f.last)]
            hits = sum(
                any(all(x.get(f.last) == f.values[n] for f in common) for x in value)
                for n, value in enumerate(column.values)
                if isinstance(value, list)
            )
            if common and hits >= max(1, _MATCHED * len(self.envs)):
                chosen = "".join(f" | selectattr('{f.last}', 'eq', {f.text})" for f in common)
                self.let(f"{_singular(column.last)}_there", f"{{{{ {column.text}{chosen} | first }}}}")


def _walk(text: str, values: list[Any], depth: int) -> Iterator[Column]:
    present = [value for value in values if known(value)]
    if not present:
        return
    column = Column(text, values, depth)
    yield column
    if depth >= _DEPTH or not all(isinstance(value, dict) for value in present):
        return
    keys = Counter(key for value in present for key in value)
    if len(keys) > _MANY_KEYS and max(keys.values()) < 0.5 * len(present) and len(present) > 1:
        column.is_map = True
        return
    for key in keys:
        inner = [value.get(key, MISSING) if isinstance(value, dict) else value for value in values]
        yield from _walk(path_text(text, key), inner, depth + 1)


def _seen(value: Any) -> Any:
    if isinstance(value, Unknown):
        return UNKNOWN
    return MISSING if isinstance(value, Undefined) else value


def _rendered(template: Any, env: Mapping[str, Any]) -> Any:
    try:
        return render(template, env)
    except UnknownError as exc:
        return Unknown(str(exc))
    except BrokenError:
        return Missing(name="let")


def _looked_up(view: StoreView, row: tuple[Any, ...]) -> Any:
    return _seen(view[row])


def _same(one: list[Any], other: list[Any]) -> bool:
    return all(a is b or (known(a) and known(b) and a == b) for a, b in zip(one, other, strict=True))


def _weaker(one: Any, other: Any) -> Any:
    return UNKNOWN if one is UNKNOWN or other is UNKNOWN else MISSING


def _derived(column: Column, text: str, compute: Any) -> Column:
    return Column(text, [compute(v) if known(v) else v for v in column.values], column.depth + 1)


def _sums(column: Column) -> Iterator[Column]:
    rows = [row for value in column.values if known(value) for row in value]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return
    for name in rows[0]:
        if all(is_number(row.get(name)) for row in rows) and name.isidentifier():
            values = [sum(row[name] for row in v) if known(v) else v for v in column.values]
            yield Column(f"({column.text} | sum(attribute='{name}'))", values, column.depth + 1)


def _in_all(column: Column, name: str) -> bool:
    rows = [row for value in column.values if isinstance(value, list) for row in value]
    return bool(rows) and all(isinstance(row, dict) and name in row for row in rows)


def _belongs(text: str, name: str) -> bool:
    return text == name or text.startswith((f"{name}.", f"{name}[", f"({name}.", f"({name} "))


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and len(name) > 2 else f"{name}_entry"
