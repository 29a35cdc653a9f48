"""The domain: what an action looks like, how answers are compared, how a model is asked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from worldline.domains import Comparison
from worldline.errors import ActionError
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec

__all__ = ["KEYVALUE", "KeyValueState", "words"]

_OPEN, _CLOSE = "<predicted_observation>", "</predicted_observation>"


class KeyValueState(BaseModel):
    """`initial_state` of a key-value world."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    values: dict[str, str] = Field(default_factory=dict)
    closed: bool = False
    """Whether a key that is not declared is absent; otherwise it is unknown."""


def words(action: Action) -> list[str]:
    """Split a command into words, quotes respected; nothing where the quotes do not match."""
    try:
        return shlex.split(action.text or "")
    except ValueError:
        return []


class KeyValueDomain:
    """Satisfies :class:`worldline.domains.Domain`."""

    name = "keyvalue"

    def validate_state(self, state: JsonDict) -> JsonDict:
        """Check the world file's `initial_state`."""
        return KeyValueState.model_validate(state).model_dump(mode="json")

    def parse_action(self, value: Any) -> Action:
        """Read a command line."""
        if isinstance(value, Action):
            return value
        text = value.get("text") if isinstance(value, Mapping) else value
        if not isinstance(text, str) or not text.strip() or "\n" in text:
            raise ActionError("not one command line", hint='for instance "SET name Ada"')
        return Action(text=text)

    def compare(self, predicted: Observation, truth: Observation) -> Comparison:
        """Compare two answers: equal or not."""
        same = predicted.text == truth.text
        errors = predicted.text.startswith("(error)") == truth.text.startswith("(error)")
        return Comparison(exact=same, error_agrees=errors, rouge_l=float(same), structured=same)

    def messages(
        self,
        world: WorldSpec,
        history: Sequence[Turn],
        action: Action,
        *,
        notes: Mapping[str, str] | None = None,
        first_turn: int = 1,
    ) -> list[dict[str, str]]:
        """Lay out the chat: the store as system message, commands as user turns, answers as assistant turns."""
        chat = [{"role": "system", "content": f"You are a key-value store. Initially: {world.initial_state}"}]
        for turn in history:
            chat.append({"role": "user", "content": turn.action.render()})
            chat.append({"role": "assistant", "content": turn.observation.text})
        known = "".join(f"\n{key}: {text}" for key, text in (notes or {}).items())
        request = f"{action.render()}\n{known}\nAnswer between {_OPEN} and {_CLOSE}."
        return [*chat, {"role": "user", "content": request}]

    def parse_answer(self, text: str, world: WorldSpec) -> Observation:
        """Read a model's answer."""
        body = text.rpartition(_OPEN)[2].partition(_CLOSE)[0]
        return Observation.from_text(body.strip("\n"))

    def write_answer(self, observation: Observation, world: WorldSpec) -> str:
        """Write an observation as a model's answer."""
        return f"{_OPEN}\n{observation.text}\n{_CLOSE}"


KEYVALUE = KeyValueDomain()
