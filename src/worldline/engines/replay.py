"""The replay engine: repeats a recorded trajectory as long as the agent does what was done then."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.engines.base import Engine, EngineOptions, one_span
from worldline.errors import SessionError
from worldline.kernels import Kernel
from worldline.types import Action, JsonDict, Observation, Origin, Prediction, Trajectory, Turn

__all__ = ["ReplayEngine"]


class ReplayEngine:
    """Answers from one trajectory: the recorded observation where every action so far is the recorded one.

    After the first action that differs it abstains, because nothing recorded applies any more.
    """

    name = "replay"
    kernel: Kernel | None = None

    def __init__(self, trajectory: Trajectory, options: EngineOptions) -> None:
        self._trajectory = trajectory
        self._options = options

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Return the recorded observation, or abstain.

        Raises:
            SessionError: It abstains, and `on_abstain` is `error`.
        """
        turns = self._trajectory.turns
        done_so_far = [turn.action.render() for turn in history] + [action.render()]
        follows = done_so_far == [turn.action.render() for turn in turns[: len(done_so_far)]]
        if not follows and self._options.on_abstain == "error":
            raise SessionError(
                f"turn {len(done_so_far)} is not what was recorded", hint="set on_abstain to guess to go on"
            )
        observation = turns[len(history)].observation if follows else Observation()
        confidence = 1.0 if follows else 0.0
        evidence = f"recorded transition {self._trajectory.id}:{len(history)}" if follows else "off the recording"
        return Prediction(
            observation=observation,
            origin=Origin.RECALLED,
            confidence=confidence,
            spans=one_span(observation.text, origin=Origin.RECALLED, confidence=confidence, evidence=evidence),
            abstained=not follows,
            done=follows and len(history) + 1 == len(turns),
            engine=self.name,
            extra={"evidence": evidence},
        )

    def absorb(self, turn: Turn) -> None:
        """Do nothing: the history is the whole state."""

    def fork(self) -> Engine:
        """Return itself: it has no state."""
        return self

    def describe(self) -> JsonDict:
        """Return which trajectory is repeated."""
        return {"trajectory": self._trajectory.id, "turns": len(self._trajectory.turns)}

    def dump(self) -> bytes | None:
        """Return None: there is no state."""
        return None

    def load(self, data: bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
