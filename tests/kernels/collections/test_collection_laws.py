"""Laws of stores and operations: reads follow writes, forks are apart, a dumped state is the same state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.domains.tools.collections import CollectionsSpec
from worldline.kernels.tools.base import ServerKernel
from worldline.kernels.tools.collections import CollectionServer
from worldline.types import Observation

SPEC = CollectionsSpec.model_validate(
    {
        "stores": {
            "notes": {
                "key": ["id"],
                "closed": True,
                "ids": {"pattern": "n{n}", "next": 1},
                "records": [{"id": "first", "title": "Hello", "tag": "a"}],
            }
        },
        "tools": {
            "add": {"operation": "create", "store": "notes", "exists": "there is {{ args.id }}"},
            "get": {"operation": "read", "store": "notes", "missing": "no note {{ args.id }}"},
            "edit": {"operation": "update", "store": "notes", "missing": "no note {{ args.id }}"},
            "drop": {"operation": "delete", "store": "notes", "missing": "no note {{ args.id }}", "answer": "gone"},
            "all": {
                "operation": "list",
                "store": "notes",
                "paging": {"limit": "limit", "offset": "offset", "size": 99},
            },
            "find": {"operation": "search", "store": "notes", "match": ["title"], "query": "text"},
        },
    }
)

KEYS = st.sampled_from(["first", "b", "c d", "ü", "{{ 1 }}"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CALLS = st.one_of(
    st.tuples(st.just("add"), st.fixed_dictionaries({"title": TEXTS}, optional={"id": KEYS, "tag": TEXTS})),
    st.tuples(st.just("get"), st.fixed_dictionaries({"id": KEYS})),
    st.tuples(st.just("edit"), st.fixed_dictionaries({"id": KEYS}, optional={"title": TEXTS, "tag": TEXTS})),
    st.tuples(st.just("drop"), st.fixed_dictionaries({"id": KEYS})),
    st.tuples(st.just("all"), st.fixed_dictionaries({}, optional={"tag": TEXTS, "limit": st.integers(0, 3)})),
    st.tuples(st.just("find"), st.fixed_dictionaries({"text": TEXTS})),
)


class Model:
    """The same store, written down as plainly as possible."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[str, Any]] = {"first": {"id": "first", "title": "Hello", "tag": "a"}}
        self.number = 1

    def call(self, tool: str, args: dict[str, Any]) -> tuple[Any, bool]:
        key = args.get("id")
        if tool == "add":
            if key is None:
                key, self.number = f"n{self.number}", self.number + 1
                self.notes[key] = {"id": key, **args}
            elif key in self.notes:
                return f"there is {key}", True
            else:
                self.notes[key] = dict(args)
            return self.notes[key], False
        if tool in ("get", "edit", "drop") and key not in self.notes:
            return f"no note {key}", True
        if tool == "edit":
            self.notes[key] = {**self.notes[key], **args}
        if tool == "drop":
            del self.notes[key]
            return "gone", False
        if tool in ("get", "edit"):
            return self.notes[key], False
        found = [n for n in self.notes.values() if "tag" not in args or n.get("tag") == args["tag"]]
        if tool == "find":
            found = [n for n in found if args["text"].lower() in str(n["title"]).lower()]
        return found[: args.get("limit", 99)], False


@settings(max_examples=150, deadline=None)
@given(st.lists(CALLS, max_size=25))
def test_it_does_what_a_plain_store_does(calls: list[tuple[str, dict[str, Any]]]) -> None:
    server, model = CollectionServer(SPEC), Model()
    for tool, args in calls:
        answered = server.call(tool, args)
        expected, error = model.call(tool, args)
        text = answered.observation.text
        assert answered.known
        assert answered.observation.is_error is error
        assert (text if isinstance(expected, str) else json.loads(text)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(CALLS, max_size=12), st.lists(CALLS, min_size=1, max_size=8))
def test_forks_are_apart_and_a_dump_is_the_same_state(
    before: list[tuple[str, dict[str, Any]]], after: list[tuple[str, dict[str, Any]]]
) -> None:
    server = CollectionServer(SPEC)
    for tool, args in before:
        server.call(tool, args)
    told = server.call("all", {}).observation.text
    twin = server.fork()
    loaded = CollectionServer(SPEC)
    loaded.load(json.loads(json.dumps(server.dump())))
    for tool, args in after:
        assert twin.call(tool, args).observation == loaded.call(tool, args).observation
    assert server.call("all", {}).observation.text == told


@settings(max_examples=60, deadline=None)
@given(st.lists(CALLS, min_size=1, max_size=15), st.data())
def test_following_reality_gives_what_reality_has(calls: list[tuple[str, dict[str, Any]]], data: st.DataObject) -> None:
    """Where nothing was declared, whatever was observed is told again, and nothing else is claimed."""
    opened = SPEC.model_copy(
        update={"stores": {"notes": SPEC.stores["notes"].model_copy(update={"closed": False, "records": ()})}}
    )
    server, reality = CollectionServer(opened), CollectionServer(SPEC)
    for tool, args in calls:
        real = reality.call(tool, args).observation
        trial = server.fork()
        told = trial.call(tool, args)
        if told.known and tool != "add":
            # A new id is guessed, and a note that was never seen may be there already.
            assert told.observation == real
        if told.known and told.observation == real:
            server = trial
        else:
            server.observe(tool, args, real)
        key = data.draw(KEYS)
        again = server.fork().call("get", {"id": key})
        if again.known:
            assert again.observation == reality.fork().call("get", {"id": key}).observation


def test_it_is_a_server_kernel() -> None:
    assert isinstance(CollectionServer(SPEC), ServerKernel)


@pytest.mark.parametrize(
    "state", [{}, {"version": 1}, {"version": 1, "state": {}}, {"version": 2}, {"version": 1, "state": 3}]
)
def test_a_damaged_state_is_refused(state: dict[str, Any]) -> None:
    from worldline.errors import KernelError

    with pytest.raises(KernelError):
        CollectionServer(SPEC).load(state)


def test_what_was_never_seen_is_unknown_and_what_was_seen_is_told() -> None:
    spec = CollectionsSpec.model_validate(
        {"stores": {"users": {"key": ["user_id"]}}, "tools": {"get_user": {"operation": "read", "store": "users"}}}
    )
    server = CollectionServer(spec)
    assert not server.call("get_user", {"user_id": "u1"}).known
    server.observe("get_user", {"user_id": "u1"}, Observation.from_text('{"name": "Ada"}', is_error=False))
    told = server.call("get_user", {"user_id": "u1"})
    assert told.known and told.observation.text == '{"name": "Ada"}'
    refused = Observation.from_text("Error: get_user: no such record: u2", is_error=True)
    server.observe("get_user", {"user_id": "u2"}, refused)
    assert server.call("get_user", {"user_id": "u2"}).observation == refused


def test_a_refused_call_is_refused_again_until_something_changes() -> None:
    spec = CollectionsSpec.model_validate({"tools": {"book": {"changes": True}, "look": {"changes": False}}})
    server = CollectionServer(spec)
    full = Observation.from_text("Error: full", is_error=True)
    server.observe("book", {"seat": 1}, full)
    server.observe("look", {}, Observation.from_text("rows", is_error=False))
    assert server.fork().call("book", {"seat": 1}).known
    server.observe("book", {"seat": 2}, Observation.from_text("booked", is_error=False))
    assert not server.call("book", {"seat": 1}).known
