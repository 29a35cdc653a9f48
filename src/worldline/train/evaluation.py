"""Measuring what was trained: held-out turns, asked through the same path as `worldline bench real --engine model`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from worldline.bench.metrics import BenchRow, TurnScore
from worldline.bench.suite import Suite, load_suite, measure
from worldline.engines import EngineOptions, EngineParts
from worldline.memory.shipped import shipped_memory
from worldline.models.base import Sampling
from worldline.models.local import LocalModel
from worldline.models.store import describe
from worldline.recordings import path as recording_path
from worldline.train.recipe import Recipe
from worldline.train.runs import MODEL
from worldline.types import Frozen, JsonDict
from worldline.writing import write_text

__all__ = [
    "SCORE",
    "Score",
    "evaluate_folder",
    "figures",
    "held_out_suite",
    "measured",
    "read_score",
    "require_held_out",
]

SCORE = "score.json"


class Score(Frozen):
    """What a model scored on held-out turns."""

    cell: str
    """Name of the model: in an ablation its row of the table."""
    seed: int
    figures: JsonDict
    trials: tuple[tuple[str, bool], ...]
    """Cluster of each turn, and whether it was exact."""

    def as_row(self) -> JsonDict:
        """Return the figures with their name, for tables."""
        return {"name": self.cell, **self.figures}


def require_held_out(recipe: Recipe) -> None:
    """Find that there are held-out turns to measure on, before anything is trained.

    Raises:
        ConfigError: There are none.
    """
    recording_path(recipe.evaluation.domain, recipe.evaluation.split)


def held_out_suite(recipe: Recipe) -> Suite:
    """The held-out turns of a recipe: whole sessions of its split, drawn by the recipe's seed.

    Raises:
        ConfigError: There are none.
    """
    how = recipe.evaluation
    return load_suite(how.domain, how.split).sampled(how.turns, recipe.seed)


def evaluate_folder(folder: Path, recipe: Recipe, *, suite: Suite | None = None) -> tuple[BenchRow, list[TurnScore]]:
    """Measure a model folder, greedily decoded, and return its row of the fidelity table with the scored turns.

    Args:
        folder: A Hugging Face folder.
        recipe: Says which turns, by which prompts, and how long answers may be.
        suite: In place of :func:`held_out_suite`.

    Raises:
        ConfigError: The folder cannot be loaded.
        MissingExtraError: No library that can run it is installed.
    """
    how = recipe.evaluation
    suite = suite or held_out_suite(recipe)
    memory = shipped_memory(how.domain)
    sampling = Sampling(temperature=0.0, seed=0, max_tokens=how.max_tokens)
    stored = describe(folder)
    if stored.trained is None:
        stored = stored.model_copy(update={"trained": recipe.note((how.domain,))})
    model = LocalModel(stored, threads=recipe.threads)
    parts = EngineParts(model=model, memory=memory, prompts=recipe.data.prompts, sampling=sampling)
    try:
        rows, scores = measure(
            suite,
            ["model"],
            memory=memory,
            options=EngineOptions(seed=0, notes_share=how.notes_share),
            parts=parts,
        )
    finally:
        asyncio.run(model.aclose())  # training may go on in this process, and wants the memory
    return rows[0], scores["model"]


def measured(recipe: Recipe, folder: Path, name: str, seed: int, suite: Suite | None = None) -> Score:
    """Measure the model of a stage's folder once, and keep the score beside it.

    Args:
        recipe: Says how.
        folder: Of the stage.
        name: Of the model, for the score.
        seed: That it was trained with.
        suite: In place of :func:`held_out_suite`.

    Raises:
        ConfigError: There is no model.
        StorageError: The score cannot be written.
    """
    found = read_score(folder)
    if found is not None:
        return found
    row, turns = evaluate_folder(folder / MODEL, recipe, suite=suite)
    trials = tuple((turn.cluster, turn.exact) for turn in turns)
    score = Score(cell=name, seed=seed, figures=figures(row), trials=trials)
    write_text(folder / SCORE, score.model_dump_json() + "\n")
    return score


def read_score(folder: Path) -> Score | None:
    """Read the score of a stage's folder; None where there is none that can be read: it is measured again."""
    path = folder / SCORE
    if not path.is_file():
        return None
    try:
        return Score.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def figures(row: BenchRow) -> JsonDict:
    """Return the figures of a row that training is judged by."""
    names = (
        "n",
        "exact",
        "exact_ci",
        "exact_session_determined",
        "structured",
        "error_agreement",
        "rouge_l",
        "failures",
    )
    return {name: getattr(row, name) for name in names}
