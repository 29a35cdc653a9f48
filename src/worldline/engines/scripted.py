"""The scripted engine: a fixed list of answers, for tests, examples and demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.engines.base import Engine, one_span
from worldline.errors import SessionError
from worldline.kernels import Kernel
from worldline.types import Action, JsonDict, Observation, Origin, Prediction, Turn

__all__ = ["ScriptedEngine"]


class ScriptedEngine:
    """Answers the k-th action with the k-th line of a script."""

    name = "scripted"
    kernel: Kernel | None = None

    def __init__(self, script: Sequence[str | Observation]) -> None:
        self._script = [Observation.from_text(line) if isinstance(line, str) else line for line in script]

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Return the next answer of the script.

        Raises:
            SessionError: The script is at its end.
        """
        if len(history) >= len(self._script):
            raise SessionError(f"the script has only {len(self._script)} answers", hint="give a longer script")
        observation = self._script[len(history)]
        evidence = f"script, answer {len(history) + 1}"
        return Prediction(
            observation=observation,
            origin=Origin.INJECTED,
            confidence=1.0,
            spans=one_span(observation.text, origin=Origin.INJECTED, confidence=1.0, evidence=evidence),
            engine=self.name,
            extra={"evidence": evidence},
        )

    def absorb(self, turn: Turn) -> None:
        """Do nothing: the history's length is the whole state."""

    def fork(self) -> Engine:
        """Return itself: it has no state."""
        return self

    def describe(self) -> JsonDict:
        """Return the number of answers in the script."""
        return {"answers": len(self._script)}

    def dump(self) -> bytes | None:
        """Return None: there is no state."""
        return None

    def load(self, data: bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
