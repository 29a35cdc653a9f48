"""What one tool refuses, another may refuse too: conditions carried over between tools of one environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from worldline.kernels.tools.collections.expressions import BrokenError, UnknownError, holds, render, with_lets
from worldline.types import canonical_json
from worldline.worlds.learning.columns import Column, Scope
from worldline.worlds.learning.refusals import ENOUGH, Refusal
from worldline.worlds.learning.rules import Lesson

__all__ = ["borrow"]

_PATH = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.|])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?!\w|\s*\()")
"""Quoted texts, and names with their fields: what a translation must leave alone or look at."""
_WORDS = "and or not in is if else none true false defined told length sum attribute selectattr first eq"
_FREE = frozenset([*_WORDS.split(), "item", "now", "seen", "made", "wrong"])
"""Words of expressions, and names that mean the same for every tool."""
_SPARED = 2
"""Good calls in which a borrowed condition must be known not to hold."""


class _LostError(Exception):
    """The other tool has nothing that corresponds."""


def borrow(lessons: Mapping[str, Lesson]) -> None:
    """Let each tool try the conditions under which the others refuse.

    A condition that holds where the tool gave an error of unknown cause, and in no call that went well, is that of the
    error. One that never held so far is expected to be refused in the other tool's words, as a guess. Conditions that
    name values of their own are not carried over: what is special to a tool is no law of its environment.
    """
    own = {tool: list(lesson.refusals) for tool, lesson in lessons.items()}
    for tool, lesson in lessons.items():
        for other, refusals in own.items():
            for refusal in refusals if other != tool else ():
                taken = _taken(refusal, lessons[other], lesson)
                if taken is not None:
                    lesson.refusals.append(taken)


def _taken(refusal: Refusal, source: Lesson, lesson: Lesson) -> Refusal | None:
    if refusal.guess or _particular(refusal):
        return None
    before = set(lesson.scope.lets)
    found = None
    with suppress(_LostError):
        found = _judged(_translated(refusal, source.scope, lesson.scope), lesson)
    if found is None:
        for name in set(lesson.scope.lets) - before:
            lesson.scope.forget(name)
    return found


def _particular(refusal: Refusal) -> bool:
    """Whether a condition compares with a value of its own (a field's name does not count)."""
    text = canonical_json([refusal.when, *refusal.lets.values()])
    text = re.sub(r"(?:attribute=|selectattr\()'[^']*'", "", text)
    return bool(re.search(r"[=<>]=? *(?:\\\"|'|\d|none)|startswith", text))


def _judged(taken: Refusal, lesson: Lesson) -> Refusal | None:
    """Hold a condition against the tool's calls: it may not hold in good ones."""
    told = tuple(_told(taken, env) for env in lesson.scope.envs)
    good = [told[n] for n in lesson.good]
    if any(good) or good.count(False) < _SPARED:
        return None
    if not any(told):
        return replace(taken, holds=told, members=(), hearsay=True)
    shares = [sum(told[n] is True for n in texts) / len(texts) for texts in lesson.unexplained]
    if not any(shares):
        return None
    texts = lesson.unexplained[shares.index(max(shares))]
    found = replace(taken, template=_worded(taken, texts, lesson), holds=told, members=tuple(texts))
    if max(shares) < ENOUGH:
        return replace(found, hearsay=True)
    lesson.unexplained.remove(texts)
    return found


def _worded(taken: Refusal, texts: Mapping[int, str], lesson: Lesson) -> str:
    """The words of the errors: those of the other tool, if they are the same."""
    right = {n: _rendered(taken, lesson.scope.envs[n]) for n in texts}
    if any(text == texts[n] for n, text in right.items()):
        return taken.template
    explained = lesson.explainer.refusal(texts, lesson.good)
    return str(explained.template) if explained is not None else next(iter(texts.values()))


def _rendered(taken: Refusal, env: Mapping[str, Any]) -> Any:
    try:
        return render(taken.template, with_lets(env, taken.lets))
    except (UnknownError, BrokenError):
        return None


def _told(taken: Refusal, env: Mapping[str, Any]) -> bool | None:
    try:
        return holds(f"{{{{ {taken.when} }}}}", with_lets(env, taken.lets))
    except (UnknownError, BrokenError):
        return None


def _translated(refusal: Refusal, source: Scope, scope: Scope) -> Refusal:
    """Say in terms of another tool when an error comes, and in which words.

    Raises:
        _LostError: That tool has nothing that corresponds.
    """
    fields = _fields_of_items(refusal)
    lets = {}
    for name, template in refusal.lets.items():
        if not isinstance(template, Mapping) or "$each" not in template:
            raise _LostError(name)
        listed = str(template["$each"])[2:-2].strip()
        inner = dict(template.get("$let", {}))
        local = frozenset(inner)
        made: dict[str, Any] = {"$each": f"{{{{ {_list(listed, fields, scope)} }}}}"}
        made["$if"] = _text(template["$if"], source, scope, local)
        if inner:
            made["$let"] = {key: _text(value, source, scope, local) for key, value in inner.items()}
        lets[name] = made
    when = refusal.when if refusal.lets else _expression(refusal.when, source, scope, frozenset())
    return replace(refusal, when=when, lets=lets, template=_text(refusal.template, source, scope, frozenset()))


def _fields_of_items(refusal: Refusal) -> set[str]:
    return set(re.findall(r"\b(?:item|wrong\[0\])\.(\w+)", canonical_json([refusal.template, dict(refusal.lets)])))


def _list(listed: str, fields: set[str], scope: Scope) -> str:
    """The list whose items have the fields: the argument of the same name, or records that the tool makes."""
    fitting = [c for c in scope.columns if _has_fields(c, fields) and not _is_copy(scope.lets.get(c.text))]
    # What a tool makes of its arguments comes before what was there already.
    fitting.sort(key=lambda c: (c.text != listed, not c.text.startswith("args."), c.text not in scope.lets, c.depth))
    if fitting and (fitting[0].text.startswith("args.") or fitting[0].text in scope.lets):
        return fitting[0].text
    for name, template in scope.lets.items():
        if isinstance(template, Mapping) and "$each" not in template and fields <= set(template):
            return f"[{name}]"  # one record that the tool makes
    raise _LostError(listed)


def _is_copy(template: Any) -> bool:
    return isinstance(template, Mapping) and template.get("$value", "{{ item }}") == "{{ item }}"


def _has_fields(column: Column, fields: set[str]) -> bool:
    rows = [row for value in column.values if isinstance(value, list) for row in value]
    return bool(rows) and all(isinstance(row, Mapping) and fields <= set(row) for row in rows)


def _text(template: Any, source: Scope, scope: Scope, local: frozenset[str]) -> Any:
    """Translate the expressions in a text."""
    if not isinstance(template, str):
        raise _LostError(template)
    return re.sub(r"\{\{ (.*?) \}\}", lambda m: f"{{{{ {_expression(m[1], source, scope, local)} }}}}", template)


def _expression(text: str, source: Scope, scope: Scope, local: frozenset[str]) -> str:
    return _PATH.sub(lambda match: _path(match[0], source, scope, local), text)


def _path(path: str, source: Scope, scope: Scope, local: frozenset[str]) -> str:
    root = path.split(".", 1)[0]
    if path[0] in "'\"" or root in _FREE or root in local:
        return path
    if root in source.lets:
        name = scope.let(root, _whole(source.lets[root], source, scope))
        return name + path[len(root) :]
    if root != "args":
        return path  # a store
    return _counterpart(path, source, scope)


def _whole(template: Any, source: Scope, scope: Scope) -> Any:
    if isinstance(template, str):
        return _text(template, source, scope, frozenset())
    raise _LostError("a list that the other tool makes")


def _counterpart(path: str, source: Scope, scope: Scope) -> str:
    """The argument called alike, or else the field of a record that the call names."""
    if any(column.text == path for column in scope.columns):
        return path
    kinds = {type(value) for column in _named(source, path) for value in column.values}
    alike = [
        column
        for column in scope.columns
        if column.last == path.rsplit(".", 1)[-1] and column.all_are(*(kind for kind in kinds if kind is not object))
    ]
    if not alike:
        raise _LostError(path)
    return min(alike, key=lambda c: (c.depth, len(c.text))).text


def _named(scope: Scope, text: str) -> Iterator[Column]:
    return (column for column in scope.columns if column.text == text)
