"""The engine: a read replica that lags behind the primary, for testing agents against stale reads."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.engines import Engine, EngineOptions, EngineParts
from worldline.engines.base import one_span
from worldline.kernels import Kernel, build_kernel
from worldline.types import Action, JsonDict, Origin, Prediction, Turn, WorldSpec
from worldline_keyvalue.domain import words
from worldline_keyvalue.kernel import WRITES

__all__ = ["LAG", "ReplicaEngine", "build"]

LAG = 2
"""How many writes the replica is behind."""


class ReplicaEngine:
    """Answers writes from the primary, reads from a state `LAG` writes ago.

    Satisfies :class:`worldline.engines.Engine`.
    """

    name = "replica"

    def __init__(self, primary: Kernel, behind: list[Kernel]) -> None:
        self._primary = primary
        self._behind = behind

    @property
    def kernel(self) -> Kernel:
        """The primary, which verifiers look at."""
        return self._primary

    async def predict(self, action: Action, history: Sequence[Turn]) -> Prediction:
        """Answer without changing anything."""
        source = self._primary if _writes(action) else self._behind[0]
        proposal = source.propose(action)
        source.reject()
        confidence = 1.0 if proposal.known else 0.0
        evidence = "primary" if source is self._primary else f"replica, {len(self._behind) - 1} writes behind"
        text = proposal.observation.text
        return Prediction(
            observation=proposal.observation,
            origin=Origin.COMPUTED,
            confidence=confidence,
            spans=one_span(text, origin=Origin.COMPUTED, confidence=confidence, evidence=evidence),
            abstained=not proposal.known,
            engine=self.name,
            extra={"evidence": evidence},
        )

    def absorb(self, turn: Turn) -> None:
        """Let the primary follow, and the replica with its lag."""
        self._primary.absorb(turn)
        if _writes(turn.action):
            self._behind = [*self._behind, self._primary.fork()][-LAG - 1 :]

    def fork(self) -> Engine:
        """Copy both."""
        return ReplicaEngine(self._primary.fork(), [kernel.fork() for kernel in self._behind])

    def describe(self) -> JsonDict:
        """The primary's state and how far the replica is behind."""
        return {**self._primary.describe(), "writes_behind": len(self._behind) - 1}

    def dump(self) -> bytes | None:
        """Return None: following the turns again is as good."""
        return None

    def load(self, data: bytes) -> None:
        """Do nothing; see `dump`."""

    def close(self) -> None:
        """Free the kernels."""
        for kernel in (self._primary, *self._behind):
            kernel.close()


def build(world: WorldSpec, options: EngineOptions, parts: EngineParts) -> ReplicaEngine:
    """Build the engine for one session: what the entry point names."""
    kernel = build_kernel(world)
    return ReplicaEngine(kernel, [kernel.fork()])


def _writes(action: Action) -> bool:
    return (words(action) or [""])[0].upper() in WRITES
