"""Telling a model that fails now and then from one that is gone."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.errors import EndpointError, ModelError
from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling

__all__ = ["WatchedModel"]

_FIRST = 3
"""Failures in a row at which a model that never answered is given up."""


class WatchedModel:
    """A chat model whose failures in a row are counted; answers from a cache say nothing about it.

    Args:
        watched: The model that answers.
        patience: Failures in a row at which one that has answered before counts as gone.
    """

    def __init__(self, watched: ChatModel, patience: int = 12) -> None:
        self.watched = watched
        self.name = watched.name
        self.patience = patience
        self._failures = 0
        self._answered = False
        self._last: ModelError | None = None

    @property
    def inner(self) -> ChatModel:
        """The model behind cache and watch, which callers look at to know its kind."""
        found: ChatModel = getattr(self.watched, "inner", self.watched)
        return found

    @property
    def context_length(self) -> int | None:
        """Tokens the model can take, if known."""
        return getattr(self.watched, "context_length", None)

    @property
    def cache_identity(self) -> dict[str, object] | None:
        """What tells this model's answers from another's."""
        return getattr(self.inner, "cache_identity", None)

    def effective_sampling(self, sampling: Sampling | None) -> Sampling | None:
        """The sampling a call will be made with, as far as the model tells."""
        effective = getattr(self.watched, "effective_sampling", None)
        return effective(sampling) if effective is not None else sampling

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer a conversation, as the watched model does.

        Raises:
            ModelError: As the watched model does.
        """
        try:
            answer = await self.watched.complete(messages, sampling)
        except ModelError as error:
            if error.transient:
                self._failures += 1
                self._last = error
            raise
        if not answer.cached:
            self._failures, self._answered = 0, True
        return answer

    def check(self) -> None:
        """Make sure that it is worth asking on.

        Raises:
            EndpointError: It failed so often in a row that it is gone.
        """
        if self._last is not None and self._failures >= (self.patience if self._answered else _FIRST):
            raise EndpointError(
                f"{self.name} failed {self._failures} times in a row: {self._last.message}",
                hint="once it is back, the same command goes on where it stopped",
            ) from self._last

    async def aclose(self) -> None:
        """Close the watched model."""
        await self.watched.aclose()
