"""Tool definitions in all shapes, hostile ones among them, and the worlds that are guessed from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.errors import FormatError
from worldline.kernels.tools.collections import collection_server
from worldline.types import ToolSpec
from worldline.worlds import dump_world, parse_world
from worldline.worlds.learning import new_world, read_tools, tools_of

SCHEMA = {"type": "object", "properties": {"ticket_id": {"type": "string"}}, "required": ["ticket_id"]}


@pytest.mark.parametrize(
    "value",
    [
        {"tools": [{"name": "get_ticket", "inputSchema": SCHEMA}]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "get_ticket", "inputSchema": SCHEMA}]}},
        [{"type": "function", "function": {"name": "get_ticket", "parameters": SCHEMA}}],
        [{"name": "get_ticket", "input_schema": SCHEMA}],
        {"functions": [{"name": "get_ticket", "parameters": SCHEMA}]},
        [{"functionDeclarations": [{"name": "get_ticket", "parameters": SCHEMA}]}],
        {"get_ticket": {"description": "x", "parameters": SCHEMA}},
        {"name": "get_ticket", "inputSchema": SCHEMA},
    ],
)
def test_every_usual_shape_is_read(value: Any) -> None:
    (tool,) = tools_of(value)
    assert (tool.name, tool.parameters) == ("get_ticket", SCHEMA)


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        "x",
        [],
        {},
        [3],
        [{"description": "no name"}],
        [{"name": ""}],
        {"tools": 3},
        [{"name": "a"}, {"name": "a"}],
    ],
)
def test_what_is_no_definition_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        tools_of(value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ufeff", '{"tools": []}'])
def test_a_bad_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tools.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r"tools\.json"):
        read_tools(file)


def calls(tools: list[ToolSpec], *made: tuple[str, dict[str, Any]]) -> list[tuple[str, bool | None]]:
    world = parse_world(dump_world(new_world(tools)))
    server = collection_server(world)
    assert server is not None
    answered = [server.call(tool, arguments).observation for tool, arguments in made]
    return [(seen.text, seen.is_error) for seen in answered]


def test_a_world_of_nothing_but_definitions_can_be_played() -> None:
    tools = tools_of(
        [
            {
                "name": "createTicket",
                "inputSchema": {"properties": {"title": {"type": "string"}}, "required": ["title"]},
            },
            {"name": "get-ticket", "inputSchema": SCHEMA},
            {"name": "update_ticket", "inputSchema": {**SCHEMA, "properties": {**SCHEMA["properties"], "title": {}}}},
            {"name": "list_tickets", "inputSchema": {"properties": {"limit": {"type": "integer"}}}},
            {"name": "delete_ticket", "inputSchema": SCHEMA},
        ]
    )
    answers = calls(
        tools,
        ("createTicket", {"title": "A"}),
        ("createTicket", {}),
        ("get-ticket", {"ticket_id": "ticket_1"}),
        ("update_ticket", {"ticket_id": "ticket_1", "title": "B"}),
        ("list_tickets", {"limit": 5}),
        ("delete_ticket", {"ticket_id": "ticket_1"}),
        ("get-ticket", {"ticket_id": "ticket_1"}),
        ("nothing", {}),
    )
    assert answers == [
        ('{"ticket_id": "ticket_1", "title": "A"}', False),
        ("Error: missing required argument: title", True),
        ('{"ticket_id": "ticket_1", "title": "A"}', False),
        ('{"ticket_id": "ticket_1", "title": "B"}', False),
        ('[{"ticket_id": "ticket_1", "title": "B"}]', False),
        ("Deleted ticket ticket_1", False),
        ("Error: ticket ticket_1 not found", True),
        ("Error: unknown tool nothing", True),
    ]


RECURSIVE = {
    "type": "object",
    "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}},
    "properties": {
        "tree": {"$ref": "#/$defs/node"},
        "kind": {"$ref": "#/$defs/kind"},
        "loop": {"$ref": "#/properties/loop"},
    },
    "required": ["tree"],
}
HOSTILE = [
    {},
    {"type": "object"},
    {"properties": None},
    {"properties": {"a b": {"type": "string"}, "": {}, "класс": {}, "{{ x }}": {"type": ["string", "null"]}}},
    {"$ref": "#"},
    {"$ref": "#/nowhere"},
    {"$ref": "https://example.com/schema.json"},
    {"allOf": [{"$ref": "#"}, {"properties": {"a": {"type": "string"}}, "required": ["a", 3]}]},
    {"properties": {"a": {"type": "strange"}, "b": {"enum": 3}, "c": {"type": 5}, "d": True}},
    {"required": "all"},
    RECURSIVE,
]


@pytest.mark.parametrize("schema", HOSTILE)
@pytest.mark.parametrize(
    "name", ["get_thing", "create_thing", "list things!", "1", "класс", "set_{{ x }}", "delete_ß_ß"]
)
def test_hostile_schemas_and_names_do_no_harm(schema: dict[str, Any], name: str) -> None:
    tools = [ToolSpec(name=name, parameters=schema), ToolSpec(name="add_thing", parameters=schema)]
    made = calls(tools, (name, {}), (name, {"tree": {}, "a b": "x", "a": 1, "{{ x }}": 1}), ("add_thing", {"a": "b"}))
    assert len(made) == 3


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["get", "create", "update", "list", "search", "delete"]), NAMES), max_size=4),
    st.dictionaries(NAMES, VALUES, max_size=4),
)
def test_any_names_and_arguments_are_answered(parts: list[tuple[str, str]], arguments: dict[str, Any]) -> None:
    names = list(dict.fromkeys(f"{verb}_{noun}" for verb, noun in parts))
    properties = {key: {"type": "string"} for key in arguments}
    tools = [ToolSpec(name=name, parameters={"type": "object", "properties": properties}) for name in names]
    made = [(name, arguments) for name in names] + [(name, dict.fromkeys(arguments, "x")) for name in names]
    for text, _ in calls(tools, *made) if tools else ():
        json.dumps(text)
