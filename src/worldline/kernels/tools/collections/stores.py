"""Stores of records: what is known of them, what is known not to be there, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from worldline.domains.tools.collections import StoreSpec
from worldline.kernels.tools.collections.expressions import ABSENT, Unknown, UnknownError, plain
from worldline.types import JsonDict, canonical_json, content_id

__all__ = ["Key", "Store", "StoreView", "as_key"]

Key = tuple[str | int, ...]

_GONE = "gone"
_DOUBTED = "doubted"


def as_key(value: Any) -> Key | None:
    """Read a key: one value, or one for each part; None where it is none.

    Raises:
        UnknownError: A part is unknown.
    """
    parts = tuple(value) if isinstance(value, list | tuple) else (value,)
    for part in parts:
        if isinstance(part, Unknown):
            raise UnknownError(part.what)
    return parts if parts and all(type(part) in (str, int) for part in parts) else None


@dataclass(frozen=True, slots=True)
class Store:
    """Records by key. Immutable: every change gives another store, which shares what was declared."""

    name: str
    spec: StoreSpec
    declared: Mapping[Key, Any]
    changed: Mapping[Key, Any] = field(default_factory=dict)
    """Records that came or changed since; `(mark,)` for those that went, and for those that are doubted a mark before
    what they were."""
    closed: bool = False
    """Whether a key that is not here does not exist."""
    number: int = 1
    """The next id's number."""
    returned: frozenset[Key] = frozenset()
    """Declared records that went and came again: their place is among those that came."""

    @classmethod
    def of(cls, name: str, spec: StoreSpec) -> Store:
        """Build a store from its declaration."""
        declared: dict[Key, Any] = {tuple(record[part] for part in spec.key): record for record in spec.records}
        declared.update({entry.key: entry.record for entry in spec.keyed})
        return cls(name, spec, declared, closed=spec.closed, number=spec.ids.next if spec.ids else 1)

    def get(self, key: Key) -> Any:
        """Return the record, ABSENT, or an :class:`Unknown`."""
        found = self.changed.get(key, self.declared.get(key))
        if isinstance(found, tuple):
            return ABSENT if found[0] == _GONE else Unknown(f"{self.name} {_spoken(key)} may have changed")
        if found is not None:
            return found
        return ABSENT if self.closed else Unknown(f"{self.name} {_spoken(key)} was never seen")

    def present(self) -> Iterator[Key]:
        """Keys of the records that are known, in the order they came."""
        for key in self.declared:
            if key not in self.returned and not isinstance(self.changed.get(key), tuple):
                yield key
        for key, record in self.changed.items():
            if (key not in self.declared or key in self.returned) and not isinstance(record, tuple):
                yield key

    def records(self) -> list[Any]:
        """All records.

        Raises:
            UnknownError: There may be others.
        """
        if not self.closed:
            raise UnknownError(f"not all {self.name} are known")
        doubted = self._doubted()
        if doubted:
            raise UnknownError(f"{self.name} {_spoken(doubted[0])} may have changed")
        return [self.get(key) for key in self.present()]

    def put(self, key: Key, record: Any) -> Store:
        """Return a store with this record; one that was there keeps its place.

        Raises:
            UnknownError: Something in the record is unknown.
            BrokenError: It is no JSON data.
        """
        record = plain(record)
        was_gone = isinstance(self.changed.get(key), tuple)
        if not was_gone:
            return replace(self, changed={**self.changed, key: record})
        kept = {k: v for k, v in self.changed.items() if k != key}
        returned = self.returned | {key} if self.changed[key] == (_GONE,) else self.returned
        return replace(self, changed={**kept, key: record}, returned=returned)

    def drop(self, key: Key) -> Store:
        """Return a store without the record."""
        return replace(self, changed={**self.changed, key: (_GONE,)})

    def doubt(self, key: Key | None = None) -> Store:
        """Return a store in which a record is not known any more; without a key, none is."""
        if key is not None:
            return replace(self, changed={**self.changed, key: self._mark(key)})
        doubted = {key: self._mark(key) for key in (*self.declared, *self.changed)}
        return replace(self, changed=doubted, closed=False)

    def trusted(self) -> Store:
        """Return a store in which what is doubted is as it was before."""
        doubted = self._doubted()
        if not doubted and self.closed == self.spec.closed:
            return self
        changed = {key: record for key, record in self.changed.items() if key not in doubted}
        for key in doubted:
            was = self.changed[key][1:]
            if was:
                changed[key] = was if was == (_GONE,) else was[0][0]
        return replace(self, changed=changed, closed=self.spec.closed)

    def _mark(self, key: Key) -> tuple[Any, ...]:
        """Say that a record is doubted, and what it was: `[record]`, gone, or nothing where it was never seen."""
        found = self.changed.get(key, self.declared.get(key))
        if isinstance(found, tuple):
            return found if found[0] == _DOUBTED else (_DOUBTED, *found)
        return (_DOUBTED,) if found is None else (_DOUBTED, [found])

    def _doubted(self) -> list[Key]:
        return [key for key, record in self.changed.items() if isinstance(record, tuple) and record[0] == _DOUBTED]

    def new_id(self) -> tuple[str | int, Store]:
        """Make up the next id, one that is free."""
        ids = self.spec.ids
        assert ids is not None
        taken = {key[0] for key in (*self.declared, *self.changed)}
        number = self.number
        while True:
            made: str | int = number if ids.integer else ids.pattern.format(n=number)
            number += 1
            if made not in taken:
                return made, replace(self, number=number)

    def hash_of(self, key: Key) -> str:
        """Hash a record's content; `absent` or `unknown` where there is none."""
        found = self.get(key)
        if isinstance(found, Unknown):
            return "unknown"
        return "absent" if found is ABSENT else content_id(found)

    def dump(self) -> JsonDict:
        """Write down what changed."""
        rows = []
        for key, found in self.changed.items():
            marked = isinstance(found, tuple)
            rows.append([list(key), marked, list(found) if marked else found])
        returned = sorted((list(key) for key in self.returned), key=canonical_json)
        return {"changed": rows, "closed": self.closed, "number": self.number, "returned": returned}

    def loaded(self, data: JsonDict) -> Store:
        """Return the store with what `dump` wrote down in place of its changes."""
        changed = {tuple(key): tuple(value) if marked else value for key, marked, value in data["changed"]}
        returned = frozenset(tuple(key) for key in data["returned"])
        closed, number = bool(data["closed"]), int(data["number"])
        return replace(self, changed=changed, closed=closed, number=number, returned=returned)

    def describe(self, limit: int) -> JsonDict:
        """Return the first records for people."""
        shown: list[Any] = []
        for key in self.present():
            if len(shown) == limit:
                break
            record = self.get(key)
            named = isinstance(record, Mapping) and all(part in record for part in self.spec.key)
            shown.append(record if named else {"key": list(key), "record": record})
        known = sum(1 for _ in self.present())
        return {"records": shown, "known": known, "all_known": self.closed}


class StoreView:
    """A store as expressions see it: `store[key]`, `key in store`, and the list of all records."""

    look_up = True

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, key: Any) -> Any:
        found = as_key(key)
        return ABSENT if found is None else self._store.get(found)

    def __contains__(self, key: Any) -> bool:
        found = self[key]
        if isinstance(found, Unknown):
            raise UnknownError(found.what)
        return found is not ABSENT

    def __iter__(self) -> Iterator[Any]:
        return iter(self._store.records())

    def __len__(self) -> int:
        return len(self._store.records())


def _spoken(key: Key) -> str:
    return canonical_json(key[0] if len(key) == 1 else list(key))
