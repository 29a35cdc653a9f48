"""Scores of a run, under either protocol, computed from its records; and in which rows the protocols differ.

Records are read once, one at a time: of their texts only what scores depend on is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from typing import Literal, get_args

from worldline.bench.agentworld.extraction import extract_prediction
from worldline.bench.agentworld.official import (
    OfficialJudgement,
    OfficialRow,
    has_generation,
    normalized,
    official_prediction,
    official_row,
    read_judge_answer,
    without_marker,
)
from worldline.bench.agentworld.records import DIMENSIONS, Generation, Judgement
from worldline.bench.agentworld.rows import RowRef
from worldline.bench.agentworld.store import RunFolder
from worldline.bench.agentworld.strict import Failure, StrictRow, generation_failure, strict_row
from worldline.errors import ConfigError, unknown_name
from worldline.types import Frozen, JsonDict

__all__ = [
    "PROTOCOLS",
    "Call",
    "Difference",
    "Protocol",
    "RowScore",
    "RunFacts",
    "chosen_judge",
    "differences",
    "official_of",
    "read_run",
    "repeats_of",
    "require_scored",
    "score_rows",
    "strict_of",
]

Protocol = Literal["strict", "official"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


@dataclass(frozen=True, slots=True)
class Call:
    """A record of a model call without its texts."""

    record: Generation | Judgement
    """`content`, `reasoning` and the judge's reasons left out."""
    failure: Failure | None = None
    """Of a generation: why it predicts nothing."""
    generated: bool = True
    """Of a generation: whether protocol `official` has it judged."""
    same_text: bool = True
    """Of a generation: whether both protocols take the same prediction out of it."""
    official: OfficialJudgement | None = None
    """Of a judgement: what protocol `official` reads; None for a call that failed."""


class RowScore(Frozen):
    """A row's scores under one protocol, on the scale of 0 to 100."""

    row: str
    domain: str
    trajectory: str
    id: str
    turn: int
    score: float | None
    """None: the row counts in no mean (protocol `official` only)."""
    dimensions: dict[str, float]
    failure: str | None = None


class Difference(Frozen):
    """A row that the protocols score differently."""

    row: str
    domain: str
    id: str
    turn: int
    strict: float | None
    official: float | None
    reasons: tuple[str, ...]


@dataclass(slots=True)
class RunFacts:
    """What scores are computed from."""

    settings: JsonDict
    refs: dict[str, RowRef]
    generations: dict[str, Call] = field(default_factory=dict)
    """By row: the last answered one, or the last one where none was answered."""
    judgements: dict[str, list[Call]] = field(default_factory=dict)
    """By generation, in the order they were made: the rubric judgements of all judges."""

    verdicts: dict[str, list[Judgement]] = field(default_factory=dict)
    """Judgements that choose between two answers, their texts left out, by mode; those that compare with another run's
    answers by `pairwise, against MODEL`."""
    prompts: dict[tuple[str, str], str] = field(default_factory=dict)
    """By judge and domain: the version of the judge's prompts that was used last."""
    judges: dict[str, None] = field(default_factory=dict)
    """Names of the judges that answered anything here, the one that answered last at the end."""

    def add(self, judgement: Judgement) -> None:
        """Add a judgement of one of the rows."""
        if judgement.mode != "rubric":
            against = f", against {judgement.other_model}" if judgement.other is not None else ""
            self.verdicts.setdefault(f"{judgement.mode}{against}", []).append(_slim(judgement))
            return
        self.judgements.setdefault(judgement.generation, []).append(_judgement_call(judgement))
        if judgement.outcome in ("ok", "truncated"):
            self.judges.pop(judgement.model, None)
            self.judges[judgement.model] = None
            self.prompts[judgement.model, self.refs[judgement.row].domain] = judgement.prompt_version

    def judged(self, generation: Generation | Judgement, judge: str | None) -> list[Call]:
        """Return what a judge said about a generation, with the last version of its prompts.

        A call that failed may know the judge only by the name it was asked by: where no judge answered under that
        name, the failure counts for any of them.
        """
        version = self.prompts.get((judge or "", self.refs[generation.row].domain))
        found = []
        for call in self.judgements.get(generation.key, []):
            named = call.record.model == judge or call.record.model not in self.judges
            if named and version in (None, call.record.prompt_version):
                found.append(call)
        return found

    def pending(self, judge: str | None) -> list[str]:
        """Return the rows that are not scored yet: not asked, or predicted but not judged."""
        waiting = []
        for key in self.refs:
            call = self.generations.get(key)
            if call is None or (call.failure is None and not self.judged(call.record, judge)):
                waiting.append(key)
        return waiting


def read_run(folder: RunFolder) -> RunFacts:
    """Read the records of a run.

    Raises:
        ConfigError: There is no run.
        StorageError: Its records are damaged.
    """
    facts = RunFacts(folder.settings, folder.refs())
    for generation in folder.generations():
        known = facts.generations.get(generation.row)
        if generation.row in facts.refs and (known is None or _at_least_as_good(generation, known.record)):
            facts.generations[generation.row] = _generation_call(generation)
    for judgement in folder.judgements():
        if judgement.row in facts.refs:
            facts.add(judgement)
    return facts


def chosen_judge(facts: RunFacts, name: str | None = None) -> str | None:
    """Choose whose judgements count: those of the named judge, or of the one that answered last.

    Raises:
        ConfigError: No judge of that name answered here.
    """
    if name is not None and name not in facts.judges:
        raise unknown_name("judge", name, facts.judges or ["none has judged yet"])
    return name if name is not None else next(reversed(facts.judges), None)


def score_rows(facts: RunFacts, protocol: Protocol, judge: str | None) -> list[RowScore]:
    """Score the rows of a run that are not pending, in the run's order.

    Raises:
        ConfigError: There is no such protocol.
    """
    if protocol not in PROTOCOLS:
        raise unknown_name("protocol", protocol, PROTOCOLS)
    waiting = set(facts.pending(judge))
    scored = []
    for ref in (ref for key, ref in facts.refs.items() if key not in waiting):
        if protocol == "strict":
            strict = strict_of(facts, ref, judge)
            figures = {"score": strict.score, "dimensions": dict(strict.dimensions), "failure": strict.failure}
        else:
            row = official_of(facts, ref, judge)
            score = normalized(row.total) if row.total else None
            counted = {name: normalized(value) for name, value in row.scores.items() if value}
            figures = {"score": score, "dimensions": counted, "failure": row.error}
        where = {"row": ref.key, "domain": ref.domain, "trajectory": ref.trajectory, "id": ref.id, "turn": ref.turn}
        scored.append(RowScore.model_validate({**where, **figures}))
    return scored


def strict_of(facts: RunFacts, ref: RowRef, judge: str | None) -> StrictRow:
    """Score a row by protocol `strict`: of the tries of a repeat, the last one that could be read counts."""
    call = facts.generations[ref.key]
    repeats: dict[int, Mapping[str, int] | None] = {}
    for judged in facts.judged(call.record, judge):
        record = judged.record
        assert isinstance(record, Judgement)
        repeats[record.repeat] = record.scores if record.scores is not None else repeats.get(record.repeat)
    return strict_row(call.failure, list(repeats.values()))


def official_of(facts: RunFacts, ref: RowRef, judge: str | None) -> OfficialRow:
    """Score a row by protocol `official`, which knows no repeats: the first one counts."""
    call = facts.generations[ref.key]
    calls = facts.judged(call.record, judge)
    first = [judged for judged in calls if isinstance(judged.record, Judgement) and judged.record.repeat == 0]
    return official_row(ref.domain, call.generated, [judged.official for judged in first])


def differences(facts: RunFacts, judge: str | None) -> list[Difference]:
    """Return the rows that the protocols score differently, and why."""
    found = []
    pairs = zip(score_rows(facts, "strict", judge), score_rows(facts, "official", judge), strict=True)
    for ours, theirs in pairs:
        reasons = tuple(_reasons(facts, facts.refs[ours.row], judge))
        if not reasons and theirs.score is not None and isclose(ours.score or 0.0, theirs.score, abs_tol=1e-9):
            continue
        where: JsonDict = {"row": ours.row, "domain": ours.domain, "id": ours.id, "turn": ours.turn}
        found.append(Difference(**where, strict=ours.score, official=theirs.score, reasons=reasons))
    return found


def _reasons(facts: RunFacts, ref: RowRef, judge: str | None) -> list[str]:
    ours, theirs = strict_of(facts, ref, judge), official_of(facts, ref, judge)
    reasons: list[str] = []
    if ours.failure is not None and theirs.failed:
        reasons.append(f"failed ({ours.failure}): strict counts it as worst, official leaves it out")
    elif theirs.failed:
        broken = "the judge's answer does not outlive the repair" if facts.generations[ref.key].generated else "failed"
        reasons.append(f"official leaves it out: {broken}")
    elif ours.failure is not None:
        reasons.append(f"failed ({ours.failure}): strict counts it as worst, official scores it")
    reasons += [] if theirs.failed else _reading_reasons(ours, theirs)
    if len(ours.repeats) > 1:
        reasons.append("strict takes the mean of the repeats, official the first")
    return reasons


def _reading_reasons(ours: StrictRow, theirs: OfficialRow) -> Iterable[str]:
    values = [theirs.scores[name] for name in DIMENSIONS]
    if 0 in values:
        missing = ", ".join(name for name in DIMENSIONS if theirs.scores[name] == 0)
        yield f"official leaves missing or unreadable dimensions out of the mean: {missing}"
    if min(values) < 0:
        yield "official keeps a score below 0 in its dimension and leaves it out of the row's mean"
    if ours.failure == "judge failure" and min(values) > 0:
        yield "official rounds or clamps what is no integer from 1 to 5"
    own = [ours.dimensions[name] for name in DIMENSIONS]
    if ours.failure is None and len(ours.repeats) == 1 and min(values) > 0 and own != [normalized(v) for v in values]:
        yield "the protocols read different scores out of the judge's answer"


def _at_least_as_good(new: Generation, old: Generation | Judgement) -> bool:
    return new.outcome != "error" or old.outcome == "error"


def _generation_call(generation: Generation) -> Call:
    extraction = extract_prediction(generation)
    generated = has_generation(generation)
    same = True
    if generated and extraction is not None:
        same = without_marker(official_prediction(generation.content)) == extraction.text
    slim = generation.model_copy(update={"content": "", "reasoning": None})
    return Call(slim, failure=generation_failure(generation, extraction), generated=generated, same_text=same)


def _judgement_call(judgement: Judgement) -> Call:
    official = None if judgement.outcome == "error" else read_judge_answer(judgement.content)
    return Call(_slim(judgement), official=official)


def _slim(judgement: Judgement) -> Judgement:
    return judgement.model_copy(update={"content": "", "reasoning": None, "strengths": (), "weaknesses": ()})


def repeats_of(facts: RunFacts, judge: str | None) -> Sequence[StrictRow]:
    """Return the rows that were judged more than once."""
    waiting = set(facts.pending(judge))
    rows = [strict_of(facts, ref, judge) for key, ref in facts.refs.items() if key not in waiting]
    return [row for row in rows if len(row.repeats) > 1]


def require_scored(facts: RunFacts, judge: str | None, folder: RunFolder) -> None:
    """Refuse a run in which nothing is judged yet.

    Raises:
        ConfigError: There is no scored row and no verdict.
    """
    if not facts.verdicts and len(facts.pending(judge)) == len(facts.refs):
        raise ConfigError(
            f"{folder.path} holds no row that is judged yet", hint="worldline bench agentworld judge, then score"
        )
