"""A mistake in a declaration is told when the world is loaded where it can be, else the call is not answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from worldline.domains.tools.collections import CollectionsSpec, IdSpec
from worldline.kernels.tools.collections import CollectionServer
from worldline.types import Observation

_USERS = {"users": {"key": ["id"], "records": [{"id": "a", "n": 1}]}}
_NOTES = {"notes": {"closed": True, "keyed": [{"key": ["five"], "record": 5}]}}


def server_of(stores: dict[str, Any], **rule: Any) -> CollectionServer:
    return CollectionServer(CollectionsSpec.model_validate({"stores": stores, "tools": {"run": rule}}))


@pytest.mark.parametrize(
    "pattern", ["draft", "", "{x}", "{n!r}", "{n.real}", "{n", "{n:999999d}", "{{n}}", "{n:c}", "{n:.0e}", "{}", "{0}"]
)
def test_a_pattern_that_does_not_number_is_refused(pattern: str) -> None:
    with pytest.raises(ValidationError, match=r"must hold the number once"):
        IdSpec(pattern=pattern)


@pytest.mark.parametrize(
    ("pattern", "made"), [("{n}", "7"), ("#W{n:04d}", "#W0007"), ("{{{n}}}", "{7}"), ("x{n:x}", "x7"), ("{n:3}", "  7")]
)
def test_a_pattern_numbers(pattern: str, made: str) -> None:
    stores = {"notes": {"closed": True, "ids": {"pattern": pattern, "next": 7}}}
    server = server_of(stores, operation="create", store="notes")
    assert json.loads(server.call("run", {"t": "x"}).observation.text) == {"id": made, "t": "x"}
    assert server.call("run", {"t": "y"}).known


@pytest.mark.parametrize("now", ["tomorrow", "15.05.2024", "2024-13-01"])
def test_a_time_that_is_none_is_refused(now: str) -> None:
    with pytest.raises(ValidationError, match=r"is no time"):
        CollectionsSpec(now=now)


def test_a_time_beyond_the_calendar_is_not_known() -> None:
    spec = CollectionsSpec.model_validate(
        {"now": "9999-12-31T23:59:59", "tools": {"clock": {"cases": [{"answer": "{{ now }}"}]}, "say": {"answer": "x"}}}
    )
    server = CollectionServer(spec)
    assert server.call("clock", {}).observation.text == "9999-12-31T23:59:59"
    assert not server.call("clock", {}).known


@pytest.mark.parametrize(
    ("stores", "rule", "arguments"),
    [
        (_NOTES, {"operation": "update", "store": "notes"}, {"id": "five", "n": 2}),
        (_USERS, {"cases": [{"answer": "done", "effects": [{"store": "users"}]}]}, {"id": "a"}),
        (_USERS, {"cases": [{"answer": ["done"], "effects": [{"store": "users"}]}]}, {"id": "a"}),
        (_USERS, {"cases": [{"answer": "{{ users }}"}]}, {}),
        (_USERS, {"let": {"u": "{{ users['b'].n }}"}, "cases": [{"answer": "{{ [u] }}"}]}, {}),
        (_USERS, {"let": {"u": "{{ users['b'].n }}"}, "cases": [{"answer": {"x": "{{ {'u': [u]} }}"}}]}, {}),
        (_USERS, {"cases": [{"answer": "{{ [args.x] }}"}]}, {}),
        (_USERS, {"cases": [{"answer": "{{ dict }}"}]}, {}),
        (
            _USERS,
            {"cases": [{"answer": "ok", "effects": [{"store": "users", "key": "x", "value": "{{ [users['b']] }}"}]}]},
            {},
        ),
    ],
)
def test_what_has_no_value_is_not_answered(
    stores: dict[str, Any], rule: dict[str, Any], arguments: dict[str, Any]
) -> None:
    server = server_of(stores, **rule)
    for said in ("done", '["done"]', '{"id": "c"}', "5"):
        after = server.fork()
        assert not after.call("run", arguments).known
        after.observe("run", arguments, Observation.from_text(said, is_error=False))
        json.dumps(after.dump())


def test_a_store_as_an_answer_is_the_list_of_its_records() -> None:
    closed = {"users": {**_USERS["users"], "closed": True}}
    told = server_of(closed, cases=[{"answer": "{{ users }}"}]).call("run", {})
    assert told.known
    assert told.observation.text == '[{"id": "a", "n": 1}]'


def test_a_deletion_of_nobody_knows_what_leaves_the_store_in_doubt() -> None:
    stores = {"users": {"closed": True, "records": [{"id": "a"}]}, "names": {}}
    rules = {
        "drop": {"operation": "delete", "store": "users", "key": "{{ names[args.name].id }}", "changes": True},
        "get": {"operation": "read", "store": "users"},
    }
    server = CollectionServer(CollectionsSpec.model_validate({"stores": stores, "tools": rules}))
    assert server.fork().call("get", {"id": "a"}).known
    server.observe("drop", {"name": "Ada"}, Observation.from_text("gone", is_error=False))
    assert not server.call("get", {"id": "a"}).known


def test_a_record_with_half_a_character_has_a_hash() -> None:
    server = server_of(_USERS, operation="update", store="users")
    server.call("run", {"id": "a", "n": "\ud800"})
    assert server.footprint("run", {"id": "a"})


_HOSTILE = st.recursive(
    st.sampled_from(
        [10**400, -(10**400), 2**53, float("inf"), float("nan"), "\0", "\ud800", "x" * 70_000, None, True, 0, "", "a"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "\0", "id"]), inner, max_size=2),
    max_leaves=4,
)
_RULES = {
    "add": {"operation": "create", "store": "users"},
    "get": {"operation": "read", "store": "users"},
    "edit": {"operation": "update", "store": "users"},
    "drop": {"operation": "delete", "store": "users", "key": "{{ args.id }}"},
    "all": {"operation": "list", "store": "users", "sort": "n", "paging": {"limit": "limit", "offset": "n"}},
    "find": {"operation": "search", "store": "users"},
    "sum": {"cases": [{"when": "{{ args.n > 3 }}", "answer": "{{ args.n * args.n }}"}, {"answer": "{{ args }}"}]},
    "run": {"operation": "shell", "command": "echo {{ args.id | quote }} {{ args.n | quote }}"},
    "other": {"changes": True},
}  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(_RULES)),
    st.dictionaries(st.sampled_from(["id", "n", "limit", "query"]), _HOSTILE, max_size=3),
    st.sampled_from(["Error: 12 is more than 3", "{}", '{"id": "b"}', "x"]),
    st.booleans(),
)
def test_hostile_arguments_are_answered_or_not_but_break_nothing(
    tool: str, arguments: dict[str, Any], said: str, error: bool
) -> None:
    spec = {"stores": {"users": {"closed": True, "records": [{"id": "a", "n": 1}]}}, "tools": _RULES, "terminal": {}}
    server = CollectionServer(CollectionsSpec.model_validate(spec))
    server.call(tool, arguments)
    server.observe(tool, arguments, Observation.from_text(said, is_error=error))
    server.call(tool, {"id": 3, "n": 4})
    server.call(tool, arguments)
    server.footprint(tool, arguments)
    json.dumps(server.dump())
    server.close()
