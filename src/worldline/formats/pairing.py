"""Tool calls and their results, matched up into turns."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.formats.skeleton import batch_note
from worldline.types import Action, JsonDict, Observation, Turn

__all__ = ["TURN", "Calls"]

TURN = "$turn"
"""Mark in a kept record: here stood a call, or a result, of the turn with this index."""


@dataclass(slots=True)
class _Call:
    action: Action
    thought: str | None
    timestamp: str | None
    extra: JsonDict
    observation: Observation | None = None


@dataclass(slots=True)
class Calls:
    """Collects calls and results in the order they are met; a call without a result is no turn."""

    _calls: list[_Call] = field(default_factory=list)
    _waiting: dict[str | None, list[int]] = field(default_factory=dict)
    _latest: dict[str | None, int] = field(default_factory=dict)
    _batch: int = 0
    """Number of the first of the calls made at once last."""

    def call(
        self,
        action: Action,
        *,
        thought: str | None = None,
        timestamp: str | None = None,
        batch: tuple[int, int] = (0, 1),
        extra: JsonDict | None = None,
    ) -> int:
        """Note a call.

        Args:
            action: What was called.
            thought: What the agent said before.
            timestamp: When, ISO 8601.
            batch: Its place among the calls made at once, and how many they were.
            extra: More for the turn's `extra`.

        Returns:
            The call's number.
        """
        if batch[0] == 0:
            self._batch = len(self._calls)
        number = len(self._calls)
        self._calls.append(_Call(action, thought, timestamp, {**batch_note(*batch), **(extra or {})}))
        self._waiting.setdefault(action.call_id, []).append(number)
        self._latest[action.call_id] = number
        return number

    def waiting(self, call_id: str | None) -> int | None:
        """Return the number of the latest unanswered call with that id."""
        numbers = self._waiting.get(call_id)
        return numbers[-1] if numbers else None

    def find(self, call_id: str | None) -> int | None:
        """Return the number of the latest call with that id, unanswered ones first."""
        waiting = self.waiting(call_id)
        return waiting if waiting is not None or call_id is None else self._latest.get(call_id)

    def observation(self, number: int) -> Observation | None:
        """Return what a call answered so far."""
        return self._calls[number].observation

    def oldest_waiting(self) -> int | None:
        """Return the number of the first unanswered call among those made at once last."""
        for number in range(self._batch, len(self._calls)):
            if self._calls[number].observation is None:
                return number
        return None

    def answer(self, number: int, observation: Observation) -> None:
        """Note what a call answered."""
        call = self._calls[number]
        if call.observation is None:
            self._waiting[call.action.call_id].remove(number)
        call.observation = observation

    def places(self) -> dict[int, int]:
        """Return the turn index of each answered call by its number."""
        answered = (number for number, call in enumerate(self._calls) if call.observation is not None)
        return {number: index for index, number in enumerate(answered)}

    def turns(self) -> list[Turn]:
        """Return the turns, in the order of the calls."""
        return [
            Turn(
                action=call.action,
                observation=call.observation,
                thought=call.thought,
                timestamp=call.timestamp,
                extra=call.extra,
            )
            for call in self._calls
            if call.observation is not None
        ]
