"""Reality as an engine: what the real shell answers today, the ceiling of every figure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from worldline.bench.baselines import Baseline
from worldline.engines.base import one_span
from worldline.record.shell import RealShell
from worldline.types import Action, Observation, Origin, Prediction, Turn, WorldSpec

__all__ = ["Reality"]


class Reality(Baseline):
    """Runs each command in the recorder's sandbox. Its state is its own, as with any second run of reality."""

    name = "real"

    def __init__(self, world: WorldSpec, root: Path | None = None) -> None:
        self._shell = RealShell(world, root=root)
        self._shell.__enter__()

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Run the command for real, without network."""
        observation = await asyncio.to_thread(self._run, action.command or "")
        evidence = "real shell in the sandbox"
        return Prediction(
            observation=observation,
            origin=Origin.RECALLED,
            confidence=1.0,
            spans=one_span(observation.text, origin=Origin.RECALLED, confidence=1.0, evidence=evidence),
            engine=self.name,
        )

    def close(self) -> None:
        """End the sandbox."""
        self._shell.__exit__(None, None, None)

    def _run(self, command: str) -> Observation:
        return Observation() if self._shell.ended else self._shell.run(command)
