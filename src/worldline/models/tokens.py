"""Counting tokens: exactly by a tokenizer's file, or by an estimate that seldom says too few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from worldline.errors import ConfigError, boundary, require_extra
from worldline.models.base import Message
from worldline.models.context import estimate_tokens

__all__ = ["MESSAGE_TOKENS", "EstimateCounter", "TokenCounter", "TokenizerCounter", "message_tokens", "token_counter"]

MESSAGE_TOKENS = 16
"""What a chat template adds to a message, at most, for the templates we know."""


class TokenCounter(Protocol):
    """Says how many tokens a text takes."""

    @property
    def name(self) -> str:
        """What it counts by; records name it."""

    def count(self, text: str) -> int:
        """Tokens of a text."""


@dataclass(frozen=True, slots=True)
class EstimateCounter:
    """One token for three bytes (see :func:`estimate_tokens`)."""

    name: str = "estimate"

    def count(self, text: str) -> int:
        """Tokens of a text, roughly."""
        return estimate_tokens(text)


class TokenizerCounter:
    """Counts with a `tokenizer.json` of the `tokenizers` library.

    Args:
        path: The file, or the folder of a model that holds it.

    Raises:
        MissingExtraError: The library is not installed.
        ConfigError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        library = require_extra("tokenizers", "bench")
        file = path / "tokenizer.json" if path.is_dir() else path
        if not file.is_file():
            raise ConfigError(f"there is no tokenizer {file}", hint="give a tokenizer.json, or a folder that holds one")
        with boundary(ConfigError, f"reading {file}", Exception):
            # The library raises nothing narrower than Exception for a file that it cannot read.
            self._tokenizer = library.Tokenizer.from_file(str(file))
        self.name = file.parent.name if path.is_dir() else file.name

    def count(self, text: str) -> int:
        """Tokens of a text, without any that a template adds."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def token_counter(path: Path | None) -> TokenCounter:
    """Build the counter for a tokenizer's file; the estimate where there is none.

    Raises:
        MissingExtraError: The library is not installed.
        ConfigError: The file cannot be read.
    """
    return EstimateCounter() if path is None else TokenizerCounter(path)


def message_tokens(messages: Sequence[Message], counter: TokenCounter) -> int:
    """Tokens of a conversation, with what a chat template adds."""
    return sum(counter.count(message["content"]) + MESSAGE_TOKENS for message in messages)
