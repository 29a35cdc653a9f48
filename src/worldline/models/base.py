"""What a chat model is: messages in, an answer with its reasoning and its cost out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypedDict, runtime_checkable

from worldline.types import JsonDict, Usage

__all__ = ["ChatModel", "Message", "ModelAnswer", "Sampling"]


class Message(TypedDict):
    """One chat message; `content` is text."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings; None leaves the choice to the server."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: JsonDict = field(default_factory=dict)
    """Fields passed through in the request body (`chat_template_kwargs`, ...)."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered. `content` never holds reasoning; `reasoning` is None where there was none."""

    content: str
    reasoning: str | None
    finish_reason: str
    usage: Usage
    model: str
    cached: bool = False
    """Answered from the response cache, at no cost."""
    raw: str | None = None
    """The content as it came, reasoning that stands in it included; None: as `content`."""
    tries: int = 1
    """Requests it took."""

    @property
    def as_sent(self) -> str:
        """The content as the model gave it: what protocols that do their own parsing read."""
        return self.content if self.raw is None else self.raw


@runtime_checkable
class ChatModel(Protocol):
    """Any chat model: an endpoint, a local one, or the scripted fake."""

    name: str

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer a conversation.

        Raises:
            ModelError: No usable answer (see the tree in `errors`).
        """

    async def aclose(self) -> None:
        """Free connections."""
