"""What computes a local model's answers: one set of weights in one library."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worldline.models.base import Message, Sampling

__all__ = ["Backend", "Written"]


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


class Backend(Protocol):
    """Computes with one set of weights; used by one thread at a time."""

    def write(self, messages: Sequence[Message], sampling: Sampling, stop: threading.Event) -> Written:
        """Continue a conversation; `stop` ends it early.

        Raises:
            ModelError: The conversation does not fit into the context.
            ConfigError: `sampling.extra` holds what the backend does not know.
        """

    def close(self) -> None:
        """Free the weights."""
