"""`worldline bench screens`: how many screens of editors and pagers are exact."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from worldline.cli.options import chosen_memory, json_file_option, memory_option, write_json
from worldline.errors import require_extra

__all__ = ["bench_screens"]


@click.command("screens")
@click.option(
    "--split", type=click.Choice(["train", "dev", "test"]), default="test", show_default=True, help="Recorded split."
)
@click.option("--engine", default="grounded", show_default=True, help="Engine to measure.")
@click.option("--after", type=click.IntRange(min=1), default=5, show_default=True, help="Turns the program has had.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many sessions.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap.")
@memory_option
@json_file_option
def bench_screens(
    split: str,
    engine: str,
    after: int,
    limit: int | None,
    seed: int,
    memory_folder: Path | None,
    json_file: Path | None,
) -> None:
    """Print the share of exact screens that lie deep in a full-screen program, on recorded sessions of keystrokes."""
    require_extra("scipy", "bench")
    from worldline.bench.screens import screens_rows
    from worldline.bench.suite import load_suite, measure
    from worldline.engines import EngineOptions

    suite = load_suite("terminal", split, dialect="keystrokes", limit=limit)
    _, scores = measure(
        suite, [engine], memory=chosen_memory(memory_folder, "terminal"), options=EngineOptions(seed=seed), seed=seed
    )
    rows = screens_rows(suite.trajectories, scores[engine], after, seed)
    if json_file is not None:
        write_json(json_file, [asdict(row) for row in rows])
    if str(json_file) == "-":
        return
    table = Table(title=f"Screens at least {after} turns into a program, {suite.title}, engine {engine}, seed {seed}")
    for name in ("program", "turns", "exact", "95% interval"):
        table.add_column(name, justify="left" if name == "program" else "right")
    for row in rows:
        shown = "-" if row.exact is None else f"{row.exact:.1%}"
        interval = "-" if row.interval is None else f"{row.interval[0]:.1%} .. {row.interval[1]:.1%}"
        table.add_row(row.program, str(row.n), shown, interval)
    Console(width=None if Console().is_terminal else 120).print(table)
