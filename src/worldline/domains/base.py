"""What a domain is: its action and observation grammar, comparison rules and prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["Comparison", "Domain", "Rereading"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a predicted observation compares with the true one, without a judge (design section 8)."""

    exact: bool
    """Streams and status (or the whole text) equal to the byte, after volatile masks."""
    error_agrees: bool | None
    """Both are errors or neither is; None where the truth does not say whether it is one (a screen)."""
    rouge_l: float
    """ROUGE-L F1 of the texts, 0..1."""
    structured: bool
    """Equal as data where both parse, otherwise the same as `exact`."""


@runtime_checkable
class Domain(Protocol):
    """A kind of environment."""

    name: str

    def validate_state(self, state: JsonDict) -> JsonDict:
        """Check a world's `initial_state` and fill in the defaults.

        Raises:
            pydantic.ValidationError: With the location of each wrong key.
        """

    def parse_action(self, value: Any) -> Action:
        """Read an action as a user or an agent writes it (`{"command": "ls"}`, `"ls"`, a tool call).

        Raises:
            ActionError: It does not fit the grammar; the message says what is expected.
        """

    def compare(self, predicted: Observation, truth: Observation) -> Comparison:
        """Compare a prediction with reality by the domain's rules."""

    def messages(
        self,
        world: WorldSpec,
        history: Sequence[Turn],
        action: Action,
        *,
        notes: Mapping[str, str] | None = None,
        first_turn: int = 1,
    ) -> list[dict[str, str]]:
        """Lay out the chat a world model is asked with (paper section 2).

        Args:
            world: The context; becomes the system message.
            history: Earlier turns: actions as user messages, observations as assistant messages.
            action: The action to answer; the last user message, with the instruction suffix.
            notes: Kernel state, partial result and evidence, put into the last user message so that the
                prompt's prefix stays the same from turn to turn.
            first_turn: Number of the first turn of `history`, where earlier ones were left out for want of context.
        """

    def parse_answer(self, text: str, world: WorldSpec) -> Observation:
        """Read a model's answer (without its reasoning) as an observation."""

    def write_answer(self, observation: Observation, world: WorldSpec) -> str:
        """Write an observation as the answer a model should give: :meth:`parse_answer` reads it back to the byte."""


@runtime_checkable
class Rereading(Protocol):
    """A domain that can tell whether an answer agrees with what its session showed before. Domains may leave it out."""

    def read_again(self, world: WorldSpec, history: Sequence[Turn], turn: Turn, told: Observation) -> bool | None:
        """Compare an answer with what the session showed of the same things.

        Args:
            world: Where it began.
            history: The true turns so far.
            turn: The call, and what reality answers to it.
            told: The answer to judge.

        Returns:
            Whether it agrees with what was shown; None where the call reads nothing that was.
        """
