"""One self-contained page about one run or several: tables, plots, and a browser of single rows.

Predictions are foreign text. They reach the page as text of elements and as JSON in which no `<` stands; the page's
policy runs its one script alone and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from worldline import __version__
from worldline.bench.agentworld.published import CAVEATS, PUBLISHED, SOURCE
from worldline.bench.agentworld.records import DIMENSIONS, DOMAINS
from worldline.bench.agentworld.report_plots import COLORS, dimension_plot, domain_plot
from worldline.bench.agentworld.report_rows import RowPages, Run, script_json, visible
from worldline.bench.agentworld.scoring import (
    Difference,
    Protocol,
    RowScore,
    chosen_judge,
    differences,
    read_run,
    require_scored,
    score_rows,
)
from worldline.bench.agentworld.statistics import Paired
from worldline.bench.agentworld.store import RunFolder
from worldline.bench.agentworld.summary import compare, summarize_facts
from worldline.errors import StorageError, boundary
from worldline.types import JsonDict, canonical_json

__all__ = ["ReportOptions", "write_report"]

_PACKAGE = "worldline.bench.agentworld"
_LISTED_DIFFERENCES = 300
_LONGEST_NAME = 300
_BYTES_PER_INDEX_ENTRY = 120
_FRAME_BYTES = 300_000
"""What tables, plots and script take, roughly."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How a report is made."""

    protocol: Protocol = "strict"
    judge: str | None = None
    """Whose judgements count, where several judged a run; default: who answered last."""
    seed: int = 0
    """Of the bootstrap."""
    max_bytes: int = 24 * 2**20
    """Size of the page; texts of rows are cut to fit."""
    rows: bool = True
    """Whether single rows can be looked at."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Two runs on their common rows."""

    first: str
    second: str
    paired: Paired
    same_judge: bool


def write_report(paths: Sequence[Path], out: Path, options: ReportOptions | None = None) -> Path:
    """Write a page about runs.

    Args:
        paths: Folders of the runs; the first is compared with each of the others.
        out: The page.
        options: How.

    Returns:
        The page's path.

    Raises:
        ConfigError: A folder holds no run, or nothing in it is judged yet.
        FormatError: The data of a run is gone or has changed.
        StorageError: Records are damaged, or the page cannot be written.
    """
    options = options or ReportOptions()
    runs = [_opened(path, options) for path in paths]
    page = _page(runs, options)
    with boundary(StorageError, f"writing {out}", OSError):
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(out.name + ".tmp")
        partial.write_text(page, encoding="utf-8")
        partial.replace(out)
    return out


def _opened(path: Path, options: ReportOptions) -> Run:
    folder = RunFolder(path)
    facts = read_run(folder)
    run = Run(folder, facts, chosen_judge(facts, options.judge))
    require_scored(facts, run.judge, folder)
    return run


def _page(runs: Sequence[Run], options: ReportOptions) -> str:
    letters = [_letter(place) for place in range(len(runs))]
    summaries = [
        summarize_facts(run.facts, run.folder.path.resolve().name, options.protocol, run.judge, options.seed)
        for run in runs
    ]
    script = _asset("report.js")
    environment = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(shown=_shown, compact=_compact, number=_number, interval=_interval, signed=_signed)
    scored = [{row.row: row for row in score_rows(run.facts, options.protocol, run.judge)} for run in runs]
    apart = [differences(run.facts, run.judge) for run in runs]
    pages, index, n_cut = _browser(runs, scored, apart, options) if options.rows else ({}, [], 0)
    return environment.get_template("report.html.j2").render(
        version=__version__,
        protocol=options.protocol,
        runs=list(zip(letters, summaries, strict=True)),
        colors=[COLORS[place % len(COLORS)] for place in range(len(runs))],
        judges=sorted({summary.judge or "nobody" for summary in summaries}),
        domains=[d for d in DOMAINS if any(d in summary.per_domain for summary in summaries)],
        dimensions=DIMENSIONS,
        failures=sorted({reason for summary in summaries for reason in summary.failures}),
        domain_plot=Markup(domain_plot(summaries, letters)),
        dimension_plot=Markup(dimension_plot(summaries, letters)),
        comparisons=_comparisons(runs, letters, options.protocol),
        apart=[(letter, found[:_LISTED_DIFFERENCES], len(found)) for letter, found in zip(letters, apart, strict=True)],
        places={entry[0]: place for place, entry in enumerate(index)},
        published=PUBLISHED,
        published_domains=DOMAINS,
        source=SOURCE,
        caveats=CAVEATS,
        css=Markup(_asset("report.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii"),
        head=Markup(script_json({"letters": letters, "dimensions": DIMENSIONS, "rows": [e[1:] for e in index]})),
        pages=[Markup(pages[entry[0]]) for entry in index],
        n_cut=n_cut,
        max_mib=options.max_bytes / 2**20,
    )


def _browser(
    runs: Sequence[Run],
    scored: Sequence[dict[str, RowScore]],
    apart: Sequence[Sequence[Difference]],
    options: ReportOptions,
) -> tuple[dict[str, str], list[list[Any]], int]:
    """Return each row's JSON, the list of rows, and how many rows are cut."""
    refs = {key: ref for run in runs for key, ref in run.facts.refs.items()}
    reasons: dict[str, JsonDict] = {}
    for place, found in enumerate(apart):
        for difference in found:
            reasons.setdefault(difference.row, {})[str(place)] = [difference.official, *difference.reasons]
    room = options.max_bytes - _FRAME_BYTES - len(refs) * _BYTES_PER_INDEX_ENTRY * len(runs)
    pages = RowPages(runs, max(room, 0))
    built = pages.build()
    order = sorted(refs.values(), key=lambda ref: (DOMAINS.index(ref.domain), ref.trajectory, ref.turn))
    index: list[list[Any]] = []
    for ref in order:
        results = [_result(by_row.get(ref.key)) for by_row in scored]
        index.append([ref.key, ref.domain, visible(ref.id)[:60], ref.turn, results, reasons.get(ref.key, {})])
    return built, index, pages.n_cut


def _result(row: RowScore | None) -> list[Any]:
    """Return a row's score and failure; nothing where it is pending."""
    if row is None:
        return []
    return [None if row.score is None else round(row.score, 2), row.failure or ""]


def _comparisons(runs: Sequence[Run], letters: Sequence[str], protocol: Protocol) -> list[_Comparison]:
    found = []
    for letter, run in zip(letters[1:], runs[1:], strict=True):
        result = compare(runs[0].facts, run.facts, protocol, [runs[0].judge, run.judge])
        found.append(_Comparison(letters[0], letter, result, runs[0].judge == run.judge))
    return found


def _letter(place: int) -> str:
    """A, B, ... Z, A2, ..."""
    return chr(ord("A") + place % 26) + (str(place // 26 + 1) if place >= 26 else "")


def _asset(name: str) -> str:
    return (files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")


def _shown(text: object) -> str:
    """A name or the like, safe to look at and not too long."""
    whole = visible(str(text))
    return whole if len(whole) <= _LONGEST_NAME else whole[:_LONGEST_NAME] + "…"


def _compact(value: object) -> str:
    return _shown(canonical_json(value))


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}"
