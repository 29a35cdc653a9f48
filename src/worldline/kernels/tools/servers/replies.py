"""How server kernels word a proposal, and how they give up."""

from __future__ import annotations

from worldline.kernels.base import Proposal
from worldline.types import Observation

__all__ = ["Unsure", "failed", "guessed", "told"]


class Unsure(Exception):
    """The answer rests on something that is not known; the message says what.

    Args:
        why: What is not known.
        guess: The likeliest answer, where there is one.
        failed: Whether that answer is an error.
    """

    def __init__(self, why: str, guess: str = "", *, failed: bool = False) -> None:
        super().__init__(why)
        self.guess = guess
        self.failed = failed


def told(text: str, *classes: str, why: str = "", writes: tuple[str, ...] = ()) -> Proposal:
    """Answer a call that went well."""
    observation = Observation.from_text(text, is_error=False)
    return Proposal(observation, known=True, classes=classes, why=why or "computed", writes=writes)


def failed(text: str, *classes: str, why: str = "") -> Proposal:
    """Answer a call that the server refuses."""
    return Proposal(Observation.from_text(text, is_error=True), known=True, classes=classes, why=why or "refused")


def guessed(unsure: Unsure, *classes: str) -> Proposal:
    """Answer with the likeliest text where the true one is not known."""
    observation = Observation.from_text(unsure.guess, is_error=unsure.failed)
    return Proposal(observation, known=False, classes=classes, why=str(unsure))
