"""Calls made from a tool's schema alone: valid ones, and ones that break it in a known way.

A schema of a foreign server may be anything: it may refer to itself, have no properties or be no schema at all.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from worldline.record.mcp.explore.seen import QUOTED, Seen, words_of
from worldline.types import Action, ToolSpec

__all__ = ["Composer", "arguments_for", "break_call"]

_DEPTH = 4
_LONG = ("notes", "content", "text", "description", "body", "note", "message", "title", "reason", "summary", "query")
"""How the names of properties end that hold a sentence; other texts are a single word."""
_OPTIONAL = 0.35
"""Share of the optional properties that are given."""
_KNOWN = 0.75
"""Share of the values that are taken from what was seen under such a name, where there is any."""
_AGAIN = 0.3
"""Share of the sentences that are one seen before."""


def arguments_for(tool: ToolSpec, chance: random.Random, seen: Seen | None = None, words: Sequence[str] = ()) -> Any:
    """Compose arguments that a tool's schema allows, as far as it can be read.

    Args:
        tool: With a JSON Schema of its parameters.
        chance: Decides.
        seen: Values of results and of earlier calls, used again under the same names.
        words: Words for other texts.
    """
    value = Composer(tool.parameters, chance, seen, words).example(tool.parameters)
    return value if isinstance(value, dict) else {}


class Composer:
    """Composes values that parts of one schema allow.

    Args:
        root: The whole schema, within which references are followed.
        chance: Decides.
        seen: Values to use again.
        words: Words for texts.
    """

    def __init__(
        self, root: Mapping[str, Any], chance: random.Random, seen: Seen | None = None, words: Sequence[str] = ()
    ) -> None:
        self._root = root
        self._chance = chance
        self._seen = seen or Seen()
        self._words = list(words) or ["alpha", "beta", "gamma"]

    def example(self, schema: Any, name: str = "", depth: int = 0) -> Any:
        """Compose a value; recursion ends at some depth.

        Args:
            schema: A part of the root, or any JSON value where there should be one.
            name: Name of the property.
            depth: Of nesting.
        """
        schema = self._resolved(schema)
        for key in ("enum", "examples"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self._chance.choice(schema[key])
        if "const" in schema:
            return schema["const"]
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self.example(self._chance.choice(schema[key]), name, depth + 1)
        if isinstance(schema.get("allOf"), list):
            parts = [self._resolved(part) for part in schema["allOf"]]
            schema = {**schema, **{key: value for part in parts for key, value in part.items()}}
        match self._kind(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "integer":
                return int(self._number(schema, name))
            case "number":
                return self._number(schema, name)
            case "boolean":
                return self._chance.random() < 0.5
            case "null":
                return None
        return self._text(schema, name)

    def _resolved(self, schema: Any) -> dict[str, Any]:
        for _ in range(8):
            if not isinstance(schema, dict):
                return {}
            reference = schema.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#"):
                return schema
            target: Any = self._root
            for part in reference.lstrip("#").strip("/").split("/") if len(reference) > 1 else ():
                target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            schema = target
        return {}

    def _kind(self, schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            names = [name for name in kind if isinstance(name, str)]
            return self._chance.choice(names) if names else "string"
        if isinstance(kind, str):
            return kind
        return "object" if "properties" in schema else "array" if "items" in schema else "string"

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties"), schema.get("required")
        needed = required if isinstance(required, list) else []
        found: dict[str, Any] = {}
        for name, part in properties.items() if isinstance(properties, dict) else ():
            if name in needed or (depth < _DEPTH and self._chance.random() < _OPTIONAL):
                found[name] = {} if depth >= _DEPTH + 2 else self.example(part, name, depth + 1)
        return found

    def _array(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        least = schema.get("minItems", 0)
        if depth >= _DEPTH:
            return []
        count = max(least if isinstance(least, int) else 0, self._chance.randint(1, 2))
        return [self.example(schema.get("items", {}), name.removesuffix("s"), depth + 1) for _ in range(min(count, 20))]

    def _known(self, name: str, *kinds: type) -> list[Any]:
        values = [value for value in self._seen.values(name) if type(value) in kinds]
        return values if values and self._chance.random() < _KNOWN else []

    def _number(self, schema: Mapping[str, Any], name: str) -> float:
        low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
        start = low if isinstance(low, int | float) else 0
        end = high if isinstance(high, int | float) else start + 12
        known = [value for value in self._known(name, int, float) if start <= value <= max(start, end, 1_000_000)]
        if known:
            return (
                float(self._chance.choice(known)) if schema.get("type") == "number" else int(self._chance.choice(known))
            )
        return self._chance.randint(
            int(start) + ("exclusiveMinimum" in schema), max(int(start) + 1, min(int(end), 10_000))
        )

    def _text(self, schema: Mapping[str, Any], name: str) -> str:
        chance = self._chance
        match schema.get("format"):
            case "date":
                return f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}"
            case "date-time":
                return f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}T09:00:00Z"
            case "uri":
                return "http://localhost:8000/"
            case "email":
                return "user@example.com"
        told = QUOTED.findall(str(schema.get("description", "")))
        if told and chance.random() < _KNOWN:
            return str(chance.choice(told))
        long = words_of(name)[-1] in _LONG
        known = self._known(name, str)
        if known and (not long or chance.random() < _AGAIN):
            return str(chance.choice(known))
        if long:
            return " ".join(chance.sample(self._words, min(len(self._words), chance.randint(2, 4))))
        return chance.choice(self._words)


def break_call(action: Action, tool: ToolSpec, chance: random.Random) -> Action:
    """Return a call that is wrong in one way: an unknown tool, an argument too few, too many or of another type."""
    arguments = dict(action.arguments)
    required = tool.parameters.get("required")
    given = sorted(name for name, value in arguments.items() if value is not None)
    ways = ["unknown", "extra", *(["type", "type", "null"] if given else [])]
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
            arguments[chance.choice(given)] = None
        case "type":
            name = chance.choice(given)
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
