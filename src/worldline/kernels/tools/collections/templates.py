"""Finding wrong templates of a declaration when it is loaded: what is no expression, and names that there are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.domains.tools.collections import CollectionsSpec, ToolRule
from worldline.errors import KernelError
from worldline.kernels.tools.collections.expressions import BrokenError, names_in

__all__ = ["check_declaration"]

_OWN_NAMES = frozenset(
    {"args", "now", "item", "items", "record", "records", "before", "total", "answer", "tool", "key"}
    | {"made", "last", "seen", "stdout", "stderr", "exit_code"}
)
"""Names that templates may use beside stores and what `let` names."""
_MESSAGE_NAMES: Mapping[str, frozenset[str]] = {
    "unknown_tool": frozenset({"tool", "args"}),
    "missing_argument": frozenset({"tool", "args", "name"}),
    "unknown_argument": frozenset({"tool", "args", "name", "value"}),
    "wrong_type": frozenset({"tool", "args", "name", "value", "expected"}),
    "not_allowed": frozenset({"tool", "args", "name", "value", "allowed"}),
}
"""Names that the wording of a refusal by a schema may use."""


def check_declaration(spec: CollectionsSpec) -> None:
    """Look at all templates of a declaration.

    Raises:
        KernelError: One is wrong, or uses a name that there is not.
    """
    for tool, rule in spec.tools.items():
        _check_names(tool, rule, spec)
    _check_messages(spec)


def _check_names(tool: str, rule: ToolRule, spec: CollectionsSpec) -> None:
    """Find misspelt names before a session does.

    Raises:
        KernelError: A template is wrong or uses a name that there is not.
    """
    known = _OWN_NAMES | set(spec.stores) | set(rule.let)
    own: list[Any] = [
        [[effect.key, effect.value] for effect in rule.effects],
        rule.key,
        rule.fields,
        rule.where,
        rule.answer,
        rule.missing,
        rule.exists,
        rule.let,
        rule.command,
    ]
    for case in rule.cases:
        effects = [[effect.key, effect.value] for effect in case.effects]
        _check_texts(f"tool {tool}", [case.when, case.let, case.answer, effects], known | set(case.let))
    _check_texts(f"tool {tool}", own + [harvest.key for harvest in rule.harvest], known)


def _check_messages(spec: CollectionsSpec) -> None:
    """Do the same for the wording of refusals.

    Raises:
        KernelError: A template is wrong or uses a name that there is not.
    """
    lets = {name for rule in spec.tools.values() for name in rule.let}
    known = {**_MESSAGE_NAMES, "missing_record": _OWN_NAMES | set(spec.stores) | lets}
    for name, names in known.items():
        _check_texts(f"messages.{name}", getattr(spec.messages, name), names)


def _check_texts(place: str, template: Any, known: frozenset[str] | set[str]) -> None:
    if isinstance(template, str):
        try:
            unknown = names_in(template) - known
        except BrokenError as exc:
            raise KernelError(f"{place}: {exc}") from exc
        if unknown:
            raise KernelError(
                f"{place}: {template!r} uses {', '.join(sorted(unknown))}, which is no name here",
                hint=f"names: {', '.join(sorted(known))}",
            )
    elif isinstance(template, dict):
        bound = known | {str(template.get("$as", "item"))} | set(template.get("$let", ()))
        for item in template.values():
            _check_texts(place, item, bound)
    elif isinstance(template, list | tuple):
        for item in template:
            _check_texts(place, item, known)
