"""The figures of an audit, as they are written down."""

from __future__ import annotations

from typing import Literal

from worldline.bench.agentworld.records import JudgeMode
from worldline.bench.agentworld.statistics import Figure
from worldline.types import Frozen, Usage

__all__ = [
    "Agreement",
    "AuditReport",
    "Correlation",
    "DimensionFigures",
    "KindFigures",
    "PairFigures",
    "Verdict",
    "VerdictName",
]

VerdictName = Literal[
    "constant", "length-loving", "praise-loving", "order-biased", "inconsistent", "undiscerning", "unreadable"
]


class KindFigures(Frozen):
    """How the judge took one kind of damage."""

    n: int
    """Texts with a score, their truth too."""
    below: float | None
    """Share ranked below the truth, by the mean of the five scores."""
    tied: float | None
    above: float | None
    drops: dict[str, float]
    """Points lost against the truth, by dimension."""
    expected: tuple[str, ...]
    right_dimension: float | None
    """Share in which an expected dimension lost points; where others are to be spared, more than those did."""
    base: str | None = None
    """The kind it builds on, where that is not the truth."""
    against_base: float | None = None
    """Points gained over that base: above 0, the judge likes what was added."""


class DimensionFigures(Frozen):
    """How one dimension reacts."""

    penalised: float | None
    """Share of the damages that should cost it points and did."""
    drop: float | None
    """Points lost there."""
    other_drop: float | None
    """Points lost where it was not expected to suffer."""


class Agreement(Frozen):
    """Of two judgements of the same text."""

    pairs: int
    exact: dict[str, float]
    """Share with equal scores, by dimension."""
    total_difference: float | None
    """Mean absolute difference of the totals, in points of 1..5."""


class Correlation(Frozen):
    """Between the judge's mean score of a text and judge-free metrics; None where one of the two never varies."""

    n: int
    rouge_l: float | None
    """Spearman's rho with ROUGE-L against the truth."""
    rouge_l_by_dimension: dict[str, float | None]
    exact: float | None
    """Point-biserial correlation with being equal to the truth."""


class PairFigures(Frozen):
    """How the judge chose between the truth and a damaged text."""

    n: int
    truth_chosen: float | None
    first_chosen: float | None
    """Share of choices for answer A; each pair is shown in both orders, so that one half is unbiased."""
    p_position: float | None
    """Two-sided binomial test of that share against one half."""
    same_in_both_orders: float | None
    """Share of pairs in which both orders gave the same winner."""


class Verdict(Frozen):
    """A name for a fault of a judge, and the figures that it follows from."""

    name: VerdictName
    why: str


class AuditReport(Frozen):
    """The result of an audit."""

    judge: str
    passed: bool
    """No fault was found."""
    verdicts: tuple[Verdict, ...]
    n_rows: int
    n_texts: int
    n_judgements: int
    n_failed: int
    """Judgements without a score or choice."""
    repeats: int
    seed: int
    prompts: dict[str, str]
    """Version of the prompts, by domain and mode."""
    ranked: Figure
    """Share of damaged texts ranked below the truth; the interval resamples trajectories."""
    kinds: dict[str, KindFigures]
    dimensions: dict[str, DimensionFigures]
    self_agreement: Agreement
    correlation: Correlation
    pairs: dict[JudgeMode, PairFigures]
    usage: Usage
