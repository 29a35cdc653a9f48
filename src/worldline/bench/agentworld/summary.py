"""The summary of a run under one protocol: what `RUN/summary.json` and `--json` carry."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import numpy as np

from worldline.bench.agentworld.official import OfficialRow, domain_figures, overall
from worldline.bench.agentworld.records import DIMENSIONS, DOMAINS, Judgement
from worldline.bench.agentworld.scoring import (
    Call,
    Difference,
    Protocol,
    RowScore,
    RunFacts,
    chosen_judge,
    differences,
    official_of,
    read_run,
    repeats_of,
    require_scored,
    score_rows,
)
from worldline.bench.agentworld.statistics import Figure, Paired, Value, macro, micro, paired
from worldline.bench.agentworld.store import RunFolder
from worldline.errors import StorageError, boundary
from worldline.types import Frozen, JsonDict, Usage, canonical_json

__all__ = [
    "DimensionSummary",
    "DomainSummary",
    "ProtocolFigures",
    "RepeatSummary",
    "Spend",
    "Summary",
    "VerdictSummary",
    "compare",
    "summarize",
    "summarize_facts",
    "values_of",
    "write_summary",
]

Interval = tuple[float, float]
_MOST_SAMPLINGS = 10


class DomainSummary(Frozen):
    """A domain's figures, on the scale of 0 to 100."""

    score: float | None
    interval: Interval | None
    score_excluding_failures: float | None
    n: int
    n_failed: int
    n_trajectories: int
    per_dimension: dict[str, float | None]


class DimensionSummary(Frozen):
    """A dimension's figures over all domains."""

    macro: float | None
    macro_interval: Interval | None
    micro: float | None


class Spend(Frozen):
    """What the calls of one kind took, tries that failed included as far as they were recorded."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    median_latency_s: float | None
    cost_usd: float | None
    """Sum over the calls with a known price; None where no call has one."""
    unpriced_calls: int
    truncated: int
    """Calls cut off at the token limit."""
    errors: int
    rows_with_dropped_turns: int
    dropped_turns: int
    """History turns left out for want of context."""


class RepeatSummary(Frozen):
    """How far judgements of the same prediction agree."""

    n: int
    """Rows that were judged more than once."""
    mean_sd: float | None
    """Mean over those rows of the standard deviation (n - 1) of their scores, on the scale of 0 to 100."""
    identical: float | None
    """Share of those rows whose scores are all equal."""


class VerdictSummary(Frozen):
    """How often the prediction was chosen, in one way of comparing two answers."""

    chosen: float | None
    """Share of the rows, in percent; a row's share is that of its judgements. In `turing`, 50 is what a judge gets that
    cannot tell the prediction from the truth."""
    interval: Interval | None
    n: int
    """Rows with a verdict."""
    counts: dict[str, int]
    """Verdicts by what was chosen."""
    failures: int
    """Judgements without a verdict."""


class ProtocolFigures(Frozen):
    """The main figures under one protocol, for the comparison of the two."""

    macro: float | None
    micro: float | None
    n: int
    """Rows that count in the means."""
    n_failed: int


class Summary(Frozen):
    """What a run's records say under one protocol. Scores are on the scale of 0 to 100."""

    schema_version: Literal[1] = 1
    name: str
    """The folder's."""
    protocol: Protocol
    model: str
    judge: str | None
    macro: float | None
    """Plain mean of the domains' scores: what the published table calls average."""
    macro_interval: Interval | None
    micro: float | None
    """Mean over all rows: what the released code calls overall."""
    micro_interval: Interval | None
    macro_excluding_failures: float | None
    micro_excluding_failures: float | None
    per_domain: dict[str, DomainSummary]
    per_dimension: dict[str, DimensionSummary]
    n: int
    """Rows that were scored or failed."""
    n_failed: int
    n_pending: int
    """Rows of the run that are not predicted or not judged yet; in no figure."""
    n_trajectories: int
    failures: dict[str, int]
    generation: Spend
    judging: Spend
    repeats: RepeatSummary
    verdicts: dict[str, VerdictSummary]
    """By judging mode: blind comparisons, where there are any; of all judges together. Comparisons with another run are
    under `pairwise, against MODEL`."""
    protocols: dict[str, ProtocolFigures]
    n_rows_that_differ: int
    """Rows that the protocols score differently."""
    reasons: dict[str, int]
    """Why, and in how many rows."""
    n_prediction_texts_that_differ: int
    """Rows in which the protocols take different predictions out of the same generation."""
    other_judges: tuple[str, ...] = ()
    """Judges that judged here, too; not counted."""
    seeds: dict[str, list[int]]
    sampling: dict[str, list[JsonDict]]
    """Settings of the calls without their seeds, the most frequent ones first; where room was short, tokens differ."""
    versions: dict[str, list[str]]


def summarize(path: Path, protocol: Protocol = "strict", *, judge: str | None = None, seed: int = 0) -> Summary:
    """Score a run.

    Args:
        path: Its folder.
        protocol: `strict` or `official`.
        judge: Whose judgements count, where several judged; default: the one that judged last.
        seed: Of the bootstrap.

    Raises:
        ConfigError: There is no run, nothing is judged yet, or no such judge or protocol.
        StorageError: The records are damaged.
    """
    folder = RunFolder(path)
    facts = read_run(folder)
    chosen = chosen_judge(facts, judge)
    require_scored(facts, chosen, folder)
    return summarize_facts(facts, path.resolve().name, protocol, chosen, seed)


def summarize_facts(facts: RunFacts, name: str, protocol: Protocol, judge: str | None, seed: int = 0) -> Summary:
    """Score a run whose records were read; see :func:`summarize`."""
    rows = score_rows(facts, protocol, judge)
    kept = [row for row in rows if row.failure is None]
    domains = sorted({row.domain for row in rows}, key=_domain_order)
    generations = [facts.generations[key] for key in facts.refs if key in facts.generations]
    judged = [call for one in generations for call in facts.judged(one.record, judge)]
    both = differences(facts, judge)
    figures = _exact(facts, rows, judge) if protocol == "official" else None
    whole = _Figures(
        macro(values_of(rows), seed), micro(values_of(rows), seed), macro(values_of(kept)), micro(values_of(kept))
    )
    if figures is not None:
        whole = whole.replaced(figures)
    return Summary(
        name=name,
        protocol=protocol,
        model=", ".join(_distinct(generations, lambda call: call.record.model)) or "none",
        judge=judge or ", ".join(_distinct(judged, lambda call: call.record.model)) or None,
        **whole.fields(),
        per_domain={domain: _domain(facts, rows, domain, protocol, judge, seed) for domain in domains},
        per_dimension={name: _dimension(rows, name, seed) for name in DIMENSIONS},
        n=len(rows),
        n_failed=len(rows) - len(kept),
        n_pending=len(facts.refs) - len(rows),
        n_trajectories=len({row.trajectory for row in rows}),
        failures=dict(Counter(row.failure for row in rows if row.failure is not None)),
        generation=_spend(generations),
        judging=_spend(judged),
        repeats=_repeats(facts, judge),
        verdicts={mode: _verdicts(facts, found, seed) for mode, found in facts.verdicts.items()},
        protocols={"strict": _strict_figures(facts, judge), "official": _official_figures(facts, judge)},
        n_rows_that_differ=len(both),
        reasons=_reason_counts(both),
        n_prediction_texts_that_differ=sum(not call.same_text for call in generations),
        other_judges=tuple(other for other in facts.judges if other != judge),
        seeds={"bootstrap": [seed], "generation": _seeds(generations), "judging": _seeds(judged)},
        sampling={"generation": _samplings(generations), "judging": _samplings(judged)},
        versions=_versions(generations, judged),
    )


def values_of(rows: Sequence[RowScore], dimension: str | None = None) -> list[Value]:
    """Return the rows that have a figure: their score, or one dimension."""
    found = []
    for row in rows:
        value = row.score if dimension is None else row.dimensions.get(dimension)
        if value is not None:
            found.append(Value(row.row, row.domain, row.trajectory, value))
    return found


def compare(first: RunFacts, second: RunFacts, protocol: Protocol, judges: Sequence[str | None]) -> Paired:
    """Return the difference of two runs, first minus second, on the rows that both scored.

    Args:
        first: A run.
        second: Another one.
        protocol: By which both are scored.
        judges: Whose judgements count in the first and in the second.
    """
    scored = [score_rows(facts, protocol, judge) for facts, judge in zip((first, second), judges, strict=True)]
    return paired(values_of(scored[0]), values_of(scored[1]))


def write_summary(path: Path, summary: Summary) -> Path:
    """Write `summary.json` into a run's folder, whole or not at all.

    Raises:
        StorageError: It cannot be written.
    """
    file = path / "summary.json"
    with boundary(StorageError, f"writing {file}", OSError):
        partial = file.with_name("summary.json.tmp")
        partial.write_text(summary.model_dump_json(indent=2) + "\n", encoding="utf-8")
        partial.replace(file)
    return file


class _Figures:
    """The run's four main figures."""

    def __init__(self, whole_macro: Figure, whole_micro: Figure, kept_macro: Figure, kept_micro: Figure) -> None:
        self._macro, self._micro = whole_macro, whole_micro
        self._kept_macro, self._kept_micro = kept_macro.value, kept_micro.value

    def replaced(self, exact: ProtocolFigures) -> _Figures:
        """Return them with the values that the released code would print."""
        whole_macro = self._macro.model_copy(update={"value": exact.macro})
        whole_micro = self._micro.model_copy(update={"value": exact.micro})
        return _Figures(whole_macro, whole_micro, whole_macro, whole_micro)

    def fields(self) -> JsonDict:
        return {
            "macro": self._macro.value,
            "macro_interval": self._macro.interval,
            "micro": self._micro.value,
            "micro_interval": self._micro.interval,
            "macro_excluding_failures": self._kept_macro,
            "micro_excluding_failures": self._kept_micro,
        }


def _domain_order(domain: str) -> tuple[int, str]:
    return (DOMAINS.index(domain) if domain in DOMAINS else len(DOMAINS), domain)


def _domain(
    facts: RunFacts, rows: Sequence[RowScore], domain: str, protocol: Protocol, judge: str | None, seed: int
) -> DomainSummary:
    own = [row for row in rows if row.domain == domain]
    figure = micro(values_of(own), seed)
    kept = micro(values_of([row for row in own if row.failure is None]), seed).value
    dimensions = {name: micro(values_of(own, name)).value for name in DIMENSIONS}
    score = figure.value
    if protocol == "official":
        printed = domain_figures(_official_rows(facts, own, judge))
        score = kept = printed["total_score"] if printed else None
        dimensions = {name: printed[name] if printed else None for name in DIMENSIONS}
    return DomainSummary(
        score=score,
        interval=figure.interval,
        score_excluding_failures=kept,
        n=len(own),
        n_failed=sum(row.failure is not None for row in own),
        n_trajectories=len({row.trajectory for row in own}),
        per_dimension=dimensions,
    )


def _dimension(rows: Sequence[RowScore], name: str, seed: int) -> DimensionSummary:
    values = values_of(rows, name)
    whole = macro(values, seed)
    return DimensionSummary(macro=whole.value, macro_interval=whole.interval, micro=micro(values, seed).value)


def _official_rows(facts: RunFacts, rows: Sequence[RowScore], judge: str | None) -> list[OfficialRow]:
    """Return the rows as the released code counts them: a row that the data holds twice counts twice."""
    refs = [facts.refs[row.row] for row in rows]
    return [official_of(facts, ref, judge) for ref in refs for _ in range(ref.copies)]


def _exact(facts: RunFacts, rows: Sequence[RowScore], judge: str | None) -> ProtocolFigures:
    """Return the figures to the last digit; a domain in which no row has a total is left out of the macro mean."""
    official = _official_rows(facts, rows, judge)
    means = []
    for domain in {row.domain for row in official}:
        total = overall([row for row in official if row.domain == domain])
        means += [] if total is None else [total]
    return ProtocolFigures(
        macro=float(np.mean(means)) if means else None,
        micro=overall(official),
        n=sum(row.total != 0 for row in official),
        n_failed=sum(row.failed for row in official),
    )


def _official_figures(facts: RunFacts, judge: str | None) -> ProtocolFigures:
    return _exact(facts, score_rows(facts, "official", judge), judge)


def _strict_figures(facts: RunFacts, judge: str | None) -> ProtocolFigures:
    rows = score_rows(facts, "strict", judge)
    values = values_of(rows)
    by_domain = [[v.value for v in values if v.domain == domain] for domain in {v.domain for v in values}]
    return ProtocolFigures(
        macro=float(np.mean([np.mean(one) for one in by_domain])) if values else None,
        micro=float(np.mean([value.value for value in values])) if values else None,
        n=len(rows),
        n_failed=sum(row.failure is not None for row in rows),
    )


def _spend(calls: Sequence[Call]) -> Spend:
    records = [call.record for call in calls]
    usages = [record.usage or Usage() for record in records]
    prices = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    latencies = [usage.latency_s for usage in usages if usage.latency_s]
    return Spend(
        calls=len(records),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        median_latency_s=float(np.median(latencies)) if latencies else None,
        cost_usd=sum(prices) if prices else None,
        unpriced_calls=len(records) - len(prices),
        truncated=sum(record.outcome == "truncated" for record in records),
        errors=sum(record.outcome == "error" for record in records),
        rows_with_dropped_turns=len({record.row for record in records if record.dropped_turns}),
        dropped_turns=sum(record.dropped_turns for record in records),
    )


def _verdicts(facts: RunFacts, judgements: Sequence[Judgement], seed: int) -> VerdictSummary:
    by_row: dict[str, list[bool]] = {}
    for judgement in judgements:
        if judgement.verdict is not None:
            by_row.setdefault(judgement.row, []).append(judgement.verdict == "prediction")
    refs = [(facts.refs[row], found) for row, found in by_row.items()]
    values = [Value(ref.key, ref.domain, ref.trajectory, 100 * sum(found) / len(found)) for ref, found in refs]
    figure = micro(values, seed)
    return VerdictSummary(
        chosen=figure.value,
        interval=figure.interval,
        n=len(by_row),
        counts=dict(Counter(judgement.verdict for judgement in judgements if judgement.verdict is not None)),
        failures=sum(judgement.verdict is None for judgement in judgements),
    )


def _repeats(facts: RunFacts, judge: str | None) -> RepeatSummary:
    rows = [row.repeats for row in repeats_of(facts, judge)]
    return RepeatSummary(
        n=len(rows),
        mean_sd=float(np.mean([np.std(scores, ddof=1) for scores in rows])) if rows else None,
        identical=float(np.mean([len(set(scores)) == 1 for scores in rows])) if rows else None,
    )


def _reason_counts(rows: Sequence[Difference]) -> dict[str, int]:
    counts = Counter(reason.split(":")[0] for row in rows for reason in row.reasons)
    return dict(counts.most_common())


def _distinct(calls: Iterable[Call], of: Callable[[Call], str]) -> list[str]:
    return list(dict.fromkeys(value for value in map(of, calls) if value))


def _seeds(calls: Sequence[Call]) -> list[int]:
    return sorted({call.record.seed for call in calls if call.record.seed is not None})


def _samplings(calls: Sequence[Call]) -> list[JsonDict]:
    """Return the settings that calls were made with, the most frequent ones first; seeds are told apart from them."""
    plain = ({name: value for name, value in call.record.sampling.items() if name != "seed"} for call in calls)
    counts = Counter(canonical_json(sampling) for sampling in plain)
    return [json.loads(text) for text, _ in counts.most_common(_MOST_SAMPLINGS)]


def _versions(generations: Sequence[Call], judged: Sequence[Call]) -> dict[str, list[str]]:
    found = {
        "generation_prompts": _distinct(generations, lambda call: call.record.prompt_version),
        "judge_prompts": _distinct(judged, lambda call: call.record.prompt_version),
        "python": [platform.python_version()],
    }
    for package in ("worldline", "scipy", "numpy"):
        try:
            found[package] = [version(package)]
        except PackageNotFoundError:
            continue
    return found
