"""Reality as an engine: what the real environment answers today, the ceiling of every figure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from worldline.bench.baselines import Baseline
from worldline.engines.base import one_span
from worldline.record.environment import build_environment
from worldline.record.sandbox import Surroundings
from worldline.types import Action, Observation, Origin, Prediction, Turn, WorldSpec

__all__ = ["Reality"]


class Reality(Baseline):
    """Takes each action in the recorder's sandbox. Its state is its own, as in any second run."""

    name = "real"

    def __init__(self, world: WorldSpec, root: Path | None = None) -> None:
        self._environment = build_environment(world, Surroundings(root=root))
        self._environment.start()

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Take the action for real, without network."""
        ended = self._environment.ended
        observation = Observation() if ended else await asyncio.to_thread(self._environment.step, action)
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
