"""Training as a user asks for it: a stage of a recipe, measured when it is done, with its card."""

from __future__ import annotations

import json
from pathlib import Path

from worldline.data.rows import Stage
from worldline.errors import ConfigError, StorageError, boundary, require_extra
from worldline.train.card import model_card
from worldline.train.evaluation import evaluate_folder, figures
from worldline.train.guarding import Watch
from worldline.train.material import held_out_rows, stage_rows
from worldline.train.recipe import Recipe
from worldline.train.rl import Reward, rl_trainer
from worldline.train.stage import MODEL, StageResult, read_result, run_stage
from worldline.train.tuning import tuning_trainer
from worldline.types import JsonDict

__all__ = ["SCORE", "measured", "train_stage", "write_card"]

SCORE = "score.json"
_LIBRARIES = ("torch", "transformers", "accelerate")


def train_stage(
    recipe: Recipe,
    stage: Stage,
    out: Path,
    *,
    start: Path | None = None,
    resume: bool = False,
    seed: int | None = None,
    mask: bool | None = None,
    watch: Watch | None = None,
    reward: Reward | None = None,
) -> StageResult:
    """Run a stage of a recipe into a folder, on the recipe's data.

    Args:
        recipe: The recipe.
        stage: Which stage.
        out: The stage's folder; the model lies in `model/` of it.
        start: Model folder to start from, or the folder of an earlier stage; default the recipe's model.
        resume: Go on where an earlier run stopped.
        seed: In place of the recipe's.
        mask: CPT: in place of `data.mask`.
        watch: Called with every record of the curve.
        reward: RL: in place of the recipe's own.

    Raises:
        ConfigError: Recipe and folder do not fit each other, or there is nothing to learn.
        MissingExtraError: A library is missing.
        ModelError: Loss or gradients are not finite.
        StorageError: Something cannot be written.
    """
    for library in (*_LIBRARIES, *(["peft"] if recipe.lora else []), *(["trl", "datasets"] if stage == "rl" else [])):
        require_extra(library, "train")
    done = read_result(out) if resume else None
    if done is not None:
        return done
    if mask is not None:
        recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"mask": mask})})
    return run_stage(
        recipe,
        stage,
        out,
        stage_rows(recipe, stage, seed, mask=mask),
        (lambda run: rl_trainer(run, reward)) if stage == "rl" else tuning_trainer,
        held_out=held_out_rows(recipe, stage) if recipe.measured_every(stage) else [],
        start=_model_folder(start),
        resume=resume,
        seed=seed,
        watch=watch,
        evaluate=lambda folder: figures(evaluate_folder(folder, recipe)[0]),
    )


def measured(recipe: Recipe, folder: Path, name: str) -> JsonDict:
    """Measure the model of a stage's folder once, and keep the figures beside it.

    Raises:
        ConfigError: There is no model, or the figures that are there cannot be read.
    """
    path = folder / SCORE
    if path.is_file():
        with boundary(ConfigError, f"reading {path}", OSError, ValueError):
            found: JsonDict = json.loads(path.read_text(encoding="utf-8"))
        return found
    row, _ = evaluate_folder(folder / MODEL, recipe)
    found = {"name": name, **figures(row)}
    with boundary(StorageError, f"writing {path}", OSError):
        path.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


def write_card(recipe: Recipe, stages: list[StageResult], scores: list[JsonDict], folder: Path) -> None:
    """Write the card of a stage's model.

    Raises:
        StorageError: It cannot be written.
    """
    with boundary(StorageError, f"writing the card of {folder}", OSError):
        (folder / MODEL / "README.md").write_text(model_card(recipe, stages, scores), encoding="utf-8")


def _model_folder(start: Path | None) -> Path | None:
    if start is None:
        return None
    folder = start / MODEL if (start / MODEL).is_dir() else start
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"{start} holds no model", hint="give the folder of a finished stage, or a Hugging Face folder"
        )
    return folder
