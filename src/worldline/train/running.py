"""Training as a user asks for it: a stage of a recipe, measured when it is done, with its card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from worldline.data.rows import Stage, TrainingRow
from worldline.errors import ConfigError
from worldline.train.card import model_card
from worldline.train.evaluation import Score, evaluate_folder, figures
from worldline.train.guarding import Watch
from worldline.train.material import held_out_rows, stage_rows
from worldline.train.recipe import Recipe
from worldline.train.rl import Reward, rl_trainer
from worldline.train.runs import MODEL, StageResult, results_to
from worldline.train.stage import run_stage
from worldline.train.tuning import tuning_trainer
from worldline.writing import write_text

__all__ = ["train_stage", "write_card"]


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
    if mask is not None:
        recipe = recipe.model_copy(update={"data": recipe.data.model_copy(update={"mask": mask})})
    return run_stage(
        recipe,
        stage,
        out,
        _later(lambda: stage_rows(recipe, stage, seed, mask=mask)),
        (lambda run: rl_trainer(run, reward)) if stage == "rl" else tuning_trainer,
        held_out=_later(lambda: held_out_rows(recipe, stage) if recipe.measured_every(stage) else []),
        start=_model_folder(start),
        resume=resume,
        seed=seed,
        watch=watch,
        evaluate=lambda folder: figures(evaluate_folder(folder, recipe)[0]),
    )


def write_card(recipe: Recipe, folder: Path, scores: Sequence[Score] = ()) -> None:
    """Write the card of a stage's model: of all stages that led to it.

    Raises:
        StorageError: It cannot be written.
    """
    card = model_card(recipe, results_to(folder), [score.as_row() for score in scores])
    write_text(folder / MODEL / "README.md", card)


def _later(make: Callable[[], list[TrainingRow]]) -> Iterator[TrainingRow]:
    yield from make()


def _model_folder(start: Path | None) -> Path | None:
    if start is None:
        return None
    folder = start / MODEL if (start / MODEL).is_dir() else start
    if not (folder / "config.json").is_file():
        raise ConfigError(
            f"{start} holds no model", hint="give the folder of a finished stage, or a Hugging Face folder"
        )
    return folder
