"""The reward for verl: rows of the set that WORLDLINE_SET names, scored as `worldline train rl` does."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from worldline.data.sets import read_rows
from worldline.train.rewards import RewardFunction, reward_function

__all__ = ["compute_score"]


@cache
def _reward() -> RewardFunction:
    return reward_function(read_rows(Path(os.environ["WORLDLINE_SET"])))


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **_: Any
) -> dict[str, float]:
    """Score an answer (0 to 25), with the parts of the score beside it, as verl logs them."""
    assert extra_info is not None
    [scored] = _reward().score([(str(extra_info["id"]), solution_str)])
    return {
        "score": scored.reward,
        "exact": float(scored.rubric.exact),
        "read": float(scored.answer.observation is not None),
    }
