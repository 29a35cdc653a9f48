"""Tool calls in the shapes in which agents and APIs write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldline.errors import ActionError
from worldline.types import JsonDict

__all__ = ["ToolCall", "is_unicode", "kind_of", "read_call"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, in whatever shape it was written."""

    name: str
    """Empty where the call names no tool."""
    arguments: JsonDict
    call_id: str | None = None


def read_call(value: Mapping[Any, Any], expected: str = "") -> ToolCall | None:
    """Read `{"name", "arguments"}`, an OpenAI call `{"id", "function": {...}}` or a tool-use block `{"name", "input"}`.

    Args:
        value: The call; arguments may be an object or JSON text.
        expected: Hint of an error.

    Returns:
        The call, or None where `value` has none of these shapes.

    Raises:
        ActionError: The name is no text, or the arguments are no object.
    """
    function = value.get("function")
    if isinstance(function, Mapping):
        return _call(function.get("name"), function.get("arguments"), value.get("id"), expected)
    if "arguments" in value:
        return _call(value.get("name"), value["arguments"], value.get("call_id") or value.get("id"), expected)
    if "input" in value and "name" in value:
        return _call(value["name"], value["input"], value.get("id"), expected)
    return None


def _call(name: Any, arguments: Any, call_id: Any, expected: str) -> ToolCall:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as exc:
            raise ActionError("the call's arguments are not JSON", hint=expected) from exc
    if not isinstance(arguments, Mapping):
        raise ActionError(f"the call's arguments are {kind_of(arguments)}", hint=expected)
    if name is not None and not isinstance(name, str):
        raise ActionError(f"the call's name is {kind_of(name)}", hint=expected)
    return ToolCall(name or "", dict(arguments), call_id if isinstance(call_id, str) else None)


def is_unicode(text: str) -> bool:
    """Whether a text can be written in UTF-8: it holds no lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def kind_of(value: Any) -> str:
    """Name the type of a JSON value for a message."""
    names = {type(None): "null", bool: "a truth value", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")
