"""What an engine is: it predicts observations inside one session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Protocol, runtime_checkable

from pydantic import Field

from worldline.engines.calibration import Calibration
from worldline.kernels.base import Kernel
from worldline.memory import Memory
from worldline.models.base import ChatModel, Sampling
from worldline.types import Action, Frozen, JsonDict, Observation, Origin, Prediction, Span, Trajectory, Turn

__all__ = ["Engine", "EngineOptions", "EngineParts", "RealEnvironment", "one_span"]


class EngineOptions(Frozen):
    """Settings of an engine that are stored with its session."""

    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    """What a kernel's or memory's answer must reach to count."""
    on_abstain: Literal["guess", "error", "real"] = "guess"
    """What happens where nothing reaches it and no model answers: give the best guess, refuse the step, or ask
    the real environment."""
    ask: Literal["proven", "mute"] = "proven"
    """Where a model that was measured is asked in place of a guess: only if it was right more often, or if it was ever
    right and the guess is mute (`proven`); on mute guesses also if it never was (`mute`)."""
    seed: int = 0
    """Seed of everything random: control rules, sampling."""
    evidence: Annotated[int, Field(ge=0)] = 3
    """Nearest recorded transitions shown to the model, as far as there is room for them."""
    notes_share: Annotated[float, Field(ge=0, le=1)] = 0.02
    """Room for what a model is told about this one turn (the sources' guess, recorded transitions, the kernel's state),
    as a share of the prompt before it. It is sent anew each turn, while the rest of a prompt begins the next one."""


class RealEnvironment(Protocol):
    """The real environment behind `on_abstain="real"`."""

    async def answer(self, history: Sequence[Turn], action: Action) -> Observation:
        """Bring the real environment to the end of `history` and answer `action` there."""


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is built from beside the world; parts it does not use may be missing."""

    model: ChatModel | None = None
    sampling: Sampling | None = None
    memory: Memory | None = None
    prompts: Path | None = None
    """Folder whose prompt templates replace the domain's own; `brief`, or `full` for the domain's own in any case.
    None: what the model was trained with where it says so, else the domain's own."""
    calibration: Calibration | None = None
    script: Sequence[str | Observation] = ()
    """Answers of the scripted engine, in order."""
    trajectory: Trajectory | None = None
    """What the replay engine repeats."""
    real: RealEnvironment | None = None


@runtime_checkable
class Engine(Protocol):
    """Predicts what the environment of one session answers."""

    name: str

    @property
    def kernel(self) -> Kernel | None:
        """The kernel whose state verifiers may probe."""

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Answer `action` after `history`, changing nothing.

        Raises:
            ModelError: The engine is nothing but a model, and the model gave no usable answer.
            SessionError: It abstains, and `on_abstain` is `error`.
        """

    def absorb(self, turn: Turn) -> None:
        """Follow a settled turn: the one just predicted, a logged one, or one observed in reality."""

    def fork(self) -> Engine:
        """Return an independent copy of the present state."""

    def describe(self) -> JsonDict:
        """Return the state for people: JSON data of bounded size."""

    def dump(self) -> bytes | None:
        """Serialise the state, or None where absorbing the turns again is as good."""

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one."""

    def close(self) -> None:
        """Free what the engine holds."""


def one_span(text: str, *, origin: Origin, confidence: float, evidence: str) -> tuple[Span, ...]:
    """Cover a whole text by one span; no span for an empty text."""
    if not text:
        return ()
    return (Span(start=0, end=len(text), origin=origin, confidence=confidence, evidence=evidence),)
