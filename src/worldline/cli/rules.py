"""`worldline bench rules`: make rule checks of trajectories, and check predictions by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from worldline.cli.intake import OUT, PATH, progress
from worldline.cli.options import (
    chosen_memory,
    chosen_model,
    json_file_option,
    memory_option,
    model_option,
    write_json,
)
from worldline.errors import ConfigError, require_extra

if TYPE_CHECKING:
    from worldline.bench.agentworld.records import EvalRow, Generation
    from worldline.bench.agentworld.statistics import Figure
    from worldline.bench.rules.running import RuleTable
    from worldline.types import Trajectory

__all__ = ["rules"]


@click.group()
def rules() -> None:
    """Check predictions without a judge: controllability, error handling, long context."""


@rules.command("build")
@click.option("--from", "paths", type=PATH, multiple=True, required=True, help="Recordings: files and folders; repeat.")
@click.argument("more", type=PATH, nargs=-1)
@click.option("--out", type=OUT, required=True, help="File of rules to write; its trajectories go beside it.")
@click.option("--rollout", "rollouts", multiple=True, help="Engine or baseline to try the rules on; repeat.")
@click.option("--per-axis", type=click.IntRange(min=1), default=3, show_default=True, help="Most of a trajectory.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many trajectories.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw of rules and of the damages.")
@memory_option
@model_option
@json_file_option
def build(
    paths: tuple[Path, ...],
    more: tuple[Path, ...],
    out: Path,
    rollouts: tuple[str, ...],
    per_axis: int,
    limit: int | None,
    seed: int,
    memory_folder: Path | None,
    model: str | None,
    models: Path | None,
    model_cache: Path | None,
    prompts: Path | None,
    json_file: Path | None,
) -> None:
    """Make rule checks of observed trajectories, and keep those that tell right answers from wrong ones."""
    require_extra("regex", "bench")
    from itertools import islice

    from worldline.bench.rules.validating import build_rules, write_rules
    from worldline.bench.suite import engine_factory
    from worldline.engines import EngineOptions, EngineParts
    from worldline.formats import Importer
    from worldline.types import Source

    memory = chosen_memory(memory_folder, "terminal") if rollouts else None
    factories = {}
    if memory is not None:
        parts = EngineParts(model=chosen_model(model, models, model_cache), memory=memory, prompts=prompts)
        factories = {name: engine_factory(name, memory, EngineOptions(seed=seed), parts) for name in rollouts}
    reader = Importer([*paths, *more], mask=True, strict=True)
    observed = (one for one in reader.read_all() if one.source is Source.OBSERVED)
    with progress("trajectories", limit) as bar:

        def counted() -> Iterator[Trajectory]:
            for trajectory in islice(observed, limit):
                yield trajectory
                bar.advance(bar.task_ids[0])

        built, used = build_rules(counted(), rollouts=factories, per_axis=per_axis, seed=seed)
    if not built.rules:
        raise ConfigError("no rule was kept", hint=f"left out: {dict(built.left_out)}")
    write_rules(out, built, used)
    record = {"rules": len(built.rules), "axes": built.counts(), "left_out": dict(built.left_out), "seed": seed}
    if json_file is not None:
        write_json(json_file, record)
    if str(json_file) != "-":
        click.echo(f"{len(built.rules)} rules from {len(used)} trajectories written to {out}")
        for axis, kinds in built.counts().items():
            click.echo(f"{axis}: {', '.join(f'{count} {kind}' for kind, count in kinds.items()) or 'none'}")
        for why, count in built.left_out.items():
            click.echo(f"left out: {count} ({why})")


@rules.command("run")
@click.option("--rules", "rule_file", type=PATH, required=True, help="File of rules.")
@click.option("--data", type=PATH, multiple=True, help="Trajectories instead of those beside the rules; repeat.")
@click.option("--engine", "engines", multiple=True, help="Engine or baseline; repeat. Default: grounded.")
@click.option("--run", "runs", type=PATH, multiple=True, help="Check the generations of a run folder; repeat.")
@click.option("--min-confidence", type=click.FloatRange(0, 1), default=0.5, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap and of sampling.")
@memory_option
@model_option
@json_file_option
def run(
    rule_file: Path,
    data: tuple[Path, ...],
    engines: tuple[str, ...],
    runs: tuple[Path, ...],
    min_confidence: float,
    seed: int,
    memory_folder: Path | None,
    model: str | None,
    models: Path | None,
    model_cache: Path | None,
    prompts: Path | None,
    json_file: Path | None,
) -> None:
    """Check the predictions of engines, or of the runs of `bench agentworld`, by a rule file."""
    require_extra("regex", "bench")
    require_extra("scipy", "bench")
    from worldline.bench.rules.running import check_engine, check_rows, summed
    from worldline.bench.rules.validating import read_rules, rule_trajectories, saved_trajectories
    from worldline.bench.suite import engine_factory
    from worldline.engines import EngineOptions, EngineParts
    from worldline.models.base import Sampling

    known = read_rules(rule_file)
    tables: list[RuleTable] = []
    for path in runs:
        results, absent = check_rows(known, _generations(path))
        tables.append(summed(str(path), results, seed=seed, without_row=absent))
    names = engines or (() if runs else ("grounded",))
    if names:
        memory = chosen_memory(memory_folder, "terminal")
        sampling = Sampling(seed=seed) if model else None
        parts = EngineParts(
            model=chosen_model(model, models, model_cache), memory=memory, sampling=sampling, prompts=prompts
        )
        options = EngineOptions(min_confidence=min_confidence, seed=seed)
        trajectories = rule_trajectories(data or [saved_trajectories(rule_file)])
        for name in names:
            with progress(name, len({rule.trajectory for rule in known})) as bar:
                factory = engine_factory(name, memory, options, parts)
                advance = bar.advance
                results = check_engine(known, trajectories, factory, on_done=lambda: advance(bar.task_ids[0]))  # noqa: B023
            tables.append(summed(name, results, seed=seed))
    if json_file is not None:
        write_json(json_file, [table.model_dump(mode="json") for table in tables])
    if str(json_file) != "-":
        Console(width=None if Console().is_terminal else 160).print(_table(tables))


def _generations(path: Path) -> Iterator[tuple[EvalRow, Generation]]:
    from worldline.bench.agentworld.store import RunFolder

    folder = RunFolder(path)
    known = folder.refs()
    for generation in folder.generations():
        if generation.row in known:
            yield folder.row(generation.row), generation


def _table(tables: list[RuleTable]) -> Table:
    from worldline.bench.rules import AXES

    shown = Table(title="rule checks passed, in percent (95% interval by trajectory family)")
    shown.add_column("")
    for axis in (*AXES, "macro", "all"):
        shown.add_column(axis.replace("_", " "), justify="right")
    for name in ("rules", "failed", "without row"):
        shown.add_column(name, justify="right")
    for table in tables:
        figures = [*(table.axes[axis] for axis in AXES), table.macro, table.all]
        counts = (table.n, table.n_failed, table.n_without_row)
        shown.add_row(table.name, *map(_cell, figures), *map(str, counts))
    return shown


def _cell(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    interval = f" [{100 * figure.interval[0]:.0f}, {100 * figure.interval[1]:.0f}]" if figure.interval else ""
    return f"{100 * figure.value:.1f}{interval} (n {figure.n})"
