"""`worldline bench build`: make a benchmark of one's own recordings."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from worldline.cli.intake import PATH
from worldline.cli.options import json_file_option, write_json

__all__ = ["bench_build"]


@click.command("build")
@click.option("--from", "paths", type=PATH, multiple=True, required=True, help="Recordings: files and folders; repeat.")
@click.argument("more", type=PATH, nargs=-1)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to make.")
@click.option("--against", type=PATH, multiple=True, help="Training set that must hold nothing of it; repeat.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all draws.")
@click.option("--middle", type=click.IntRange(min=0), default=3, show_default=True, help="Turns beside first and last.")
@click.option(
    "--share", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True, help="Of turns kept at last."
)
@click.option(
    "--gui-changed-lines",
    "min_changed",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    help="Lines beyond the acted node that a hard GUI turn changes.",
)
@click.option("--ngram", type=click.IntRange(min=1), default=13, show_default=True, help="Words of an n-gram.")
@click.option(
    "--max-overlap",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Largest share of n-grams that may stand in a training set.",
)
@click.option("--simulated", is_flag=True, help="Take simulated trajectories too.")
@click.option("--licence", help="Licence of recordings that state none.")
@click.option("--skip-bad", is_flag=True, help="Go on past records that cannot be read.")
@json_file_option
def bench_build(
    paths: tuple[Path, ...],
    more: tuple[Path, ...],
    out: Path,
    against: tuple[Path, ...],
    seed: int,
    middle: int,
    share: float,
    min_changed: int,
    ngram: int,
    max_overlap: float,
    simulated: bool,
    licence: str | None,
    skip_bad: bool,
    json_file: Path | None,
) -> None:
    """Make a benchmark in the layout of AgentWorldBench from recordings (--from A B ... or repeated).

    The folder holds DOMAIN_test.jsonl files, a data card (README.md), build.json, and dropped.jsonl, which says what
    was left out and why. `worldline bench agentworld run --data DIR` runs it.
    """
    from worldline.bench.building import BuildOptions, build_benchmark

    options = BuildOptions(
        seed=seed,
        middle=middle,
        share=share,
        min_changed=min_changed,
        ngram=ngram,
        max_overlap=max_overlap,
        simulated=simulated,
        licence=licence,
    )
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading")
        built = build_benchmark(
            [*paths, *more],
            out,
            options,
            against=against,
            skip_bad=skip_bad,
            step=lambda what: bar.update(task, description=what, advance=1),
        )
    if json_file is not None:
        write_json(json_file, built.model_dump(mode="json"))
    if str(json_file) == "-":
        return
    for domain, count in built.rows.items():
        click.echo(f"{domain}: {count} rows from {built.trajectories[domain]} trajectories")
    for why, count in built.dropped.items():
        click.echo(f"left out: {count} ({why})")
    if not against:
        click.echo("not decontaminated: name training sets with --against")
    click.echo(f"written to {out}")
