"""What may enter a memory: never data that systems are evaluated on."""

from __future__ import annotations

from worldline.errors import EvaluationOnlyError
from worldline.formats import EVALUATION_ONLY, is_evaluation_only
from worldline.types import Trajectory

__all__ = ["admit"]


def admit(trajectory: Trajectory) -> None:
    """Let a trajectory into a memory.

    Raises:
        EvaluationOnlyError: It is marked as evaluation data; answers recalled from it would be leaked ones.
    """
    marked = any(where.get(EVALUATION_ONLY) for where in (trajectory.extra, trajectory.world.extra))
    if marked or is_evaluation_only(trajectory):
        raise EvaluationOnlyError(
            f"trajectory {trajectory.id} ({trajectory.origin.get('format', 'unknown source')}) is evaluation data",
            hint="memory takes none of it, because a recalled answer would be a leaked one: leave these files out",
        )
