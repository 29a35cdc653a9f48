"""Calls composed from schemas: valid ones fit, broken ones do not, and no schema is too odd."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.domains.mcp.state import McpState
from worldline.domains.mcp.tools import server_tools
from worldline.record.mcp import explorer, plans
from worldline.record.mcp.explore.schema import Composer, arguments_for, break_call
from worldline.record.mcp.explore.seen import Seen
from worldline.record.mcp.plans.families import FAMILIES
from worldline.record.mcp.settings import PACKAGES
from worldline.types import Action, Observation, ToolSpec, Turn, WorldSpec, canonical_json

KINDS = sorted(PACKAGES)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
WORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "anyOf",
        "allOf",
        "$ref",
        "enum",
        "required",
        "minimum",
        "maximum",
        "const",
        "minItems",
    ]
)
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["object", "array", "string", "#", "#/properties/a", "#/$defs/x"]),
    lambda inner: st.dictionaries(WORDS | st.sampled_from(["a", "b c", "é"]), inner, max_size=5),
    max_leaves=20,
)


def tools_of(kind):
    return server_tools(McpState.model_validate({"servers": {"x": {"kind": kind}}}).servers["x"])


def fits(schema, value, root):
    """Whether a value fits the part of JSON Schema that the servers use."""
    if "anyOf" in schema:
        return any(fits(part, value, root) for part in schema["anyOf"])
    if isinstance(schema.get("type"), list):
        return any(fits({**schema, "type": kind}, value, root) for kind in schema["type"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    kinds = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    kind = schema.get("type")
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        return low <= value <= high and (kind == "number" or isinstance(value, int))
    if kind in kinds and not isinstance(value, kinds[kind]):
        return False
    if kind == "array":
        return len(value) >= schema.get("minItems", 0) and all(fits(schema["items"], item, root) for item in value)
    if kind == "object":
        known = schema.get("properties", {})
        return set(schema.get("required", ())) <= set(value) and all(
            name in known and fits(known[name], item, root) for name, item in value.items()
        )
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_composed_arguments_fit_the_real_schemas(kind):
    for tool in tools_of(kind):
        for seed in range(30):
            value = arguments_for(tool, random.Random(seed), None, ["one", "two"])
            assert fits(tool.parameters, value, tool.parameters), (tool.name, value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_call_is_another_call(kind):
    for tool in tools_of(kind):
        for seed in range(30):
            right = Action(name=tool.name, arguments=arguments_for(tool, random.Random(seed)))
            wrong = break_call(right, tool, random.Random(seed))
            assert wrong.model_dump_json() != right.model_dump_json()


@settings(max_examples=150, deadline=None)
@given(schema=SCHEMAS, seed=st.integers(0, 1000))
def test_any_schema_gives_some_value(schema, seed):
    root = schema if isinstance(schema, dict) else {}
    value = Composer(root, random.Random(seed)).example(schema)
    assert len(json.dumps(value)) < 100_000
    again = Composer(root, random.Random(seed)).example(schema)
    assert canonical_json(value) == canonical_json(again)


def test_a_schema_that_needs_itself_ends():
    tool = ToolSpec(name="t", parameters={"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})
    value = arguments_for(tool, random.Random(1))
    assert value["a"]["a"]


def test_references_are_followed():
    defs = {"p~/q": {"type": "object", "properties": {"n": {"const": 5}}, "required": ["n"]}}
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/$defs/p~0~1q"}}, "required": ["a"], "$defs": defs}
    assert arguments_for(ToolSpec(name="t", parameters=parameters), random.Random(1)) == {"a": {"n": 5}}


def seen_after(name, arguments, text, *, is_error=False, data=None):
    seen = Seen()
    observation = Observation(text=text, is_error=is_error, data=data)
    seen.learn(Turn(action=Action(name=name, arguments=arguments), observation=observation))
    return seen


def test_values_are_asked_for_by_name():
    seen = seen_after(
        "add", {"title": "milk"}, '{"task": {"id": 7, "projectName": "shop"}, "tags": ["a", "b"], "n": null}'
    )
    assert seen.values("id") == seen.values("taskId") == seen.values("task_id") == [7]
    assert seen.values("title") == ["milk"]
    assert seen.values("project_name") == ["shop"]
    assert seen.values("tag") == ["b", "a"] or seen.values("tag") == ["a", "b"]
    assert seen.values("n") == []


def test_plain_text_is_searched_for_numbers_and_names():
    seen = seen_after("add", {}, "Added: #12 buy milk (id: x-9)")
    assert set(seen.values("task_id")) == {12, "12", "x-9"}


def test_structured_content_is_read_before_the_text():
    assert seen_after("add", {}, "done", data={"structuredContent": {"key": "k1"}}).values("key") == ["k1"]


@pytest.mark.parametrize(
    ("text", "is_error"), [("no such task", True), ('{"ok": false, "id": 9}', False), ("Error: no", False)]
)
def test_nothing_is_learned_from_a_failure(text, is_error):
    assert seen_after("show", {"id": 9}, text, is_error=is_error).values("id") == []


def test_an_error_that_names_the_choices_is_heard():
    seen = seen_after("list", {"status": "x"}, "status must be one of ('open', 'done'), got 'x'", is_error=True)
    assert seen.values("status") == ["open", "done"]


@given(st.text(max_size=300) | JSON.map(json.dumps))
def test_anything_can_be_learned_from(text):
    seen = seen_after("t", {"a": [{"b c": "d"}]}, text)
    assert seen.values("b c") == seen.values("b c")


def test_a_server_of_which_nothing_is_known_is_tried_by_what_its_tools_promise():
    names = ("add_note", "list_notes", "delete_note", "rename_note")
    schema = {"type": "object", "properties": {"note_id": {"type": "string"}}, "required": ["note_id"]}
    world = WorldSpec(
        domain="mcp",
        tools=tuple(ToolSpec(name=name, parameters=schema) for name in names),
        initial_state={"servers": {"notes": {"kind": "command", "command": ["notes"]}}},
    )
    acting, turns = explorer(world, 5), []
    while len(turns) < 120:
        action = acting.next(turns)
        turns.append(Turn(action=action, observation=Observation(text='{"note_id": "n-77"}', is_error=False)))
    called = [turn.action.name for turn in turns]
    assert set(names) <= set(called)
    assert called.count("add_note") > called.count("delete_note")
    after = [one for one, other in zip(called[1:], called, strict=False) if other == "add_note"]
    assert after.count("list_notes") > len(after) / 4
    assert sum(turn.action.arguments.get("note_id") == "n-77" for turn in turns) > 10


def test_plans_are_the_same_each_time_and_many():
    one, two = list(plans(1)), list(plans(1))
    assert [plan.id for plan in one] == [plan.id for plan in two]
    assert len({plan.id for plan in one}) == len(one) >= 220
    assert len(FAMILIES) == len({plan.family for plan in one}) >= 50
    assert len({canonical_json(plan.world.model_dump(mode="json")) for plan in one}) > 0.95 * len(one)
    kinds = {server["kind"] for plan in one for server in plan.world.initial_state["servers"].values()}
    assert kinds == set(KINDS)


def acted(plan, seed, text):
    acting, turns = explorer(plan.world, seed), []
    while len(turns) < 12:
        action = acting.next(turns)
        turns.append(Turn(action=action, observation=Observation(text=text, is_error=False)))
    return canonical_json([turn.action.model_dump(mode="json") for turn in turns])


def test_an_explorer_repeats_itself_and_uses_what_came_back():
    plan = next(plan for plan in plans(1) if plan.family.startswith("memory/"))
    graph = '{"entities": [{"name": "found-only-here", "entityType": "t", "observations": []}], "relations": []}'
    assert acted(plan, 3, graph) == acted(plan, 3, graph)
    assert any("found-only-here" in acted(plan, seed, graph) for seed in range(20))
    assert not any("found-only-here" in acted(plan, seed, "[]") for seed in range(20))
