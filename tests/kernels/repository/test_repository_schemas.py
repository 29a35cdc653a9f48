"""Worlds may declare the tools with as much or little of a schema as they like."""

from __future__ import annotations

from typing import Any

import pytest

from worldline.kernels import Kernel, build_kernel
from worldline.kernels.base import Proposal
from worldline.types import Action, Observation, ToolSpec, Turn, WorldSpec

ROOT = "/home/user/work"
READS = {"editor": ("Read", "file_path"), "envelope": ("read_file", "absolute_path")}
SCHEMAS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "an object": {"type": "object"},
    "no type": {"properties": {"KEY": {}}},
    "true": {"properties": {"KEY": True}},
    "another type": {"properties": {"KEY": {"type": "integer"}}},
    "several types": {"properties": {"KEY": {"type": ["string", "null"]}}},
    "a reference": {"properties": {"KEY": {"$ref": "#/$defs/path"}}, "$defs": {"path": {"type": "string"}}},
    "no list": {"properties": {"KEY": {"enum": 3}}, "required": "KEY"},
}


def kernel_of(family: str, name: str, parameters: dict[str, Any]) -> Kernel:
    state = {"family": family, "cwd": ROOT, "files": {"a.txt": "one\n"}}
    tools = (ToolSpec(name=name, parameters=parameters),)
    return build_kernel(WorldSpec(domain="swe", tools=tools, initial_state=state))


def call(kernel: Kernel, name: str, **arguments: Any) -> Proposal:
    proposal = kernel.propose(Action(name=name, arguments=arguments))
    kernel.absorb(
        Turn(action=Action(name=name, arguments=arguments), observation=Observation.from_text("x", is_error=False))
    )
    return proposal


@pytest.mark.parametrize("family", READS)
@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_declared_tool_of_the_family_is_simulated(family: str, kind: str) -> None:
    name, key = READS[family]
    schema = SCHEMAS[kind]
    if "properties" in schema:
        schema = {**schema, "properties": {key: schema["properties"]["KEY"]}}
    kernel = kernel_of(family, name, schema)
    read = call(kernel, name, **{key: f"{ROOT}/a.txt"})
    assert read.known
    assert "one" in read.observation.text
    for arguments in ({}, {key: 5}, {key: None}, {key: [1]}, {key: True}):
        refused = call(kernel, name, **arguments)
        assert refused.known
        assert refused.observation.is_error
    for hostile in ("a\0b", "x" * 5000, "\ud800"):
        call(kernel, name, **{key: f"{ROOT}/{hostile}"})


@pytest.mark.parametrize("family", READS)
def test_a_tool_that_takes_other_arguments_is_not(family: str) -> None:
    name, _ = READS[family]
    kernel = kernel_of(family, name, {"type": "object", "properties": {"uri": {"type": "string"}}})
    assert not call(kernel, name, uri="a.txt").known


@pytest.mark.parametrize("family", READS)
def test_a_tool_of_another_name_is_checked_but_not_simulated(family: str) -> None:
    kernel = kernel_of(family, "Look", {"properties": {"at": {}, "n": {"type": "integer"}}, "required": ["at"]})
    assert not call(kernel, "Look", at=True, n=3).known
    assert call(kernel, "Look", n=3).observation.is_error


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 10**400, -(10**400)])
@pytest.mark.parametrize("family", READS)
def test_endless_numbers_break_nothing(family: str, number: float) -> None:
    name, key = READS[family]
    kernel = kernel_of(family, name, {})
    call(kernel, name, **{key: f"{ROOT}/a.txt", "offset": number, "limit": number})
