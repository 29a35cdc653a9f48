"""Checking a call's arguments against the tool's schema, in the environment's own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worldline.domains.tools.collections import MessageSpec
from worldline.kernels.tools.collections.dialects import worded
from worldline.kernels.tools.collections.expressions import render
from worldline.kernels.tools.collections.schemas import (
    Violation,
    properties_of,
    required_of,
    resolved,
    types_of,
    violations,
)
from worldline.types import ToolSpec

__all__ = ["names_of_violation", "properties_of", "refusal", "relaxed", "required_of", "resolved"]

_WORDED: Mapping[str, str] = {
    "required": "missing_argument",
    "type": "wrong_type",
    "enum": "not_allowed",
    "additional": "unknown_argument",
}


def refusal(tool: ToolSpec, arguments: Mapping[str, Any], messages: MessageSpec) -> Any:
    """Return what is wrong with the arguments of a call, worded; None where nothing is."""
    if messages.dialect:
        return worded(messages.dialect, tool, arguments)
    found = [wrong for wrong in violations(tool, arguments) if len(wrong.path) < 2 and wrong.kind in _WORDED]
    if messages.unknown_argument is not None and (properties := properties_of(tool)):
        found = [wrong for wrong in found if wrong.kind != "additional"]
        unnamed = [name for name in arguments if name not in properties]
        found += [Violation("additional", (name,), arguments[name], name) for name in unnamed]
        given = list(arguments)
        found.sort(key=lambda wrong: given.index(str(wrong.path[0])) if wrong.path else -1)
    for wrong in found:
        template = getattr(messages, _WORDED[wrong.kind])
        if template is not None:
            return render(template, names_of_violation(tool, arguments, wrong))
    return None


def names_of_violation(tool: ToolSpec, arguments: Mapping[str, Any], wrong: Violation) -> dict[str, Any]:
    """Return what the wording of a refusal may name."""
    names: dict[str, Any] = {"tool": tool.name, "args": dict(arguments)}
    if wrong.kind == "required":
        return {**names, "name": wrong.expected}
    names |= {"name": wrong.path[0], "value": wrong.value}
    if wrong.kind == "type":
        names["expected"] = " or ".join(types_of(properties_of(tool)[str(wrong.path[0])]))
    elif wrong.kind == "enum":
        names["allowed"] = [str(item) for item in wrong.expected]
    return names


def relaxed(tool: ToolSpec, unchecked: Sequence[str]) -> ToolSpec:
    """Return a tool whose schema allows anything for some arguments, also that they are not given."""
    if not unchecked:
        return tool
    schema = dict(tool.parameters)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        schema["properties"] = {name: {} if name in unchecked else part for name, part in properties.items()}
    required = schema.get("required")
    if isinstance(required, list):
        schema["required"] = [name for name in required if name not in unchecked]
    return tool.model_copy(update={"parameters": schema})
