"""Tool definitions in the shapes in which servers and APIs give them, and those that calls show by themselves."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldline.errors import FormatError, boundary
from worldline.types import JsonDict, ToolSpec, Trajectory
from worldline.worlds.learning.traces import TracedCall

__all__ = ["declared_tools", "read_tools", "shown_tools", "tools_of"]

_MAX_BYTES = 16 << 20
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "args_schema")


def read_tools(path: Path) -> list[ToolSpec]:
    """Read tool definitions from a JSON file; see :func:`tools_of`.

    Raises:
        FormatError: It cannot be read, is no JSON, or holds no tool definition.
    """
    with boundary(FormatError, f"reading {path}", OSError):
        if path.stat().st_size > _MAX_BYTES:
            raise FormatError(f"is larger than {_MAX_BYTES:,} bytes", path=str(path))
        data = path.read_bytes()
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as exc:
        raise FormatError(f"not JSON: {exc}", path=str(path)) from exc
    try:
        return tools_of(value)
    except ValueError as exc:
        raise FormatError(
            str(exc), path=str(path), hint="expected an MCP tools/list result or a list of tools"
        ) from exc


def tools_of(value: Any) -> list[ToolSpec]:
    """Read tool definitions: an MCP `tools/list` result, OpenAI functions, Anthropic tools, Gemini declarations.

    Args:
        value: A list of definitions, or an object that holds one under `tools`, `result`, `functions` or the like.

    Raises:
        ValueError: There is none, a definition is wrong, or two have the same name.
    """
    found: dict[str, ToolSpec] = {}
    for number, definition in enumerate(_definitions(value, 0)):
        tool = _tool(definition, number)
        if tool.name in found:
            raise ValueError(f"two tools are called {tool.name!r}")
        found[tool.name] = tool
    if not found:
        raise ValueError("no tool definition was found")
    return list(found.values())


def _definitions(value: Any, depth: int) -> list[Any]:
    if isinstance(value, list):
        inner: list[Any] = []
        for item in value:
            declared = item.get("functionDeclarations") if isinstance(item, dict) else None
            inner += declared if isinstance(declared, list) else [item]
        return inner
    if isinstance(value, dict) and depth < 4:
        for key in ("result", "tools", "functions", "functionDeclarations"):
            if isinstance(value.get(key), dict | list):
                return _definitions(value[key], depth + 1)
        if "name" in value or "function" in value:
            return [value]
        if value and all(isinstance(item, dict) for item in value.values()):
            return [{"name": name, **item} for name, item in value.items()]
    return []


def _tool(definition: Any, number: int) -> ToolSpec:
    if not isinstance(definition, dict):
        raise ValueError(f"tool {number}: an object was expected")
    function = definition["function"] if isinstance(definition.get("function"), dict) else definition
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"tool {number}: it has no name")
    schema: JsonDict = {"type": "object", "properties": {}}
    for key in _SCHEMAS:
        if isinstance(function.get(key), dict):
            schema = function[key]
            break
    description = function.get("description")
    return ToolSpec(name=name, description=description if isinstance(description, str) else "", parameters=schema)


def declared_tools(trajectories: Iterable[Trajectory]) -> list[ToolSpec]:
    """Return the tools that worlds of trajectories declare, each name once."""
    found: dict[str, ToolSpec] = {}
    for trajectory in trajectories:
        for tool in trajectory.world.tools:
            found.setdefault(tool.name, tool)
    return list(found.values())


def shown_tools(calls: Sequence[TracedCall], known: Mapping[str, ToolSpec]) -> list[ToolSpec]:
    """Return the tools that were called, with those arguments that calls gave, unless their definition is known."""
    by_tool: dict[str, list[TracedCall]] = defaultdict(list)
    for call in calls:
        by_tool[call.tool].append(call)
    return [known.get(name) or _shown(name, made) for name, made in by_tool.items() if name]


def _shown(name: str, calls: Sequence[TracedCall]) -> ToolSpec:
    good = [call for call in calls if not call.error] or calls
    counts: Counter[str] = Counter(argument for call in good for argument in call.arguments)
    properties = {
        argument: _schema([c.arguments[argument] for c in good if argument in c.arguments]) for argument in counts
    }
    required = [argument for argument, count in counts.items() if count == len(good)]
    return ToolSpec(name=name, parameters={"type": "object", "properties": properties, "required": required})


def _schema(values: Sequence[Any]) -> JsonDict:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    kinds = {names.get(type(value), "null") for value in values}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    return {"type": kinds.pop()} if len(kinds) == 1 else {}
