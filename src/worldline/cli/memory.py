"""`worldline memory`: directories of recorded transitions, and what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from worldline.cli.intake import PATH, input_record, progress, quiet_pipe, report_input, report_skips, require_some
from worldline.cli.options import json_file_option, json_flag, write_json
from worldline.cli.text import json_text, print_text, visible
from worldline.errors import ConfigError, StorageError, require_extra

if TYPE_CHECKING:
    from worldline.formats import Importer
    from worldline.memory.transition import Transition
    from worldline.types import JsonDict

__all__ = ["bench_memory", "memory"]

_DIRECTORY = click.Path(path_type=Path, file_okay=False)
_SHOWN = 600
"""Characters of an observation."""


@click.group()
def memory() -> None:
    """Keep recorded transitions in a directory, for `--memory DIR`."""


def _feeding(function: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.argument("folder", metavar="DIR", type=_DIRECTORY),
        click.argument("paths", metavar="[TRAJECTORIES]...", type=PATH, nargs=-1),
        click.option("--format", "format_name", metavar="NAME", help="Format of the input; told from it otherwise."),
        click.option(
            "--no-footprints", is_flag=True, help="Do not follow sessions with a kernel: faster, recalls less."
        ),
        click.option("--skip-bad", is_flag=True, help="Leave out records that are wrong, and count them."),
        click.option("--keep-secrets", is_flag=True, help="Do not mask what looks like a key, token or password."),
        json_flag,
    )
    for option in reversed(options):
        function = option(function)
    return function


@memory.command("build")
@_feeding
def build(folder: Path, paths: tuple[Path, ...], **settings: Any) -> None:
    """Make a memory directory from trajectories of any known format: files, archives, folders.

    A build that was stopped goes on when the same command is given again. The kernel follows every session to tell
    what its actions read; without that (--no-footprints) recorded answers are only evidence, unless re-grounded.
    """
    _feed(folder, paths, new=True, **settings)


@memory.command("add")
@_feeding
def add(folder: Path, paths: tuple[Path, ...], **settings: Any) -> None:
    """Add trajectories to a memory directory. Those that are in it already are passed over.

    Without TRAJECTORIES it only brings the word index up to date.
    """
    _feed(folder, paths, new=False, **settings)


def _feed(
    folder: Path,
    paths: tuple[Path, ...],
    *,
    new: bool,
    format_name: str | None,
    no_footprints: bool,
    skip_bad: bool,
    keep_secrets: bool,
    as_json: bool,
) -> None:
    from worldline.formats import Importer
    from worldline.kernels import build_kernel
    from worldline.memory.files import DATABASE
    from worldline.memory.writer import MemoryWriter

    if new and not paths:
        raise ConfigError("no trajectories were named", hint="worldline memory build DIR FILE...")
    if not new and not (folder / DATABASE).is_file():
        raise StorageError(f"{folder}: no memory directory", hint="make one with `worldline memory build`")
    read = Importer(list(paths), format=format_name, mask=not keep_secrets, strict=not skip_bad)
    added = turns = known = 0
    kernel_for = None if no_footprints else build_kernel
    with quiet_pipe(), MemoryWriter(folder, kernel_for) as writer, progress("indexing") as bar:
        for trajectory in read.read_all():
            if writer.add(trajectory):
                added, turns = added + 1, turns + len(trajectory.turns)
            else:
                known += 1
            bar.advance(bar.task_ids[0])
    if paths:
        require_some(read, paths)
    _report_feed(folder, read, {"added": added, "turns": turns, "known": known}, as_json=as_json)


def _report_feed(folder: Path, read: Importer, counts: JsonDict, *, as_json: bool) -> None:
    from worldline.memory.facts import memory_facts

    facts = memory_facts(folder)
    if as_json:
        record = {**counts, **input_record(read), "memory": facts.model_dump(mode="json")}
        print_text(json_text(record, indent=2) + "\n")
        return
    console = Console()
    if read.entries:
        report_input(console, read)
        report_skips(console, read)
    line = f"{counts['added']:,} trajectories added ({counts['turns']:,} turns), {counts['known']:,} were there already"
    console.print(f"{line}; {folder} holds {facts.transitions:,} turns", markup=False, highlight=False, soft_wrap=True)


@memory.command("info")
@click.argument("folder", metavar="DIR", type=_DIRECTORY)
@json_flag
def info(folder: Path, as_json: bool) -> None:
    """Say what a memory directory holds."""
    from worldline.memory.facts import memory_facts

    facts = memory_facts(folder)
    if as_json:
        print_text(json_text(facts.model_dump(mode="json"), indent=2) + "\n")
        return
    actions = ", ".join(f"{name} {count:,}" for name, count in facts.actions.items()) or "none"
    click.echo(f"trajectories      {facts.trajectories:,} in {facts.families:,} families")
    click.echo(f"turns             {facts.transitions:,}, {facts.distinct:,} distinct")
    click.echo(f"with footprints   {facts.with_footprint:,}")
    click.echo(f"distinct actions  {visible(actions)}")
    click.echo(f"on disk           {facts.disk_bytes / 2**20:,.1f} MiB")
    if facts.words_behind:
        click.echo(f"the word index lacks {facts.words_behind:,} actions; `worldline memory add` puts them in")


@memory.command("query")
@click.argument("folder", metavar="DIR", type=_DIRECTORY)
@click.argument("action", metavar="ACTION")
@click.option("--domain", default="terminal", show_default=True, help="Domain of the action.")
@click.option("--world", "world_file", type=PATH, help="World file of the asking session.")
@click.option("-k", "count", type=click.IntRange(min=0), default=3, show_default=True, help="Nearest transitions.")
@json_flag
def query(folder: Path, action: str, domain: str, world_file: Path | None, count: int, as_json: bool) -> None:
    """Ask what is recorded for ACTION: the same, a like one re-grounded, and the nearest by words.

    ACTION is text, or JSON for a tool call. What it would read is told by the world's initial state.
    """
    from worldline.domains import get_domain
    from worldline.kernels import build_kernel
    from worldline.memory import Memory
    from worldline.memory.transition import follow, session_values
    from worldline.types import Observation, Source, Trajectory, Turn, WorldSpec
    from worldline.worlds import load_world_file

    world = load_world_file(world_file) if world_file else WorldSpec(domain=domain)
    asked = get_domain(world.domain).parse_action(_value(action))
    values = session_values(world)
    with Memory.open(folder) as held:
        turn = Turn(action=asked, observation=Observation())
        stands = follow(Trajectory(source=Source.OBSERVED, world=world, turns=(turn,)), build_kernel)[0]
        same = held.recall(world, asked, stands.footprint)
        near = held.near(world.domain, asked, values, stands)
        nearest = held.nearest(world.domain, asked, count)
    record: JsonDict = {
        "recall": same
        and {"kind": same.kind, "votes": same.votes, "agreement": same.agreement} | _shown(same.transition),
        "near": near
        and {"class": near.trust_class, "votes": near.votes, "agreement": near.agreement}
        | _shown(near.transition)
        | {"observation": near.observation.model_dump(mode="json", exclude_defaults=True)},
        "nearest": [_shown(transition) for transition in nearest],
    }
    if as_json:
        print_text(json_text(record, indent=2) + "\n")
        return
    _print_answer("recorded", record["recall"])
    _print_answer("like", record["near"])
    for found in record["nearest"]:
        _print_answer("nearest", found)


def _value(action: str) -> Any:
    try:
        return json.loads(action)
    except ValueError:
        return action


def _shown(transition: Transition) -> JsonDict:
    return {
        "id": transition.id,
        "action": transition.action.render(),
        "observation": transition.observation.model_dump(mode="json", exclude_defaults=True),
    }


def _print_answer(title: str, found: JsonDict | None) -> None:
    console = Console()
    if found is None:
        console.print(f"{title}: nothing", style="dim", highlight=False)
        return
    how = ", ".join(str(found[key]) for key in ("kind", "class") if key in found)
    share = f", {found['votes']} looked at, {found['agreement']:.0%} agree" if "votes" in found else ""
    console.print(f"{title}: {found['id']} {how}{share}", style="bold", markup=False, highlight=False, soft_wrap=True)
    console.print(f"$ {visible(found['action'])}", style="cyan", markup=False, highlight=False, soft_wrap=True)
    console.print(visible(found["observation"].get("text", ""))[:_SHOWN], markup=False, highlight=False, soft_wrap=True)


@click.command("memory")
@click.option("--n", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="Transitions.")
@click.option("--queries", type=click.IntRange(min=1), default=2000, show_default=True, help="Queries of each kind.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the made-up transitions.")
@click.option("--domain", default="terminal", show_default=True, help="Domain whose recordings are varied.")
@click.option("--keep", type=_DIRECTORY, help="Build it here and keep it.")
@json_file_option
def bench_memory(n: int, queries: int, seed: int, domain: str, keep: Path | None, json_file: Path | None) -> None:
    """Build a large memory directory and time queries: recall, nearest by words, like ones re-grounded.

    The transitions are the shipped recordings with other names and words. Making them up is not counted.
    """
    require_extra("numpy", "bench")
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise ConfigError(f"{keep} is not empty", hint="name another directory")
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(keep or Path(scratch) / "memory")
        built = _half("build", folder, n, seed, domain, total=n)
        asked = _half("query", folder, queries, seed, domain)
    if json_file is not None:
        write_json(json_file, {"build": built, **asked})
    if str(json_file) == "-":
        return
    times = f"{built['seconds']:.1f} s ({built['cpu_seconds']:.1f} s of processor time)"
    click.echo(f"{built['n']:,} transitions in {times}, {built['peak_mib']:.0f} MiB peak memory")
    click.echo(f"{built['disk_mib']:.0f} MiB on disk; 1,000 more added in {built['added_seconds']:.2f} s")
    versions = ", ".join(f"{name} {version}" for name, version in built["versions"].items())
    table = Table(title=f"seed {seed}; {versions}", title_justify="left")
    for column in ("query", "n", "answered", "p50 ms", "p99 ms", "max ms", "p50 cpu ms", "p99 cpu ms"):
        table.add_column(column, justify="left" if column == "query" else "right")
    for row in asked["queries"]:
        latencies = (f"{row[key]:.2f}" for key in ("p50_ms", "p99_ms", "max_ms", "cpu_p50_ms", "cpu_p99_ms"))
        table.add_row(row["kind"], str(row["n"]), str(row["found"]), *latencies)
    Console().print(table)
    click.echo(f"{asked['peak_mib']:.0f} MiB peak memory of the asking process")


def _half(half: str, folder: str, n: int, seed: int, domain: str, *, total: int | None = None) -> JsonDict:
    """Run one half in a fresh process, because peak memory counts whatever a process did before."""
    command = [sys.executable, "-m", "worldline.bench.memory", half, folder, str(n), str(seed), domain]
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        task = bar.add_task(half, total=total)
        assert process.stderr is not None and process.stdout is not None
        said = []
        for line in process.stderr:
            if line.strip().isdecimal():
                bar.advance(task, int(line))
            else:
                said.append(line)
        out = process.stdout.read()
    if process.returncode:
        raise StorageError(f"the measuring process failed: {''.join(said[-3:]).strip() or process.returncode}")
    result: JsonDict = json.loads(out)
    return result
