"""`worldline bench closed-loop`: act in the simulation, then in reality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from worldline.cli.options import (
    chosen_memory,
    chosen_model,
    json_file_option,
    memory_option,
    model_option,
    write_json,
)
from worldline.errors import require_extra

if TYPE_CHECKING:
    from worldline.bench.closed_loop import ClosedLoopRow
    from worldline.types import WorldSpec

__all__ = ["bench_closed_loop"]


@click.command("closed-loop")
@click.option("--domain", required=True, help="Domain; it needs a real environment on this machine.")
@click.option("--world", type=click.Path(exists=True, path_type=Path), help="Act in this world instead.")
@click.option(
    "--split", type=click.Choice(["train", "dev", "test"]), default="test", show_default=True, help="Worlds to act in."
)
@click.option(
    "--where", metavar="KEY=VALUE", help="Only worlds whose initial state has this value (JSON), such as closed=true."
)
@click.option("--turns", type=click.IntRange(1), multiple=True, help="Steps of a session; repeat. Default: 10 and 30.")
@click.option("--sessions", type=click.IntRange(1), default=30, show_default=True, help="Sessions of each length.")
@click.option("--engine", default="grounded", show_default=True, help="What simulates.")
@click.option("--seed", type=int, default=7, show_default=True, help="Seed of the agents and the bootstrap.")
@memory_option
@model_option
@json_file_option
def bench_closed_loop(
    domain: str,
    world: Path | None,
    split: str,
    where: str | None,
    turns: tuple[int, ...],
    sessions: int,
    engine: str,
    seed: int,
    memory_folder: Path | None,
    model: str | None,
    models: Path | None,
    model_cache: Path | None,
    prompts: Path | None,
    json_file: Path | None,
) -> None:
    """Let a scripted agent act in the simulation, take its actions in reality, and print how much survives.

    The worlds are those of the recordings; the actions are new. The gap is by how many points the simulation refuses
    more often than reality; optimism is the share of really refused steps that it let pass. With --json FILE, finished
    sessions are kept beside it, so that a run that was killed goes on where it was.
    """
    require_extra("scipy", "bench")
    from worldline.bench.closed_loop import closed_loop_row
    from worldline.engines import EngineOptions, EngineParts

    console = Console(stderr=True)
    parts = EngineParts(
        model=chosen_model(model, models, model_cache), memory=chosen_memory(memory_folder, domain), prompts=prompts
    )
    worlds = _worlds(domain, world, split, sessions, where)
    rows = []
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for length in turns or (10, 30):
            task = progress.add_task(f"{length} turns", total=len(worlds))
            row = closed_loop_row(
                worlds,
                length,
                engine=engine,
                seed=seed,
                options=EngineOptions(seed=seed),
                parts=parts,
                journal=json_file if json_file and str(json_file) != "-" else None,
                on_done=lambda _, task=task: progress.advance(task),  # type: ignore[misc]
            )
            rows.append(row)
    if json_file is not None:
        write_json(json_file, [row.model_dump(mode="json") for row in rows])
    if str(json_file) != "-":
        _print(rows)


def _worlds(
    domain: str, path: Path | None, split: str, sessions: int, where: str | None
) -> list[tuple[str, WorldSpec]]:
    """Sessions' worlds: the recorded ones in turn, each family before any twice."""
    if path is not None:
        from worldline.worlds import World

        world = World.load(path).spec
        return [(f"{world.name or path.stem} {number}", world) for number in range(sessions)]
    from worldline.bench.suite import load_suite

    by_family: dict[str, list[WorldSpec]] = {}
    for trajectory in load_suite(domain, split, where=where).trajectories:
        by_family.setdefault(trajectory.family, []).append(trajectory.world)
    found = []
    for number in range(sessions):
        names = list(by_family)
        name = names[number % len(names)]
        worlds = by_family[name]
        found.append((name, worlds[number // len(names) % len(worlds)]))
    return found


def _print(rows: list[ClosedLoopRow]) -> None:
    first = rows[0]
    table = Table(title=f"Closed loop, {first.domain}, engine {first.engine}, seed {first.seed}")
    for name in ("turns", "sessions", "steps", "steps that agree", "verifier agrees", "unbroken"):
        table.add_column(name, justify="right")
    for name in ("refused: simulated", "really", "gap, points", "optimism", "abstained"):
        table.add_column(name, justify="right")
    for row in rows:
        agreement = f"{_shown(row.agreement)} {_interval(row.agreement_ci)}"
        verified = f"{_shown(row.verified)} {_interval(row.verified_ci)} of {row.probed}"
        cells = [row.turns, row.sessions, row.steps, agreement, verified, _shown(row.unbroken)]
        cells += [_shown(row.simulated_errors), _shown(row.real_errors), _points(row.refusal_gap, row.refusal_gap_ci)]
        allowed = f"{_shown(row.wrongly_allowed)} {_interval(row.wrongly_allowed_ci)}"
        table.add_row(*map(str, [*cells, allowed, _shown(row.abstained)]))
    Console(width=None if Console().is_terminal else 200).print(table)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _points(gap: float | None, interval: tuple[float, float] | None) -> str:
    if gap is None:
        return "-"
    between = "" if interval is None else f" ({100 * interval[0]:+.1f} .. {100 * interval[1]:+.1f})"
    return f"{100 * gap:+.1f}{between}"


def _interval(value: tuple[float, float] | None) -> str:
    return "" if value is None else f"({value[0]:.1%} .. {value[1]:.1%})"
