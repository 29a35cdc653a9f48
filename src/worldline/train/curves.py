"""The points of training curves: one run's, or several runs' of one stage as their mean and spread.

An interval of a single run is the normal one of 95%, from the standard error that the curve holds beside a figure;
where there are several runs, the points hold the lowest and the highest of them instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from worldline.data.rows import Stage
from worldline.errors import ConfigError
from worldline.train.guarding import CURVE, GREEDY, read_curve
from worldline.train.measuring import ERROR, RISE
from worldline.train.rewards.rubric import DIMENSIONS
from worldline.train.runs import RECIPE, read_record
from worldline.types import Frozen, JsonDict

__all__ = ["Curves", "Panel", "Point", "Series", "read_curves"]

Panel = Literal["loss", "reward", "rise", "dimensions", "shares"]
"""Where a figure is drawn; `rise` is said beside the reward."""

_HELD_OUT = "eval_"
_SHARES = ("exact", "unreadable", "copied", "flagged", "unjudged")
_GREEDY_SHARES = ("exact", "error_agreement", "rouge_l")
_Z = 1.96


class Point(Frozen):
    """A figure at a step."""

    step: int
    value: float
    """Mean of the runs."""
    low: float | None = None
    high: float | None = None
    runs: int = 1
    """Runs that were measured at this step."""


class Series(Frozen):
    """A figure over the steps."""

    name: str
    panel: Panel
    held_out: bool
    """Measured on held-out rows; otherwise on what was just trained on."""
    points: tuple[Point, ...]


class Curves(Frozen):
    """The curves of one or several runs of a stage."""

    stage: Stage
    recipe: str
    runs: tuple[str, ...]
    """Their folders."""
    seeds: tuple[int, ...]
    series: tuple[Series, ...]


def read_curves(folders: Sequence[Path]) -> Curves:
    """Read the curves of runs; several are summed up step by step.

    Raises:
        ConfigError: A folder holds no run or no curve, or they are runs of different stages.
        StorageError: A curve cannot be read.
    """
    records = [_recipe(folder) for folder in folders]
    stages = {record["stage"] for record in records}
    if len(stages) != 1:
        raise ConfigError(f"these are runs of {' and '.join(sorted(stages))}", hint="give runs of one stage")
    curves = [read_curve(folder) for folder in folders]
    for folder, curve in zip(folders, curves, strict=True):
        if not curve:
            raise ConfigError(f"{folder} holds no {CURVE}, or an empty one", hint="give the folder of a started run")
    stage: Stage = stages.pop()
    found = [_summed(name, panel, curves) for panel, name in _figures(stage, curves)]
    return Curves(
        stage=stage,
        recipe=", ".join(sorted({record["name"] for record in records})),
        runs=tuple(map(str, folders)),
        seeds=tuple(record["seed"] for record in records),
        series=tuple(series for series in found if series.points),
    )


def _recipe(folder: Path) -> JsonDict:
    if not (folder / RECIPE).is_file():
        raise ConfigError(f"{folder} holds no run", hint="give a folder that was the --out of worldline train")
    record = read_record(folder)
    if not {"stage", "name", "seed"} <= set(record):
        raise ConfigError(
            f"{folder / RECIPE} is not that of a run", hint="give a folder that was the --out of worldline train"
        )
    return record


def _figures(stage: Stage, curves: Sequence[Sequence[JsonDict]]) -> list[tuple[Panel, str]]:
    """Which figures are drawn where. Without a measurement on held-out prompts, those of the batches stand in."""
    greedy: list[tuple[Panel, str]] = [("shares", GREEDY + name) for name in _GREEDY_SHARES]
    if stage != "rl":
        return [("loss", "loss"), ("loss", f"{_HELD_OUT}loss"), *greedy]
    measured = any(f"{_HELD_OUT}reward" in record for curve in curves for record in curve)
    prefix = _HELD_OUT if measured else ""
    batches: list[tuple[Panel, str]] = [("reward", "reward")] if measured else []
    dimensions: list[tuple[Panel, str]] = [("dimensions", prefix + name) for name in DIMENSIONS]
    shares: list[tuple[Panel, str]] = [("shares", prefix + name) for name in _SHARES]
    rewards: list[tuple[Panel, str]] = [("reward", f"{prefix}reward"), ("rise", _HELD_OUT + RISE)]
    return [*batches, *rewards, *dimensions, *shares, *greedy]


def _summed(name: str, panel: Panel, curves: Sequence[Sequence[JsonDict]]) -> Series:
    at: dict[int, list[tuple[float, float | None]]] = defaultdict(list)
    for curve in curves:
        # a step that stands twice counts once, as it was measured last
        mine = {record["step"]: record for record in curve if record.get(name) is not None}
        for step, record in mine.items():
            at[step].append((float(record[name]), record.get(name + ERROR)))
    points = tuple(_point(step, values, panel) for step, values in sorted(at.items()))
    held_out = name.startswith(_HELD_OUT)
    return Series(name=name.removeprefix(_HELD_OUT), panel=panel, held_out=held_out, points=points)


def _point(step: int, values: Sequence[tuple[float, float | None]], panel: Panel) -> Point:
    mean = sum(value for value, _ in values) / len(values)
    low = high = None
    if len(values) > 1:
        low, high = min(value for value, _ in values), max(value for value, _ in values)
    elif values[0][1] is not None:
        low, high = mean - _Z * values[0][1], mean + _Z * values[0][1]
    if low is not None and high is not None and panel == "shares":
        low, high = max(0.0, low), min(1.0, high)
    return Point(step=step, value=mean, low=low, high=high, runs=len(values))
