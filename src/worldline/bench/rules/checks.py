"""The language of rule checks: what a prediction must say, as data.

A check is a small tree of JSON objects, each named by `op`. It is interpreted here and nowhere executed: no code, no
templates, and patterns run under a time limit. Reading refuses unknown operations, wrong patterns and large trees.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import regex
from pydantic import AfterValidator, Field, TypeAdapter

from worldline.domains.comparing import compare
from worldline.types import Frozen, JsonDict, Observation, TextField, VolatileSpan

__all__ = [
    "MOST_PARTS",
    "SECONDS",
    "AllOf",
    "AnyOf",
    "Check",
    "Contains",
    "Equals",
    "ExitCode",
    "InOrder",
    "JsonPath",
    "LineCount",
    "Matches",
    "Not",
    "Verdict",
    "read_check",
    "verdict",
]

SECONDS = 0.5
"""Longest time that a pattern may take."""
MOST_PARTS = 100
"""Operations of one check."""
_LONGEST_PATTERN = 2000


def _compiles(pattern: str) -> str:
    try:
        regex.compile(pattern)
    except regex.error as exc:
        raise ValueError(f"not a regular expression: {exc}") from exc
    return pattern


_Pattern = Annotated[str, Field(max_length=_LONGEST_PATTERN), AfterValidator(_compiles)]
_Words = Annotated[str, Field(min_length=1)]


class _OnText(Frozen):
    field: TextField = "text"
    """`stdout` and `stderr` fall back to `text` where a prediction's streams are not apart."""


class Contains(_OnText):
    """The text stands in the answer, to the character."""

    op: Literal["contains"] = "contains"
    text: _Words
    line: bool = False
    """It is a whole line, blanks at its ends aside."""


class Matches(_OnText):
    """The pattern is found. One that takes too long is not."""

    op: Literal["regex"] = "regex"
    pattern: _Pattern


class Equals(Frozen):
    """The answer is this one, to the byte, after volatile masks."""

    op: Literal["equals"] = "equals"
    text: str
    volatile: tuple[VolatileSpan, ...] = ()


class ExitCode(Frozen):
    """The status is this one; `differs` turns it round."""

    op: Literal["exit_code"] = "exit_code"
    code: int
    differs: bool = False


class JsonPath(_OnText):
    """The answer is JSON and holds something under these keys and positions."""

    op: Literal["json_path"] = "json_path"
    path: tuple[int | str, ...]
    equals: Any = None
    """Compared where `exists` is not set."""
    exists: bool | None = None


class LineCount(_OnText):
    """How many lines the answer has; a final newline makes no further line."""

    op: Literal["line_count"] = "line_count"
    least: Annotated[int, Field(ge=0)] = 0
    most: int | None = None


class InOrder(_OnText):
    """The texts stand in the answer one after the other."""

    op: Literal["order"] = "order"
    texts: Annotated[tuple[_Words, ...], Field(min_length=2)]


class AllOf(Frozen):
    """Every part holds."""

    op: Literal["all"] = "all"
    of: Annotated[tuple[Check, ...], Field(min_length=1)]


class AnyOf(Frozen):
    """Some part holds."""

    op: Literal["any"] = "any"
    of: Annotated[tuple[Check, ...], Field(min_length=1)]


class Not(Frozen):
    """The part does not hold."""

    op: Literal["not"] = "not"
    of: Check


Check = Annotated[
    Contains | Matches | Equals | ExitCode | JsonPath | LineCount | InOrder | AllOf | AnyOf | Not,
    Field(discriminator="op"),
]
for _recursive in (AllOf, AnyOf, Not):
    _recursive.model_rebuild()
_CHECK: TypeAdapter[Any] = TypeAdapter(Check)


def read_check(value: JsonDict) -> Any:
    """Read a check.

    Raises:
        ValueError: It is none, or has too many parts.
    """
    _count(value)
    return _CHECK.validate_python(value)


def _count(value: Any) -> None:
    waiting, found = [value], 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and "op" in part:
            found += 1
            below = part.get("of")
            waiting.extend(below if isinstance(below, list | tuple) else [below])
        if found > MOST_PARTS:
            raise ValueError(f"a check has at most {MOST_PARTS} parts")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a check."""

    passed: bool
    why: str = ""
    """The first part that does not hold, in words."""


def verdict(check: Any, answer: Observation, *, status_shown: bool = True) -> Verdict:
    """Check an answer.

    Args:
        check: What :func:`read_check` gave.
        answer: The prediction.
        status_shown: Whether the predictions can show a status at all. Where they are bare texts, demands on the
            status are passed over.
    """
    failed = next(_failures(check, answer, status_shown), None)
    return Verdict(failed is None, failed or "")


def _failures(check: Any, answer: Observation, shown: bool) -> Iterator[str]:
    match check:
        case AllOf():
            for part in check.of:
                yield from _failures(part, answer, shown)
        case AnyOf():
            if not any(verdict(part, answer, status_shown=shown).passed for part in check.of):
                yield "none of the alternatives holds"
        case Not():
            if verdict(check.of, answer, status_shown=shown).passed:
                yield f"what must not be is: {_named(check.of)}"
        case ExitCode():
            if shown and (answer.exit_code == check.code) == check.differs:
                yield f"the status is {answer.exit_code}, {'not to be' if check.differs else 'to be'} {check.code}"
        case Equals():
            truth = Observation(text=check.text, volatile=check.volatile)
            if not compare(Observation(text=answer.text), truth).exact:
                yield "it is another text"
        case _:
            text = _text(answer, check.field)
            if not _holds(check, text):
                yield f"does not hold: {_named(check)}"


def _holds(check: Any, text: str) -> bool:
    match check:
        case Contains():
            if check.line:
                return any(line.strip() == check.text.strip() for line in text.split("\n"))
            return check.text in text
        case Matches():
            try:
                return regex.search(check.pattern, text, regex.MULTILINE, timeout=SECONDS) is not None
            except TimeoutError:
                return False
        case LineCount():
            lines = text.removesuffix("\n").count("\n") + 1 if text else 0
            return bool(check.least <= lines and (check.most is None or lines <= check.most))
        case InOrder():
            place = 0
            for piece in check.texts:
                place = text.find(piece, place)
                if place < 0:
                    return False
                place += len(piece)
            return True
        case JsonPath():
            return _at_path(check, text)
    raise TypeError(f"not a check: {check!r}")


def _at_path(check: JsonPath, text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    for key in check.path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return check.exists is False
    return check.exists if check.exists is not None else _same(value, check.equals)


def _same(value: Any, wanted: Any) -> bool:
    """JSON tells true from 1, Python does not."""
    return json.dumps(value, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def _text(answer: Observation, field: TextField) -> str:
    found = getattr(answer, field)
    return found if isinstance(found, str) else answer.text


def _named(check: Any) -> str:
    told = check.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({"op": check.op, **told}, ensure_ascii=False)[:200]
