"""The judge-free metrics of Worldline-Real, from scored turns to one row of the table (design section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from worldline.types import Frozen, Origin

__all__ = [
    "COVERAGES",
    "BenchRow",
    "Interval",
    "TurnScore",
    "auroc",
    "clustered_interval",
    "exact_at_coverage",
    "rate_interval",
    "ratio_interval",
    "row",
]

COVERAGES = (0.5, 0.7, 0.9)
_RESAMPLES = 2000

Interval = tuple[float, float]


class TurnScore(Frozen):
    """One predicted turn, compared with reality."""

    trajectory: str
    turn: int
    """0-based position."""
    cluster: str
    """Unit of resampling: the task family, or the trajectory where there is none."""
    exact: bool
    error_agrees: bool | None
    """None where the truth does not say whether it is an error."""
    structured: bool
    rouge_l: float
    confidence: float
    abstained: bool
    origin: str
    determined: bool | None
    """Session-determined, where it was recorded."""
    knowable: bool
    """The same action stands in memory or earlier in the trajectory, or the kernel computes it."""
    silent: bool
    """The true answer is empty and no error: the no-op slice."""
    seconds: float
    classes: tuple[str, ...] = ()
    tool: str = ""
    """The tool that was called."""
    read_again: bool | None = None
    """The answer agrees with what the session showed before; None where the call reads nothing again."""
    failure: str | None = None
    """Type of the error that kept the engine from answering (counted as wrong), or its model (its guess counts)."""


@dataclass(frozen=True, slots=True)
class _Slice:
    n: int
    exact: float | None


class BenchRow(Frozen):
    """One row of the fidelity table. Shares are 0..1; None where a slice is empty."""

    engine: str
    model: str | None
    domain: str
    split: str
    n: int
    """Turns."""
    n_clusters: int
    exact: float | None
    exact_ci: Interval | None
    """95% percentile bootstrap interval, resampled by cluster."""
    exact_session_determined: float | None
    exact_session_determined_ci: Interval | None
    n_session_determined: int
    exact_knowable: float | None
    n_knowable: int
    exact_silent: float | None
    n_silent: int
    structured: float | None
    error_agreement: float | None
    rouge_l: float | None
    abstained: float | None
    exact_answered: float | None
    """Exact among the turns that were answered; guesses of abstentions left out."""
    failures: int
    """Turns in which an error kept the engine, or the model inside it, from answering."""
    exact_at_coverage: dict[str, float | None]
    """Exact among the most confident 50, 70 and 90% of turns; ties in expectation."""
    auroc: float | None
    """Whether confidence tells right from wrong: area under the ROC curve."""
    seconds_per_1000: float | None
    seed: int
    read_again: float | None = None
    """Share of the answers to calls that read again which agree with what was shown before."""
    read_again_ci: Interval | None = None
    n_read_again: int = 0
    """Calls that read again; 0 where the domain has no rule for them."""
    n_generated: int = 0
    """Turns whose answer a model wrote."""
    exact_generated: float | None = None
    """`exact` on these."""


def row(
    scores: Sequence[TurnScore], *, engine: str, model: str | None, domain: str, split: str, seed: int = 0
) -> BenchRow:
    """Sum scored turns up to one row of the table."""
    determined = [s for s in scores if s.determined]
    knowable = _slice([s for s in scores if s.knowable])
    silent = _slice([s for s in scores if s.silent])
    generated = [s for s in scores if s.origin == Origin.GENERATED]
    again = [(s.cluster, s.read_again) for s in scores if s.read_again is not None]
    return BenchRow(
        engine=engine,
        model=model,
        domain=domain,
        split=split,
        n=len(scores),
        n_clusters=len({s.cluster for s in scores}),
        exact=_mean([s.exact for s in scores]),
        exact_ci=clustered_interval(scores, seed),
        exact_session_determined=_mean([s.exact for s in determined]),
        exact_session_determined_ci=clustered_interval(determined, seed),
        n_session_determined=len(determined),
        exact_knowable=knowable.exact,
        n_knowable=knowable.n,
        exact_silent=silent.exact,
        n_silent=silent.n,
        structured=_mean([s.structured for s in scores]),
        error_agreement=_mean([s.error_agrees for s in scores if s.error_agrees is not None]),
        rouge_l=_mean([s.rouge_l for s in scores]),
        abstained=_mean([s.abstained for s in scores]),
        exact_answered=_mean([s.exact for s in scores if not s.abstained]),
        failures=sum(s.failure is not None for s in scores),
        exact_at_coverage={str(c): exact_at_coverage(scores, c) for c in COVERAGES},
        auroc=auroc(scores),
        seconds_per_1000=None if not scores else 1000 * sum(s.seconds for s in scores) / len(scores),
        seed=seed,
        read_again=_mean([agrees for _, agrees in again]),
        read_again_ci=rate_interval(again, seed),
        n_read_again=len(again),
        n_generated=len(generated),
        exact_generated=_mean([s.exact for s in generated]),
    )


def exact_at_coverage(scores: Sequence[TurnScore], coverage: float) -> float | None:
    """Exact rate of the most confident share of turns.

    Turns of equal confidence at the cut count in expectation, as if drawn at random, so that the figure does not
    depend on their order.
    """
    kept = round(coverage * len(scores))
    if kept == 0:
        return None
    groups: dict[float, list[bool]] = {}
    for score in scores:
        groups.setdefault(score.confidence, []).append(score.exact)
    hits, left = 0.0, kept
    for confidence in sorted(groups, reverse=True):
        group = groups[confidence]
        take = min(left, len(group))
        hits += take * sum(group) / len(group)
        left -= take
        if not left:
            break
    return hits / kept


def auroc(scores: Sequence[TurnScore]) -> float | None:
    """Area under the ROC curve of confidence against exactness, by the Mann-Whitney statistic; None if one-sided."""
    right = [s.confidence for s in scores if s.exact]
    wrong = [s.confidence for s in scores if not s.exact]
    if not right or not wrong:
        return None
    statistic = stats.mannwhitneyu(right, wrong).statistic
    return float(statistic / (len(right) * len(wrong)))


def clustered_interval(scores: Sequence[TurnScore], seed: int, confidence: float = 0.95) -> Interval | None:
    """Percentile bootstrap interval of the exact rate, resampling whole clusters; None below two clusters."""
    return rate_interval([(score.cluster, score.exact) for score in scores], seed, confidence)


def rate_interval(trials: Iterable[tuple[str, bool]], seed: int, confidence: float = 0.95) -> Interval | None:
    """Percentile bootstrap interval of a success rate, resampling whole clusters; None below two clusters.

    Args:
        trials: Cluster and success of each trial.
        seed: Of the resampling.
        confidence: Of the interval.
    """
    return ratio_interval(((cluster, success, 1) for cluster, success in trials), seed, confidence)


def ratio_interval(parts: Iterable[tuple[str, int, int]], seed: int, confidence: float = 0.95) -> Interval | None:
    """Percentile bootstrap interval of a ratio of two sums, resampling whole clusters; None below two clusters.

    Args:
        parts: Cluster, and what is added to the upper and to the lower sum (that of each cluster above 0).
        seed: Of the resampling.
        confidence: Of the interval.
    """
    sums: dict[str, list[int]] = {}
    for cluster, upper, lower in parts:
        entry = sums.setdefault(cluster, [0, 0])
        entry[0] += upper
        entry[1] += lower
    if len(sums) < 2:
        return None
    table = np.array(list(sums.values()), dtype=float)

    def rate(upper: NDArray[np.float64], lower: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return np.asarray(upper.sum(axis=axis) / lower.sum(axis=axis))

    if np.ptp(table[:, 0] / table[:, 1]) == 0:
        same = float(table[0, 0] / table[0, 1])
        return (same, same)
    result = stats.bootstrap(
        (table[:, 0], table[:, 1]),
        rate,
        paired=True,
        vectorized=True,
        n_resamples=_RESAMPLES,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    interval = result.confidence_interval
    return (float(interval.low), float(interval.high))


def _slice(scores: Sequence[TurnScore]) -> _Slice:
    return _Slice(len(scores), _mean([s.exact for s in scores]))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
