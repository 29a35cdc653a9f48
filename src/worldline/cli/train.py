"""`worldline train`: the three stages of training a world model, and which of them help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from worldline.cli.options import json_file_option, write_json
from worldline.cli.train_adapter import train_adapter
from worldline.cli.train_plot import plot
from worldline.errors import ConfigError

if TYPE_CHECKING:
    from worldline.data.rows import Stage
    from worldline.train.ablation import AblationRow, Cell
    from worldline.train.evaluation import Score
    from worldline.train.recipe import Recipe
    from worldline.train.runs import StageResult
    from worldline.types import JsonDict

__all__ = ["train"]

_FOLDER = click.Path(file_okay=False, path_type=Path)
_CURVE = ("loss", "eval_loss", "reward", "eval_reward", "exact", "eval_exact", "eval_greedy_exact")


@click.group()
def train() -> None:
    """Train a world model: continued pre-training, fine-tuning, reinforcement learning."""


train.add_command(train_adapter)


train.add_command(plot)


def _stage_options(function: Any) -> Any:
    options = (
        click.option("--recipe", required=True, help="Recipe: a YAML file, or the name of one that ships."),
        click.option("--out", required=True, type=_FOLDER, help="Folder of the run."),
        click.option("--from", "start", type=_FOLDER, help="Run or model folder to start from; default the recipe's."),
        click.option("--resume", is_flag=True, help="Go on where an earlier run stopped."),
        click.option("--seed", type=int, help="In place of the recipe's."),
        click.option("--no-measure", is_flag=True, help="Do not measure answers on held-out turns afterwards."),
        json_file_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@train.command("cpt")
@_stage_options
def cpt(**options: Any) -> None:
    """Continue pre-training on whole trajectories; only observations are learned."""
    _run("cpt", **options)


@train.command("sft")
@_stage_options
def sft(**options: Any) -> None:
    """Fine-tune on single turns, with reasoning where the recipe says so."""
    _run("sft", **options)


@train.command("rl")
@_stage_options
def rl(**options: Any) -> None:
    """Reinforce by GSPO; rubric and rules are mixed, and judged, as the recipe says."""
    _run("rl", **options)


@train.command("recipes")
def recipes() -> None:
    """List the recipes that ship, and where they lie."""
    from worldline.train.recipe import shipped_recipes

    for name, path in shipped_recipes().items():
        click.echo(f"{name}\t{path}")


@train.command("all")
@click.option("--recipe", required=True, help="Recipe: a YAML file, or the name of one that ships.")
@click.option("--out", required=True, type=_FOLDER, help="Folder of the ablation; what is done there stays done.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="So many, from the recipe's on.")
@click.option("--cell", "chosen", multiple=True, help="Only these rows of the table; repeat.")
@json_file_option
def all_command(recipe: str, out: Path, seeds: int, chosen: tuple[str, ...], json_file: Path | None) -> None:
    """Train all ways through the pipeline, and print which stages help.

    A run that was stopped goes on where it was when the same command is given again.
    """
    from worldline.train.ablation import CELLS, run_ablation

    loaded = _loaded(recipe)
    cells = [cell for cell in CELLS if not chosen or cell.name in chosen]
    unknown = sorted(set(chosen) - {cell.name for cell in cells})
    if unknown:
        raise ConfigError(f"unknown row {unknown[0]!r}", hint=f"known: {'; '.join(cell.name for cell in CELLS)}")
    console = Console(stderr=True)

    def tell(cell: Cell, seed: int, score: Score) -> None:
        console.print(f"{cell.name}, seed {seed}: exact {100 * score.figures['exact']:.1f}%")

    with _progress(console) as watch:
        numbers = range(loaded.seed, loaded.seed + seeds)
        rows = run_ablation(loaded, out, numbers, cells=cells, watch=watch, on_cell=tell)
    if json_file is not None:
        write_json(json_file, [row.model_dump(mode="json") for row in rows])
    if str(json_file) != "-":
        Console(width=None if Console().is_terminal else 130).print(_table(rows, loaded))


def _run(
    stage: Stage,
    *,
    recipe: str,
    out: Path,
    start: Path | None,
    resume: bool,
    seed: int | None,
    no_measure: bool,
    json_file: Path | None,
) -> None:
    from worldline.train.evaluation import measured, read_score, require_held_out
    from worldline.train.running import train_stage, write_card

    loaded = _loaded(recipe)
    loaded.stage(stage)
    if not no_measure:
        require_held_out(loaded)
    with _progress(Console(stderr=True)) as watch:
        result = train_stage(loaded, stage, out, start=start, resume=resume, seed=seed, watch=watch)
    score = read_score(out) if no_measure else measured(loaded, out, f"{loaded.name} {stage}", result.seed)
    scores = [score] if score is not None else []
    write_card(loaded, out, scores)
    if json_file is not None:
        write_json(json_file, {**result.model_dump(mode="json"), "measured": [score.as_row() for score in scores]})
    if str(json_file) != "-":
        _print(result, scores, out)


def _loaded(spec: str) -> Recipe:
    from worldline.train.recipe import load_recipe, recipe_path

    return load_recipe(recipe_path(spec))


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[JsonDict], None]]:
    """Show a bar of the steps with the last figures; without a terminal, a line for each record."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)
        last: dict[str, float] = {}

        def watch(record: JsonDict) -> None:
            last.update({name: record[name] for name in _CURVE if record.get(name) is not None})
            told = ", ".join(f"{name} {float(value):.4f}" for name, value in last.items())
            text = " ".join(part for part in (record.get("run"), told) if part)
            bar.update(task, completed=record["step"], total=record.get("of"), description=text)
            if not console.is_terminal and any(name in record for name in _CURVE):
                now = ", ".join(f"{name} {float(record[name]):.4f}" for name in _CURVE if record.get(name) is not None)
                run = f"{record['run']}: " if "run" in record else ""
                console.print(f"{run}step {record['step']}: {now}")

        yield watch


def _print(result: StageResult, scores: list[Score], out: Path) -> None:
    click.echo(
        f"{result.stage}: {result.steps:,} steps on {result.rows:,} rows ({result.tokens:,} tokens, "
        f"{result.learned:,} learned) in {result.seconds:.0f} s; the model is {out / 'model'}"
    )
    for found in (score.figures for score in scores):
        interval = found["exact_ci"]
        between = f" ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})" if interval else ""
        click.echo(
            f"{found['n']} held-out turns: exact {100 * found['exact']:.1f}%{between}, "
            f"ROUGE-L {100 * found['rouge_l']:.1f}%, {found['failures']} failed"
        )


def _table(rows: list[AblationRow], recipe: Recipe) -> Table:
    how = recipe.evaluation
    table = Table(title=f"{recipe.name}: which stages help ({how.domain} {how.split}, greedy)", title_justify="left")
    table.add_column("stages")
    for column in ("turns", "exact", "95% CI", "by seed", "errors agree", "ROUGE-L", "failed"):
        table.add_column(column, justify="right")
    for row in rows:
        interval = row.exact_ci
        table.add_row(
            row.cell,
            str(row.n),
            _percent(row.exact),
            f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f}" if interval else "-",
            " ".join(_percent(exact) for exact in row.by_seed),
            _percent(row.error_agreement),
            _percent(row.rouge_l),
            str(row.failures),
        )
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
