"""`worldline bench judge-audit`: how far a judge can be trusted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from worldline.cli.options import json_file_option, write_json
from worldline.errors import require_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worldline.bench.agentworld.audit import Judged
    from worldline.bench.agentworld.audit_records import AuditReport
    from worldline.bench.agentworld.judge_prompt import JudgePrompts
    from worldline.bench.agentworld.judging import Judge
    from worldline.bench.agentworld.records import EvalRow, JudgeMode

__all__ = ["judge_audit"]

_MODES = ("rubric", "turing", "pairwise")


@click.command("judge-audit")
@click.option("--judge", required=True, metavar="URL#NAME", help="URL#NAME, or a name from models.yaml.")
@click.option(
    "--data",
    type=click.Path(exists=True, path_type=Path),
    help="Rows (a *_test.jsonl file or a folder of them) or trajectories; default: recorded terminal sessions.",
)
@click.option("--domain", "domains", multiple=True, help="Only this domain; may be repeated.")
@click.option("--n", type=click.IntRange(min=1), default=20, show_default=True, help="True observations to damage.")
@click.option(
    "--repeats", type=click.IntRange(min=1), default=2, show_default=True, help="Judgements of each text by rubric."
)
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(_MODES), help="Judging mode; may be repeated. Default: all."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw, the damage, and sampling.")
@click.option(
    "--judge-prompts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of other judge prompts, that of the public benchmark too.",
)
@click.option("--models", type=click.Path(path_type=Path, dir_okay=False), help="Models file instead of the usual.")
@click.option(
    "--model-cache",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep answers in FILE; a rerun goes on there.",
)
@click.option("--context", type=click.IntRange(min=1), help="Tokens the judge can take; older turns are left out.")
@click.option("--temperature", type=click.FloatRange(min=0), help="Default: the judge's own, or else 0.6.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Default: the judge's own, or else 32768.")
@click.option("--concurrency", type=click.IntRange(min=1), default=16, show_default=True, help="Requests at once.")
@json_file_option
def judge_audit(
    judge: str,
    data: Path | None,
    domains: tuple[str, ...],
    n: int,
    repeats: int,
    modes: tuple[str, ...],
    seed: int,
    judge_prompts: Path | None,
    models: Path | None,
    model_cache: Path | None,
    context: int | None,
    temperature: float | None,
    max_tokens: int | None,
    concurrency: int,
    json_file: Path | None,
) -> None:
    """Try a judge on true observations that are damaged in known ways.

    Says whether it ranks the damaged text below the true one and takes points off the right dimension, how far it
    agrees with itself and with judge-free metrics, and gives what is wrong with it a name. Exits with 1 if anything is.
    """
    for library in ("scipy", "json_repair"):
        require_extra(library, "bench")
    from worldline.bench.agentworld.audit import audit_rows
    from worldline.bench.agentworld.audit_report import audit_report
    from worldline.bench.agentworld.judge_prompt import JudgePrompts
    from worldline.bench.agentworld.judging import Judge
    from worldline.models.base import Sampling
    from worldline.models.config import resolve_model
    from worldline.recordings import path as recording_path

    prompts = JudgePrompts(judge_prompts)
    rows = audit_rows(data or recording_path("terminal", "dev"), n, seed=seed, domains=domains)
    model = resolve_model(judge, models=models, cache=model_cache, overrides={"concurrency": concurrency})
    asked = Judge(model, Sampling(temperature=temperature, max_tokens=max_tokens), context_length=context)
    chosen = cast("Sequence[JudgeMode]", modes or _MODES)
    judged = _ask(asked, rows, prompts, repeats, seed, chosen, concurrency)
    report = audit_report(judged, judge=asked.name, repeats=repeats, seed=seed)
    if json_file is not None:
        write_json(json_file, report.model_dump(mode="json"))
    if str(json_file) != "-":
        _show(report)
    if not report.passed:
        raise click.exceptions.Exit(1)


def _ask(
    judge: Judge,
    rows: Sequence[EvalRow],
    prompts: JudgePrompts,
    repeats: int,
    seed: int,
    modes: Sequence[JudgeMode],
    concurrency: int,
) -> list[Judged]:
    from worldline.bench.agentworld.audit import run_audit

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(judge.name, total=None)

        def watch(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        async def run() -> list[Judged]:
            try:
                return await run_audit(
                    judge,
                    rows,
                    prompts=prompts,
                    repeats=repeats,
                    seed=seed,
                    modes=modes,
                    concurrency=concurrency,
                    on_judged=watch,
                )
            finally:
                await judge.model.aclose()

        return asyncio.run(run())


def _show(report: AuditReport) -> None:
    console = Console(width=None if Console().is_terminal else 140)
    if report.kinds:
        console.print(_kind_table(report))
    ranked, agreement, correlation = report.ranked, report.self_agreement, report.correlation
    interval = f" ({_percent(ranked.interval[0])} to {_percent(ranked.interval[1])})" if ranked.interval else ""
    console.print(f"damaged texts ranked below the truth: {_percent(ranked.value)}{interval}")
    if agreement.pairs:
        console.print(
            f"two judgements of the same text differ by {_points(agreement.total_difference)} points on average; equal "
            f"scores: {', '.join(f'{name} {_percent(share)}' for name, share in agreement.exact.items())}"
        )
    console.print(
        f"correlation with ROUGE-L {_points(correlation.rouge_l)}, with exactness {_points(correlation.exact)}"
    )
    for mode, pairs in report.pairs.items():
        console.print(
            f"{mode}: truth chosen {_percent(pairs.truth_chosen)}, answer A chosen {_percent(pairs.first_chosen)}, "
            f"same winner in both orders {_percent(pairs.same_in_both_orders)}, {pairs.n} choices"
        )
    cost = "" if report.usage.cost_usd is None else f", {report.usage.cost_usd:.4f} US dollars"
    console.print(f"{report.n_judgements} judgements, {report.n_failed} of them failed{cost}")
    for verdict in report.verdicts:
        console.print(f"[bold]{verdict.name}[/bold]: {verdict.why}")
    if report.passed:
        console.print("no fault found")


def _kind_table(report: AuditReport) -> Table:
    table = Table(title=f"{report.judge}: {report.n_rows} true observations, damaged; points lost against the truth")
    table.add_column("damage")
    for name in ("n", "below truth", *next(iter(report.kinds.values())).drops, "right dimension", "over its base"):
        table.add_column(name, justify="right")
    for name, kind in report.kinds.items():
        drops = [
            f"[bold]{drop:.2f}[/bold]" if dimension in kind.expected else f"{drop:.2f}"
            for dimension, drop in kind.drops.items()
        ]
        gained = "" if kind.against_base is None else f"{kind.against_base:+.2f}"
        table.add_row(name, str(kind.n), _percent(kind.below), *drops, _percent(kind.right_dimension), gained)
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}%"


def _points(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
