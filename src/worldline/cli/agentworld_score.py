"""`worldline bench agentworld score` and `report`: what a run's records say, as tables and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from worldline.cli.options import json_file_option, write_json
from worldline.cli.text import visible
from worldline.errors import require_extra

if TYPE_CHECKING:
    from rich.table import Table

    from worldline.bench.agentworld.scoring import Difference, Protocol
    from worldline.bench.agentworld.summary import Summary

__all__ = ["report", "score", "score_and_show"]

F = TypeVar("F", bound=Callable[..., Any])

_RUN = click.Path(exists=True, file_okay=False, path_type=Path)
_SHOWN_DIFFERENCES = 200


def _scoring_options(function: F) -> F:
    options = (
        click.option(
            "--protocol",
            type=click.Choice(["strict", "official"]),
            default="strict",
            show_default=True,
            help="strict: a failed row counts as worst; official: the released code's numbers.",
        ),
        click.option("--judge", help="Whose judgements count, where several judged; default: who answered last."),
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command()
@click.argument("run", type=_RUN)
@_scoring_options
@click.option("--differences", "show_differences", is_flag=True, help="List the rows that the protocols score apart.")
@json_file_option
def score(
    run: Path, protocol: str, judge: str | None, seed: int, show_differences: bool, json_file: Path | None
) -> None:
    """Score a run from its records, and write its summary.json. Nothing is asked again."""
    quiet = str(json_file) == "-"
    summary = score_and_show(run, protocol, judge=judge, seed=seed, quiet=quiet)
    if json_file is not None:
        write_json(json_file, summary.model_dump(mode="json"))
    if show_differences and not quiet:
        from worldline.bench.agentworld.scoring import chosen_judge, differences, read_run
        from worldline.bench.agentworld.store import RunFolder

        facts = read_run(RunFolder(run))
        _print(_difference_table(differences(facts, chosen_judge(facts, judge))))


@click.command()
@click.argument("runs", type=_RUN, nargs=-1, required=True)
@_scoring_options
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Page to write; default RUN/report.html.")
@click.option(
    "--max-mib",
    type=click.FloatRange(min=1),
    default=24,
    show_default=True,
    help="Size that the page may have; texts are cut to fit, and the page says which.",
)
@click.option("--no-rows", is_flag=True, help="Leave the browser of single rows out.")
def report(
    runs: tuple[Path, ...],
    protocol: str,
    judge: str | None,
    seed: int,
    out: Path | None,
    max_mib: float,
    no_rows: bool,
) -> None:
    """Write one self-contained page about one run, or about several side by side."""
    require_extra("scipy", "bench")
    require_extra("matplotlib", "bench")
    from worldline.bench.agentworld.report import ReportOptions, write_report

    chosen: Protocol = "official" if protocol == "official" else "strict"
    options = ReportOptions(protocol=chosen, judge=judge, seed=seed, max_bytes=int(max_mib * 2**20), rows=not no_rows)
    path = write_report(runs, out or runs[0] / "report.html", options)
    click.echo(f"wrote {path} ({path.stat().st_size / 2**20:.1f} MiB)")


def score_and_show(
    run: Path, protocol: str, *, judge: str | None = None, seed: int = 0, quiet: bool = False
) -> Summary:
    """Score a run, write its `summary.json`, and print what it says unless told to be quiet.

    Raises:
        ConfigError: There is no run, or nothing is judged yet.
        MissingExtraError: The libraries of the extra `bench` are not installed.
    """
    require_extra("scipy", "bench")
    from worldline.bench.agentworld.summary import summarize, write_summary

    summary = summarize(run, "official" if protocol == "official" else "strict", judge=judge, seed=seed)
    path = write_summary(run, summary)
    if not quiet:
        _print(_score_table(summary))
        for line in _notes(summary):
            click.echo(visible(line))
        click.echo(f"wrote {path}")
    return summary


def _print(table: Table) -> None:
    from rich.console import Console

    Console(width=None if Console().is_terminal else 160).print(table)


def _score_table(summary: Summary) -> Table:
    from rich.markup import escape
    from rich.table import Table

    title = f"{summary.model}, judged by {summary.judge or 'nobody'}, protocol {summary.protocol}"
    table = Table(title=escape(visible(title)), title_justify="left", header_style="bold")
    names = list(summary.per_dimension)
    table.add_column("domain")
    for column in ("score", "95% CI", "without failures", "n", "failed", *names):
        table.add_column(column, justify="right")
    for domain, one in summary.per_domain.items():
        table.add_row(
            escape(visible(domain)),
            *(_number(one.score), _interval(one.interval), _number(one.score_excluding_failures)),
            *(str(one.n), str(one.n_failed), *(_number(one.per_dimension[name]) for name in names)),
        )
    table.add_section()
    for label, value, interval, kept in (
        ("macro (mean of domains)", summary.macro, summary.macro_interval, summary.macro_excluding_failures),
        ("micro (mean of rows)", summary.micro, summary.micro_interval, summary.micro_excluding_failures),
    ):
        dimensions = [one.macro if "macro" in label else one.micro for one in summary.per_dimension.values()]
        table.add_row(
            label,
            *(_number(value), _interval(interval), _number(kept), str(summary.n), str(summary.n_failed)),
            *(_number(one) for one in dimensions),
        )
    return table


def _difference_table(rows: Sequence[Difference]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    more = f", the first {_SHOWN_DIFFERENCES} of them" if len(rows) > _SHOWN_DIFFERENCES else ""
    title = f"rows that the protocols score differently: {len(rows)}{more}"
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in ("domain", "id", "turn", "strict", "official", "why"):
        table.add_column(column, justify="right" if column in ("turn", "strict", "official") else "left")
    for row in rows[:_SHOWN_DIFFERENCES]:
        where = (escape(visible(row.domain)), escape(visible(row.id)), str(row.turn))
        table.add_row(*where, _number(row.strict), _number(row.official), "\n".join(row.reasons))
    return table


def _notes(summary: Summary) -> Sequence[str]:
    notes = [f"failed: {count} x {reason}" for reason, count in summary.failures.items()]
    if summary.n_pending:
        notes.append(f"not finished: {summary.n_pending} rows are not predicted or not judged yet; in no figure")
    if summary.generation.truncated or summary.judging.truncated:
        cut = f"{summary.generation.truncated} generations, {summary.judging.truncated} judgements"
        notes.append(f"cut off at the token limit: {cut}")
    for mode, found in summary.verdicts.items():
        share, interval = _number(found.chosen), _interval(found.interval)
        notes.append(f"{mode}: prediction chosen in {share}% ({interval}) of {found.n} rows, {found.failures} failures")
    strict, official = summary.protocols["strict"], summary.protocols["official"]
    notes.append(
        f"macro {_number(strict.macro)} strict, {_number(official.macro)} official; "
        f"micro {_number(strict.micro)} strict, {_number(official.micro)} official; "
        f"{summary.n_rows_that_differ} rows differ"
    )
    if summary.other_judges:
        notes.append(f"not counted: judgements of {', '.join(summary.other_judges)}")
    return notes


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}"
