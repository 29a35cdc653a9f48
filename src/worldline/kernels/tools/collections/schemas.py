"""Reading the schemas of a tool's arguments, and what a call does that they do not allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from worldline.types import JsonDict, ToolSpec

__all__ = ["Violation", "properties_of", "required_of", "resolved", "types_of", "violations"]

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


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that a schema does not allow."""

    kind: str
    """`required`, `type`, `enum`, `minimum`, `maximum`, `few` (items or characters) or `additional`."""
    path: tuple[str | int, ...]
    """Where: the argument's name, and the way from there."""
    value: Any = None
    """What stands there."""
    expected: Any = None
    """Types, values or the bound that are allowed; the name of what is missing or too much."""


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
        names += _required(part)
    return list(dict.fromkeys(names))


def _required(schema: JsonDict) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


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


def types_of(schema: JsonDict) -> list[str]:
    """Return the types a value may have; none where the schema does not say or says it in another way."""
    if schema.get("nullable") is True:
        return []
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
    return list(kinds) if kinds and all(isinstance(k, str) and k in _TYPES for k in kinds) else []


def violations(tool: ToolSpec, arguments: Mapping[str, Any]) -> list[Violation]:
    """Return what the arguments of a call have that the tool's schema does not allow: what is missing, then the rest.

    Alternatives (`anyOf` and the like), patterns and formats are not checked: what they refuse counts as allowed.
    """
    found = [Violation("required", (), dict(arguments), name) for name in required_of(tool) if name not in arguments]
    properties = properties_of(tool)
    for name, value in arguments.items():
        if name in properties:
            found += _wrong(value, properties[name], tool.parameters, (name,))
        elif properties and tool.parameters.get("additionalProperties") is False:
            found.append(Violation("additional", (name,), value, name))
    return found


def _wrong(value: Any, schema: JsonDict, root: Any, path: tuple[str | int, ...]) -> Iterator[Violation]:
    expected = types_of(schema)
    if expected and not any(_is(value, kind) for kind in expected):
        yield Violation("type", path, value, tuple(expected))
        return
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        yield Violation("enum", path, value, tuple(allowed))
    if isinstance(value, int | float) and not isinstance(value, bool):
        least, most = schema.get("minimum"), schema.get("maximum")
        if isinstance(least, int | float) and value < least:
            yield Violation("minimum", path, value, least)
        if isinstance(most, int | float) and value > most:
            yield Violation("maximum", path, value, most)
    if isinstance(value, str | list):
        few = schema.get("minLength" if isinstance(value, str) else "minItems")
        if isinstance(few, int) and len(value) < few:
            yield Violation("few", path, value, few)
    if len(path) < _MAX_STEPS:
        yield from _inside(value, schema, root, path)


def _inside(value: Any, schema: JsonDict, root: Any, path: tuple[str | int, ...]) -> Iterator[Violation]:
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        items = resolved(schema["items"], root)
        for place, item in enumerate(value):
            yield from _wrong(item, items, root, (*path, place))
    elif isinstance(value, Mapping) and isinstance(schema.get("properties"), Mapping):
        for name in _required(schema):
            if name not in value:
                yield Violation("required", path, value, name)
        for name, part in schema["properties"].items():
            if name in value:
                yield from _wrong(value[name], resolved(part, root), root, (*path, name))


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])
