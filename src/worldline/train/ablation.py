"""Which stages help: eight ways through the pipeline, each with several seeds, measured on the same held-out turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldline.bench.metrics import Interval, rate_interval
from worldline.bench.suite import Suite
from worldline.data.rows import Stage
from worldline.errors import ConfigError, boundary, require_extra
from worldline.models.trained import write_note
from worldline.train.evaluation import Score, held_out_suite, measured, read_score
from worldline.train.guarding import COMPLETE, Watch
from worldline.train.material import check_set
from worldline.train.pretrained import load_model, load_tokenizer, save_model
from worldline.train.recipe import ASIDE, Recipe, same_run
from worldline.train.running import train_stage
from worldline.train.runs import MODEL
from worldline.types import Frozen, JsonDict
from worldline.writing import write_json, write_text

__all__ = ["ABLATION", "CELLS", "AblationRow", "Cell", "read_ablation", "run_ablation", "summed"]

ABLATION = "ablation.json"
"""A file that makes a folder that of an ablation: its recipe."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One way through the pipeline."""

    name: str
    stages: tuple[Stage, ...]
    mask: bool = True
    """Whether continued pre-training masks turns."""

    @property
    def folder(self) -> str:
        """Where its last model lies; cells with a beginning in common share the folders of it."""
        names = [stage if stage != "cpt" or self.mask else "cpt-unmasked" for stage in self.stages]
        return "+".join(names) or "base"

    def before(self) -> Cell | None:
        """The cell whose model its last stage starts from; None for the base."""
        return Cell("", self.stages[:-1], self.mask) if self.stages else None


CELLS = (
    Cell("base", ()),
    Cell("CPT", ("cpt",)),
    Cell("SFT", ("sft",)),
    Cell("CPT+SFT", ("cpt", "sft")),
    Cell("CPT+RL", ("cpt", "rl")),
    Cell("SFT+RL", ("sft", "rl")),
    Cell("CPT+SFT+RL", ("cpt", "sft", "rl")),
    Cell("CPT+SFT+RL, no mask", ("cpt", "sft", "rl"), mask=False),
)


class AblationRow(Frozen):
    """A row of the table: a cell over its seeds."""

    cell: str
    seeds: tuple[int, ...]
    n: int
    """Turns, over all seeds."""
    exact: float
    exact_ci: Interval | None
    """95% bootstrap interval over task families, the seeds' turns of a family together."""
    by_seed: tuple[float, ...]
    error_agreement: float | None
    """Mean over the seeds, as the next."""
    rouge_l: float | None
    failures: int


def run_ablation(
    recipe: Recipe,
    out: Path,
    seeds: Sequence[int],
    *,
    cells: Sequence[Cell] = CELLS,
    watch: Watch | None = None,
    on_cell: Callable[[Cell, int, Score], None] | None = None,
    suite: Suite | None = None,
) -> list[AblationRow]:
    """Train and measure every cell; what is done already in the folder is not done again.

    Args:
        recipe: With all the stages that the cells have.
        out: Folder of the ablation.
        seeds: Of data, weights and order.
        cells: Rows of the table.
        watch: Called with the curve's records, each with its `run`.
        on_cell: Called when a cell is measured.
        suite: Held-out turns; default the recipe's.

    Raises:
        ConfigError: The folder holds the ablation of another recipe, the recipe lacks a stage, or a set that it names
            is none that all cells can learn.
        WorldlineError: A stage fails; what was done stays.
    """
    for cell in cells:
        for stage in cell.stages:
            check_set(recipe, stage, mask=None if cell.mask else False)
    _claim(recipe, out)
    suite = suite or held_out_suite(recipe)
    scores = []
    for seed in seeds:
        for cell in cells:
            _trained(recipe, cell, out / f"seed-{seed}", seed, watch)
            score = measured(recipe, out / f"seed-{seed}" / cell.folder, cell.name, seed, suite)
            scores.append(score)
            if on_cell is not None:
                on_cell(cell, seed, score)
    return summed(scores)


def summed(scores: Sequence[Score]) -> list[AblationRow]:
    """Sum the seeds of each cell up, in the order in which cells come first."""
    rows = []
    for cell in dict.fromkeys(score.cell for score in scores):
        mine = [score for score in scores if score.cell == cell]
        trials = [trial for score in mine for trial in score.trials]
        rows.append(
            AblationRow(
                cell=cell,
                seeds=tuple(score.seed for score in mine),
                n=len(trials),
                exact=_mean([float(exact) for _, exact in trials]) or 0.0,
                exact_ci=rate_interval(trials, seed=0),
                by_seed=tuple(_mean([float(exact) for _, exact in score.trials]) or 0.0 for score in mine),
                error_agreement=_mean([score.figures["error_agreement"] for score in mine]),
                rouge_l=_mean([score.figures["rouge_l"] for score in mine]),
                failures=sum(score.figures["failures"] for score in mine),
            )
        )
    return rows


def read_ablation(out: Path) -> tuple[JsonDict, list[AblationRow]]:
    """Read what an ablation has measured so far: its recipe as plain data, and its rows.

    Raises:
        ConfigError: The folder holds no ablation, nothing is measured yet, or it cannot be read.
    """
    path = out / ABLATION
    if not path.is_file():
        raise ConfigError(f"{out} holds no ablation", hint="give a folder that was the --out of worldline train all")
    with boundary(ConfigError, f"reading {path}", OSError, ValueError):
        recipe: JsonDict = json.loads(path.read_text(encoding="utf-8"))
    scores = []
    for cell in CELLS:
        folders = sorted(out.glob(f"seed-*/{cell.folder}"), key=lambda path: (len(str(path)), path))
        scores += [score for score in map(read_score, folders) if score is not None]
    if not scores:
        raise ConfigError(f"nothing of {out} is measured yet", hint="wait for the first row of worldline train all")
    return recipe, summed(scores)


def _trained(recipe: Recipe, cell: Cell, out: Path, seed: int, watch: Watch | None) -> Path:
    folder = out / cell.folder
    before = cell.before()
    if before is None:
        _base(recipe, folder, seed)
        return folder
    start = _trained(recipe, before, out, seed, watch)
    named = None if watch is None else lambda record: watch({"run": f"{cell.folder} seed {seed}", **record})
    train_stage(
        recipe,
        cell.stages[-1],
        folder,
        start=start,
        resume=True,
        seed=seed,
        mask=None if cell.mask else False,
        watch=named,
    )
    return folder


def _base(recipe: Recipe, folder: Path, seed: int) -> None:
    """Write the starting model as a folder, so that it is measured as all others are."""
    if (folder / COMPLETE).is_file():
        return
    tokenizer = load_tokenizer(recipe)
    if recipe.threads is not None:
        require_extra("torch", "train").set_num_threads(recipe.threads)
    save_model(load_model(recipe, tokenizer, None, seed), tokenizer, folder / MODEL)
    write_note(recipe.note((recipe.evaluation.domain,)), folder / MODEL)
    write_text(folder / COMPLETE, "")


def _claim(recipe: Recipe, out: Path) -> None:
    record = {name: value for name, value in recipe.as_record().items() if name not in ("seed", *ASIDE)}
    path = out / ABLATION
    if path.is_file():
        with boundary(ConfigError, f"reading {path}", OSError, ValueError):
            before = json.loads(path.read_text(encoding="utf-8"))
        if not same_run(before, record):
            raise ConfigError(f"{out} holds the ablation of another recipe", hint="choose another --out")
        return
    write_json(path, record)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
