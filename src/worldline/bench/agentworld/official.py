"""Protocol `official`: the numbers that the released evaluation code of AgentWorldBench makes of the same records.

The rules are those of the code at QwenLM/Qwen-AgentWorld, commit cd0aa83, faults included: what it drops is dropped,
what it repairs is repaired, what it fails to read fails. Use it to set a run beside numbers made with that code;
:mod:`~worldline.bench.agentworld.strict` is the protocol to trust.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import mean
from typing import Any

from worldline.bench.agentworld.records import DIMENSIONS, Generation
from worldline.formats.agentworld_text import HEADING

__all__ = [
    "NO_OUTPUT",
    "TRIES",
    "OfficialJudgement",
    "OfficialRow",
    "domain_figures",
    "has_generation",
    "normalized",
    "official_prediction",
    "official_row",
    "overall",
    "read_judge_answer",
    "without_marker",
]

NO_OUTPUT = "No output"
TRIES = 3
"""How often the released code asks the judge before it gives a row up."""
_MARKER = HEADING.rstrip("\n")
_ANSWER_TAG = "predicted_observation"
_JUDGE_TAG = "final_evaluation"
_THINK = re.compile(r"</?think>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*([\s\S]*?)\s*```")
_REPAIRS = (
    (re.compile(r",(\s*[}\]])"), r"\1"),  # a comma before a closing bracket
    (re.compile(r"'(\w+)'(\s*:)"), r'"\1"\2'),  # keys in single quotes
    (re.compile(r"([{,])\s*(\w+)\s*:"), r'\1"\2":'),  # keys without quotes
)
_SCORES_ALONE = re.compile(r'"scores"\s*:\s*\{[^}]+\}')
_UNREADABLE = (ValueError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class OfficialJudgement:
    """What the released code reads out of a judge's answer."""

    scores: Mapping[str, int]
    """All five dimensions; 0 where it found none. Below 0 stays, above 5 becomes 5."""
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    error: str | None = None
    """Why the answer does not count."""

    @property
    def total(self) -> float:
        """Mean of the dimensions above 0; 0 where there is none."""
        valid = [score for score in self.scores.values() if score > 0]
        return sum(valid) / len(valid) if valid else 0.0


@dataclass(frozen=True, slots=True)
class OfficialRow:
    """A row as the released code would write it."""

    domain: str
    scores: Mapping[str, int] = field(default_factory=dict)
    total: float = 0.0
    error: str | None = None
    """Why the row failed; it then counts in no mean."""

    @property
    def failed(self) -> bool:
        return self.error is not None


# ---- prediction


def official_prediction(raw: str) -> str:
    """Take the prediction out of a generation: delete the reasoning, take the last block in tags, strip."""
    if not raw:
        return NO_OUTPUT
    answer = _without_thinking(raw, _ANSWER_TAG)
    block = _last_block(answer, _ANSWER_TAG)
    if block is not None:
        return block
    return answer.strip() or NO_OUTPUT


def without_marker(text: str) -> str:
    """Take the heading of an observation off: at the beginning once, otherwise wherever it stands."""
    if text.startswith(_MARKER):
        return text[len(_MARKER) :].strip()
    return text.replace(_MARKER, "").strip()


def _without_thinking(text: str, answer_tag: str) -> str:
    """Delete the reasoning; nothing is touched where there is no tag of it.

    Every opening tag takes the next free closing tag. A closing tag left over deletes all that stands before it; an
    opening tag left over deletes up to the next tag of the answer, or to the end.
    """
    marks = list(_THINK.finditer(text))
    if not marks:
        return text
    openers = [mark.start() for mark in marks if mark[0][1] != "/"]
    closers = [(mark.start(), mark.end()) for mark in marks if mark[0][1] == "/"]
    cuts: list[tuple[int, int]] = []
    free = 0
    for opener in openers:
        while free < len(closers) and closers[free][0] < opener:
            cuts.append((0, closers[free][1]))
            free += 1
        if free < len(closers):
            cuts.append((opener, closers[free][1]))
            free += 1
        else:
            tag = re.compile(rf"<{answer_tag}>", re.IGNORECASE).search(text, opener)
            cuts.append((opener, tag.start() if tag else len(text)))
    cuts += [(0, end) for _, end in closers[free:]]
    kept, position = [], 0
    for start, end in sorted(cuts):
        kept.append(text[position:start] if start > position else "")
        position = max(position, end)
    return "".join([*kept, text[position:]]).strip()


def _last_block(text: str, tag: str) -> str | None:
    """Return what stands between the last opening tag and the first closing tag behind it, or the end; stripped."""
    openers = list(re.finditer(rf"<{tag}>", text, re.IGNORECASE))
    if not openers:
        return None
    rest = text[openers[-1].end() :]
    closer = re.search(rf"</{tag}>", rest, re.IGNORECASE)
    return (rest[: closer.start()] if closer else rest).strip()


# ---- judge


def read_judge_answer(raw: str) -> OfficialJudgement:
    """Read a judge's answer as the released code does. The repair runs on valid JSON too, and may break it."""
    text = raw.strip()
    if not text:
        return _unread("empty output")
    text = _without_thinking(text, _JUDGE_TAG)
    text = _last_block(text, _JUDGE_TAG) or text
    found = _fenced_object(text) or _last_object(text) or _object_from_the_end(text)
    if not found:
        return _unread("no JSON object")
    for pattern, replacement in _REPAIRS:
        found = pattern.sub(replacement, found)
    try:
        value = _loaded(found)
        scores = value.get("scores")
        if not isinstance(scores, dict):
            return _unread("no object `scores`")
        read = {name: _score(scores.get(name, 0)) for name in DIMENSIONS}
        return OfficialJudgement(read, _texts(value.get("strengths", [])), _texts(value.get("weaknesses", [])))
    except _UNREADABLE as exc:
        return _unread(f"not JSON after the repair: {exc}")


def _unread(reason: str) -> OfficialJudgement:
    return OfficialJudgement(dict.fromkeys(DIMENSIONS, 0), error=reason)


def _loaded(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        alone = _SCORES_ALONE.search(text)
        if alone is None:
            raise
        value = json.loads("{" + alone[0] + "}")
    return value if isinstance(value, dict) else {}


def _score(value: Any) -> int:
    if isinstance(value, int):
        score = int(value)
    elif isinstance(value, float):
        score = round(value)  # raises on NaN and infinity, as it does there
    elif isinstance(value, str):
        try:
            score = int(value.split("/")[0].strip())
        except ValueError:
            score = 0
    else:
        score = 0
    return min(5, score) if score > 0 else score


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    return (value,) if isinstance(value, str) and value else ()


def _fenced_object(text: str) -> str | None:
    """Return the last fenced object with scores, otherwise the last fenced object."""
    blocks = [mark[1].strip() for mark in _FENCE.finditer(text)]
    return _preferred([block for block in blocks if block.startswith("{") and block.endswith("}")])


def _last_object(text: str) -> str | None:
    """Return the last of the outermost balanced objects, those with scores first."""
    found: list[str] = []
    position = text.find("{")
    last = text.rfind("}")
    while 0 <= position < last:
        end = _balanced_end(text, position)
        if end is not None:
            found.append(text[position:end])
        position = text.find("{", end if end is not None else position + 1)
    return _preferred(found)


def _preferred(objects: Sequence[str]) -> str | None:
    with_scores = [found for found in objects if '"scores"' in found]
    chosen = with_scores or objects
    return chosen[-1] if chosen else None


def _balanced_end(text: str, start: int) -> int | None:
    """Return where the object that begins at `start` ends; brackets inside strings do not count."""
    depth, quoted, skipped = 0, False, -1
    for mark in re.compile(r'["{}\\]').finditer(text, start):
        at, char = mark.start(), mark[0]
        if at == skipped:
            continue
        if char == "\\":
            skipped = at + 1 if quoted else -1
        elif char == '"':
            quoted = not quoted
        elif not quoted:
            depth += 1 if char == "{" else -1
            if depth == 0:
                return at + 1
    return None


def _object_from_the_end(text: str) -> str | None:
    """Return what the last closing bracket balances, read backwards."""
    end = text.rfind("}")
    depth, quoted = 0, False
    for at in range(end, -1, -1):
        char = text[at]
        if char == '"' and (at == 0 or text[at - 1] != "\\"):
            quoted = not quoted
        if quoted or char not in "{}":
            continue
        depth += 1 if char == "}" else -1
        if depth == 0:
            return text[at : end + 1]
    return None


# ---- rows and means


def has_generation(generation: Generation) -> bool:
    """Whether the released code would have the judge look at a generation: one of blanks alone counts."""
    return generation.outcome != "error" and generation.content != ""


def official_row(domain: str, generated: bool, answers: Iterable[OfficialJudgement | None]) -> OfficialRow:
    """Score a row: the first readable one of the judge's first three answers.

    Args:
        domain: The row's.
        generated: See :func:`has_generation`.
        answers: What was read out of the judge's answers, in their order; None for a call that failed.
    """
    if not generated:
        return OfficialRow(domain, error="no model generation")
    for answer in islice(answers, TRIES):
        if answer is not None and answer.error is None:
            return OfficialRow(domain, answer.scores, answer.total)
    return OfficialRow(domain, error="judge scoring failed")


def normalized(raw: float) -> float:
    """Put a mean of scores 1..5 on the scale of 0 to 100. A mean of nothing, which is 0 there, becomes -25."""
    return (raw - 1) / 4 * 100


def domain_figures(rows: Sequence[OfficialRow]) -> dict[str, float] | None:
    """Return the figures printed for the rows of a domain: five dimensions and `total_score`; None if all failed."""
    valid = [row for row in rows if not row.failed]
    if not valid:
        return None
    figures = {name: _mean([row.scores[name] for row in valid]) for name in DIMENSIONS}
    return {name: normalized(value) for name, value in {**figures, "total_score": _mean(_totals(valid))}.items()}


def overall(rows: Sequence[OfficialRow]) -> float | None:
    """Return the figure printed as "Overall": the mean of all rows with a total, whatever their domain."""
    totals = _totals([row for row in rows if not row.failed])
    return normalized(mean(totals)) if totals else None


def _totals(rows: Sequence[OfficialRow]) -> list[float]:
    return [row.total for row in rows if row.total != 0]


def _mean(values: Sequence[float]) -> float:
    counted = [value for value in values if value != 0]
    return mean(counted) if counted else 0.0
