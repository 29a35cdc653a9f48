"""What computes a local model's answers: one set of weights in one library."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worldline.errors import ModelError
from worldline.models.base import Message, Sampling

__all__ = ["Backend", "Written", "check_fits"]


@dataclass(frozen=True, slots=True)
class Written:
    """What a backend wrote."""

    text: str
    finish_reason: str
    """`stop` or `length`."""
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    """Prompt tokens whose computation was left from the call before."""


def check_fits(tokens: Sequence[int], context: int) -> None:
    """Check that a prompt leaves room for an answer.

    Raises:
        ModelError: It does not.
    """
    if len(tokens) >= context:
        raise ModelError(
            f"the prompt has {len(tokens)} tokens, and the model's context {context}",
            hint="give it a longer context, or the world fewer files and demonstrations",
        )


class Backend(Protocol):
    """Computes with one set of weights; used by one thread at a time."""

    @property
    def reasons(self) -> bool:
        """Whether the model is one that reasons before it answers, by its chat template."""

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of a conversation, laid out as the model is asked."""

    def write(
        self, messages: Sequence[Message], sampling: Sampling, stop: threading.Event, opening: str = ""
    ) -> Written:
        """Continue a conversation; `stop` ends it early.

        Args:
            messages: The conversation.
            sampling: How to sample.
            stop: Set by whoever no longer wants the answer.
            opening: What the answer begins with; it is part of the text that is returned.

        Raises:
            ModelError: The conversation does not fit into the context.
            ConfigError: `sampling.extra` holds what the backend does not know.
        """

    def close(self) -> None:
        """Free the weights."""
