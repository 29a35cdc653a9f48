"""Arguments that do not fit a tool, in the words of its family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.types import JsonDict

__all__ = ["editor_fault", "envelope_fault"]

_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_RELATIVE = frozenset({("glob", "path"), ("search_file_content", "path")})
"""Arguments of tools that may be relative to the workspace."""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS.get(kind, object))


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    return next(name for name in ("boolean", "string", "number", "array", "object") if _is(value, name))


def editor_fault(tool: str, arguments: Mapping[str, Any], schema: JsonDict) -> str | None:
    """All that is wrong, one line each; None where nothing is."""
    properties = schema.get("properties", {})
    found = [f"The required parameter `{key}` is missing" for key in schema.get("required", ()) if key not in arguments]
    for key, value in arguments.items():
        rule = properties.get(key)
        if rule is None:
            found.append(f"An unexpected parameter `{key}` was provided")
        elif not _is(value, rule["type"]):
            wanted = f"expected as `{rule['type']}` but provided as `{_kind_of(value)}`"
            found.append(f"The parameter `{key}` type is {wanted}")
        elif value not in rule.get("enum", [value]):
            found.append(f"The parameter `{key}` must be one of {', '.join(rule['enum'])}")
    if not found:
        return None
    issues = "issue" if len(found) == 1 else "issues"
    return "\n".join([f"InputValidationError: {tool} failed due to the following {issues}:", *found])


def envelope_fault(tool: str, arguments: Mapping[str, Any], schema: JsonDict) -> str | None:
    """The first thing that is wrong; None where nothing is."""
    for key in schema.get("required", ()):
        if key not in arguments:
            return f"params must have required property '{key}'"
    for key, rule in schema.get("properties", {}).items():
        if key in arguments and not _is(arguments[key], rule["type"]):
            return f"params/{key} must be {rule['type']}"
    for key in ("absolute_path", "file_path", "path"):
        value = arguments.get(key)
        if value is not None and not str(value).startswith("/") and (tool, key) not in _RELATIVE:
            what = "Path" if key == "path" else "File path"
            return f"{what} must be absolute, but was relative: {value}. You must provide an absolute path."
    return None
