"""Reality as an engine: what the real shell answers today, the ceiling of every figure."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from worldline.bench.baselines import Baseline
from worldline.engines.base import one_span
from worldline.record.shell import RealShell
from worldline.record.terminal import RealTerminal
from worldline.types import Action, Observation, Origin, Prediction, Turn, WorldSpec

__all__ = ["Reality"]


class Reality(Baseline):
    """Runs commands, or types keys, in the recorder's sandbox. Its state is its own, as in any second run."""

    name = "real"

    def __init__(self, world: WorldSpec, root: Path | None = None) -> None:
        typed = world.initial_state.get("screen") is not None
        self._shell: RealShell | RealTerminal = (RealTerminal if typed else RealShell)(world, root=root)
        self._shell.start()

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Run the command or type the keys for real, without network."""
        observation = await asyncio.to_thread(self._run, action)
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
        self._shell.close()

    def _run(self, action: Action) -> Observation:
        if self._shell.ended:
            return Observation()
        if isinstance(self._shell, RealTerminal):
            return self._shell.act(action)
        return self._shell.run(action.command or "")
