"""The fidelity table as a picture: exact rates with their intervals, and exact rate against coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from worldline.bench.metrics import BenchRow, TurnScore, exact_at_coverage
from worldline.errors import StorageError, boundary

__all__ = ["plot_fidelity"]

_STEPS = 40


def plot_fidelity(rows: Sequence[BenchRow], scores: Mapping[str, Sequence[TurnScore]], title: str, path: Path) -> None:
    """Draw the rows of a fidelity table to a file; the suffix tells the kind (`.png`, `.svg`, `.pdf`).

    Args:
        rows: The table.
        scores: Scored turns by engine, for the curves.
        title: Above the picture.
        path: File to write.

    Raises:
        StorageError: The file cannot be written, or its suffix is no kind of picture.
    """
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    figure.suptitle(title, fontsize=10)
    bars, curves = figure.subplots(1, 2)
    _draw_bars(bars, rows)
    for row in rows:
        shares = [(i + 1) / _STEPS for i in range(_STEPS)]
        points = [(share, exact_at_coverage(scores[row.engine], share)) for share in shares]
        curves.plot([x for x, y in points if y is not None], [y for _, y in points if y is not None], label=row.engine)
    curves.set(xlabel="coverage, most confident turns first", ylabel="exact", xlim=(0, 1), ylim=(0, 1.02))
    curves.legend(fontsize=8)
    with boundary(StorageError, f"writing {path}"):
        figure.savefig(path)


def _draw_bars(axes: Axes, rows: Sequence[BenchRow]) -> None:
    """One bar per engine with its bootstrap interval, and a mark for the session-determined slice."""
    names = [row.engine for row in rows]
    exact = [row.exact or 0.0 for row in rows]
    below = [e - row.exact_ci[0] if row.exact_ci else 0.0 for e, row in zip(exact, rows, strict=True)]
    above = [row.exact_ci[1] - e if row.exact_ci else 0.0 for e, row in zip(exact, rows, strict=True)]
    axes.barh(names, exact, xerr=[below, above], color="#8fb8de", ecolor="#33506b", capsize=3)
    determined = [
        (row.exact_session_determined, row.engine) for row in rows if row.exact_session_determined is not None
    ]
    axes.plot([x for x, _ in determined], [y for _, y in determined], "k|", markersize=14)
    axes.set(xlabel="exact (95% interval); | session-determined turns", xlim=(0, 1))
    axes.invert_yaxis()
