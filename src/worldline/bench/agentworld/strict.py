"""Protocol `strict`, the default: five integers from 1 to 5 or a recorded failure, and a failure counts as worst.

A row's score is the mean of its five dimensions on the scale of 0 to 100, `(raw - 1) / 4 * 100`. A row whose
generation failed, or that no judge could score, has 0 in every dimension.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from worldline.bench.agentworld.extraction import Extraction
from worldline.bench.agentworld.records import DIMENSIONS, Generation

__all__ = ["WORST", "Failure", "StrictRow", "generation_failure", "scaled", "strict_row", "valid_scores"]

Failure = Literal["generation error", "empty generation", "truncated without an answer", "judge failure"]

WORST = 0.0
"""What a failed row counts as, on the scale of 0 to 100."""


@dataclass(frozen=True, slots=True)
class StrictRow:
    """A scored row, on the scale of 0 to 100."""

    dimensions: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(DIMENSIONS, WORST))
    failure: Failure | None = None
    repeats: tuple[float, ...] = ()
    """The score by each judgement that could be read."""
    failed_repeats: int = 0

    @property
    def score(self) -> float:
        """Mean of the five dimensions."""
        return sum(self.dimensions[name] for name in DIMENSIONS) / len(DIMENSIONS)


def scaled(raw: float) -> float:
    """Put a score of 1..5 on the scale of 0 to 100 (paper section 4.2)."""
    return (raw - 1) / 4 * 100


def generation_failure(generation: Generation, extraction: Extraction | None) -> Failure | None:
    """Say why a generation predicts nothing; None where it predicts something.

    Args:
        generation: What the model answered.
        extraction: What was found in it (:func:`~worldline.bench.agentworld.extraction.extract_prediction`).
    """
    if generation.outcome == "error":
        return "generation error"
    if extraction is not None:
        return None
    return "truncated without an answer" if generation.outcome == "truncated" else "empty generation"


def valid_scores(scores: Mapping[str, int] | None) -> bool:
    """Whether these are the five dimensions, each an integer from 1 to 5."""
    if scores is None or set(scores) != set(DIMENSIONS):
        return False
    return all(type(value) is int and 1 <= value <= 5 for value in scores.values())


def strict_row(failure: Failure | None, judgements: Sequence[Mapping[str, int] | None]) -> StrictRow:
    """Score a row.

    Args:
        failure: Why there is no prediction, if there is none.
        judgements: The scores of each judgement of the prediction, one for each repeat; None for a judge failure.
            A dimension is the mean of those that could be read.
    """
    if failure is not None:
        return StrictRow(failure=failure)
    read = [scores for scores in judgements if scores is not None and valid_scores(scores)]
    failed = len(judgements) - len(read)
    if not read:
        return StrictRow(failure="judge failure", failed_repeats=failed)
    dimensions = {name: scaled(sum(scores[name] for scores in read) / len(read)) for name in DIMENSIONS}
    repeats = tuple(scaled(sum(scores.values()) / len(scores)) for scores in read)
    return StrictRow(dimensions, repeats=repeats, failed_repeats=failed)
