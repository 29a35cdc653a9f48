"""The operations a tool rule may name: create, read, update, delete, list and search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.tools.collections import MessageSpec, ToolRule
from worldline.kernels.tools.collections.expressions import ABSENT, BrokenError, Unknown, UnknownError, holds, render
from worldline.kernels.tools.collections.state import State
from worldline.kernels.tools.collections.stores import Key, Store, as_key

__all__ = ["Call", "Outcome", "key_of", "operate"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool with everything its rule's templates may use."""

    tool: str
    arguments: Mapping[str, Any]
    rule: ToolRule
    names: Mapping[str, Any]
    messages: MessageSpec


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended."""

    answer: Any
    state: State
    error: bool = False
    kind: str = ""
    """What answered: an operation's name, or the number of a case."""
    why: str = ""
    writes: tuple[str, ...] = ()
    guess: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


def key_of(rule: ToolRule, store: Store, names: Mapping[str, Any], arguments: Mapping[str, Any]) -> Key | None:
    """Return the key a call names, or None where it names none."""
    if rule.key is not None:
        return as_key(render(rule.key, names))
    parts = store.spec.key
    if all(part in arguments for part in parts):
        return as_key([arguments[part] for part in parts])
    if len(parts) == 1 and len(arguments) == 1 and rule.operation != "create":
        return as_key(next(iter(arguments.values())))
    return None


def operate(call: Call, state: State) -> Outcome:
    """Run the rule's operation.

    Raises:
        UnknownError: The answer rests on something unknown.
        BrokenError: A template has no value.
    """
    assert call.rule.operation is not None
    return _OPERATIONS[call.rule.operation](call, state)


def _stores(call: Call, state: State) -> list[Store]:
    named = call.rule.store
    return [state.stores[name] for name in ((named,) if isinstance(named, str) else named)]


def _shown(record: Any, rule: ToolRule) -> Any:
    if not rule.shown:
        return record
    if not isinstance(record, Mapping):
        raise BrokenError("the record has no fields")
    lacking = [name for name in rule.shown if name not in record]
    if lacking:
        raise UnknownError(f"the field {lacking[0]} was never seen")
    return {name: record[name] for name in rule.shown}


def _answer(call: Call, given: Any, **names: Any) -> Any:
    if call.rule.answer is None:
        return given
    return render(call.rule.answer, {**call.names, **names})


def _missing(call: Call, key: Key | tuple[()]) -> Any:
    template = call.rule.missing if call.rule.missing is not None else call.messages.missing_record
    return render(template, {**call.names, "tool": call.tool, "key": [str(part) for part in key]})


def _read(call: Call, state: State) -> Outcome:
    if call.rule.where:
        return _read_where(call, state)
    unknown, asked = None, None
    for store in _stores(call, state):
        key = key_of(call.rule, store, call.names, call.arguments)
        if key is None:
            continue
        asked = key
        record = store.get(key)
        if isinstance(record, Unknown):
            unknown = record
        elif record is not ABSENT:
            shown = _shown(record, call.rule)
            return Outcome(_answer(call, shown, record=record), state, kind="read", why=f"record of {store.name}")
    if unknown is not None:
        raise UnknownError(unknown.what)
    return Outcome(_missing(call, asked or ()), state, error=True, kind="read missing", why="there is no such record")


def _read_where(call: Call, state: State) -> Outcome:
    """Read the one record that fits. Among open stores, the one that is known to fit is taken for the only one."""
    for store in _stores(call, state):
        fitting = []
        for key in store.present():
            record = store.get(key)
            if isinstance(record, Mapping) and holds(call.rule.where, {**call.names, "item": record}):
                fitting.append(record)
        if len(fitting) == 1 or (fitting and store.closed):
            shown = _shown(fitting[0], call.rule)
            answer = _answer(call, shown, record=fitting[0])
            return Outcome(answer, state, kind="read where", why="the record that fits")
        if not store.closed:
            raise UnknownError(f"no known record of {store.name} fits")
    return Outcome(_missing(call, ()), state, error=True, kind="read missing", why="no record fits")


def _given(call: Call, store: Store) -> dict[str, Any]:
    """The fields a call gives: its arguments, and what the rule says beside them."""
    passed = {name: value for name, value in call.arguments.items() if name not in call.rule.ignore}
    own = render(call.rule.fields, call.names)
    return {**passed, **own}


def _create(call: Call, state: State) -> Outcome:
    (store, *_) = _stores(call, state)
    record = _given(call, store)
    key = key_of(call.rule, store, call.names, record)
    if key is None and store.spec.ids is not None and len(store.spec.key) == 1:
        made, store = store.new_id()
        key, record = (made,), {store.spec.key[0]: made, **record}
    if key is None:
        raise UnknownError(f"nothing says the key of new {store.name}")
    if call.rule.exists is not None:
        there = store.get(key)
        if isinstance(there, Unknown):
            raise UnknownError(there.what)
        if there is not ABSENT:
            answer = render(call.rule.exists, {**call.names, "record": there, "key": [str(part) for part in key]})
            return Outcome(answer, state, error=True, kind="create exists", why="there is one already")
    after = state.with_store(store.put(key, record))
    answer = _answer(call, _shown(record, call.rule), record=record)
    return Outcome(answer, after, kind="create", why=f"a new record of {store.name}", writes=(_written(store, key),))


def _update(call: Call, state: State) -> Outcome:
    (store, *_) = _stores(call, state)
    key, record = _existing(call, store)
    if key is None or record is ABSENT:
        return Outcome(_missing(call, key or ()), state, error=True, kind="update missing", why="no such record")
    if not isinstance(record, Mapping):
        raise BrokenError("the record has no fields")
    changes = {name: value for name, value in _given(call, store).items() if name not in _key_arguments(call, store)}
    after = {**record, **changes}
    answer = _answer(call, _shown(after, call.rule), record=after, before=record)
    written = state.put(store.name, key, after)
    return Outcome(answer, written, kind="update", why=f"record of {store.name}", writes=(_written(store, key),))


def _delete(call: Call, state: State) -> Outcome:
    (store, *_) = _stores(call, state)
    key, record = _existing(call, store)
    if key is None or record is ABSENT:
        return Outcome(_missing(call, key or ()), state, error=True, kind="delete missing", why="no such record")
    after = state.with_store(store.drop(key))
    answer = _answer(call, record, record=record)
    return Outcome(answer, after, kind="delete", why=f"record of {store.name}", writes=(_written(store, key),))


def _existing(call: Call, store: Store) -> tuple[Key | None, Any]:
    key = key_of(call.rule, store, call.names, call.arguments)
    record = store.get(key) if key is not None else ABSENT
    if isinstance(record, Unknown):
        raise UnknownError(record.what)
    return key, record


def _key_arguments(call: Call, store: Store) -> set[str]:
    """Arguments that name the record and are no change of it."""
    used = set(store.spec.key)
    return used | {name for name in call.arguments if f"args.{name}" in str(call.rule.key or "")}


def _list(call: Call, state: State) -> Outcome:
    items = []
    for store in _stores(call, state):
        items += store.records()
    chosen = [item for item in items if _chosen(item, call)]
    if call.rule.sort:
        name = call.rule.sort.removeprefix("-")
        try:
            chosen.sort(key=lambda item: (item.get(name) is None, item.get(name)), reverse=call.rule.sort[0] == "-")
        except TypeError as exc:
            raise BrokenError(f"cannot sort by {name}") from exc
    page = _page(chosen, call)
    shown = [_shown(item, call.rule) for item in page]
    answer = _answer(call, shown, items=shown, records=page, total=len(chosen))
    return Outcome(answer, state, kind=str(call.rule.operation), why=f"{len(chosen)} of {len(items)} records")


def _chosen(item: Any, call: Call) -> bool:
    rule = call.rule
    if not isinstance(item, Mapping) or not holds(rule.where, {**call.names, "item": item}):
        return False
    paging = rule.paging
    apart = {*rule.ignore, *((paging.limit, paging.offset, paging.page) if paging else ())}
    if rule.operation == "search":
        apart.add(rule.query)
        if not _found(item, call):
            return False
    filters = {name: value for name, value in call.arguments.items() if name not in apart}
    return all(item.get(name) == value for name, value in filters.items() if value is not None)


def _found(item: Mapping[str, Any], call: Call) -> bool:
    text = call.arguments.get(call.rule.query)
    if text is None:
        return True
    needle = str(text).lower()
    fields = call.rule.match or tuple(item)
    return any(needle in text.lower() for name in fields for text in _texts(item.get(name)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _page(items: list[Any], call: Call) -> list[Any]:
    paging = call.rule.paging
    if paging is None:
        return items

    def number(name: str, default: int) -> int:
        value = call.arguments.get(name, default) if name else default
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default

    size = number(paging.limit, paging.size)
    start = number(paging.offset, 0)
    if paging.page:
        start += (max(number(paging.page, 1), 1) - 1) * size
    return items[start : start + size]


def _written(store: Store, key: Key) -> str:
    return f"{store.name}/{'/'.join(str(part) for part in key)}"


_OPERATIONS: dict[str, Callable[[Call, State], Outcome]] = {
    "create": _create,
    "read": _read,
    "update": _update,
    "delete": _delete,
    "list": _list,
    "search": _list,
}
