"""The state of a collection world: its stores, recorded answers, and clock. Immutable, so that forks cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from worldline.domains.tools.collections import CollectionsSpec, RecordedRead
from worldline.kernels.tools.collections.expressions import Unknown
from worldline.kernels.tools.collections.stores import Key, Store
from worldline.types import JsonDict, canonical_json

__all__ = ["State", "read_key"]


def read_key(tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """What a recorded answer is found by."""
    return tool, canonical_json(dict(arguments))


@dataclass(frozen=True, slots=True)
class State:
    """What a session knows of its world."""

    stores: Mapping[str, Store]
    declared_reads: Mapping[tuple[str, str], RecordedRead]
    reads: Mapping[tuple[str, str], RecordedRead | None] = field(default_factory=dict)
    """Recorded answers of the session itself; None: what was recorded does not stand any more."""
    calls: int = 0
    refusals: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """What was refused since something last changed: it would be refused alike."""
    made: Mapping[str, int] = field(default_factory=dict)
    """Calls of each tool that went well."""
    seen: frozenset[str] = frozenset()
    """What stood in the answers of the session; kept where an expression asks for it."""

    @classmethod
    def of(cls, spec: CollectionsSpec) -> State:
        """Build the state at the start."""
        stores = {name: Store.of(name, store) for name, store in spec.stores.items()}
        return cls(stores, {read_key(read.tool, read.arguments): read for read in spec.reads})

    def read(self, tool: str, arguments: Mapping[str, Any]) -> RecordedRead | None:
        """Return the recorded answer to a call, if it stands."""
        key = read_key(tool, arguments)
        return self.reads[key] if key in self.reads else self.declared_reads.get(key)

    def with_store(self, store: Store) -> State:
        """Return the state with a store changed."""
        return replace(self, stores={**self.stores, store.name: store})

    def put(self, store: str, key: Key, record: Any) -> State:
        """Return the state with a record in a store."""
        return self.with_store(self.stores[store].put(key, record))

    def with_read(self, tool: str, arguments: Mapping[str, Any], answer: str, error: bool) -> State:
        """Return the state with an answer recorded."""
        read = RecordedRead(tool=tool, arguments=dict(arguments), answer=answer, error=error)
        return replace(self, reads={**self.reads, read_key(tool, arguments): read})

    def with_refusal(self, tool: str, arguments: Mapping[str, Any], text: str) -> State:
        """Return the state with a refusal noted."""
        return replace(self, refusals={**self.refusals, read_key(tool, arguments): text})

    def with_seen(self, words: Iterable[str]) -> State:
        """Return the state after more was seen."""
        more = self.seen.union(words)
        return self if len(more) == len(self.seen) else replace(self, seen=more)

    def after_change(self) -> State:
        """Return the state after something may have changed: what was refused may be so no more."""
        return replace(self, refusals={}) if self.refusals else self

    def ticked(self, made: str = "") -> State:
        """Return the state after one more call; `made`: the tool whose call went well."""
        counts = {**self.made, made: self.made.get(made, 0) + 1} if made else self.made
        return replace(self, calls=self.calls + 1, made=counts)

    def doubting(self, names: tuple[str, ...] | None) -> State:
        """Return the state in which recorded answers of some tools, and records of some stores, stand no more.

        Args:
            names: Tools and stores; None: all.
        """
        keys = [key for key in {**self.declared_reads, **self.reads} if names is None or key[0] in names]
        stores = {
            name: store.doubt() if names is None or name in names else store for name, store in self.stores.items()
        }
        return replace(self, stores=stores, reads={**self.reads, **dict.fromkeys(keys)})

    def trusting(self) -> State:
        """Return the state as it is if nothing changed of what is doubted."""
        stores = {name: store.trusted() for name, store in self.stores.items()}
        reads = {key: read for key, read in self.reads.items() if read is not None}
        if len(reads) == len(self.reads) and all(stores[name] is store for name, store in self.stores.items()):
            return self
        return replace(self, stores=stores, reads=reads)

    def now(self, spec: CollectionsSpec) -> str | Unknown:
        """The world's time: what was declared, and a tick for each call since."""
        if not spec.now:
            return ""
        moment = datetime.fromisoformat(spec.now)
        try:
            moment += timedelta(seconds=spec.tick * self.calls)
        except OverflowError:
            return Unknown("the calendar ends before the world's time")
        text = moment.isoformat()
        return text.removesuffix("+00:00") + "Z" if spec.now.endswith("Z") else text

    def dump(self) -> JsonDict:
        """Write down what changed."""
        return {
            "stores": {name: store.dump() for name, store in self.stores.items()},
            "reads": [
                [list(key), None if read is None else read.model_dump(mode="json")] for key, read in self.reads.items()
            ],
            "calls": self.calls,
            "made": dict(self.made),
            "refusals": [[list(key), text] for key, text in self.refusals.items()],
            "seen": sorted(self.seen),
        }

    def loaded(self, data: JsonDict) -> State:
        """Return the state with what `dump` wrote down in place of its changes.

        Raises:
            KeyError: Something is missing.
            ValueError: Something is wrong.
        """
        stores = {name: store.loaded(data["stores"][name]) for name, store in self.stores.items()}
        reads = {
            (str(key[0]), str(key[1])): None if read is None else RecordedRead.model_validate(read)
            for key, read in data["reads"]
        }
        refusals = {(str(key[0]), str(key[1])): str(text) for key, text in data["refusals"]}
        made = {str(tool): int(count) for tool, count in data["made"].items()}
        seen = frozenset(str(word) for word in data["seen"])
        calls = int(data["calls"])
        return replace(self, stores=stores, reads=reads, calls=calls, made=made, refusals=refusals, seen=seen)
