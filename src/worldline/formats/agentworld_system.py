"""The system prompt of AgentWorldBench rows: tools read from it, and one written for a world of our own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from worldline.formats.agentworld_text import action_body, default_parts, response_text
from worldline.formats.skeleton import mapping_of, plain_json
from worldline.types import JsonDict, ToolSpec, WorldSpec

__all__ = ["system_prompt", "tools_in"]

_SECTION = re.compile(r"^#{1,3} ", re.MULTILINE)
_TOOL = re.compile(r"^### \d+\. (\S[^\n]*)$", re.MULTILINE)
_DESCRIPTION = "#### **Description**"
_PARAMETERS = "#### **Parameters**"
_PARAMETER = re.compile(
    r"^- \*\*([^*\n]+)\*\*[ \t]*(?:`([^`\n]*)`)?[ \t]*(\(REQUIRED\))?[ \t]*:?[ \t]*([^\n]*)$", re.MULTILINE
)
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})


def tools_in(system: str) -> tuple[ToolSpec, ...]:
    """Return the tools that a system prompt declares, as far as its text tells; nested schemas are not in it."""
    found = []
    headings = list(_TOOL.finditer(system))
    for place, heading in enumerate(headings):
        limit = headings[place + 1].start() if place + 1 < len(headings) else len(system)
        following = _SECTION.search(system, heading.end(), limit)
        section = system[heading.end() : following.start() if following else limit]
        if _DESCRIPTION not in section and _PARAMETERS not in section:
            continue
        described, _, parameters = section.partition(_PARAMETERS)
        description = described.partition(_DESCRIPTION)[2].strip()
        found.append(ToolSpec(name=heading.group(1).strip(), description=description, parameters=_schema(parameters)))
    return tuple(found)


def _schema(text: str) -> JsonDict:
    properties: JsonDict = {}
    required = []
    for name, kind, needed, description in _PARAMETER.findall(text):
        properties[name] = ({"type": kind} if kind in _TYPES else {}) | (
            {"description": description} if description else {}
        )
        if needed:
            required.append(name)
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def system_prompt(world: WorldSpec, *, with_task: bool) -> str:
    """Write the system prompt of a world: role, task, action space, initial state, demonstrations, instruction.

    Args:
        world: The world.
        with_task: Whether the task belongs here rather than into the first user turn.
    """
    return "\n\n---\n\n".join(_sections(world, with_task)) + "\n"


def _sections(world: WorldSpec, with_task: bool) -> Iterator[str]:
    name = f" called {world.name}" if world.name else ""
    yield (
        "# Role and Objective\n\n"
        f"You stand in for a real environment of the domain {world.domain}{name}. For each action of an agent, predict "
        "exactly what the environment answers."
    )
    if with_task and world.task:
        yield f"# Task Definition\n\n{world.task}"
    if world.tools:
        listed = "\n\n".join(_tool_text(place, tool) for place, tool in enumerate(world.tools, 1))
        yield f"# Input Definitions & Action Space\n\n{listed}"
    if world.initial_state:
        yield f"# Initial State\n\n```json\n{plain_json(world.initial_state)}\n```"
    if world.demonstrations:
        yield "# Few-shot Examples\n\n" + "\n\n".join(_demonstrations(world))
    instruction = mapping_of(world.control).get("instruction")
    if isinstance(instruction, str) and instruction:
        yield f"# Simulation Instruction\n\n{instruction}"


def _tool_text(number: int, tool: ToolSpec) -> str:
    lines = [f"### {number}. {tool.name}"]
    if tool.description:
        lines += [_DESCRIPTION, tool.description]
    required = tool.parameters.get("required")
    required = required if isinstance(required, list) else []
    lines.append(_PARAMETERS)
    for name, schema in mapping_of(tool.parameters.get("properties")).items():
        kind, description = mapping_of(schema).get("type"), mapping_of(schema).get("description")
        line = f"- **{name}**"
        line += f" `{kind}`" if isinstance(kind, str) else ""
        line += " (REQUIRED)" if name in required else ""
        lines.append(line + (f" {description}" if isinstance(description, str) and description else ""))
    return "\n".join(lines)


def _demonstrations(world: WorldSpec) -> Iterator[str]:
    for number, demonstration in enumerate(world.demonstrations, 1):
        lines = [f"## Example {number}", demonstration.note] if demonstration.note else [f"## Example {number}"]
        for place, turn in enumerate(demonstration.turns, 1):
            body = action_body(world.domain, turn.action)
            lines += [default_parts(place, body, turn.state_before, "").text, response_text(turn.observation)]
        yield "\n".join(lines)
