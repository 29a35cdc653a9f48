"""`worldline bench learn`: how well worlds learned from traces answer tasks they were not learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress

from worldline.cli.options import json_file_option, write_json
from worldline.errors import ConfigError, require_extra

if TYPE_CHECKING:
    from worldline.bench.learned import LearnedReport

__all__ = ["bench_learn"]


@click.command("learn")
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path), help="Trajectories of any format.")
@click.option("--domain", default="mcp", show_default=True, help="Domain of the trajectories that count.")
@click.option("--engine", "engines", multiple=True, help="Engine or baseline; repeat for several rows.")
@click.option("--limit", type=click.IntRange(min=2), help="At most so many tasks.")
@click.option(
    "--task", "tasks", multiple=True, help="Measure on this task only; repeat. Others are still learned from."
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="What an answer of kernel or memory must reach to count.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap.")
@json_file_option
def bench_learn(
    data: Path,
    domain: str,
    engines: tuple[str, ...],
    limit: int | None,
    tasks: tuple[str, ...],
    min_confidence: float,
    seed: int,
    json_file: Path | None,
) -> None:
    """Leave one task out with all its trials, learn a world from the others, measure it on that one; all in turn.

    With --json FILE the report is written there, and finished trajectories are kept beside it, so that a run that was
    killed goes on where it was.
    """
    require_extra("scipy", "bench")
    from worldline.bench.learned import LEARNED_ENGINES, measure_learned
    from worldline.engines import EngineOptions
    from worldline.formats import read_trajectories

    found = [t for t in read_trajectories(data) if t.world.domain == domain and t.turns]
    if limit is not None:
        chosen = list(dict.fromkeys(t.family for t in found))[:limit]
        found = [t for t in found if t.family in chosen]
    if not found:
        raise ConfigError(f"{data}: no {domain} trajectories", hint="check --domain and the file")
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = bar.add_task("leaving one task out", total=len(tasks) or len({t.family for t in found}))
        report = measure_learned(
            found,
            engines or LEARNED_ENGINES,
            journal=json_file if json_file and str(json_file) != "-" else None,
            options=EngineOptions(min_confidence=min_confidence, seed=seed),
            seed=seed,
            only=tasks,
            on_task=lambda task: bar.advance(shown),
        )
    if json_file is not None:
        write_json(json_file, {**report.model_dump(mode="json"), "data": data.name, "ceiling": report.ceiling})
    if str(json_file) != "-":
        _print(report, data)


def _print(report: LearnedReport, data: Path) -> None:
    from worldline.bench.table import fidelity_table

    title = (
        f"{data.name}, leave one task out: {report.n} turns in {report.trajectories} sessions of {report.tasks} tasks"
    )
    out = Console(width=None if Console().is_terminal else 180)
    out.print(fidelity_table(report.rows, title))
    share = 100 * report.ceiling
    out.print(
        f"knowable: {report.n_knowable} turns ({share:.1f}%): {report.n_recorded} whose very call was recorded, "
        f"{report.n_computable} that a learned rule tells; without a model, about the most that can be right.",
        highlight=False,
    )
    out.print(f"errors in reality: {report.n_errors}", highlight=False)
