"""Training as pictures: the curves of a stage, and which stages help. One picture is always the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from worldline.bench.agentworld.report_plots import COLORS, SVG_METADATA, SVG_SETTINGS
from worldline.errors import StorageError, boundary
from worldline.train.ablation import AblationRow
from worldline.train.curves import Curves, Series
from worldline.types import JsonDict

__all__ = ["plot_ablation", "plot_curves"]

_GREY = "#9aa3ab"
_LABELS: dict[str, str] = {
    "loss": "loss",
    "reward": "reward, 0 to 25",
    "dimensions": "dimensions of readable answers, 1 to 5",
    "shares": "share of the answers",
}


def plot_curves(curves: Curves, path: Path) -> None:
    """Draw the curves of a stage; the suffix of the file tells the kind (`.svg`, `.png`, `.pdf`).

    Loss, or for RL the reward, its dimensions, and shares of answers: a panel each. What was measured on held-out rows
    has marks, and a band for the interval or, of several runs, from the lowest to the highest; what was trained on is
    grey.

    Raises:
        StorageError: The file cannot be written, or its suffix is no kind of picture.
    """
    panels = list(dict.fromkeys(series.panel for series in curves.series if series.panel != "rise"))
    with rc_context(SVG_SETTINGS):
        figure = Figure(figsize=(1.2 + 4.4 * max(1, len(panels)), 3.6), layout="constrained")
        figure.suptitle(_curves_title(curves), fontsize=10)
        row = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
        for axes, panel in zip(row, panels, strict=True):
            _draw_panel(axes, [series for series in curves.series if series.panel == panel])
            axes.set(xlabel="step", ylabel=_LABELS[panel])
            if panel == "reward":
                axes.set_title(_rise(curves), fontsize=8, loc="left")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _save(figure, path)


def plot_ablation(recipe: JsonDict, rows: Sequence[AblationRow], path: Path) -> None:
    """Draw the rows of an ablation: exact rate with its interval, and each seed's as a small mark.

    Args:
        recipe: As plain data (see :func:`worldline.train.ablation.read_ablation`).
        rows: The table.
        path: File to write.

    Raises:
        StorageError: The file cannot be written, or its suffix is no kind of picture.
    """
    with rc_context(SVG_SETTINGS):
        figure = Figure(figsize=(7.2, 1.1 + 0.34 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for y, row in enumerate(rows):
            if row.exact_ci is not None:
                axes.plot([100 * bound for bound in row.exact_ci], [y, y], color=COLORS[0], linewidth=1.8)
            seeds = [100 * exact for exact in row.by_seed] if len(row.by_seed) > 1 else []
            axes.plot(seeds, [y + 0.22] * len(seeds), "|", color=_GREY, markersize=6)
            axes.plot([100 * row.exact], [y], "o", color=COLORS[0], markersize=5)
        axes.set_yticks(range(len(rows)), [row.cell for row in rows])
        axes.set(
            ylim=(len(rows) - 0.4, -0.6), xlabel="exact, % of held-out turns; lines: 95% intervals, |: single seeds"
        )
        axes.set_xlim(left=-0.01 * axes.get_xlim()[1])
        _plain(axes, "x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_title(_ablation_title(recipe, rows), fontsize=10, loc="left")
        _save(figure, path)


def _draw_panel(axes: Axes, several: Sequence[Series]) -> None:
    colors = iter(COLORS)
    for series in several:
        paired = any(other.held_out for other in several)
        color = _GREY if paired and not series.held_out else next(colors)
        _draw(axes, series, color, marks=series.held_out or not paired)
    _plain(axes, "y")
    if len(several) > 1:
        axes.legend(frameon=False, fontsize=8, ncols=2 if len(several) > 2 else 1)


def _draw(axes: Axes, series: Series, color: str, *, marks: bool) -> None:
    steps = [point.step for point in series.points]
    values = [point.value for point in series.points]
    name = series.name if series.held_out or marks else f"{series.name}, batches"
    label = f"{name}, held-out" if series.held_out and series.panel in ("loss", "reward") else name
    # one measurement is a mark, many need none
    kind: Any = "o" if marks and len(steps) <= 40 else None
    axes.plot(steps, values, color=color, label=label, marker=kind, markersize=3.5, linewidth=1.3 if marks else 0.9)
    banded = [(p.step, p.low, p.high) for p in series.points if p.low is not None and p.high is not None]
    at, low, high = ([one[n] for one in banded] for n in range(3))
    if len(banded) > 1:
        axes.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)
    elif banded:
        axes.vlines(at, low, high, color=color, alpha=0.5, linewidth=1.3)


def _plain(axes: Axes, grid: Literal["x", "y"]) -> None:
    axes.grid(axis=grid, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _curves_title(curves: Curves) -> str:
    seeds = ", ".join(str(seed) for seed in sorted(set(curves.seeds)))
    if len(curves.runs) == 1:
        return f"{curves.recipe}: {curves.stage}, seed {seeds}"
    return f"{curves.recipe}: {curves.stage}, mean of {len(curves.runs)} runs (seeds {seeds}), from lowest to highest"


def _rise(curves: Curves) -> str:
    """How far the reward rose, prompt by prompt; nothing where that was not measured."""
    points = next((series.points for series in curves.series if series.panel == "rise"), ())
    if not points:
        return ""
    last = points[-1]
    between = f" ({last.low:+.2f} to {last.high:+.2f})" if last.low is not None and last.high is not None else ""
    return f"same prompts, step {last.step} against 0: {last.value:+.2f}{between}"


def _ablation_title(recipe: JsonDict, rows: Sequence[AblationRow]) -> str:
    measured = recipe.get("evaluation", {})
    where = " ".join(str(measured[name]) for name in ("domain", "split") if name in measured)
    counts = sorted({len(row.seeds) for row in rows})
    seeds = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    unit = "seed" if counts == [1] else "seeds"
    return f"{recipe.get('name', 'ablation')}: which stages help ({where}, greedy, {seeds} {unit})"


def _save(figure: Figure, path: Path) -> None:
    metadata = SVG_METADATA if path.suffix == ".svg" else None
    with boundary(StorageError, f"writing {path}", OSError, ValueError):
        figure.savefig(path, metadata=metadata)
