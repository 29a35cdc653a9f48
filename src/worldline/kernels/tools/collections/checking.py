"""Checking a call's arguments against the tool's schema, in the environment's own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.domains.tools.collections import MessageSpec
from worldline.kernels.tools.collections.expressions import render
from worldline.types import JsonDict, ToolSpec

__all__ = ["properties_of", "refusal", "required_of", "resolved"]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}
_MAX_STEPS = 32


def resolved(schema: Any, root: Any, steps: int = 0) -> JsonDict:
    """Follow `$ref` within a schema document; a loop or a reference that leads nowhere gives an empty schema."""
    while isinstance(schema, Mapping) and "$ref" in schema:
        steps += 1
        reference = schema["$ref"]
        if steps > _MAX_STEPS or not isinstance(reference, str) or not reference.startswith("#"):
            return {}
        target: Any = root
        for part in reference[1:].strip("/").split("/") if reference.strip("#/") else ():
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and part in target:
                target = target[part]
            elif isinstance(target, list) and part.isdigit() and int(part) < len(target):
                target = target[int(part)]
            else:
                return {}
        schema = target
    return dict(schema) if isinstance(schema, Mapping) else {}


def properties_of(tool: ToolSpec) -> dict[str, JsonDict]:
    """Return the schemas of a tool's arguments, by name."""
    root = tool.parameters
    found: dict[str, JsonDict] = {}
    for part in _parts(root, root, 0):
        properties = part.get("properties")
        for name, schema in properties.items() if isinstance(properties, Mapping) else ():
            found.setdefault(str(name), resolved(schema, root))
    return found


def required_of(tool: ToolSpec) -> list[str]:
    """Return the names of the arguments a call must give."""
    names: list[str] = []
    for part in _parts(tool.parameters, tool.parameters, 0):
        required = part.get("required")
        names += [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return list(dict.fromkeys(names))


def _parts(schema: Any, root: Any, depth: int) -> list[JsonDict]:
    """The schema itself and what it is composed of by `allOf`."""
    own = resolved(schema, root)
    if not own or depth > _MAX_STEPS:
        return []
    parts = [own]
    composed = own.get("allOf")
    for part in composed if isinstance(composed, list) else ():
        parts += _parts(part, root, depth + 1)
        if len(parts) > _MAX_STEPS:
            break
    return parts


def refusal(tool: ToolSpec, arguments: Mapping[str, Any], messages: MessageSpec) -> Any:
    """Return what is wrong with the arguments of a call, worded; None where nothing is."""
    properties = properties_of(tool)
    names = {"tool": tool.name, "args": dict(arguments)}
    for name in required_of(tool):
        if name not in arguments:
            return render(messages.missing_argument, {**names, "name": name})
    for name, value in arguments.items():
        if name not in properties:
            if messages.unknown_argument is not None and properties:
                return render(messages.unknown_argument, {**names, "name": name, "value": value})
            continue
        given = {**names, "name": name, "value": value}
        expected = _expected(properties[name])
        if expected and not any(_is(value, kind) for kind in expected):
            return render(messages.wrong_type, {**given, "expected": " or ".join(expected)})
        allowed = properties[name].get("enum")
        if isinstance(allowed, list) and value not in allowed:
            return render(messages.not_allowed, {**given, "allowed": [str(item) for item in allowed]})
    return None


def _expected(schema: JsonDict) -> list[str]:
    """Names of the types a value may have; none where the schema does not say or says it in another way."""
    if schema.get("nullable") is True:
        return []
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
    return list(kinds) if kinds and all(isinstance(k, str) and k in _TYPES for k in kinds) else []


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])
