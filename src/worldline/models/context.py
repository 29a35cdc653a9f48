"""Fitting a long history into a model's context without spoiling its prefix cache."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["estimate_tokens", "turns_to_drop"]

_BYTES_PER_TOKEN = 3
"""Lower than what tokenisers reach on code and logs (3.5 to 4), so that an estimate errs on the safe side."""


def estimate_tokens(text: str) -> int:
    """Roughly how many tokens a text takes; seldom too few."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def turns_to_drop(turns: Sequence[int], *, fixed: int, budget: int) -> int:
    """How many of the oldest turns have to go, in jumps.

    Whenever the history outgrows its room, it is cut to half of it, so that the prompt's prefix then stays the same
    for many turns. The answer follows from the history alone: asked again with a longer one, it repeats the same jumps.

    Args:
        turns: Tokens of each turn, oldest first.
        fixed: Tokens of everything else: system message, last user message and the answer's reserve. Give an upper
            bound that is the same for every turn of a session, or the jumps move.
        budget: Tokens the model can take.

    Returns:
        The number of turns to leave out; the latest one goes only if it does not fit by itself.
    """
    room = max(0, budget - fixed)
    start = total = 0
    for index, tokens in enumerate(turns):
        total += tokens
        if total <= room:
            continue
        while start <= index and (total > room or (total > room // 2 and start < index)):
            total -= turns[start]
            start += 1
    return start
