"""`worldline export` and `inspect`: trajectory files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from worldline.cli.intake import (
    OUT,
    PATH,
    input_record,
    progress,
    quiet_pipe,
    report_input,
    report_skips,
    require_some,
    target_of,
    write_to,
)
from worldline.cli.options import json_flag
from worldline.cli.transcript import print_statistics, print_trajectory, print_world
from worldline.errors import InputError
from worldline.formats import Importer, writable_format
from worldline.formats.statistics import Statistics
from worldline.types import Trajectory

__all__ = ["export_command", "inspect_command"]


def _all(read: Importer, path: Path, bar: Progress) -> Iterator[Trajectory]:
    """Yield everything, counted, or raise where nothing was recognised."""
    for trajectory in read.read_all():
        yield trajectory
        bar.advance(bar.task_ids[0])
    require_some(read, (path,))


@click.command("export")
@click.argument("format_name", metavar="FORMAT")
@click.argument("path", type=PATH)
@click.option("--out", type=OUT, help="File to write, `.zst` compresses, `-` prints. Default: NAME.FORMAT.jsonl.")
@click.option("--skip-bad", is_flag=True, help="Leave out records that are wrong, and count them.")
@json_flag
def export_command(format_name: str, path: Path, out: Path | None, skip_bad: bool, as_json: bool) -> None:
    """Write trajectories in another format: worldline, atif or openai, one JSON document a line.

    PATH is a file or folder of any known format.
    """
    layout = writable_format(format_name)
    read = Importer([path], strict=not skip_bad)
    target = target_of(out, path, layout.suffixes[0])
    with quiet_pipe(), progress("writing") as bar:
        count = write_to(target, _all(read, path, bar), format_name)
    if as_json:
        record = {"out": str(target), "written": count, "format": format_name, **input_record(read)}
        click.echo(json.dumps(record, ensure_ascii=False, indent=2), err=str(target) == "-")
        return
    console = Console(stderr=str(target) == "-")
    report_input(console, read)
    report_skips(console, read)
    console.print(f"wrote {count:,} trajectories to {target}", markup=False, highlight=False, soft_wrap=True)


@click.command("inspect")
@click.argument("path", type=PATH)
@click.option("--format", "format_name", metavar="NAME", help="Format of the input; told from its content otherwise.")
@click.option("--id", "wanted", metavar="ID", help="Show the trajectory whose id starts so.")
@click.option("--index", type=click.IntRange(min=0), help="Show the trajectory at this place, counted from 0.")
@click.option("--turns", type=click.IntRange(min=1), help="Show at most so many turns of it.")
@click.option("--limit", type=click.IntRange(min=1), help="Look at the first so many trajectories only.")
@click.option("--skip-bad", is_flag=True, help="Leave out records that are wrong, and count them.")
@json_flag
def inspect_command(
    path: Path,
    format_name: str | None,
    wanted: str | None,
    index: int | None,
    turns: int | None,
    limit: int | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Say what a file or folder of trajectories holds, or show one trajectory.

    PATH may also be a world file (`.yaml`): it is checked, and what it declares is shown.
    """
    if path.suffix in (".yaml", ".yml") and path.is_file():
        _show_world(path, as_json=as_json)
        return
    read = Importer([path], format=format_name, strict=not skip_bad)
    with quiet_pipe():
        if wanted is not None or index is not None:
            trajectory = _chosen(_limited(read.read_all(), limit), wanted, index)
            if as_json:
                click.echo(writable_format("worldline").line(trajectory))
            else:
                print_trajectory(Console(), trajectory, turns=turns)
            return
        statistics = Statistics()
        with progress("reading") as bar:
            for trajectory in _limited(_all(read, path, bar), limit):
                statistics.add(trajectory)
        if as_json:
            record = {**input_record(read), "statistics": statistics.as_record()}
            click.echo(json.dumps(record, ensure_ascii=False, indent=2))
            return
        console = Console()
        report_input(console, read)
        report_skips(console, read)
        print_statistics(console, statistics)


def _show_world(path: Path, *, as_json: bool) -> None:
    from worldline.worlds import load_world_file  # brings the engines, which the other uses do not need

    world = load_world_file(path)
    with quiet_pipe():
        if as_json:
            click.echo(json.dumps(world.model_dump(exclude_defaults=True), ensure_ascii=False, indent=2))
        else:
            print_world(Console(), world)


def _limited(trajectories: Iterator[Trajectory], limit: int | None) -> Iterator[Trajectory]:
    for number, trajectory in enumerate(trajectories):
        if limit is not None and number >= limit:
            return
        yield trajectory


def _chosen(trajectories: Iterator[Trajectory], wanted: str | None, index: int | None) -> Trajectory:
    number = -1
    for number, trajectory in enumerate(trajectories):
        if number == index or (wanted is not None and trajectory.id.startswith(wanted)):
            return trajectory
    if wanted is not None:
        raise InputError(f"no trajectory's id starts with {wanted!r}", hint=f"{number + 1:,} were looked at")
    raise InputError(f"there is no trajectory {index}", hint=f"there are {number + 1:,}, counted from 0")
