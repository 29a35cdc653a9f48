"""The kernel: executable state that computes every answer it knows enough for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from worldline.errors import KernelError
from worldline.kernels import Proposal
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec
from worldline_keyvalue.domain import KeyValueState, words

__all__ = ["WRITES", "KeyValueKernel"]

WRITES = frozenset({"SET", "DEL", "INCR", "EXPIRE", "WAIT"})
_ARITY = {"SET": 3, "GET": 2, "DEL": 2, "INCR": 2, "EXISTS": 2, "EXPIRE": 3, "TTL": 2, "WAIT": 2}


@dataclass(frozen=True, slots=True)
class _Store:
    """Values by key (None: known to be absent), deadlines in seconds of the virtual clock."""

    values: Mapping[str, str | None] = field(default_factory=dict)
    deadlines: Mapping[str, float] = field(default_factory=dict)
    closed: bool = False
    now: float = 0.0

    def get(self, key: str) -> str | None:
        """The value or None; KeyError where it was never seen in an open store."""
        if self.deadlines.get(key, self.now + 1) <= self.now:
            return None
        return self.values.get(key) if self.closed else self.values[key]

    def put(self, key: str, value: str | None) -> _Store:
        """A store with this value and no deadline for it."""
        kept = {name: moment for name, moment in self.deadlines.items() if name != key}
        return replace(self, values={**self.values, key: value}, deadlines=kept)


class KeyValueKernel:
    """Satisfies :class:`worldline.kernels.Kernel`. Stores are immutable, so that a fork costs nothing."""

    domain = "keyvalue"

    def __init__(self, world: WorldSpec) -> None:
        state = KeyValueState.model_validate(world.initial_state)
        self._store = _Store(values=dict(state.values), closed=state.closed)
        self._trial: tuple[Action, str, _Store] | None = None

    def propose(self, action: Action) -> Proposal:
        """Run the command on a copy."""
        self.reject()
        name, *arguments = words(action) or [""]
        try:
            text, after = _run(self._store, name.upper(), arguments)
        except KeyError as missing:
            return Proposal(Observation(), known=False, classes=(name.upper(),), why=f"{missing} was never seen")
        self._trial = (action, text, after)
        changed = (arguments[0],) if arguments and after is not self._store else ()
        return Proposal(Observation.from_text(text), known=True, classes=(name.upper(),), why="ran", writes=changed)

    def accept(self) -> None:
        """Take the copy over."""
        if self._trial is not None:
            self._store = self._trial[2]
            self._trial = None

    def reject(self) -> None:
        """Forget the copy."""
        self._trial = None

    def absorb(self, turn: Turn) -> None:
        """Follow what was settled: our own answer, or what another source or reality said."""
        if self._trial is None or self._trial[0] != turn.action:
            self.propose(turn.action)
        if self._trial is not None and self._trial[1] == turn.observation.text:
            self.accept()
            return
        self.reject()
        self._store = _follow(self._store, turn)

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """The value the command would read."""
        arguments = words(action)[1:]
        if not arguments:
            return {}
        try:
            value = self._store.get(arguments[0])
        except KeyError:
            return None
        return {arguments[0]: "absent" if value is None else f"={value}"}

    def fork(self) -> KeyValueKernel:
        """Share the immutable store."""
        twin = object.__new__(KeyValueKernel)
        twin._store, twin._trial = self._store, None
        return twin

    def dump(self) -> bytes:
        """Write the store down."""
        store = self._store
        return json.dumps([dict(store.values), dict(store.deadlines), store.closed, store.now]).encode()

    def load(self, data: bytes) -> None:
        """Read a store.

        Raises:
            KernelError: `data` is damaged.
        """
        try:
            self._store = _Store(*json.loads(data))
        except (ValueError, TypeError) as exc:
            raise KernelError("damaged state of a key-value store") from exc

    def describe(self) -> JsonDict:
        """The first hundred values."""
        return {"values": dict(list(self._store.values.items())[:100]), "clock": self._store.now}

    def close(self) -> None:
        """Nothing to free."""


def _run(store: _Store, name: str, arguments: list[str]) -> tuple[str, _Store]:
    if name not in _ARITY:
        return f"(error) ERR unknown command '{name}'", store
    if len(arguments) + 1 != _ARITY[name]:
        return f"(error) ERR wrong number of arguments for '{name.lower()}' command", store
    key = arguments[0]
    if name == "WAIT":
        return ("OK", replace(store, now=store.now + int(key))) if key.isdigit() else (_NUMBER, store)
    if name == "SET":
        return "OK", store.put(key, arguments[1])
    value = store.get(key)
    if name == "GET":
        return "(nil)" if value is None else json.dumps(value, ensure_ascii=False), store
    if name == "EXISTS":
        return f"(integer) {int(value is not None)}", store
    if name == "DEL":
        return f"(integer) {int(value is not None)}", store.put(key, None)
    if name == "INCR":
        return _increment(store, key, value)
    return _expiry(store, name, key, value, arguments)


_NUMBER = "(error) ERR value is not an integer or out of range"


def _increment(store: _Store, key: str, value: str | None) -> tuple[str, _Store]:
    if value is not None and not value.lstrip("-").isdigit():
        return _NUMBER, store
    number = int(value or 0) + 1
    return f"(integer) {number}", replace(store, values={**store.values, key: str(number)})


def _expiry(store: _Store, name: str, key: str, value: str | None, arguments: list[str]) -> tuple[str, _Store]:
    if name == "TTL":
        left = store.deadlines.get(key, store.now - 1) - store.now
        return f"(integer) {-2 if value is None else int(left)}", store
    if not arguments[1].isdigit():
        return _NUMBER, store
    if value is None:
        return "(integer) 0", store
    return "(integer) 1", replace(store, deadlines={**store.deadlines, key: store.now + int(arguments[1])})


def _follow(store: _Store, turn: Turn) -> _Store:
    """What an answer that was not ours says: a value that was read, or a key that can no longer be told."""
    name, *arguments = words(turn.action) or [""]
    if not arguments:
        return store
    key, text = arguments[0], turn.observation.text
    if name.upper() == "GET" and text == "(nil)":
        return store.put(key, None)
    if name.upper() == "GET" and text.startswith('"'):
        return store.put(key, json.loads(text))
    if name.upper() == "SET" and text == "OK":
        return store.put(key, arguments[1])
    if name.upper() in WRITES:
        return replace(store, values={other: value for other, value in store.values.items() if other != key})
    return store
