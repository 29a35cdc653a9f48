"""`worldline bench learn`: how well worlds learned from traces answer tasks they were not learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from worldline.cli.options import json_file_option, write_json
from worldline.errors import ConfigError, require_extra

if TYPE_CHECKING:
    from worldline.bench.learned import LearnedReport
    from worldline.types import Trajectory

__all__ = ["bench_learn"]


@click.command("learn")
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path), help="Trajectories of any format.")
@click.option("--domain", default="mcp", show_default=True, help="Domain of the trajectories that count.")
@click.option("--engine", "engines", multiple=True, help="Engine or baseline; repeat for several rows.")
@click.option(
    "--servers", is_flag=True, help="Each kind of MCP server in the sessions by itself, as if no kernel knew it."
)
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
    servers: bool,
    limit: int | None,
    tasks: tuple[str, ...],
    min_confidence: float,
    seed: int,
    json_file: Path | None,
) -> None:
    """Leave one task out with all its trials, learn a world from the others, measure it on that one; all in turn.

    With --json FILE the report is written there, and finished trajectories are kept beside it, so that a run that was
    killed goes on where it was.

    With --servers the calls of each kind of MCP server are taken by themselves, without what the world declares: a
    server that no kernel knows, of which only the schemas of its tools and the other tasks' traces are seen.
    """
    require_extra("scipy", "bench")
    from worldline.bench.learned import LEARNED_ENGINES, SERVER_ENGINES
    from worldline.bench.servers import by_server
    from worldline.formats import read_trajectories

    found = [t for t in read_trajectories(data) if t.world.domain == domain and t.turns]
    if limit is not None:
        chosen = list(dict.fromkeys(t.family for t in found))[:limit]
        found = [t for t in found if t.family in chosen]
    parts = by_server(found) if servers else {"": found}
    if not found or not parts:
        raise ConfigError(f"{data}: no {domain} trajectories", hint="check --domain and the file")
    journal = json_file if json_file and str(json_file) != "-" else None
    reports: dict[str, LearnedReport] = {}
    for kind, trajectories in parts.items():
        names = engines or (SERVER_ENGINES if servers else LEARNED_ENGINES)
        kept = journal.with_name(f"{journal.name}.{kind}") if journal and kind else journal
        only = tuple(task for task in tasks if any(t.family == task for t in trajectories)) if servers else tasks
        if not servers or (len({t.family for t in trajectories}) > 1 and (only or not tasks)):
            reports[kind] = _measured(trajectories, names, kept, min_confidence, seed, only)
    if not reports:
        raise ConfigError(f"{data}: no server with two tasks or more", hint="check --task and the file")
    if json_file is not None:
        told = {k: {**r.model_dump(mode="json"), "data": data.name, "ceiling": r.ceiling} for k, r in reports.items()}
        write_json(json_file, told if servers else told[""])
    if str(json_file) == "-":
        return
    if servers:
        _print_servers(reports)
    else:
        _print(reports[""], data)


def _measured(
    trajectories: Sequence[Trajectory],
    names: Sequence[str],
    journal: Path | None,
    min_confidence: float,
    seed: int,
    tasks: tuple[str, ...],
) -> LearnedReport:
    from worldline.bench.learned import measure_learned
    from worldline.engines import EngineOptions

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        shown = bar.add_task("leaving one task out", total=len(tasks) or len({t.family for t in trajectories}))
        return measure_learned(
            trajectories,
            names,
            journal=journal,
            options=EngineOptions(min_confidence=min_confidence, seed=seed),
            seed=seed,
            only=tasks,
            on_task=lambda task: bar.advance(shown),
        )


def _print_servers(reports: Mapping[str, LearnedReport]) -> None:
    """One line for each server and engine, and for all turns together."""
    table = Table("server", "turns", "tasks", "engine", "exact", "knowable", "exact of the knowable", "errors agree")
    total: dict[str, list[tuple[int, float, float]]] = {}
    for kind, report in reports.items():
        for number, row in enumerate(report.rows):
            first = (kind, str(report.n), str(report.tasks)) if not number else ("", "", "")
            agreed = row.error_agreement or 0.0
            share = f"{row.exact_knowable:.1%}" if row.exact_knowable is not None else "-"
            table.add_row(*first, row.engine, f"{row.exact or 0:.1%}", str(report.n_knowable), share, f"{agreed:.1%}")
            total.setdefault(row.engine, []).append((report.n, row.exact or 0.0, agreed))
    for engine, parts in total.items():
        n = sum(count for count, *_ in parts)
        exact, agreed = (sum(part[0] * part[i] for part in parts) / n for i in (1, 2))
        table.add_row("all", str(n), "", engine, f"{exact:.1%}", "", "", f"{agreed:.1%}")
    Console(width=None if Console().is_terminal else 120).print(table)


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
