"""Folders of runs: whose they are, what was done in them, and which runs led to one.

A run notes where it started in its `recipe.json`, as an absolute path. In older ones it is relative to the folder that
the command was given in, which is one of those that the run lies in; and folders are moved. So what is noted is looked
for there, and beside the run.
"""

from __future__ import annotations

import json
from pathlib import Path

from worldline import __version__
from worldline.data.rows import Stage
from worldline.errors import ConfigError, boundary
from worldline.train.recipe import ASIDE, Recipe, differences
from worldline.types import Frozen, JsonDict

__all__ = [
    "MODEL",
    "RECIPE",
    "RESULT",
    "StageResult",
    "claimed",
    "read_record",
    "read_result",
    "results_to",
    "runs_to",
    "start_of",
]

MODEL, RECIPE, RESULT = "model", "recipe.json", "result.json"


class StageResult(Frozen):
    """What a stage did."""

    stage: Stage
    recipe: str
    seed: int
    steps: int
    rows: int
    """Rows that were trained on, as laid out for the context."""
    tokens: int
    """Tokens of these rows; for RL, of the prompts."""
    learned: int
    """Tokens of these that count in the loss; for RL, 0."""
    fitting: JsonDict
    """What fitting into the context did."""
    parameters: int
    trained_parameters: int
    seconds: float
    """Of the last uninterrupted stretch."""
    loss: float | None
    """The last that was logged."""
    held_out: JsonDict
    """The last measurement on held-out rows."""
    made_by: str = f"worldline {__version__}"


def claimed(recipe: Recipe, stage: Stage, out: Path, *, resume: bool, seed: int, start: Path | None) -> JsonDict:
    """Find that a folder is free for a run, or holds this very run; return what the run writes down of itself.

    Raises:
        ConfigError: The folder holds something else, or a run that should be resumed.
    """
    whole = recipe.as_record()
    kept = {name: value for name, value in whole.items() if name not in ("cpt", "sft", "rl", *ASIDE)}
    started = str(start.resolve()) if start is not None else None
    record = {**kept, stage: whole.get(stage), "seed": seed, "stage": stage, "start": started}
    if not (out / RECIPE).is_file():
        if out.is_dir() and any(out.iterdir()):
            raise ConfigError(f"{out} is not empty", hint="choose another --out")
        return record
    before = read_record(out)
    if not resume:
        raise ConfigError(f"{out} holds a run already", hint="go on with --resume, or choose another --out")
    noted = before.get("start")
    if noted and start is not None and _found(out, noted).resolve() == start.resolve():
        before["start"] = started
    other = differences(before, record)
    if other:
        hint = f"it started with --from {noted}" if other == ["start"] and noted else "choose another --out"
        raise ConfigError(f"{out} holds the run of another recipe, by its {', '.join(other)}", hint=hint)
    return record


def read_record(run: Path) -> JsonDict:
    """Read what a run wrote down of itself.

    Raises:
        ConfigError: It cannot be read.
    """
    path = run / RECIPE
    with boundary(ConfigError, f"reading {path}", OSError, ValueError):
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("a mapping was expected")
    return found


def read_result(run: Path) -> StageResult | None:
    """Read what a stage did; None while it is not done.

    Raises:
        ConfigError: It cannot be read.
    """
    path = run / RESULT
    if not path.is_file():
        return None
    with boundary(ConfigError, f"reading {path}", OSError, ValueError):
        return StageResult.model_validate_json(path.read_text(encoding="utf-8"))


def start_of(run: Path) -> Path | None:
    """Return where a run started, though nothing may be there any more; None: from its recipe's own model."""
    noted = read_record(run).get("start")
    return _found(run, noted) if noted else None


def runs_to(folder: Path | None) -> list[Path]:
    """Return the runs that led to a model, first to last.

    Args:
        folder: That of the last run, or `model/` of it. Where it is None or no run's, there are none.
    """
    found: list[Path] = []
    while folder is not None and (run := _run_of(folder)) is not None and run not in found:
        found.insert(0, run)
        folder = start_of(run)
    return found


def results_to(folder: Path | None) -> list[StageResult]:
    """Return what the stages did that led to a model, first to last; `folder` as in :func:`runs_to`."""
    return [result for run in runs_to(folder) if (result := read_result(run)) is not None]


def _run_of(folder: Path) -> Path | None:
    for place in (folder, folder.parent) if folder.name == MODEL else (folder,):
        if (place / RECIPE).is_file():
            return place
    return None


def _found(run: Path, noted: str) -> Path:
    path = Path(noted)
    inside = () if path.is_absolute() else run.resolve().parents
    beside = run.parent.joinpath(*path.parts[-2:]) if path.name == MODEL else run.parent / path.name
    places = [*(folder / path for folder in inside), path, beside]
    return next((place for place in places if place.is_dir()), path)
