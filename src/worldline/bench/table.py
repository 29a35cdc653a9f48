"""The fidelity table, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from worldline.bench.metrics import BenchRow, Interval, TurnScore

__all__ = ["failure_table", "fidelity_table", "interval", "percent", "tool_table"]


def fidelity_table(rows: Sequence[BenchRow], title: str) -> Table:
    """Lay out bench rows; shares in percent."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("engine")
    failed = any(row.failures for row in rows)
    again = any(row.n_read_again for row in rows)
    written = any(row.model for row in rows)
    for column in (
        "exact",
        "95% CI",
        "determined",
        "n det.",
        "knowable",
        "errors agree",
        *(["read again"] if again else []),
        "ROUGE-L",
        "abstained",
        "@50%",
        "@70%",
        "@90%",
        "AUROC",
        "s/1000",
        *(["written"] if written else []),
        *(["failed"] if failed else []),
    ):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            row.engine + (f"\n{row.model}" if row.model else ""),
            percent(row.exact),
            interval(row.exact_ci),
            percent(row.exact_session_determined),
            str(row.n_session_determined),
            f"{percent(row.exact_knowable)} ({row.n_knowable})",
            percent(row.error_agreement),
            *([f"{percent(row.read_again)} ({row.n_read_again})"] if again else []),
            percent(row.rouge_l),
            percent(row.abstained),
            *(percent(value) for value in row.exact_at_coverage.values()),
            "-" if row.auroc is None else f"{row.auroc:.3f}",
            "-" if row.seconds_per_1000 is None else f"{row.seconds_per_1000:.2f}",
            *([f"{percent(row.exact_generated)} ({row.n_generated})"] if written else []),
            *([str(row.failures)] if failed else []),
        )
    return table


def failure_table(scores: Sequence[TurnScore], limit: int = 25) -> Table:
    """Count wrong answers by action class, most frequent first, with how many of the class were right."""
    wrong: Counter[str] = Counter()
    right: Counter[str] = Counter()
    abstained: Counter[str] = Counter()
    for score in scores:
        for name in {name.split(" ", 1)[0] for name in score.classes} or {"?"}:
            (right if score.exact else wrong)[name] += 1
            abstained[name] += score.abstained
    table = Table(title="wrong answers by program", title_justify="left", header_style="bold")
    table.add_column("program")
    for column in ("wrong", "right", "abstained"):
        table.add_column(column, justify="right")
    for name, count in wrong.most_common(limit):
        table.add_row(name, str(count), str(right[name]), str(abstained[name]))
    return table


def tool_table(scores: Sequence[TurnScore]) -> Table:
    """Share of exact answers for each tool, the most called first, and for all together."""
    calls = Counter(score.tool for score in scores)
    groups = [(name or "-", [score for score in scores if score.tool == name]) for name, _ in calls.most_common()]
    table = Table(title="by tool", title_justify="left", header_style="bold")
    table.add_column("tool")
    for column in ("turns", "exact", "errors agree", "abstained"):
        table.add_column(column, justify="right")
    for name, group in [*groups, ("all", list(scores))]:
        agreed = [bool(score.error_agrees) for score in group if score.error_agrees is not None]
        table.add_row(
            name,
            str(len(group)),
            percent(_share([score.exact for score in group])),
            percent(_share(agreed)),
            percent(_share([score.abstained for score in group])),
        )
    return table


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def interval(bounds: Interval | None) -> str:
    """Write an interval of shares in percent."""
    return "-" if bounds is None else f"{100 * bounds[0]:.1f}-{100 * bounds[1]:.1f}"


def percent(value: float | None) -> str:
    """Write a share in percent."""
    return "-" if value is None else f"{100 * value:.1f}"
