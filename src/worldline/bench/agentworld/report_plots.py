"""The plots of a report, as SVG elements that stand in the page."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from worldline.bench.agentworld.summary import Summary

__all__ = ["COLORS", "SVG_METADATA", "SVG_SETTINGS", "dimension_plot", "domain_plot"]

Interval = tuple[float, float]
Point = tuple[float | None, Interval | None]

COLORS = ("#2f6db3", "#c8602a", "#3c8c5a", "#8a5aa8", "#9a7b1f", "#5d6b7a")
"""One for each run, in their order; they repeat."""
SVG_SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "worldline", "text.parse_math": False, "font.size": 9}
"""With these and the metadata, one picture is always the same bytes; its text stays text."""
SVG_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def domain_plot(summaries: Sequence[Summary], letters: Sequence[str]) -> str:
    """Draw each run's score by domain, and macro and micro, with their intervals."""
    domains = list(dict.fromkeys(domain for summary in summaries for domain in summary.per_domain))

    def point(summary: Summary, label: str) -> Point:
        if label == "macro":
            return summary.macro, summary.macro_interval
        if label == "micro":
            return summary.micro, summary.micro_interval
        domain = summary.per_domain.get(label)
        return (domain.score, domain.interval) if domain else (None, None)

    return _dots(summaries, letters, [*domains, "macro", "micro"], point)


def dimension_plot(summaries: Sequence[Summary], letters: Sequence[str]) -> str:
    """Draw each run's score by dimension, mean of the domains, with their intervals."""

    def point(summary: Summary, label: str) -> Point:
        dimension = summary.per_dimension[label]
        return dimension.macro, dimension.macro_interval

    return _dots(summaries, letters, list(summaries[0].per_dimension), point)


def _dots(
    summaries: Sequence[Summary],
    letters: Sequence[str],
    labels: Sequence[str],
    point: Callable[[Summary, str], Point],
) -> str:
    with rc_context(SVG_SETTINGS):
        figure = Figure(figsize=(7.2, 0.5 + len(labels) * (0.22 + 0.14 * len(summaries))), layout="constrained")
        axes = figure.subplots()
        for place, summary in enumerate(summaries):
            shift = (place - (len(summaries) - 1) / 2) * 0.7 / max(1, len(summaries))
            _draw(axes, [point(summary, label) for label in labels], shift, COLORS[place % len(COLORS)], letters[place])
        axes.set_yticks(range(len(labels)), labels)
        axes.set(xlabel="score, 0 to 100; lines are 95% intervals", ylim=(len(labels) - 0.4, -0.6))
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        if len(summaries) > 1:
            axes.legend(frameon=False, ncols=min(6, len(summaries)), loc="upper left", bbox_to_anchor=(0, 1.12))
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata=SVG_METADATA)
    text = file.getvalue()
    return text[text.index("<svg") :]


def _draw(axes: Axes, points: Sequence[Point], shift: float, color: str, letter: str) -> None:
    for y, (value, interval) in enumerate(points):
        if value is not None and interval is not None:
            axes.plot(interval, [y + shift] * 2, color=color, linewidth=1.6, solid_capstyle="round")
    known = [(value, y + shift) for y, (value, _) in enumerate(points) if value is not None]
    axes.plot([x for x, _ in known], [y for _, y in known], "o", color=color, markersize=4.5, label=letter)
