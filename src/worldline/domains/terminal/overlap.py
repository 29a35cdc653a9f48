"""ROUGE-L: how much of a text's word sequence another one shares."""

from __future__ import annotations

from collections.abc import Sequence

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
    return 2 * _lcs_length(left, right) / (len(left) + len(right))


def _lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): one big-integer step per token.

    It stands here, and not in an optional library, because comparing belongs to the core.
    """
    positions: dict[str, int] = {}
    for index, token in enumerate(left):
        positions[token] = positions.get(token, 0) | 1 << index
    full = (1 << len(left)) - 1
    row = full
    for token in right:
        matched = row & positions.get(token, 0)
        row = (row + matched | row - matched) & full
    return len(left) - row.bit_count()
