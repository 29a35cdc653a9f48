"""Reading a judge's answer, strictly: five whole numbers from 1 to 5, or it is no score.

JSON is read as JSON; only what is no JSON goes through a repair library, and must then pass the same checks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from worldline.bench.agentworld.records import DIMENSIONS, JudgeMode
from worldline.errors import InputError, require_extra
from worldline.types import JsonDict

__all__ = [
    "CHOICE_SCHEMA",
    "RUBRIC_SCHEMA",
    "AnswerForm",
    "JudgeAnswerError",
    "JudgeScores",
    "read_choice",
    "read_scores",
    "response_format",
    "without_reasoning",
]

AnswerForm = Literal["json_schema", "json_object", "words"]
"""How an answer's form is asked for: by a schema, in one of two notations, or in the prompt alone."""

_TEXTS: JsonDict = {"type": "array", "items": {"type": "string"}}
_SCORE: JsonDict = {"type": "integer", "enum": [1, 2, 3, 4, 5]}


def _object(properties: JsonDict) -> JsonDict:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


RUBRIC_SCHEMA = _object(
    {
        "analysis": {"type": "string"},
        "strengths": _TEXTS,
        "weaknesses": _TEXTS,
        "scores": _object(dict.fromkeys(DIMENSIONS, _SCORE)),
    }
)
"""JSON Schema of an answer in mode `rubric`."""

CHOICE_SCHEMA = _object({"analysis": {"type": "string"}, "choice": {"type": "string", "enum": ["A", "B"]}})
"""JSON Schema of an answer in the modes `turing` and `pairwise`."""

_OPENER = re.compile(r"<final_evaluation>")
_CLOSER = re.compile(r"</final_evaluation>")
_FENCE = re.compile(r"\s*`{3,}[^\n`]*\n")
_FENCED = re.compile(r"^(`{3,})[^\n`]*\n(.*?)\n[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_BEGINS = re.compile(r"\s*(?:`{3,}[^\n`]*\n\s*)?\{")
"""What follows a tag that opens an evaluation, and not one that prose mentions."""

_QUOTED = re.compile(r"\s*\{\s*\\")
"""How an object begins that stands in a JSON string, with its quotes escaped: something that the judge quotes."""

_BRACES_TRIED = 500
"""Braces in an answer that are tried as the beginning of its object."""


class JudgeAnswerError(InputError):
    """A judge's answer is no judgement; the message says why."""


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """A judgement in mode `rubric`."""

    scores: dict[str, int]
    strengths: tuple[str, ...]
    weaknesses: tuple[str, ...]


def response_format(form: AnswerForm, mode: JudgeMode) -> JsonDict | None:
    """The `response_format` of a request; None where only words ask for the form.

    `json_schema` is how OpenAI, vLLM and SGLang take a schema, `json_object` with a schema how llama-cpp-python does.
    """
    schema = RUBRIC_SCHEMA if mode == "rubric" else CHOICE_SCHEMA
    if form == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": f"judge_{mode}", "strict": True, "schema": schema}}
    return {"type": "json_object", "schema": schema} if form == "json_object" else None


def read_scores(text: str) -> JudgeScores:
    """Read an answer in mode `rubric`.

    Raises:
        JudgeAnswerError: It holds no readable object, or not exactly whole numbers from 1 to 5 for all dimensions.
    """
    value = _answer_object(text)
    given = value.get("scores")
    if not isinstance(given, dict):
        raise JudgeAnswerError("the judge gave no `scores` object")
    scores: dict[str, int] = {}
    for name in DIMENSIONS:
        score = given.get(name)
        if name not in given:
            raise JudgeAnswerError(f"the judge gave no score for {name}")
        if type(score) is not int or not 1 <= score <= 5:
            raise JudgeAnswerError(f"the judge's score for {name} is {_shown(score)}, not a whole number from 1 to 5")
        scores[name] = score
    return JudgeScores(scores, _texts(value, "strengths"), _texts(value, "weaknesses"))


def read_choice(text: str) -> str:
    """Read an answer in the modes `turing` and `pairwise`: `A` or `B`.

    Raises:
        JudgeAnswerError: It holds no readable object, or another choice.
    """
    choice = _answer_object(text).get("choice")
    if choice not in ("A", "B"):
        raise JudgeAnswerError(f"the judge's choice is {_shown(choice)}, neither A nor B")
    return str(choice)


def without_reasoning(text: str) -> str:
    """Take the reasoning off the front of a judge's answer, as it came.

    Only what opens the answer is reasoning, and its first closing tag ends it: a tag further on may be a quotation from
    what was judged, and must not cut the judge's own words away.
    """
    head, tag, tail = text.partition("</think>")
    return tail if tag and head.lstrip().startswith("<think>") else text


def _texts(value: JsonDict, name: str) -> tuple[str, ...]:
    given = value.get(name, [])
    if isinstance(given, str):
        return (given,) if given.strip() else ()
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise JudgeAnswerError(f"the judge's {name} are no list of texts")
    return tuple(given)


def _answer_object(text: str) -> JsonDict:
    """Find the object that is the judge's answer.

    It is all of the text, or what ends the text (a fenced block or a bare object), or the last block in tags. An object
    that prose follows may be a quotation, and is none; so may be tags inside an object that ends the text.
    """
    text = text.strip()
    fenced = [found for found in _FENCED.finditer(text) if found.end() == len(text)]
    for candidate in (text, *(found[2] for found in fenced[-1:]), _last_object(text)):
        value = _json(candidate)
        if isinstance(value, dict):
            return value
    if _OPENER.search(text):
        return _last_block(text)
    if fenced:
        return _read(fenced[-1][2])
    if "{" not in text or not text.endswith("}"):
        raise JudgeAnswerError("the judge's answer does not end with its evaluation")
    return _read(_last_object(text))


def _last_object(text: str) -> str:
    """Return the JSON object that ends the text, or everything from the first brace on where there is none."""
    position = start = text.find("{")
    for _ in range(_BRACES_TRIED):
        if position < 0:
            break
        decoded = _decoded(text, position)
        if decoded is not None and decoded[1] == len(text):
            return text[position:]
        position = text.find("{", position + 1 if decoded is None else decoded[1])
    return text[start:]


def _last_block(text: str) -> JsonDict:
    """Read the last block in tags; a tag inside a JSON value that was read is content.

    Raises:
        JudgeAnswerError: The last block cannot be read, or opens inside another one that cannot.
    """
    position, unread, last = 0, -1, None
    while opener := _OPENER.search(text, position):
        position = opener.end()
        if unread >= 0 and not _CLOSER.search(text, unread, opener.start()):
            raise JudgeAnswerError("the judge's answer opens a block inside one that cannot be read")
        decoded = _decoded(text, position)
        if decoded is not None:
            (last, position), unread = decoded, -1
        elif _BEGINS.match(text, position):
            last, unread = None, position
    if last is not None:
        return last
    if unread < 0:
        raise JudgeAnswerError("the judge's answer names the tags of its evaluation and holds none")
    closers = [found.start() for found in _CLOSER.finditer(text, unread)]
    return _read(_unfenced(text[unread : closers[-1] if closers else len(text)]))


def _decoded(text: str, position: int) -> tuple[JsonDict, int] | None:
    """Read the JSON object that begins here, or in a fence that does."""
    fence = _FENCE.match(text, position)
    start = fence.end() if fence else position
    while start < len(text) and text[start].isspace():
        start += 1
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return (value, end) if isinstance(value, dict) else None


def _unfenced(text: str) -> str:
    fence = _FENCE.match(text)
    return text[fence.end() :].rstrip().rstrip("`") if fence else text


def _read(text: str) -> JsonDict:
    """Read an object, as it is or repaired."""
    value = _json(text)
    if isinstance(value, dict):
        return value
    if not text.strip() or _QUOTED.match(text):
        raise JudgeAnswerError("the judge's answer holds no JSON")
    library = require_extra("json_repair", "bench")
    try:
        value = library.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError) as exc:
        raise JudgeAnswerError(f"the judge's answer is no JSON and cannot be repaired: {exc}") from exc
    if not isinstance(value, dict):
        raise JudgeAnswerError("the judge's answer holds no JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> JsonDict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JudgeAnswerError("the judge's answer names a member twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def _json(text: str) -> Any:
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:40]}..."
