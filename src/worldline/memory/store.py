"""Where transitions are kept: what `Memory` asks of a store, and the store in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worldline.memory.shape import shape_of
from worldline.memory.transition import Transition, answer_key
from worldline.memory.words import WordIndex
from worldline.types import Observation

__all__ = ["SHAPED_LIMIT", "Answer", "ListStore", "Store"]

SHAPED_LIMIT = 16
"""How many transitions of one shape are looked at."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One recorded answer to an action, in one situation."""

    place: int
    """Where the store keeps the transition."""
    key: int
    """:func:`answer_key`."""
    environment: str
    votes: int


class Store(Protocol):
    """Recorded transitions, found by action, by shape and by words. All lists are in order of recording."""

    def __len__(self) -> int:
        """Number of recorded transitions."""

    def add(self, transition: Transition) -> None:
        """Add a transition.

        Raises:
            StorageError: The store is read-only.
        """

    def knows(self, domain: str, text: str) -> bool:
        """Whether an action that renders as `text` is recorded."""

    def answers(self, domain: str, text: str, footprint: str | None = None) -> Sequence[Answer]:
        """Return the answers to an action; with `footprint`, only those that read the same."""

    def get(self, place: int) -> Transition:
        """Return the transition at a place."""

    def in_state(self, domain: str, shape: str, state: str) -> Sequence[Transition]:
        """Return transitions of a shape that read the same, names aside."""

    def shaped(self, domain: str, shape: str, presence: str | None, *, others: bool = False) -> Sequence[Transition]:
        """Return transitions of a shape and a presence (None: those of untold presence); `others`: of any presence."""

    def nearest(self, domain: str, text: str, k: int) -> Sequence[Transition]:
        """Return the transitions whose action text scores highest by BM25, best first."""

    def most_frequent(self, domain: str) -> Observation | None:
        """Return the answer recorded most often in a domain."""

    def close(self) -> None:
        """Free what the store holds."""


class ListStore:
    """Transitions in memory."""

    def __init__(self) -> None:
        self._transitions: list[Transition] = []
        self._by_action: dict[tuple[str, str], list[int]] = {}
        self._shapes: dict[tuple[str, str], list[int]] = {}
        self._shaped = 0
        self._words: WordIndex | None = None

    def __len__(self) -> int:
        return len(self._transitions)

    def add(self, transition: Transition) -> None:
        """Add a transition; it is found by words from the next query on."""
        key = (transition.domain, transition.action.render())
        self._by_action.setdefault(key, []).append(len(self._transitions))
        self._transitions.append(transition)
        self._words = None

    def knows(self, domain: str, text: str) -> bool:
        """Whether the action is recorded."""
        return (domain, text) in self._by_action

    def answers(self, domain: str, text: str, footprint: str | None = None) -> list[Answer]:
        """Return the answers to an action."""
        found = [(i, self._transitions[i]) for i in self._by_action.get((domain, text), ())]
        return [
            Answer(i, answer_key(t.observation), t.environment, 1)
            for i, t in found
            if footprint is None or t.footprint == footprint
        ]

    def get(self, place: int) -> Transition:
        """Return the transition at a place."""
        return self._transitions[place]

    def in_state(self, domain: str, shape: str, state: str) -> list[Transition]:
        """Return transitions of a shape that read the same, names aside."""
        return [t for t in self._of_shape(domain, shape) if t.state == state][:SHAPED_LIMIT]

    def shaped(self, domain: str, shape: str, presence: str | None, *, others: bool = False) -> list[Transition]:
        """Return transitions of a shape and a presence."""
        return [t for t in self._of_shape(domain, shape) if others or t.presence == presence][:SHAPED_LIMIT]

    def nearest(self, domain: str, text: str, k: int) -> list[Transition]:
        """Return the transitions nearest by words."""
        if self._words is None:
            self._words = WordIndex()
            for number, transition in enumerate(self._transitions):
                self._words.add(transition.domain, [(number, transition.action.render())])
            self._words.commit()
            self._words.close()
        return [self._transitions[number] for number in self._words.search(domain, text, k)]

    def most_frequent(self, domain: str) -> Observation | None:
        """Return the answer recorded most often in a domain."""
        found = {answer_key(t.observation): t.observation for t in reversed(self._transitions) if t.domain == domain}
        counts = Counter(answer_key(t.observation) for t in self._transitions if t.domain == domain)
        return found[max(counts, key=lambda key: (counts[key], key))] if counts else None

    def close(self) -> None:
        """Do nothing."""

    def _of_shape(self, domain: str, shape: str) -> list[Transition]:
        for number in range(self._shaped, len(self._transitions)):
            transition = self._transitions[number]
            key = (transition.domain, shape_of(transition.action).key)
            self._shapes.setdefault(key, []).append(number)
        self._shaped = len(self._transitions)
        return [self._transitions[number] for number in self._shapes.get((domain, shape), ())]
