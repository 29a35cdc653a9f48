"""Reality as an engine: what the real environment answers today, the ceiling of every figure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from worldline.bench.baselines import Baseline
from worldline.engines.base import one_span
from worldline.record.environment import build_environment
from worldline.record.sandbox import Surroundings
from worldline.record.shell import RealShell
from worldline.record.terminal import RealTerminal
from worldline.types import Action, Observation, Origin, Prediction, Turn, WorldSpec

__all__ = ["Reality"]


class _Started(Protocol):
    ended: bool

    def start(self) -> None: ...

    def close(self) -> None: ...


def _environment(world: WorldSpec, root: Path | None) -> tuple[_Started, Callable[[Action], Observation]]:
    """What answers, and how it is asked."""
    if world.domain != "terminal":
        environment = build_environment(world, Surroundings(root=root))
        return environment, environment.step
    if world.initial_state.get("screen") is not None:
        terminal = RealTerminal(world, root=root)
        return terminal, terminal.act
    shell = RealShell(world, root=root)
    return shell, lambda action: shell.run(action.command or "")


class Reality(Baseline):
    """Takes each action in the recorder's sandbox. Its state is its own, as in any second run."""

    name = "real"

    def __init__(self, world: WorldSpec, root: Path | None = None) -> None:
        self._environment, self._answer = _environment(world, root)
        self._environment.start()

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Take the action for real, without network."""
        observation = Observation() if self._environment.ended else await asyncio.to_thread(self._answer, action)
        return Prediction(
            observation=observation,
            origin=Origin.RECALLED,
            confidence=1.0,
            spans=one_span(observation.text, origin=Origin.RECALLED, confidence=1.0, evidence="the real environment"),
            engine=self.name,
        )

    def close(self) -> None:
        """End the sandbox."""
        self._environment.close()
