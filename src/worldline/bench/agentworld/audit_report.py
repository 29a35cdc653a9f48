"""What an audit says about a judge: figures by kind of damage, by dimension, and over all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
from scipy import stats

from worldline.bench.agentworld.audit import TRUTH, Judged
from worldline.bench.agentworld.audit_records import (
    Agreement,
    AuditReport,
    Correlation,
    DimensionFigures,
    KindFigures,
    PairFigures,
)
from worldline.bench.agentworld.audit_scores import Scored, total_of
from worldline.bench.agentworld.audit_verdicts import audit_verdicts
from worldline.bench.agentworld.damage import KINDS
from worldline.bench.agentworld.records import DIMENSIONS, JudgeMode
from worldline.bench.agentworld.statistics import Value, micro
from worldline.types import JsonDict, Usage

__all__ = ["audit_report"]


def audit_report(judged: Sequence[Judged], *, judge: str, repeats: int, seed: int = 0) -> AuditReport:
    """Sum up what an audit asked.

    Args:
        judged: Its judgements.
        judge: The judge's name.
        repeats: Judgements of each text.
        seed: Of the audit and of the bootstrap.
    """
    scored = Scored(judged)
    kinds = {name: _kind(scored, name) for name in KINDS}
    modes: tuple[JudgeMode, ...] = ("turing", "pairwise")
    pairs = {mode: _pairs(judged, mode) for mode in modes if any(j.judgement.mode == mode for j in judged)}
    ranked = micro(list(_ranked(scored)), seed)
    agreement = _agreement(scored)
    failed = sum(j.judgement.scores is None and j.judgement.verdict is None for j in judged)
    verdicts = audit_verdicts(scored, ranked=ranked, agreement=agreement, pairs=pairs, failed=failed, asked=len(judged))
    return AuditReport(
        judge=judge,
        passed=not verdicts,
        verdicts=verdicts,
        n_rows=len({item.case.row.key for item in judged}),
        n_texts=len({(item.case.row.key, item.case.kind) for item in judged}),
        n_judgements=len(judged),
        n_failed=failed,
        repeats=repeats,
        seed=seed,
        prompts={f"{j.case.row.domain} {j.judgement.mode}": j.judgement.prompt_version for j in judged},
        ranked=ranked,
        kinds={name: figures for name, figures in kinds.items() if figures.n},
        dimensions={name: _dimension(scored, name) for name in DIMENSIONS},
        self_agreement=agreement,
        correlation=_correlation(scored),
        pairs=pairs,
        usage=_usage(judged),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _kind(scored: Scored, name: str) -> KindFigures:
    kind = KINDS[name]
    found = scored.against(name, TRUTH)
    changes = [total_of(own) - total_of(truth) for _, own, truth in found]
    drops = {dim: fmean(truth[dim] - own[dim] for _, own, truth in found) for dim in DIMENSIONS} if found else {}
    right = []
    for _, own, truth in found:
        lost = {dim: truth[dim] - own[dim] for dim in DIMENSIONS}
        most = max(lost[dim] for dim in kind.expected)
        right.append(most > max([0.0, *(lost[dim] for dim in kind.spared)]))
    bases = {case.base for case, _, _ in found} - {TRUTH}
    base = bases.pop() if bases else None
    gained = [total_of(own) - total_of(other) for _, own, other in scored.against(name, base)] if base else []
    return KindFigures(
        n=len(found),
        below=_mean([change < 0 for change in changes]),
        tied=_mean([change == 0 for change in changes]),
        above=_mean([change > 0 for change in changes]),
        drops=drops,
        expected=kind.expected,
        right_dimension=_mean(right),
        base=base,
        against_base=_mean(gained),
    )


def _ranked(scored: Scored) -> Iterable[Value]:
    for kind in KINDS:
        for case, own, truth in scored.against(kind, TRUTH):
            below = float(total_of(own) < total_of(truth))
            yield Value(f"{case.row.key} {kind}", case.row.domain, case.row.trajectory, below)


def _dimension(scored: Scored, dimension: str) -> DimensionFigures:
    expected: list[float] = []
    other: list[float] = []
    for name, kind in KINDS.items():
        for _, own, truth in scored.against(name, TRUTH):
            (expected if dimension in kind.expected else other).append(truth[dimension] - own[dimension])
    return DimensionFigures(
        penalised=_mean([drop > 0 for drop in expected]), drop=_mean(expected), other_drop=_mean(other)
    )


def _agreement(scored: Scored) -> Agreement:
    pairs = [pair for scores in scored.repeats.values() for pair in combinations(scores, 2)]
    exact = {dim: fmean(one[dim] == other[dim] for one, other in pairs) for dim in DIMENSIONS} if pairs else {}
    differences = [abs(total_of(one) - total_of(other)) for one, other in pairs]
    return Agreement(pairs=len(pairs), exact=exact, total_difference=_mean(differences))


def _correlation(scored: Scored) -> Correlation:
    keys = list(scored.means)
    overlap = [scored.cases[key].rouge_l for key in keys]
    exact = [float(scored.cases[key].exact) for key in keys]
    totals = [total_of(scored.means[key]) for key in keys]
    by_dimension = {dim: _spearman([scored.means[key][dim] for key in keys], overlap) for dim in DIMENSIONS}
    biserial = float(stats.pointbiserialr(exact, totals).statistic) if _vary(exact, totals) else None
    return Correlation(
        n=len(keys), rouge_l=_spearman(totals, overlap), rouge_l_by_dimension=by_dimension, exact=biserial
    )


def _spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    return float(stats.spearmanr(one, other).statistic) if _vary(one, other) else None


def _vary(*series: Sequence[float]) -> bool:
    return all(len(values) > 2 and float(np.ptp(values)) > 1e-9 for values in series)


def _pairs(judged: Sequence[Judged], mode: JudgeMode) -> PairFigures:
    chosen = [j for j in judged if j.judgement.mode == mode and j.chose_first is not None]
    if not chosen:
        return PairFigures(n=0, truth_chosen=None, first_chosen=None, p_position=None, same_in_both_orders=None)
    winners: dict[str, list[str | None]] = defaultdict(list)
    for item in chosen:
        winners[item.case.row.key].append(item.judgement.verdict)
    first = sum(bool(item.chose_first) for item in chosen)
    both = [len(set(names)) == 1 for names in winners.values() if len(names) == 2]
    return PairFigures(
        n=len(chosen),
        truth_chosen=fmean(item.judgement.verdict == TRUTH for item in chosen),
        first_chosen=first / len(chosen),
        p_position=float(stats.binomtest(first, len(chosen), 0.5).pvalue),
        same_in_both_orders=_mean(both),
    )


def _usage(judged: Sequence[Judged]) -> Usage:
    found = [item.judgement.usage for item in judged if item.judgement.usage is not None]
    costs = [usage.cost_usd for usage in found if usage.cost_usd is not None]
    counts: JsonDict = {
        name: sum(getattr(usage, name) for usage in found)
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "latency_s")
    }
    return Usage(**counts, cost_usd=sum(costs) if costs else None)
