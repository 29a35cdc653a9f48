"""What a grounded engine asks its model: the turns of a trajectory where nothing else is sure, and the very messages.

The engine itself is run over the trajectory, teacher-forced, with a model that only listens. Memory is the one that
ships, without the trajectory's own task family: a guess recalled from the trajectory itself would be the truth.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.data.rows import TrainingMessage
from worldline.domains import get_domain
from worldline.engines import Engine, EngineOptions, EngineParts, build_engine
from worldline.errors import ModelError
from worldline.memory.shipped import shipped_memory_without
from worldline.models.base import Message, ModelAnswer, Sampling
from worldline.types import Prediction, Trajectory

__all__ = ["AskedTurn", "asked_turns"]


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A turn at which the engine asks."""

    turn: int
    """Position, from 0."""
    messages: tuple[TrainingMessage, ...]
    """What it asks with."""
    guess_exact: bool
    """Whether what it would answer without a model is the truth."""
    guess_mute: bool
    """Whether that says nothing where something is to be said; a model once measured is asked there first of all."""


def asked_turns(trajectory: Trajectory, prompts: Path | None = None, notes_share: float = 0.02) -> list[AskedTurn]:
    """Find the turns at which a grounded engine asks a model that was never measured.

    Args:
        trajectory: An observed trajectory of a domain with a kernel.
        prompts: Folder of templates in place of the domain's own, or `brief`.
        notes_share: As in :class:`worldline.engines.EngineOptions`.

    Raises:
        ConfigError: The domain has no kernel, or the prompts cannot be used.
        KernelError: The world's initial state cannot be set up.
    """
    listener = _Listener()
    parts = EngineParts(model=listener, memory=shipped_memory_without(trajectory), prompts=prompts)
    engine = build_engine("grounded", trajectory.world, EngineOptions(notes_share=notes_share), parts)
    try:
        return _followed(trajectory, engine, listener)
    finally:
        engine.close()


def _followed(trajectory: Trajectory, engine: Engine, listener: _Listener) -> list[AskedTurn]:
    compare = get_domain(trajectory.world.domain).compare
    found: list[AskedTurn] = []
    for number, turn in enumerate(trajectory.turns):
        listener.heard = ()
        guess = _finished(engine.predict(turn.action, trajectory.turns[:number]))
        if listener.heard:
            messages = tuple(TrainingMessage.model_validate(message) for message in listener.heard)
            exact = compare(guess.observation, turn.observation).exact
            found.append(AskedTurn(number, messages, exact, guess.extra.get("mute") is True))
        engine.absorb(turn)
    return found


def _finished(prediction: Coroutine[Any, Any, Prediction]) -> Prediction:
    """Run a prediction that waits for nothing, also where an event loop is running already."""
    try:
        prediction.send(None)
    except StopIteration as done:
        result: Prediction = done.value
        return result
    finally:
        prediction.close()
    raise AssertionError("an engine with no model to wait for waits")


class _Listener:
    """A chat model that keeps what it was asked and answers nothing, so that the engine falls back on its guess."""

    name = "(listener)"

    def __init__(self) -> None:
        self.heard: Sequence[Message] = ()

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Keep the messages.

        Raises:
            ModelError: Always.
        """
        self.heard = tuple(messages)
        raise ModelError("only what is asked is of interest")

    async def aclose(self) -> None:
        """Nothing to free."""
