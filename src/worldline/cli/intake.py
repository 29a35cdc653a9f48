"""What the commands that read trajectories share: progress, pipes, and the report on what was read."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from worldline.cli.text import visible
from worldline.errors import ConfigError, FormatError
from worldline.formats import Importer, format_names, get_format, writable_format, write_trajectories
from worldline.types import JsonDict, Trajectory

__all__ = [
    "OUT",
    "PATH",
    "input_record",
    "progress",
    "quiet_pipe",
    "report_input",
    "report_skips",
    "require_some",
    "target_of",
    "write_to",
]

PATH = click.Path(exists=True, path_type=Path)
OUT = click.Path(path_type=Path, dir_okay=False)
_SHOWN_FILES = 40
_SHOWN_SKIPS = 5
_SHOWN_REASONS = 8
_WIDTH = 200
"""Columns of the report where nobody is looking: a name is not broken over lines."""


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """End quietly when the reader of our output goes away (`| head`)."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(141) from None


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress]:
    """Show progress on standard error, and only where somebody is looking."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        bar.add_task(what, total=total)
        yield bar


def target_of(out: Path | None, path: Path, suffix: str) -> Path:
    """Choose the output file; without --out one in the working directory that is not there yet.

    Raises:
        ConfigError: The file that would be written is there already.
    """
    if out is not None:
        return out
    stem = path.resolve().name
    for known in sorted((s for name in format_names() for s in get_format(name).suffixes), key=len, reverse=True):
        stem = stem.removesuffix(known)
    for packed in (".zst", ".gz", ".bz2", ".xz", ".zip", ".tgz", ".tar", ".jsonl", ".json"):
        stem = stem.removesuffix(packed)
    chosen = Path(stem + suffix)
    if chosen.exists():
        raise ConfigError(f"{chosen} is there already", hint="name another file with --out, or this one to replace it")
    return chosen


def write_to(out: Path, trajectories: Iterator[Trajectory], format: str) -> int:
    """Write to a file, or to standard output for `-`."""
    if str(out) != "-":
        return write_trajectories(out, trajectories, format=format)
    layout = writable_format(format)
    count = 0
    for trajectory in trajectories:
        sys.stdout.write(layout.line(trajectory) + "\n")
        count += 1
    return count


def require_some(read: Importer, paths: tuple[Path, ...]) -> None:
    """Check that something was recognised.

    Raises:
        FormatError: Nothing was.
    """
    if read.entries:
        return
    names = ", ".join(map(str, paths))
    reasons = [f"{out.name}: {out.why}" for out in read.left_out[:3]]
    what = "no file in the folder holds trajectories" if paths[0].is_dir() else "holds no trajectories"
    raise FormatError(what, path=names, hint="; ".join(reasons) or None)


def report_input(console: Console, read: Importer) -> None:
    """Say what was recognised as what and why, and what was left out."""
    if len(read.entries) == 1:
        entry = read.entries[0]
        _line(console, f"{entry.name}: {entry.format} ({entry.why})")
    else:
        _print_entries(console, read)
    for out in read.left_out[:_SHOWN_SKIPS]:
        _line(console, f"{out.name}: left out: {out.why}", style="dim")
    if len(read.left_out) > _SHOWN_SKIPS:
        _line(console, f"and {len(read.left_out) - _SHOWN_SKIPS:,} more left out:", style="dim")
        reasons = Counter(out.why for out in read.left_out[_SHOWN_SKIPS:])
        for why, count in reasons.most_common(_SHOWN_REASONS):
            _line(console, f"  {count:,} times: {why}", style="dim")


def _print_entries(console: Console, read: Importer) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("file", overflow="fold", min_width=30)
    table.add_column("format")
    for name in ("trajectories", "turns", "skipped", "secrets"):
        table.add_column(name, justify="right")
    table.add_column("why")
    for entry in read.entries[:_SHOWN_FILES]:
        counts = (entry.trajectories, entry.turns, entry.skipped, entry.secrets.total())
        numbers = (f"{count:,}" for count in counts)
        table.add_row(Text(visible(entry.name)), entry.format, *numbers, Text(visible(entry.why)))
    (console if console.is_terminal else Console(file=console.file, width=_WIDTH)).print(table)
    if len(read.entries) > _SHOWN_FILES:
        _line(console, f"and {len(read.entries) - _SHOWN_FILES:,} more files; --json lists all")


def report_skips(console: Console, read: Importer) -> None:
    """Say how many records were left out, and show the first."""
    skipped = sum(entry.skipped for entry in read.entries)
    if not skipped:
        return
    _line(console, f"left out {skipped:,} bad records", style="yellow")
    examples = [message for entry in read.entries for message in entry.examples][:_SHOWN_SKIPS]
    for message in examples:
        _line(console, f"  {message}")
    if skipped > len(examples):
        _line(console, f"  and {skipped - len(examples):,} more; --json counts all reasons")


def _line(console: Console, text: str, style: str | None = None) -> None:
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True, style=style)


def input_record(read: Importer) -> JsonDict:
    """Return the report as plain data."""
    reasons: Counter[str] = Counter()
    for entry in read.entries:
        reasons.update(entry.reasons)
    return {
        "files": [entry.as_record() for entry in read.entries],
        "ignored": [{"path": out.name, "why": out.why} for out in read.left_out],
        "skipped": sum(entry.skipped for entry in read.entries),
        "skipped_reasons": dict(reasons.most_common()),
    }
