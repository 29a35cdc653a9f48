"""How an environment words what it finds wrong with a call by itself: unknown tools, and arguments against a schema."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from worldline.domains.tools.collections import Dialect, MessageSpec
from worldline.kernels.tools.collections.checking import names_of_violation, refusal, relaxed
from worldline.kernels.tools.collections.dialects import UNKNOWN_TOOL, dialect_of
from worldline.kernels.tools.collections.expressions import BrokenError, UnknownError, literal, render
from worldline.kernels.tools.collections.schemas import Violation, violations
from worldline.types import ToolSpec
from worldline.worlds.learning.traces import TracedCall

__all__ = ["Complaints", "find_complaints", "guessed_messages"]

_ENOUGH = 0.6
"""Share of the refusals of a kind that a wording must give."""
_HALF = 0.5
_FIELDS: Mapping[str, str] = {"required": "missing_argument", "type": "wrong_type", "enum": "not_allowed"}
_DIALECTS: tuple[Dialect, ...] = tuple(name for name in get_args(Dialect) if name)


@dataclass(frozen=True, slots=True)
class Complaints:
    """What an environment finds wrong with calls before any tool runs."""

    messages: MessageSpec = field(default_factory=MessageSpec)
    checks: bool = False
    """Whether it checks arguments by the tools' schemas."""
    unchecked: Mapping[str, tuple[str, ...]] | None = None
    """Arguments that it takes although the schema does not allow them, by tool."""
    about: frozenset[tuple[int, int]] = frozenset()
    """The calls, by session and position, that it refused so: they tell nothing of what the tools do."""
    odd: frozenset[tuple[int, int]] = frozenset()
    """The calls that a schema does not allow, and that were not refused so."""


def guessed_messages(tools: Iterable[ToolSpec]) -> MessageSpec:
    """Return the wording that the schemas themselves suggest; the plain one where they suggest none."""
    return _with_dialect(MessageSpec(), dialect_of(list(tools)))


def _with_dialect(messages: MessageSpec, dialect: Dialect) -> MessageSpec:
    changes: dict[str, Any] = {"dialect": dialect}
    if dialect in UNKNOWN_TOOL:
        changes["unknown_tool"] = UNKNOWN_TOOL[dialect]
    return messages.model_copy(update=changes)


def find_complaints(calls: Sequence[TracedCall], tools: Sequence[ToolSpec]) -> Complaints:
    """Find out how calls were refused that the declared tools do not allow.

    Where no call went against a schema, its wording is the one that the schemas suggest.

    Args:
        calls: All recorded calls.
        tools: The declared tools; without any, nothing can be found.
    """
    declared = {tool.name: tool for tool in tools}
    if not declared:
        return Complaints()
    stray = [call for call in calls if call.tool not in declared]
    messages = guessed_messages(tools)
    taken = _taken(calls, declared)
    checked = {name: relaxed(tool, taken.get(name, ())) for name, tool in declared.items()}
    wrong = [(call, found) for call in calls if call.error and (found := _found(call, checked))]
    messages = _worded_best(messages, wrong, checked)
    told = _unknown_tool(stray)
    if told is not None:
        messages = messages.model_copy(update=told)
    refused = [call for call, _ in wrong if _refusal(messages, checked[call.tool], call) == call.text]
    # A wording that never came true is still the best there is, if no call shows another one.
    checks = len(refused) >= _HALF * len(wrong) if wrong else bool(messages.dialect)
    about = {(call.session, call.position) for call in [*refused, *(stray if told is not None else ())]}
    if not checks:
        return Complaints(messages)
    odd = {(call.session, call.position) for call in calls if _found(call, declared)} - about
    return Complaints(messages, True, taken, frozenset(about), frozenset(odd))


def _found(call: TracedCall, declared: Mapping[str, ToolSpec]) -> list[Violation]:
    return violations(declared[call.tool], call.arguments) if call.tool in declared else []


def _taken(calls: Sequence[TracedCall], declared: Mapping[str, ToolSpec]) -> dict[str, tuple[str, ...]]:
    """Arguments with which calls went well more often than not although the schema does not allow them."""
    good: Counter[tuple[str, str]] = Counter()
    trials: Counter[tuple[str, str]] = Counter()
    for call in calls:
        found = _found(call, declared)
        for name in {str(wrong.path[0] if wrong.path else wrong.expected) for wrong in found}:
            trials[call.tool, name] += 1
            good[call.tool, name] += not call.error
    taken: dict[str, tuple[str, ...]] = {}
    for (tool, name), count in good.items():
        if count > _HALF * trials[tool, name]:
            taken[tool] = (*taken.get(tool, ()), name)
    return taken


def _worded_best(
    messages: MessageSpec, wrong: Sequence[tuple[TracedCall, list[Violation]]], declared: Mapping[str, ToolSpec]
) -> MessageSpec:
    """The wording that gives most of the refusals: a library's, or texts with slots."""
    if not wrong:
        return messages
    learned = messages.model_copy(update={"dialect": "", **_texts(wrong, declared)})
    dialects = sorted(_DIALECTS, key=lambda name: name != messages.dialect)
    choices = [*(_with_dialect(messages, name) for name in dialects), learned]
    right = {
        number: sum(_refusal(choice, declared[call.tool], call) == call.text for call, _ in wrong)
        for number, choice in enumerate(choices)
    }
    return choices[max(right, key=lambda number: (right[number], -number))]


def _refusal(messages: MessageSpec, tool: ToolSpec, call: TracedCall) -> str | None:
    try:
        said: str | None = refusal(tool, call.arguments, messages)
    except (BrokenError, UnknownError):
        return None
    return said


def _texts(wrong: Sequence[tuple[TracedCall, list[Violation]]], declared: Mapping[str, ToolSpec]) -> dict[str, str]:
    """Templates of the refusals of each kind, of calls with one thing wrong."""
    told: dict[str, Counter[str]] = defaultdict(Counter)
    for call, found in wrong:
        if len(found) == 1 and found[0].kind in _FIELDS and len(found[0].path) < 2:
            names = names_of_violation(declared[call.tool], call.arguments, found[0])
            told[_FIELDS[found[0].kind]][_slotted(call.text, names)] += 1
    return {
        field: texts.most_common(1)[0][0]
        for field, texts in told.items()
        if texts.most_common(1)[0][1] >= _ENOUGH * texts.total()
    }


def _slotted(text: str, names: Mapping[str, Any]) -> str:
    """The text with what it names of the call in slots, the longest first."""
    slots: dict[str, str] = {}
    if "allowed" in names:
        for mark in ('"', "'", "`", ""):
            for between in (", ", "|", " | ", " or ", ","):
                shown = between.join(f"{mark}{item}{mark}" for item in names["allowed"])
                part = f"{mark}{between}{mark}"
                slots.setdefault(shown, f"{mark}{{{{ allowed | join({json.dumps(part)}) }}}}{mark}")
    if "value" in names:
        slots.setdefault(str(names["value"]), "{{ value }}")
        slots.setdefault(json.dumps(names["value"]), "{{ value | tojson }}")
    for name in ("name", "tool", "expected"):
        if name in names:
            slots.setdefault(str(names[name]), f"{{{{ {name} }}}}")
    found = sorted((slot for slot in slots if slot), key=len, reverse=True)
    if not found:
        return literal(text)
    pieces = re.split("(" + "|".join(_as_word(piece) for piece in found) + ")", text)
    return "".join(slots[piece] if number % 2 else literal(piece) for number, piece in enumerate(pieces))


def _as_word(piece: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", piece) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", piece) else ""
    return before + re.escape(piece) + after


def _unknown_tool(stray: Sequence[TracedCall]) -> dict[str, Any] | None:
    """How a tool is refused that there is not; None where no call tells it."""
    if not stray:
        return None
    told = Counter((_slotted(call.text, {"tool": call.tool}), call.error) for call in stray)
    (template, fails), count = told.most_common(1)[0]
    if count < _ENOUGH * len(stray) or not _says(template, stray):
        return None
    return {"unknown_tool": template, "unknown_tool_fails": fails}


def _says(template: str, stray: Sequence[TracedCall]) -> bool:
    return any(render(template, {"tool": call.tool, "args": call.arguments}) == call.text for call in stray)
