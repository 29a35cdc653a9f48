"""What RL measures on held-out prompts: means over all answers, and how far they may be off.

TRL averages what a reward logs over batches, and a batch without a single readable answer then counts for nothing, or
for as much as one full of them. Here every answer counts once. Answers to one prompt are alike, so the standard error
is that of prompts drawn anew (a ratio estimator over clusters: Cochran, Sampling Techniques, 3rd ed., 6.3)::

    m  = sum(x) / n                     over all n answers
    se = sqrt(c / (c - 1) * sum((s_i - m * n_i)^2)) / n      s_i, n_i: sum and number of the answers to prompt i of c

Prompts are the same at every measurement, and so are the random numbers that answers are drawn with (see
:func:`worldline.train.guarding.guarded`): two points of one curve differ by less than their errors say. How far the
reward rose is therefore measured prompt by prompt, against the measurement before the first step, which is kept in a
file for runs that go on.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldline.errors import StorageError, boundary, require_extra
from worldline.train.rewards.mixing import RewardFunction
from worldline.writing import write_json

__all__ = ["ERROR", "RISE", "answer_figures", "measuring", "prompt_rewards", "rise"]

ERROR = "_se"
"""Ends the name of a figure's standard error."""
RISE = "rise"
"""Of the reward, since the measurement before the first step."""

_BEFORE = "rewards-before.json"


def answer_figures(noted: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, float]:
    """Return mean and standard error of each figure, and how many prompts and answers there were.

    Args:
        noted: Id of the prompt and figures of each answer; an answer may lack some of them.
    """
    by_name: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    prompts, answers = set(), 0
    for prompt, figures in noted:
        prompts.add(prompt)
        answers += 1
        for name, value in figures.items():
            by_name[name][prompt].append(value)
    found: dict[str, float] = {}
    for name, clusters in by_name.items():
        found[name], error = _mean_and_error(list(clusters.values()))
        if error is not None:
            found[name + ERROR] = error
    return {**found, "prompts": len(prompts), "answers": answers}


def _mean_and_error(clusters: list[list[float]]) -> tuple[float, float | None]:
    count = sum(map(len, clusters))
    mean = math.fsum(value for values in clusters for value in values) / count
    if len(clusters) < 2:
        return mean, None
    squares = math.fsum((math.fsum(values) - mean * len(values)) ** 2 for values in clusters)
    return mean, math.sqrt(len(clusters) / (len(clusters) - 1) * squares) / count


def prompt_rewards(noted: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, float]:
    """Return the mean reward of the answers to each prompt."""
    found: dict[str, list[float]] = defaultdict(list)
    for prompt, figures in noted:
        found[prompt].append(figures["reward"])
    return {prompt: math.fsum(values) / len(values) for prompt, values in found.items()}


def rise(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """Return how far the rewards of prompts rose, and the standard error of the differences' mean."""
    differences = [[now[prompt] - before[prompt]] for prompt in now if prompt in before]
    if not differences:
        return {}
    mean, error = _mean_and_error(differences)
    return {RISE: mean} if error is None else {RISE: mean, RISE + ERROR: error}


def measuring(base: Any, reward: Any, out: Path) -> Any:
    """Return a subclass of TRL's trainer whose measurements are those of :func:`answer_figures`.

    A reward that is not ours notes no answers: the trainer stays as it is.

    Args:
        base: `trl.GRPOTrainer`.
        reward: Its reward.
        out: Folder of the run.
    """
    if not isinstance(reward, RewardFunction):
        return base
    gather = require_extra("accelerate", "train").utils.gather_object

    class Measuring(base):  # type: ignore[misc]
        """The trainer with figures of its own."""

        def evaluate(self, *args: Any, **kwargs: Any) -> Any:
            reward.tally = []
            try:
                return super().evaluate(*args, **kwargs)
            finally:
                reward.tally = None

        def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
            if reward.tally is not None:
                for name, value in self._measured(gather(reward.tally)).items():
                    self._metrics["eval"][name] = [value]
            super().log(logs, start_time)

        def _measured(self, noted: Sequence[tuple[str, Mapping[str, float]]]) -> dict[str, float]:
            now = prompt_rewards(noted)
            if self.state.global_step == 0:
                if self.is_world_process_zero():
                    write_json(out / _BEFORE, now)
                return answer_figures(noted)
            return {**answer_figures(noted), **rise(_read(out / _BEFORE), now)}

    return Measuring


def _read(path: Path) -> dict[str, float]:
    """Empty where there is none: nothing was measured before the first step."""
    if not path.is_file():
        return {}
    with boundary(StorageError, f"reading {path}", OSError, ValueError):
        return {str(prompt): float(value) for prompt, value in json.loads(path.read_text(encoding="utf-8")).items()}
