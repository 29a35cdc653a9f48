"""`worldline import`, `export` and `inspect`: trajectory files."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from worldline.cli.options import json_flag
from worldline.cli.transcript import print_statistics, print_trajectory, print_world
from worldline.errors import ConfigError, FormatError, InputError
from worldline.formats import (
    Detection,
    SkippedRecord,
    detect_format,
    format_names,
    get_format,
    read_trajectories,
    writable_format,
    write_trajectories,
)
from worldline.formats.secrets import SecretMasker
from worldline.formats.statistics import Statistics
from worldline.types import JsonDict, Source, Trajectory

__all__ = ["export_command", "import_command", "inspect_command"]

_SHOWN_SKIPS = 5
_DISTINCT_REASONS = 100
_PATH = click.Path(exists=True, path_type=Path)
_OUT = click.Path(path_type=Path, dir_okay=False)


@dataclass(slots=True)
class _Input:
    """The files of one path, what they are, and what was left out of them."""

    files: dict[Path, Detection] = field(default_factory=dict)
    ignored: list[tuple[Path, str]] = field(default_factory=list)
    """Files of a folder that are no trajectories, and why."""
    skipped: int = 0
    """Records left out of the files that were read."""
    examples: list[str] = field(default_factory=list)
    """Messages of the first of them."""
    reasons: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, path: Path, format: str | None) -> _Input:
        """Recognise a file, or every file of a folder.

        Raises:
            FormatError: The file is in no known format, or no file of the folder is.
        """
        given = Detection(format, "named with --format") if format is not None else None
        if given is not None:
            get_format(given.name)
        found = cls()
        if not path.is_dir():
            found.files[path] = given or detect_format(path)
            return found
        for file in sorted(entry for entry in path.rglob("*") if entry.is_file()):
            try:
                found.files[file] = given or detect_format(file)
            except FormatError as exc:
                found.ignored.append((file, SkippedRecord(exc).reason))
        if not found.files:
            raise FormatError("no file in the folder holds trajectories", path=str(path))
        return found

    def read(self, *, skip_bad: bool, source: Source) -> Iterator[Trajectory]:
        """Yield the trajectories of all files."""
        for file, detection in self.files.items():
            yield from read_trajectories(
                file, format=detection.name, skip_bad=skip_bad, on_skip=self.skip, source=source
            )

    def skip(self, record: SkippedRecord) -> None:
        """Count a record that is left out; a file of nothing but bad records must not fill the memory."""
        self.skipped += 1
        if len(self.examples) < _SHOWN_SKIPS:
            self.examples.append(record.error.message)
        known = record.reason in self.reasons or len(self.reasons) < _DISTINCT_REASONS
        self.reasons[record.reason if known else "other"] += 1


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """End quietly when the reader of our output goes away (`| head`)."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(141) from None


@contextmanager
def _progress(what: str) -> Iterator[Progress]:
    """Show progress on standard error, and only where somebody is looking."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task(what, total=None)
        yield bar


def _counted(trajectories: Iterator[Trajectory], bar: Progress) -> Iterator[Trajectory]:
    for trajectory in trajectories:
        yield trajectory
        bar.advance(bar.task_ids[0])


def _write(out: Path, trajectories: Iterator[Trajectory], format: str) -> int:
    """Write to a file, or to standard output for `-`."""
    if str(out) != "-":
        return write_trajectories(out, trajectories, format=format)
    layout = writable_format(format)
    count = 0
    for trajectory in trajectories:
        sys.stdout.write(layout.line(trajectory) + "\n")
        count += 1
    return count


def _target(out: Path | None, path: Path, suffix: str) -> Path:
    """Choose the output file; without --out one in the working directory that is not there yet.

    Raises:
        ConfigError: The file that would be written is there already.
    """
    if out is not None:
        return out
    stem = path.resolve().name
    for known in sorted((s for name in format_names() for s in get_format(name).suffixes), key=len, reverse=True):
        stem = stem.removesuffix(known)
    chosen = Path(stem.removesuffix(".zst").removesuffix(".jsonl").removesuffix(".json") + suffix)
    if chosen.exists():
        raise ConfigError(f"{chosen} is there already", hint="name another file with --out, or this one to replace it")
    return chosen


def _report_input(console: Console, read: _Input) -> None:
    for file, detection in list(read.files.items())[:20]:
        console.print(f"{file}: {detection.name} ({detection.why})", markup=False, highlight=False, soft_wrap=True)
    if len(read.files) > 20:
        console.print(f"and {len(read.files) - 20} more files", markup=False, highlight=False)
    for file, why in read.ignored[:_SHOWN_SKIPS]:
        console.print(f"{file}: left out: {why}", markup=False, highlight=False, style="dim", soft_wrap=True)
    if len(read.ignored) > _SHOWN_SKIPS:
        console.print(f"and {len(read.ignored) - _SHOWN_SKIPS} more files left out", style="dim", highlight=False)


def _report_skips(console: Console, read: _Input) -> None:
    if not read.skipped:
        return
    console.print(f"left out {read.skipped:,} bad records", style="yellow", highlight=False)
    for message in read.examples:
        console.print(f"  {message}", markup=False, highlight=False, soft_wrap=True)
    if read.skipped > len(read.examples):
        console.print(f"  and {read.skipped - len(read.examples):,} more; --json counts all reasons", highlight=False)


def _input_record(read: _Input) -> JsonDict:
    return {
        "files": [{"path": str(f), "format": d.name, "why": d.why} for f, d in read.files.items()],
        "ignored": [{"path": str(file), "why": why} for file, why in read.ignored],
        "skipped": read.skipped,
        "skipped_reasons": dict(read.reasons.most_common()),
    }


@click.command("import")
@click.argument("path", type=_PATH)
@click.option("--format", "format_name", metavar="NAME", help="Format of the input; told from its content otherwise.")
@click.option("--out", type=_OUT, help="File to write, `.zst` compresses, `-` prints. Default: NAME.worldline.jsonl.")
@click.option("--skip-bad", is_flag=True, help="Leave out records that are wrong, and count them.")
@click.option("--simulated", is_flag=True, help="The trajectories come from a simulation, not from reality.")
@click.option("--keep-secrets", is_flag=True, help="Do not mask what looks like a key, token or password.")
@json_flag
def import_command(
    path: Path,
    format_name: str | None,
    out: Path | None,
    skip_bad: bool,
    simulated: bool,
    keep_secrets: bool,
    as_json: bool,
) -> None:
    """Turn trajectories of any known format into Worldline JSONL.

    PATH is a file or a folder. Secrets are masked: each becomes <secret:1a2b>, the same everywhere in a trajectory.
    """
    read = _Input.of(path, format_name)
    target = _target(out, path, ".worldline.jsonl")
    statistics, masker = Statistics(), SecretMasker()
    source = Source.SIMULATED if simulated else Source.OBSERVED
    with _quiet_pipe(), _progress("reading") as bar:
        found = _counted(read.read(skip_bad=skip_bad, source=source), bar)
        masked = found if keep_secrets else map(masker.mask, found)
        count = _write(target, statistics.watch(masked), "worldline")
    if as_json:
        record = {
            "out": str(target),
            "written": count,
            **_input_record(read),
            "secrets": {"kinds": dict(masker.counts), "trajectories": masker.masked},
            "statistics": statistics.as_record(),
        }
        click.echo(json.dumps(record, ensure_ascii=False, indent=2), err=str(target) == "-")
        return
    console = Console(stderr=str(target) == "-")
    _report_input(console, read)
    _report_skips(console, read)
    if masker.masked:
        kinds = ", ".join(f"{kind} {n}" for kind, n in masker.counts.most_common())
        console.print(f"masked secrets in {masker.masked:,} trajectories: {kinds}", highlight=False)
    print_statistics(console, statistics)
    console.print(f"wrote {count:,} trajectories to {target}", markup=False, highlight=False, soft_wrap=True)


@click.command("export")
@click.argument("format_name", metavar="FORMAT")
@click.argument("path", type=_PATH)
@click.option("--out", type=_OUT, help="File to write, `.zst` compresses, `-` prints. Default: NAME.FORMAT.jsonl.")
@click.option("--skip-bad", is_flag=True, help="Leave out records that are wrong, and count them.")
@json_flag
def export_command(format_name: str, path: Path, out: Path | None, skip_bad: bool, as_json: bool) -> None:
    """Write trajectories in another format: worldline, atif or openai, one JSON document a line.

    PATH is a file or folder of any known format.
    """
    layout = writable_format(format_name)
    read = _Input.of(path, None)
    target = _target(out, path, layout.suffixes[0])
    with _quiet_pipe(), _progress("writing") as bar:
        count = _write(target, _counted(read.read(skip_bad=skip_bad, source=Source.OBSERVED), bar), format_name)
    if as_json:
        record = {"out": str(target), "written": count, "format": format_name, **_input_record(read)}
        click.echo(json.dumps(record, ensure_ascii=False, indent=2), err=str(target) == "-")
        return
    console = Console(stderr=str(target) == "-")
    _report_input(console, read)
    _report_skips(console, read)
    console.print(f"wrote {count:,} trajectories to {target}", markup=False, highlight=False, soft_wrap=True)


@click.command("inspect")
@click.argument("path", type=_PATH)
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
    read = _Input.of(path, format_name)
    found = _limited(read.read(skip_bad=skip_bad, source=Source.OBSERVED), limit)
    with _quiet_pipe():
        if wanted is not None or index is not None:
            trajectory = _chosen(found, wanted, index)
            if as_json:
                click.echo(writable_format("worldline").line(trajectory))
            else:
                print_trajectory(Console(), trajectory, turns=turns)
            return
        statistics = Statistics()
        with _progress("reading") as bar:
            for trajectory in _counted(found, bar):
                statistics.add(trajectory)
        if as_json:
            record = {**_input_record(read), "statistics": statistics.as_record()}
            click.echo(json.dumps(record, ensure_ascii=False, indent=2))
            return
        console = Console()
        _report_input(console, read)
        _report_skips(console, read)
        print_statistics(console, statistics)


def _show_world(path: Path, *, as_json: bool) -> None:
    from worldline.worlds import load_world_file  # brings the engines, which the other uses do not need

    world = load_world_file(path)
    with _quiet_pipe():
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
