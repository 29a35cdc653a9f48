"""How the common libraries refuse arguments that a schema does not allow: each words it alike in every server.

A server rarely words such refusals itself: what it is built with does. Three ways are known here, by what servers of
the Model Context Protocol are built with; :attr:`MessageSpec.dialect` names one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, ValidationError, create_model

from worldline.domains.tools.collections import Dialect
from worldline.kernels.tools.collections.schemas import resolved, violations
from worldline.kernels.tools.servers import zod
from worldline.kernels.tools.servers.python_server import as_recorded, json_in
from worldline.types import ToolSpec

__all__ = ["UNKNOWN_TOOL", "dialect_of", "worded"]

UNKNOWN_TOOL: Mapping[str, str] = {
    "zod": "MCP error -32602: Tool {{ tool }} not found",
    "pydantic": "MCP error -32602: Unknown tool: {{ tool }}",
    "pydantic-strict": "MCP error -32602: Unknown tool: {{ tool }}",
}
"""How a tool that there is not is refused, as a template, by dialect; the others leave it to the server."""

_MAX_DEPTH = 12


def dialect_of(tools: list[ToolSpec]) -> Dialect:
    """Say by which library tools were declared, by marks it leaves in their schemas; empty where there are none."""
    declared = [tool.parameters for tool in tools if tool.parameters]
    if declared and all("$schema" in schema for schema in declared):
        return "zod"
    titled = [schema for schema in declared if str(schema.get("title", "")).endswith("Arguments")]
    return "pydantic" if declared and len(titled) == len(declared) else ""


def worded(dialect: Dialect, tool: ToolSpec, arguments: Mapping[str, Any]) -> str | None:
    """Return how a server refuses the arguments of a call; None where it takes them."""
    return _DIALECTS[dialect](tool, dict(arguments))


# --- zod, in servers of the TypeScript SDK


def _zod(tool: ToolSpec, arguments: dict[str, Any]) -> str | None:
    _, wrong = zod.parse(_zod_schema(tool.parameters, tool.parameters, 0), arguments)
    return zod.refusal(tool.name, wrong) if wrong else None


def _zod_schema(schema: Any, root: Any, depth: int) -> zod.Schema:
    own = resolved(schema, root)
    if depth > _MAX_DEPTH or own.get("nullable") or _alternatives(own):
        return _zod_union(own, root, depth)
    options = own.get("enum")
    if isinstance(options, list) and options and all(isinstance(option, str) for option in options):
        return zod.enum(*options)
    kind = own.get("type")
    if kind == "object":
        required = own.get("required") or ()
        shape = {
            str(name): inner if name in required else zod.optional(inner)
            for name, part in (own.get("properties") or {}).items()
            for inner in (_zod_schema(part, root, depth + 1),)
        }
        return zod.record(**shape)
    if kind == "array":
        return zod.array(_zod_schema(own.get("items"), root, depth + 1), int(own.get("minItems") or 0))
    return _zod_scalar(kind, own)


def _zod_scalar(kind: Any, own: Mapping[str, Any]) -> zod.Schema:
    if kind == "string":
        return zod.url if own.get("format") == "uri" else _zod_text(own)
    if kind == "number":
        return zod.number(own.get("minimum"), own.get("maximum"))
    if kind == "integer":
        return _zod_integer(own)
    return zod.boolean if kind == "boolean" else _anything


def _zod_text(own: Mapping[str, Any]) -> zod.Schema:
    least = own.get("minLength") or 0

    def check(value: Any, path: zod.Path, issues: list[tuple[str, zod.Path]]) -> Any:
        if isinstance(value, str) and len(value) < least:
            issues.append((f"Too small: expected string to have >={least} characters", path))
            return value
        return zod.text(value, path, issues)

    return check


def _zod_integer(own: Mapping[str, Any]) -> zod.Schema:
    bounded = zod.number(own.get("minimum"), own.get("maximum"))

    def check(value: Any, path: zod.Path, issues: list[tuple[str, zod.Path]]) -> Any:
        if isinstance(value, float) and not value.is_integer():
            issues.append(("Invalid input: expected int, received number", path))
        return bounded(value, path, issues)

    return check


def _zod_union(own: Mapping[str, Any], root: Any, depth: int) -> zod.Schema:
    if depth > _MAX_DEPTH:
        return _anything
    parts = [_zod_schema(part, root, depth + 1) for part in _alternatives(own)]

    def check(value: Any, path: zod.Path, issues: list[tuple[str, zod.Path]]) -> Any:
        for part in parts:
            found: list[tuple[str, zod.Path]] = []
            part(value, path, found)
            if not found:
                return value
        if parts and not (value is None and own.get("nullable")):
            issues.append(("Invalid input", path))
        return value

    return check


def _anything(value: Any, path: zod.Path, issues: list[tuple[str, zod.Path]]) -> Any:
    return value


def _alternatives(own: Mapping[str, Any]) -> list[Any]:
    """The schemas of which one must hold; none where there is but one."""
    for key in ("anyOf", "oneOf"):
        if isinstance(own.get(key), list):
            return list(own[key])
    kinds = own.get("type")
    return [{**own, "type": kind} for kind in kinds] if isinstance(kinds, list) else []


# --- pydantic, in servers of the Python SDK whose tools are typed functions


def _pydantic(tool: ToolSpec, arguments: dict[str, Any], *, strict: bool = False) -> str | None:
    schema = json.dumps(tool.parameters)
    try:
        annotations = _annotations(schema)
        given = {name: json_in(value, annotations.get(name)) for name, value in arguments.items()}
        _model(schema, tool.name).model_validate(given, strict=strict)
    except ValidationError as error:
        return f"Error executing tool {tool.name}: {as_recorded(error)}"
    return None


@lru_cache(maxsize=256)
def _annotations(schema: str) -> dict[str, Any]:
    root = json.loads(schema)
    return {name: _annotation(part, root, 0) for name, part in (root.get("properties") or {}).items()}


@lru_cache(maxsize=256)
def _model(schema: str, tool: str) -> type[BaseModel]:
    root = json.loads(schema)
    required = root.get("required") or ()
    fields: dict[str, Any] = {}
    for number, (name, annotation) in enumerate(_annotations(schema).items()):
        default = ... if name in required else None
        fields[f"field_{number}"] = (annotation, Field(default, alias=name))
    title = root.get("title") or f"{tool}Arguments"
    return create_model(title, __config__=ConfigDict(arbitrary_types_allowed=True), **fields)


def _annotation(schema: Any, root: Any, depth: int) -> Any:
    own = resolved(schema, root)
    parts = _alternatives(own)
    if depth > _MAX_DEPTH:
        return Any
    if parts:
        found = [None if part.get("type") == "null" else _annotation(part, root, depth + 1) for part in parts]
        return Union[tuple(found)]  # noqa: UP007 - built at run time
    options = own.get("enum")
    if isinstance(options, list) and options and all(isinstance(o, str | int) for o in options):
        return Literal[tuple(options)]
    annotation = _plain_annotation(own, root, depth)
    return Optional[annotation] if own.get("nullable") else annotation  # noqa: UP045 - built at run time


def _plain_annotation(own: Mapping[str, Any], root: Any, depth: int) -> Any:
    kind = own.get("type")
    if kind == "array":
        return _limited(list[_annotation(own.get("items"), root, depth + 1)], own, "minItems", "maxItems")  # type: ignore[misc]
    if kind == "object":
        return dict[str, Any]
    if kind == "string":
        return AnyUrl if own.get("format") == "uri" else _limited(str, own, "minLength", "maxLength")
    if kind in ("integer", "number"):
        bounds = {
            short: own[name]
            for short, name in (
                ("ge", "minimum"),
                ("le", "maximum"),
                ("gt", "exclusiveMinimum"),
                ("lt", "exclusiveMaximum"),
            )
            if isinstance(own.get(name), int | float)
        }
        number: Any = int if kind == "integer" else float
        return Annotated[number, Field(**bounds)] if bounds else number
    return bool if kind == "boolean" else Any


def _limited(annotation: Any, own: Mapping[str, Any], least: str, most: str) -> Any:
    limits = {
        short: own[name]
        for short, name in (("min_length", least), ("max_length", most))
        if isinstance(own.get(name), int)
    }
    return Annotated[annotation, Field(**limits)] if limits else annotation


# --- jsonschema, in servers of the low-level Python SDK


def _jsonschema(tool: ToolSpec, arguments: dict[str, Any]) -> str | None:
    found = violations(tool, arguments)
    if not found:
        return None
    first = min(found, key=lambda wrong: len(wrong.path) - (wrong.kind == "required"))
    return f"Input validation error: {_JSONSCHEMA[first.kind](first.value, first.expected)}"


_JSONSCHEMA: Mapping[str, Callable[[Any, Any], str]] = {
    "required": lambda value, expected: f"{expected!r} is a required property",
    "type": lambda value, expected: f"{value!r} is not of type {', '.join(map(repr, expected))}",
    "enum": lambda value, expected: f"{value!r} is not one of {list(expected)!r}",
    "minimum": lambda value, expected: f"{value!r} is less than the minimum of {expected!r}",
    "maximum": lambda value, expected: f"{value!r} is greater than the maximum of {expected!r}",
    "few": lambda value, expected: f"{value!r} {'should be non-empty' if expected == 1 else 'is too short'}",
    "additional": lambda value, expected: f"Additional properties are not allowed ({expected!r} was unexpected)",
}

_DIALECTS: Mapping[str, Callable[[ToolSpec, dict[str, Any]], str | None]] = {
    "zod": _zod,
    "pydantic": _pydantic,
    "pydantic-strict": partial(_pydantic, strict=True),
    "jsonschema": _jsonschema,
}
