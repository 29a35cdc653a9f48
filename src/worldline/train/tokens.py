"""Rows to tokens: ids, and how much each token counts in the loss.

A conversation is tokenised as :mod:`worldline.models.templates` does when the model is asked: what the chat template
writes is structure, what a message holds is plain text. So training sees exactly what asking will show. In the loss
count the tokens of the messages with a weight, and the token that ends each of them; nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.errors import ConfigError
from worldline.models.base import Message

__all__ = ["CHATML", "Encoded", "Encoder", "Fitting", "TokenSource", "require_template"]

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + eos_token + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""Fallback for tokenizers without a chat template; the tokenizer's own end token ends a message, so that the model need
not learn a new one."""

_PLACE = re.compile("\ue000([0-9]+)\ue001")
_AROUND = 32
"""Tokens that a template writes around a message, at most, as far as leaving turns out in one go is concerned."""
_OPEN, _CLOSE = "<think>\n", "\n</think>\n\n"


class TokenSource(Protocol):
    """What is needed of a tokenizer."""

    def render(self, messages: Sequence[Message], prompt: bool) -> str:
        """Lay a conversation out by the chat template; with `prompt`, open the assistant's turn at the end."""

    def structure(self, text: str) -> list[int]:
        """Tokenise what a template writes; special tokens count."""

    def content(self, text: str) -> list[int]:
        """Tokenise what a message holds; nothing in it is special."""

    @property
    def special(self) -> frozenset[int]:
        """Ids of special tokens."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A row as a model sees it."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]
    """Of each token in the loss, as what is predicted; 0: context only."""
    row: str
    """Id of the row it is made of."""
    dropped_turns: int = 0
    """Earliest turns left out for want of room."""

    @property
    def learned(self) -> int:
        """Tokens that count in the loss."""
        return sum(weight > 0 for weight in self.weights)


@dataclass(slots=True)
class Fitting:
    """What fitting rows into the context did to them."""

    rows: int = 0
    truncated: int = 0
    """Rows that lost turns at their beginning."""
    dropped_turns: int = 0
    too_long: list[str] = field(default_factory=list)
    """Rows left out because their last turn alone does not fit."""
    nothing_learned: int = 0
    """Rows left out because every token of them is context."""

    def as_record(self) -> dict[str, int | list[str]]:
        """Return it as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


class Encoder:
    """Turns rows into tokens that fit into a context.

    Args:
        tokens: The tokenizer.
        context: Longest row in tokens.
        reasoning: Whether the reasoning of messages is learned with them.
        windows: Whether turns that do not fit are learned as rows of their own.
    """

    def __init__(self, tokens: TokenSource, context: int, *, reasoning: bool = False, windows: bool = False) -> None:
        self._tokens = tokens
        self.context = context
        self._reasoning = reasoning
        self._windows = windows
        self.fitting = Fitting()

    def encode(self, rows: Iterable[TrainingRow]) -> Iterator[Encoded]:
        """Encode rows one after the other; :attr:`fitting` says what was left out."""
        for row in rows:
            self.fitting.rows += 1
            yield from self._fitted(row)

    def prompt(self, messages: Sequence[TrainingMessage]) -> list[int]:
        """Tokenise what a model is asked with, the opening of its answer included."""
        ids, _ = self._laid_out(messages, prompt=True)
        return ids

    def fitted_prompt(self, messages: Sequence[TrainingMessage]) -> tuple[TrainingMessage, ...] | None:
        """Drop the earliest turns of a prompt until it fits; None where its last message alone does not."""
        kept, dropped = tuple(messages), 0
        while len(self.prompt(kept)) > self.context:
            if len(kept) - _head(kept) < 3:
                return None
            kept = _without_first_turn(kept)
            dropped += 1
        self.fitting.truncated += bool(dropped)
        self.fitting.dropped_turns += dropped
        return kept

    def _fitted(self, row: TrainingRow) -> Iterator[Encoded]:
        left = row.messages
        while True:
            kept = left
            ids, weights = self._row(kept)
            while len(ids) > self.context and len(kept) - _head(kept) > 3:
                kept = _without_first_turn(kept, len(ids) - self.context)
                ids, weights = self._row(kept)
            dropped = (len(left) - len(kept)) // 2
            if len(ids) > self.context:
                self.fitting.too_long.append(row.id)
            elif not any(weights):
                self.fitting.nothing_learned += 1
            else:
                yield Encoded(tuple(ids), tuple(weights), row.id, dropped)
                if dropped and not self._windows:
                    self.fitting.truncated += 1
                    self.fitting.dropped_turns += dropped
            if not dropped or not self._windows:
                return
            left = left[: len(left) - (len(kept) - _head(kept))]

    def _row(self, messages: Sequence[TrainingMessage]) -> tuple[list[int], list[float]]:
        """Lay a row out; one whose only target is its last message begins exactly as the model is asked."""
        last = messages[-1]
        alone = last.role == "assistant" and not any(message.weight for message in messages[:-1])
        if not alone:
            return self._laid_out(messages, prompt=False)
        ids, weights = self._laid_out(messages[:-1], prompt=True)
        written = self._answer(last, messages)
        return ids + written, weights + [last.weight] * len(written)

    def _answer(self, message: TrainingMessage, messages: Sequence[TrainingMessage]) -> list[int]:
        opening = self._tokens.render([Message(role="user", content="")], True).rstrip()
        ids: list[int] = []
        if self._reasoning and message.reasoning:
            if not opening.endswith("<think>"):
                ids += self._tokens.structure(_OPEN)
            ids += self._tokens.content(message.reasoning) + self._tokens.structure(_CLOSE)
        elif opening.endswith("<think>"):
            ids += self._tokens.structure(_CLOSE.lstrip("\n"))
        return ids + self._tokens.content(message.content) + self._ending(messages)

    def _ending(self, messages: Sequence[TrainingMessage]) -> list[int]:
        """The tokens that the template puts behind an answer, up to the one that ends it."""
        laid_out = self._tokens.render(_places(messages), False)
        behind = _PLACE.split(laid_out)[-1]
        return self._end_of(self._tokens.structure(behind)) if behind else []

    def _end_of(self, ids: list[int]) -> list[int]:
        first = next((number for number, id in enumerate(ids) if id in self._tokens.special), None)
        return [] if first is None else ids[: first + 1]

    def _laid_out(self, messages: Sequence[TrainingMessage], *, prompt: bool) -> tuple[list[int], list[float]]:
        ids: list[int] = []
        weights: list[float] = []
        ending = 0.0
        for number, piece in enumerate(_PLACE.split(self._tokens.render(_places(messages), prompt))):
            if number % 2:
                message = messages[int(piece)]
                added = self._tokens.content(message.content)
                weights += [message.weight] * len(added)
                ending = message.weight
            else:
                added = self._tokens.structure(piece) if piece else []
                end = len(self._end_of(added)) if ending else 0
                weights += [ending] * end + [0.0] * (len(added) - end)
            ids += added
        return ids, weights


def _head(messages: Sequence[TrainingMessage]) -> int:
    return int(bool(messages) and messages[0].role == "system")


def _without_first_turn(messages: tuple[TrainingMessage, ...], surplus: int = 1) -> tuple[TrainingMessage, ...]:
    """Drop the earliest turn; several where even a token for each byte of theirs is less than there is too much."""
    head = _head(messages)
    size = 0
    end = head
    while end + 3 < len(messages) and (end == head or size + _bytes(messages[end : end + 2]) < surplus):
        size += _bytes(messages[end : end + 2])
        end += 2
    if end == head:
        end = min(head + 2, len(messages))
    return messages[:head] + messages[end:]


def _bytes(messages: Sequence[TrainingMessage]) -> int:
    return sum(len(message.content.encode("utf-8", "replace")) + _AROUND for message in messages)


def _places(messages: Sequence[TrainingMessage]) -> list[Message]:
    return [Message(role=m.role, content=f"\ue000{i}\ue001") for i, m in enumerate(messages)]


def require_template(template: str | None, wanted: str, name: str) -> str:
    """Return the chat template that a tokenizer is used with.

    Raises:
        ConfigError: It has none, and the recipe names no other.
    """
    if template is not None:
        return template
    if wanted == "chatml":
        return CHATML
    raise ConfigError(f"{name} has no chat template", hint="take an instruction-tuned model, or chat_template: chatml")
