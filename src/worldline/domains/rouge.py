"""ROUGE-L: how much of a text's word sequence another one shares."""

from __future__ import annotations

from rapidfuzz.distance import LCSseq

__all__ = ["TOKEN_CAP", "rouge_l"]

TOKEN_CAP = 2000
"""Tokens of each text that count; what lies behind is left out on both sides."""


def rouge_l(predicted: str, truth: str, *, cap: int = TOKEN_CAP) -> float:
    """ROUGE-L F1 (Lin 2004, beta = 1) over blank-separated tokens, case kept.

    Args:
        predicted: One text.
        truth: The other one; the measure is symmetric.
        cap: Only the first `cap` tokens of each count.

    Returns:
        A share in 0..1; two texts without tokens agree fully, one without against one with not at all.
    """
    if predicted == truth:
        return 1.0
    left, right = predicted.split(None, cap)[:cap], truth.split(None, cap)[:cap]
    if not left or not right:
        return float(not left and not right)
    return 2 * LCSseq.similarity(left, right) / (len(left) + len(right))
