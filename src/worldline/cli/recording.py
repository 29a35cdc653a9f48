"""What the recording commands share: the progress bar and what they print in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from worldline.record.store import RecordingSummary

__all__ = ["finish", "progress"]


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar; yields what is told the number of sessions that are done."""
    columns = (TextColumn("recording"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        yield lambda done: bar.update(task, completed=done)


def finish(summary: RecordingSummary, out: Path, *, as_json: bool) -> None:
    """Print what a run did; it ends with status 1 where a session could not be recorded."""
    if as_json:
        click.echo(json.dumps({"out": str(out), **summary.as_record()}, ensure_ascii=False))
    else:
        _print(summary.as_record(), out)
    if summary.failures:
        raise click.exceptions.Exit(1)


def _print(summary: dict[str, Any], out: Path) -> None:
    console = Console(highlight=False, soft_wrap=True)
    turns = max(1, summary["turns"])
    console.print(f"{summary['sessions']:,} sessions, {summary['turns']:,} turns in {out}", markup=False)
    if summary["resumed"]:
        console.print(f"{summary['resumed']:,} sessions were recorded before")
    console.print(
        f"errors {summary['errors'] / turns:.1%}, volatile {summary['volatile'] / turns:.1%}, "
        f"unstable {summary['unstable'] / turns:.1%}, killed {summary['killed']}"
    )
    if summary["judged"]:
        console.print(f"session-determined {summary['determined'] / summary['judged']:.1%}")
    for failure in summary["failures"]:
        console.print(
            f"not recorded: {failure['family']} {failure['plan']}: {failure['error']['message']}", markup=False
        )
