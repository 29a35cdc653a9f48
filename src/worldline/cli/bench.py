"""`worldline bench`: measure world models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from rich.console import Console
from rich.progress import Progress

from worldline.cli.agentworld import agentworld
from worldline.cli.agentworld_score import report
from worldline.cli.bench_build import bench_build
from worldline.cli.bench_closed_loop import bench_closed_loop
from worldline.cli.bench_learn import bench_learn
from worldline.cli.bench_prompt import bench_prompt
from worldline.cli.bench_screens import bench_screens
from worldline.cli.judge_audit import judge_audit
from worldline.cli.memory import bench_memory
from worldline.cli.options import (
    chosen_memory,
    chosen_model,
    json_file_option,
    memory_option,
    model_option,
    write_json,
)
from worldline.cli.rules import rules
from worldline.errors import require_extra
from worldline.recordings import DIALECTS
from worldline.types import Trajectory

if TYPE_CHECKING:
    from worldline.bench.metrics import BenchRow, TurnScore

__all__ = ["bench"]


@click.group()
def bench() -> None:
    """Measure how faithful a world model is."""


bench.add_command(agentworld)
bench.add_command(report)
bench.add_command(bench_build)
bench.add_command(bench_learn)
bench.add_command(bench_closed_loop)
bench.add_command(bench_memory)
bench.add_command(bench_prompt)
bench.add_command(bench_screens)
bench.add_command(rules)
bench.add_command(judge_audit)


@bench.command("real")
@click.option("--domain", help="Domain to measure; default: that of --world, otherwise terminal.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    help="Engine or baseline; repeat for several rows. Default: the baselines and grounded.",
)
@click.option(
    "--split", type=click.Choice(["train", "dev", "test"]), default="test", show_default=True, help="Recorded split."
)
@click.option("--dialect", type=click.Choice(DIALECTS), help="Which of our recordings; default: commands.")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="Trajectories of any known format instead.")
@click.option("--world", type=click.Path(exists=True, path_type=Path), help="World that every trajectory starts from.")
@click.option(
    "--where", metavar="KEY=VALUE", help="Only worlds whose initial state has this value (JSON), such as closed=true."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most so many trajectories.")
@click.option("--sample", type=click.IntRange(min=1), help="Whole sessions drawn by the seed, with at least N turns.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Longest answer of the model, in tokens.")
@click.option(
    "--notes-share",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="Room for evidence and state in a model's prompt, as a share of it.",
)
@click.option("--offline-only", is_flag=True, help="Leave out tasks with a command that needs the network.")
@click.option("--skip-bad", is_flag=True, help="Go on past records that cannot be read.")
@click.option("--ceiling", is_flag=True, help="Add what the real environment answers today (needs the sandbox).")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="What an answer of kernel or memory must reach to count.",
)
@click.option("--by", type=click.Choice(["tool"]), help="Also print the last engine's shares for each tool.")
@click.option(
    "--tools", "only", help="Score only the calls of these tools, separated by commas; the others are still followed."
)
@click.option(
    "--ask",
    type=click.Choice(["proven", "mute"]),
    default="proven",
    show_default=True,
    help="A model that was never right on dev: not asked (proven), or asked where the guess says nothing (mute).",
)
@click.option("--failures", is_flag=True, help="Also count the last engine's wrong answers by program.")
@click.option("--plot", "plot_file", type=click.Path(path_type=Path, dir_okay=False), help="Also draw it to FILE.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap and of sampling.")
@memory_option
@model_option
@json_file_option
def real(
    domain: str | None,
    engines: tuple[str, ...],
    split: str,
    dialect: str | None,
    data: Path | None,
    world: Path | None,
    where: str | None,
    limit: int | None,
    offline_only: bool,
    skip_bad: bool,
    ceiling: bool,
    min_confidence: float,
    by: str | None,
    only: str | None,
    ask: Literal["proven", "mute"],
    failures: bool,
    plot_file: Path | None,
    seed: int,
    memory_folder: Path | None,
    model: str | None,
    models: Path | None,
    model_cache: Path | None,
    prompts: Path | None,
    sample: int | None,
    max_tokens: int | None,
    notes_share: float,
    json_file: Path | None,
) -> None:
    """Print the fidelity table of Worldline-Real: teacher-forced, judge-free, on recorded reality.

    With --json FILE the rows are written there, and finished trajectories are kept beside it, so that a run that
    was killed goes on where it was. FILE may be `-` for standard output.
    """
    require_extra("scipy", "bench")
    from worldline.bench.suite import default_engines, load_suite, measure
    from worldline.bench.table import failure_table, fidelity_table, tool_table
    from worldline.engines import EngineOptions, EngineParts
    from worldline.models.base import Sampling
    from worldline.worlds import load_world_file

    console = Console(stderr=True)
    started = load_world_file(world) if world else None
    domain = domain or (started.domain if started is not None else "terminal")
    suite = load_suite(
        domain,
        split,
        data=data,
        world=started,
        limit=limit,
        offline_only=offline_only,
        skip_bad=skip_bad,
        dialect=dialect,
        where=where,
    )
    if sample is not None:
        suite = suite.sampled(sample, seed)
    memory = chosen_memory(memory_folder, domain)
    names = [*(engines or default_engines(domain, dialect)), *(["real"] if ceiling else [])]
    parts = EngineParts(
        model=chosen_model(model, models, model_cache),
        memory=memory,
        sampling=Sampling(seed=seed, max_tokens=max_tokens) if model else None,
        prompts=prompts,
    )
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:

        def watch(name: str) -> Callable[[Trajectory], None]:
            task = progress.add_task(name, total=len(suite.trajectories))
            return lambda trajectory: progress.advance(task)

        rows, scores = measure(
            suite,
            names,
            memory=memory,
            options=EngineOptions(min_confidence=min_confidence, ask=ask, seed=seed, notes_share=notes_share),
            parts=parts,
            journal=json_file if json_file and str(json_file) != "-" else None,
            seed=seed,
            on_engine=watch,
            tools=frozenset(only.split(",")) if only else None,
        )
    title = f"Worldline-Real {suite.title}, seed {seed}" + (f", calls of {only}" if only else "")
    title += f", worlds with {where}" if where else ""
    if json_file is not None:
        write_json(json_file, [row.model_dump(mode="json") for row in rows])
    if plot_file is not None:
        _plot(rows, scores, title, plot_file)
    if str(json_file) != "-":
        out = Console(width=None if Console().is_terminal else 180)
        out.print(fidelity_table(rows, title))
        if by is not None:
            out.print(tool_table(scores[names[-1]]))
        if failures:
            out.print(failure_table(scores[names[-1]]))


def _plot(rows: list[BenchRow], scores: dict[str, list[TurnScore]], title: str, path: Path) -> None:
    require_extra("matplotlib", "bench")
    from worldline.bench.plot import plot_fidelity

    plot_fidelity(rows, scores, title, path)


@bench.command("speed")
@click.option(
    "--split", type=click.Choice(["train", "dev", "test"]), default="test", show_default=True, help="Recorded split."
)
@click.option("--limit", type=click.IntRange(min=1), default=40, show_default=True, help="Sessions to run.")
@click.option("--engine", default="grounded", show_default=True, help="Engine to time.")
@click.option("--sessions", type=click.IntRange(min=1), default=1000, show_default=True, help="Live sessions at once.")
@click.option("--no-real", is_flag=True, help="Do not run the real shell beside it.")
@json_file_option
def speed(split: str, limit: int, engine: str, sessions: int, no_real: bool, json_file: Path | None) -> None:
    """Measure steps per second against the real shell, forks, and the memory of many live sessions."""
    from worldline.bench.speed import fork_times, step_rates
    from worldline.bench.suite import load_suite
    from worldline.engines import EngineParts
    from worldline.memory.shipped import shipped_memory

    suite = load_suite("terminal", split, limit=limit)
    parts = EngineParts(memory=shipped_memory("terminal"))
    rates = step_rates(suite.trajectories, engine, parts, real=not no_real)
    forks = fork_times()
    live = _live_sessions_in_a_process(sessions)
    if json_file is not None:
        record = {"steps": rates.model_dump(), "forks": forks.model_dump(), "live": live}
        write_json(json_file, record)
    if str(json_file) == "-":
        return
    click.echo(f"{rates.engine}: {rates.simulated:.0f} steps/s over {rates.n} steps, persisted")
    if rates.real is not None:
        click.echo(f"real shell in its sandbox: {rates.real:.0f} steps/s on the same commands")
        click.echo(f"ratio: {rates.ratio:.2f} ({rates.ratio_with_setup:.2f} with setting up)")
    first = f"first step {forks.first_step_ms:.2f} ms, {forks.first_step_open_ms:.2f} ms where all stay open"
    click.echo(f"fork with {forks.files} files: {forks.fork_ms:.3f} ms, {first} (medians)")
    click.echo(f"{live['n']} live sessions: {live['peak_mib']:.0f} MiB peak memory of the process")


def _live_sessions_in_a_process(n: int) -> dict[str, float]:
    """Peak memory counts whatever a process did before, so this runs in a fresh one."""
    code = f"from worldline.bench.speed import live_sessions; print(live_sessions({n}).model_dump_json())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result
