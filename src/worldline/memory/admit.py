"""What may enter a memory: never data that systems are evaluated on."""

from __future__ import annotations

from worldline.errors import EvaluationOnlyError
from worldline.types import Trajectory

__all__ = ["EVALUATION_ONLY", "admit"]

EVALUATION_ONLY = "evaluation_only"
"""Key in a trajectory's `origin` or `extra` (or its world's `extra`): the data serves evaluation alone."""


def admit(trajectory: Trajectory) -> None:
    """Let a trajectory into a memory.

    Raises:
        EvaluationOnlyError: It is marked as evaluation data; answers recalled from it would be leaked ones.
    """
    for where in (trajectory.origin, trajectory.extra, trajectory.world.extra):
        if where.get(EVALUATION_ONLY):
            raise EvaluationOnlyError(
                f"trajectory {trajectory.id} ({trajectory.origin.get('format', 'unknown source')}) is evaluation data",
                hint="memory takes none of it, because a recalled answer would be a leaked one: leave these files out",
            )
