"""Calls made from a tool's schema alone: valid ones, and ones that break it in a known way.

A schema of a foreign server may be anything: it may refer to itself, have no properties or be no schema at all.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from worldline.record.mcp.explore.base import Move, Player, Weighted
from worldline.types import Action, ToolSpec

__all__ = ["SchemaPlayer", "arguments_for", "break_call", "example"]

_DEPTH = 4


def arguments_for(
    tool: ToolSpec, chance: random.Random, pool: Sequence[str] = (), words: Sequence[str] = ()
) -> dict[str, Any]:
    """Compose arguments that a tool's schema allows, as far as it can be read.

    Args:
        tool: With a JSON Schema of its parameters.
        chance: Decides.
        pool: Values seen in results, which are tried first for texts.
        words: Words for other texts.
    """
    value = example(tool.parameters, tool.parameters, chance, pool, words)
    return value if isinstance(value, dict) else {}


def example(
    schema: Any,
    root: Mapping[str, Any],
    chance: random.Random,
    pool: Sequence[str] = (),
    words: Sequence[str] = (),
    depth: int = 0,
) -> Any:
    """Compose a value that a schema allows; references are followed within `root`, recursion ends at some depth."""
    schema = _resolved(schema, root)
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return chance.choice(schema[key])
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return example(chance.choice(schema[key]), root, chance, pool, words, depth + 1)
    if isinstance(schema.get("allOf"), list):
        parts = [_resolved(part, root) for part in schema["allOf"]]
        schema = {**schema, **{key: value for part in parts for key, value in part.items()}}
    match _kind(schema, chance):
        case "object":
            return _object(schema, root, chance, pool, words, depth)
        case "array":
            least = schema.get("minItems", 0)
            if depth >= _DEPTH:
                return []
            count = max(least if isinstance(least, int) else 0, chance.randint(1, 2))
            return [example(schema.get("items", {}), root, chance, pool, words, depth + 1) for _ in range(count)]
        case "integer":
            return int(_number(schema, chance))
        case "number":
            return _number(schema, chance)
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
    return _text(schema, chance, pool, words)


def _resolved(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    for _ in range(8):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        target: Any = root
        for part in reference.lstrip("#").strip("/").split("/") if len(reference) > 1 else ():
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        schema = target
    return {}


def _kind(schema: Mapping[str, Any], chance: random.Random) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        names = [name for name in kind if isinstance(name, str)]
        return chance.choice(names) if names else "string"
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _object(
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    chance: random.Random,
    pool: Sequence[str],
    words: Sequence[str],
    depth: int,
) -> dict[str, Any]:
    properties = schema.get("properties")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    found: dict[str, Any] = {}
    for name, part in properties.items() if isinstance(properties, dict) else ():
        if name in needed or (depth < _DEPTH and chance.random() < 0.35):
            found[name] = {} if depth >= _DEPTH + 2 else example(part, root, chance, pool, words, depth + 1)
    return found


def _number(schema: Mapping[str, Any], chance: random.Random) -> float:
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    start = low if isinstance(low, int | float) else 0
    end = high if isinstance(high, int | float) else start + 12
    return chance.randint(int(start) + ("exclusiveMinimum" in schema), max(int(start) + 1, min(int(end), 10_000)))


def _text(schema: Mapping[str, Any], chance: random.Random, pool: Sequence[str], words: Sequence[str]) -> str:
    match schema.get("format"):
        case "date":
            return f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}"
        case "date-time":
            return f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}T09:00:00Z"
        case "uri":
            return "http://localhost:8000/"
        case "email":
            return "user@example.com"
    if pool and chance.random() < 0.6:
        return chance.choice(pool[-40:])
    return " ".join(chance.sample(list(words) or ["alpha", "beta", "gamma"], min(2, len(words) or 2)))


def break_call(action: Action, tool: ToolSpec, chance: random.Random) -> Action:
    """Return a call that is wrong in one way: an unknown tool, an argument too few, too many or of another type."""
    arguments = dict(action.arguments)
    required = tool.parameters.get("required")
    ways = ["unknown", "extra", *(["type", "type", "null"] if arguments else [])]
    needed = [name for name in required if name in arguments] if isinstance(required, list) else []
    ways += ["missing", "missing", "empty"] if needed else []
    match chance.choice(ways):
        case "unknown":
            wrong = (
                f"{action.name}s",
                f"get_{action.name}",
                action.name.replace("_", "-") + "-v2",
                action.name.upper(),
            )
            return action.model_copy(update={"name": chance.choice(wrong)})
        case "extra":
            arguments[chance.choice(["verbose", "force", "limit", "format"])] = chance.choice([True, 3, "json"])
        case "missing":
            del arguments[chance.choice(needed)]
        case "empty":
            arguments = {}
        case "null":
            arguments[chance.choice(sorted(arguments))] = None
        case "type":
            name = chance.choice(sorted(arguments))
            arguments[name] = _other_type(arguments[name], chance)
    return action.model_copy(update={"arguments": arguments})


def _other_type(value: Any, chance: random.Random) -> Any:
    match value:
        case bool():
            return chance.choice(["yes", 1, []])
        case str():
            return chance.choice([7, True, [value], {"value": value}])
        case int() | float():
            return chance.choice([f"{value}x", [value], str(value), -1])
        case list():
            return chance.choice([value[0] if value else "x", {"items": value}, 5])
    return chance.choice(["{}", 1, []])


class SchemaPlayer(Player):
    """Calls any server by the schemas of its tools."""

    def moves(self) -> Sequence[Weighted]:
        """A call, sometimes repeated, sometimes followed by another tool that is given what came back."""
        return [(1.0, self._try), (0.5, self._chain)] if self.scene.tools else []

    def _compose(self) -> Action:
        scene = self.scene
        tool = scene.pick(list(scene.tools.values()))
        return scene.call_with(tool.name, arguments_for(tool, scene.random, scene.seen, scene.theme.things))

    def _try(self) -> Move:
        action = self._compose()
        yield action
        if self.scene.chance(0.3):
            yield action

    def _chain(self) -> Move:
        first = self._compose()
        yield first
        yield self._compose()
        yield first
