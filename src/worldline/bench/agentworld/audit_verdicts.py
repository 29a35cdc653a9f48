"""Names for what is wrong with a judge, each by a rule over the figures of its audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from scipy import stats

from worldline.bench.agentworld.audit_records import Agreement, PairFigures, Verdict
from worldline.bench.agentworld.audit_scores import Scored
from worldline.bench.agentworld.records import JudgeMode
from worldline.bench.agentworld.statistics import Figure

__all__ = ["audit_verdicts"]

_SAME = 0.95
"""A judge that gives the same five scores to this share of all texts is constant."""
_LEVEL = 0.05
"""Of the one-sided sign tests."""
_POSITION = 0.2
"""How far from one half the share of choices for one position may be."""
_SPREAD = 0.5
"""Points by which two judgements of the same text may differ on average."""
_RANKED = 0.75
"""Share of damaged texts that have to be ranked below the truth."""
_UNREAD = 0.1


def audit_verdicts(
    scored: Scored,
    *,
    ranked: Figure,
    agreement: Agreement,
    pairs: Mapping[JudgeMode, PairFigures],
    failed: int,
    asked: int,
) -> tuple[Verdict, ...]:
    """Name the faults of a judge.

    Args:
        scored: Its rubric scores.
        ranked: Share of damaged texts ranked below the truth.
        agreement: With itself.
        pairs: Its choices between two answers.
        failed: Judgements without a score or choice.
        asked: All judgements.
    """
    return (
        *_unreadable(failed, asked),
        *_constant(scored),
        *_loving(scored),
        *_order_biased(pairs),
        *_inconsistent(agreement),
        *_undiscerning(ranked),
    )


def _unreadable(failed: int, total: int) -> Iterable[Verdict]:
    if total and failed / total > _UNREAD:
        yield Verdict(name="unreadable", why=f"{failed} of {total} judgements gave no score or choice")


def _constant(scored: Scored) -> Iterable[Verdict]:
    given = [tuple(scores.values()) for all_scores in scored.repeats.values() for scores in all_scores]
    if len(given) < 2:
        return
    most = max(given.count(one) for one in set(given))
    if most / len(given) >= _SAME:
        yield Verdict(name="constant", why=f"{most} of {len(given)} judgements gave the same five scores")


def _loving(scored: Scored) -> Iterable[Verdict]:
    """Added text must not be rewarded: neither for being long nor, at the same length, for praise."""
    padded = _gains(scored, "padding", None)
    if _raises(padded):
        yield Verdict(name="length-loving", why=_gain_text("more text of the same sort raised the score", padded))
    praised, stray = _gains(scored, "self_praise", None), _gains(scored, "self_praise", "remark")
    if _raises(praised) and _raises(stray):
        why = _gain_text("praise raised the score, also over stray text of its length", praised)
        yield Verdict(name="praise-loving", why=why)


def _gains(scored: Scored, kind: str, base: str | None) -> list[float]:
    """Points that a kind gained over its own base, or over another kind."""
    gains = []
    for (row, name), case in scored.cases.items():
        own, other = scored.total((row, name)), scored.total((row, base or case.base))
        if name == kind and own is not None and other is not None:
            gains.append(own - other)
    return gains


def _raises(gains: Sequence[float]) -> bool:
    """Whether most gains are up, by a one-sided sign test too."""
    up, down = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    if not gains or up / len(gains) < 0.5:
        return False
    return float(stats.binomtest(up, up + down, 0.5, alternative="greater").pvalue) < _LEVEL


def _gain_text(what: str, gains: Sequence[float]) -> str:
    up = sum(gain > 0 for gain in gains)
    return f"{what} in {up} of {len(gains)} cases, by {fmean(gains):+.2f} points on average"


def _order_biased(pairs: Mapping[JudgeMode, PairFigures]) -> Iterable[Verdict]:
    found = [
        f"{mode}: answer A was chosen in {100 * figures.first_chosen:.0f}% of {figures.n}"
        for mode, figures in pairs.items()
        if figures.first_chosen is not None
        and figures.p_position is not None
        and abs(figures.first_chosen - 0.5) >= _POSITION
        and figures.p_position < _LEVEL
    ]
    if found:
        yield Verdict(name="order-biased", why="; ".join(found))


def _inconsistent(agreement: Agreement) -> Iterable[Verdict]:
    difference = agreement.total_difference
    if difference is not None and difference >= _SPREAD:
        yield Verdict(
            name="inconsistent", why=f"two judgements of the same text differ by {difference:.2f} points on average"
        )


def _undiscerning(ranked: Figure) -> Iterable[Verdict]:
    if ranked.value is not None and ranked.value < _RANKED:
        yield Verdict(
            name="undiscerning", why=f"only {100 * ranked.value:.0f}% of damaged texts were ranked below the truth"
        )
