"""Rules of tools, from all their recorded calls: how they end well, how they refuse, and what they change."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.tools.collections import CaseSpec, EffectSpec, ToolRule
from worldline.types import canonical_json
from worldline.worlds.learning.columns import MISSING, Scope
from worldline.worlds.learning.explaining import Explainer
from worldline.worlds.learning.refusals import Example, Refusal, by_wording, find_refusal, in_order, wording
from worldline.worlds.learning.traces import NOT_JSON, TracedCall

__all__ = ["Lesson", "learn_tool", "rule_of"]

_LEAST = 2
"""Calls that the answer of good calls must rest on."""
_USUAL = 0.5
"""Share of all calls that an answer must be given to, to be taken for the usual one where not all can be told."""


@dataclass(slots=True)
class Lesson:
    """What was learned of one tool."""

    examples: Sequence[Example]
    scope: Scope
    explainer: Explainer
    good: list[int]
    """Examples that went well."""
    success: Any = None
    """Template of the answer of calls that go well."""
    success_lets: Mapping[str, Any] = field(default_factory=dict)
    """Names that this template uses beside those of the scope."""
    refusals: list[Refusal] = field(default_factory=list)
    unexplained: list[dict[int, str]] = field(default_factory=list)
    """Errors whose cause was not found, by wording."""


def learn_tool(examples: Sequence[Example], keys: Mapping[str, tuple[str, ...]]) -> Lesson:
    """Learn what a tool answers.

    Args:
        examples: All its calls.
        keys: Parts of each store's key.
    """
    groups = [example.group for example in examples]
    scope = Scope([dict(example.names) for example in examples], ["args", "made"], groups=groups)
    scope.bind_stores(keys)
    scope.look_up_by_arguments()
    good = {n: e.call for n, e in enumerate(examples) if not e.call.error}
    lesson = Lesson(examples, scope, Explainer(scope, keys), list(good))
    told = {n: call for n, call in good.items() if not examples[n].odd}
    lesson.success = _success(told, len(examples), lesson.explainer)
    if lesson.success is None and told and all(isinstance(call.value, dict) for call in told.values()):
        lesson.success, lesson.success_lets = _continued(told, examples)
    for members in by_wording(examples):
        texts = {n: examples[n].call.text for n in members}
        refusal = find_refusal(texts, scope, keys, lesson.explainer, lesson.good)
        if refusal is not None:
            lesson.refusals.append(refusal)
        else:
            lesson.unexplained.append(texts)
    return lesson


def rule_of(lesson: Lesson, base: ToolRule, stores: Iterable[str]) -> ToolRule:
    """Write down what was learned of a tool.

    Args:
        lesson: What was learned.
        base: What was read off the tool's answers already; kept.
        stores: Stores whose records the tool's answers are; the answer becomes the record.

    Returns:
        The rule; `base` itself where nothing could be learned. Cases that can only be guesses, however well a replay
        speaks for them, are marked so.
    """
    if lesson.success is None and not lesson.refusals:
        return base
    cases = [
        CaseSpec(
            when=f"{{{{ {refusal.when} }}}}",
            let=dict(refusal.lets),
            answer=refusal.template,
            error=True,
            guess=refusal.guess or refusal.presumed or refusal.hearsay,
            hearsay=refusal.hearsay,
        )
        for refusal in in_order(lesson.refusals)
    ]
    if lesson.success is not None:
        effects = tuple(EffectSpec(store=store, key=_key(base, store)) for store in stores)
        guess = any(refusal.guess for refusal in lesson.refusals)
        cases.append(CaseSpec(answer=lesson.success, let=dict(lesson.success_lets), effects=effects, guess=guess))
    lets = _needed(lesson.scope.lets, cases)
    return base.model_copy(update={"let": lets, "cases": tuple(cases)})


def _key(base: ToolRule, store: str) -> Any:
    """Key of the record that an answer is."""
    for harvest in base.harvest:
        if harvest.store == store and not harvest.path and harvest.key:
            return [str(part).replace("item.", "answer.").replace("item[", "answer[") for part in harvest.key]
    return None


def _success(good: Mapping[int, TracedCall], n: int, explainer: Explainer) -> Any:
    """Template of the answers of calls that went well, or else of their most usual kind; None where there is none.

    Args:
        good: The calls that went well.
        n: How many calls there are, refused ones too.
        explainer: Explains them.
    """
    whole = _explained(good, explainer)
    if whole is not None or len(good) < _LEAST:
        return whole
    kinds: dict[str, dict[int, TracedCall]] = defaultdict(dict)
    for number, call in good.items():
        kinds[_kind(call)][number] = call
    usual = max(kinds.values(), key=len)
    # An answer that most calls do not get is no rule, even where it is the most usual one.
    return _explained(usual, explainer) if _USUAL * n < len(usual) < len(good) else None


def _explained(good: Mapping[int, TracedCall], explainer: Explainer) -> Any:
    if len(good) < _LEAST:
        return None
    data = {n: call.value for n, call in good.items() if call.value is not NOT_JSON}
    if len(data) == len(good):
        explained = explainer.value(data)
    elif not data:
        explained = explainer.text({n: call.text for n, call in good.items()})
    else:
        return None
    return explained.template if explained is not None and explained.told >= _LEAST else None


def _continued(good: Mapping[int, TracedCall], examples: Sequence[Example]) -> tuple[Any, Mapping[str, Any]]:
    """Template of answers that go on from the tool's last one: counts, and lists that grow; with the names it uses."""
    plain = [example for number, example in enumerate(examples) if number in good]
    envs = [dict(example.names) for example in plain]
    scope = Scope(envs, ["args", "made", "last"], groups=[example.group for example in plain])
    for column in [c for c in scope.columns if c.text.startswith("last.") and c.all_are(list)]:
        # Before the first call there is nothing to go on from.
        column.values = [[] if value is MISSING else value for value in column.values]
        column.text = f"({column.text} | default([]))"
    answers = {number: example.call for number, example in enumerate(plain)}
    template = _success(answers, len(examples), Explainer(scope, {}))
    return template, _needed(scope.lets, [CaseSpec(answer=template)]) if template is not None else {}


def _kind(call: TracedCall) -> str:
    """Of what kind an answer is: its words but for what the call gave, or which fields and lists it has."""
    return wording(call) if call.value is NOT_JSON else canonical_json(_shape(call.value))


def _shape(value: Any, depth: int = 0) -> Any:
    """The fields of data, and whether the answer itself, or a list right in it, holds anything."""
    if isinstance(value, dict):
        return {name: _shape(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_shape(value[0], 2)] if value and depth < 2 else []
    return None


def _needed(lets: Mapping[str, Any], cases: Sequence[CaseSpec]) -> dict[str, Any]:
    """Leave out what no case uses, directly or by another name."""
    texts = canonical_json([case.model_dump(mode="json") for case in cases])
    needed: set[str] = set()
    words = set(re.findall(r"\w+", texts))
    for name in reversed(list(lets)):
        if name in words:
            needed.add(name)
            words |= set(re.findall(r"\w+", canonical_json(lets[name])))
    return {name: template for name, template in lets.items() if name in needed}
