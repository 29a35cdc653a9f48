"""Arguments that do not fit a tool, in the words of its family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.kernels.tools.collections.checking import properties_of, required_of
from worldline.types import JsonDict, ToolSpec

__all__ = ["checked_schema", "editor_fault", "envelope_fault"]

_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_RELATIVE = frozenset({("glob", "path"), ("search_file_content", "path")})
"""Arguments of tools that may be relative to the workspace."""


def checked_schema(tool: ToolSpec, own: ToolSpec | None) -> JsonDict | None:
    """Return the schema that calls of a declared tool are checked against: properties with their types, and required.

    Args:
        tool: As the world declares it, with as much or little of a schema as it likes.
        own: The tool of the family by that name. Its types and required arguments hold whatever the world says, as
            the kernel computes with them; what the world says beyond them holds too.

    Returns:
        The schema, or None where the declared tool takes other arguments than the family's, so that it is another one.
    """
    properties, required = properties_of(tool), required_of(tool)
    if own is None:
        return {"properties": properties, "required": required}
    needed, ours = required_of(own), properties_of(own)
    properties = properties or ours
    if not set(needed) <= set(properties):
        return None
    merged = {name: {**rule, **ours.get(name, {})} for name, rule in properties.items()}
    return {"properties": merged, "required": list(dict.fromkeys([*needed, *required]))}


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; of one that is not told, anything is."""
    if not isinstance(kind, str) or kind not in _KINDS:
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    return next(name for name in ("boolean", "string", "number", "array", "object") if _is(value, name))


def editor_fault(tool: str, arguments: Mapping[str, Any], schema: JsonDict) -> str | None:
    """All that is wrong, one line each; None where nothing is."""
    properties = schema["properties"]
    found = [f"The required parameter `{key}` is missing" for key in schema["required"] if key not in arguments]
    for key, value in arguments.items():
        rule = properties.get(key)
        if rule is None:
            found.append(f"An unexpected parameter `{key}` was provided")
        elif not _is(value, rule.get("type")):
            wanted = f"expected as `{rule['type']}` but provided as `{_kind_of(value)}`"
            found.append(f"The parameter `{key}` type is {wanted}")
        elif isinstance(rule.get("enum"), list) and value not in rule["enum"]:
            found.append(f"The parameter `{key}` must be one of {', '.join(map(str, rule['enum']))}")
    if not found:
        return None
    issues = "issue" if len(found) == 1 else "issues"
    return "\n".join([f"InputValidationError: {tool} failed due to the following {issues}:", *found])


def envelope_fault(tool: str, arguments: Mapping[str, Any], schema: JsonDict) -> str | None:
    """The first thing that is wrong; None where nothing is."""
    for key in schema["required"]:
        if key not in arguments:
            return f"params must have required property '{key}'"
    for key, rule in schema["properties"].items():
        if key in arguments and not _is(arguments[key], rule.get("type")):
            return f"params/{key} must be {rule['type']}"
    for key in ("absolute_path", "file_path", "path"):
        value = arguments.get(key)
        if value is not None and not str(value).startswith("/") and (tool, key) not in _RELATIVE:
            what = "Path" if key == "path" else "File path"
            return f"{what} must be absolute, but was relative: {value}. You must provide an absolute path."
    return None
