"""How learned worlds refuse what a tool's schema does not allow: in the words of the environment."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import traces
from traces import Call

from worldline.kernels import build_kernel
from worldline.types import Action, JsonDict, Observation, ToolSpec, Trajectory, WorldSpec
from worldline.worlds.learning import learn_world, new_world

NOTE: JsonDict = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "stars": {"type": "integer", "minimum": 1},
        "mood": {"type": "string", "enum": ["calm", "merry"]},
    },
    "required": ["title"],
}
TOOLS = (
    ToolSpec(name="note_add", parameters=NOTE),
    ToolSpec(
        name="note_find",
        parameters={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    ),
)


def said(world: WorldSpec, tool: str, arguments: JsonDict) -> Observation:
    kernel = build_kernel(world)
    try:
        return kernel.propose(Action(name=tool, arguments=arguments)).observation
    finally:
        kernel.close()


def trace(family: str, calls: Sequence[Call]) -> Trajectory:
    return traces.trace(family, calls, TOOLS)


OWN = [
    trace("a", [("note_add", {}, "[42] note_add wants title", True), ("note_add", {"title": "x"}, "ok", False)]),
    trace(
        "b", [("note_find", {}, "[42] note_find wants word", True), ("note_adds", {}, "[40] what is note_adds?", True)]
    ),
    trace("c", [("note_add", {"title": 7}, "[43] title got 7, not a string", True)]),
    trace("d", [("note_find", {"word": 8}, "[43] word got 8, not a string", True)]),
    trace("e", [("note_add", {"title": "x", "mood": "sad"}, "[44] 'sad' is none of 'calm', 'merry'", True)]),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("note_find", {}, "[42] note_find wants word"),
        ("note_add", {"stars": 1}, "[42] note_add wants title"),
        ("note_add", {"title": "x", "stars": "two"}, "[43] stars got two, not a integer"),
        ("note_add", {"title": "x", "mood": "odd"}, "[44] 'odd' is none of 'calm', 'merry'"),
        ("note_gone", {}, "[40] what is note_gone?"),
    ],
)
def test_words_of_its_own_are_carried_over_to_other_calls(tool: str, arguments: JsonDict, text: str) -> None:
    answer = said(learn_world(OWN), tool, arguments)
    assert (answer.text, answer.is_error) == (text, True)


@pytest.mark.parametrize(
    ("example", "arguments", "text"),
    [
        (
            "MCP error -32602: Input validation error: Invalid arguments for tool note_find: "
            "Invalid input: expected string, received undefined at word",
            {"title": 3, "stars": 0},
            "MCP error -32602: Input validation error: Invalid arguments for tool note_add: "
            "Invalid input: expected string, received number at title\nToo small: expected number to be >=1 at stars",
        ),
        (
            "Input validation error: 'word' is a required property",
            {"title": "x", "mood": "odd"},
            "Input validation error: 'odd' is not one of ['calm', 'merry']",
        ),
        (
            "Error executing tool note_find: 1 validation error for note_findArguments\nword\n  Field required "
            "[type=missing, input_value={}, input_type=dict]\n    For further information visit "
            "https://errors.pydantic.dev/2.14/v/missing",
            {"title": None},
            "Error executing tool note_add: 1 validation error for note_addArguments\ntitle\n  Input should be a valid "
            "string [type=string_type, input_value=None, input_type=NoneType]\n    For further information visit "
            "https://errors.pydantic.dev/2.14/v/string_type",
        ),
    ],
)
def test_one_refusal_in_a_librarys_words_tells_how_all_are_worded(example: str, arguments: JsonDict, text: str) -> None:
    world = learn_world([trace("a", [("note_find", {}, example, True)])])
    answer = said(world, "note_add", arguments)
    assert (answer.text, answer.is_error) == (text, True)


def test_what_a_schema_forbids_and_the_environment_takes_is_not_refused() -> None:
    calls = [("note_add", {"title": "x", "stars": "3"}, "added x", False), ("note_find", {}, "'word'? give it", True)]
    world = learn_world([trace(family, calls) for family in "abc"])
    assert world.initial_state["collections"]["tools"]["note_add"]["unchecked"] == ["stars"]
    assert not said(world, "note_add", {"title": "y", "stars": "4"}).is_error
    assert said(world, "note_find", {}).text == "'word'? give it"


def test_where_schemas_are_not_checked_nothing_is_refused_for_them() -> None:
    world = learn_world([trace(family, [("note_add", {}, "added", False)]) for family in "abc"])
    assert not said(world, "note_find", {"word": 5}).is_error


def test_marks_of_the_library_in_the_schemas_tell_its_words_without_any_trace() -> None:
    marked = ToolSpec(name="note_add", parameters={"$schema": "http://json-schema.org/draft-07/schema#", **NOTE})
    answer = said(new_world([marked]), "note_add", {})
    assert answer.text.endswith("Invalid input: expected string, received undefined at title")
    titled = ToolSpec(name="note_add", parameters={"title": "addArguments", **NOTE})
    assert (
        "1 validation error for addArguments\ntitle\n  Field required" in said(new_world([titled]), "note_add", {}).text
    )
    assert said(new_world(TOOLS), "note_add", {}).text == "Error: missing required argument: title"
