"""Means over rows and domains, their intervals, and paired differences between runs.

Rows of one trajectory share most of their history, so the trajectory is what is resampled, never the row. The
statistics are scipy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from worldline.types import Frozen

__all__ = ["Figure", "Paired", "Value", "macro", "micro", "paired"]

Interval = tuple[float, float]
_RESAMPLES = 2000
_BATCH = 200
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Value:
    """A row's figure and where it belongs."""

    row: str
    domain: str
    trajectory: str
    value: float


class Figure(Frozen):
    """A mean with its interval."""

    value: float | None
    """None where there is nothing to take the mean of."""
    interval: Interval | None
    """95% percentile bootstrap interval, whole trajectories resampled; None where a stratum has fewer than two."""
    n: int
    n_trajectories: int


class Paired(Frozen):
    """The mean difference of two runs, first minus second, on the rows that both scored."""

    macro: Figure
    micro: Figure
    p_macro: float | None
    """Two-sided p of the macro difference: the runs' labels swapped by trajectory; None below two trajectories."""
    per_domain: dict[str, Figure]
    n: int
    only_first: int
    """Rows that only the first run scored."""
    only_second: int


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Sum and number of rows by trajectory."""

    sums: NDArray[np.float64]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, values: Sequence[Value]) -> _Clusters:
        table: dict[str, list[float]] = {}
        for value in values:
            entry = table.setdefault(value.trajectory, [0.0, 0.0])
            entry[0] += value.value
            entry[1] += 1
        array = np.array(list(table.values()), dtype=float).reshape(-1, 2)
        return cls(array[:, 0], array[:, 1])

    def means(self, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the mean over the rows of the chosen trajectories, along the last axis."""
        means: NDArray[np.float64] = self.sums[chosen].sum(axis=-1) / self.counts[chosen].sum(axis=-1)
        return means


def micro(values: Sequence[Value], seed: int = 0) -> Figure:
    """Mean over all rows, whatever their domain."""
    return _stratified({"": values} if values else {}, seed)


def macro(values: Sequence[Value], seed: int = 0) -> Figure:
    """Plain mean of the domains' means; trajectories are resampled within their domains."""
    return _stratified(_by_domain(values), seed)


def paired(first: Sequence[Value], second: Sequence[Value], seed: int = 0) -> Paired:
    """Compare two runs on the rows that both scored."""
    theirs = {value.row: value for value in second}
    common = [value for value in first if value.row in theirs]
    changes = [Value(v.row, v.domain, v.trajectory, v.value - theirs[v.row].value) for v in common]
    return Paired(
        macro=macro(changes, seed),
        micro=micro(changes, seed),
        p_macro=_swap_test(changes, seed),
        per_domain={domain: micro(rows, seed) for domain, rows in _by_domain(changes).items()},
        n=len(common),
        only_first=len(first) - len(common),
        only_second=len(second) - len(common),
    )


def _by_domain(values: Sequence[Value]) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for value in values:
        found.setdefault(value.domain, []).append(value)
    return found


def _stratified(strata: Mapping[str, Sequence[Value]], seed: int) -> Figure:
    clusters = [_Clusters.of(values) for values in strata.values()]
    means = [float(np.mean([value.value for value in values])) for values in strata.values()]
    return Figure(
        value=float(np.mean(means)) if means else None,
        interval=_interval(clusters, seed),
        n=sum(len(values) for values in strata.values()),
        n_trajectories=sum(len(one.sums) for one in clusters),
    )


def _interval(clusters: Sequence[_Clusters], seed: int) -> Interval | None:
    if not clusters or any(len(one.sums) < 2 for one in clusters):
        return None

    def statistic(*chosen: NDArray[np.intp], axis: int = -1) -> NDArray[np.float64]:
        parts = [one.means(np.asarray(places, np.intp)) for one, places in zip(clusters, chosen, strict=True)]
        return np.asarray(np.mean(parts, axis=0))

    result = stats.bootstrap(
        tuple(np.arange(len(one.sums)) for one in clusters),
        statistic,
        paired=False,
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=_BATCH,
        confidence_level=_LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return (float(result.confidence_interval.low), float(result.confidence_interval.high))


def _swap_test(changes: Sequence[Value], seed: int) -> float | None:
    """Test whether the macro difference is 0: each trajectory's sum of changes keeps or turns its sign at random."""
    domains = _by_domain(changes)
    parts = [_Clusters.of(rows).sums / (len(rows) * len(domains)) for rows in domains.values()]
    sums = np.concatenate(parts) if parts else np.empty(0)
    if len(sums) < 2:
        return None
    result = stats.permutation_test(
        (sums, np.zeros_like(sums)),
        lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=_BATCH,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)
