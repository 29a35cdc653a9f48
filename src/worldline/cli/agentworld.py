"""`worldline bench agentworld`: ask a model for benchmark rows, have its answers judged, in runs that resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from worldline.cli.options import write_json
from worldline.errors import ConfigError, require_extra
from worldline.types import JsonDict

if TYPE_CHECKING:
    from worldline.bench.agentworld.inference import Generator
    from worldline.bench.agentworld.pipeline import Limits, ModelJudge, Pipeline, Tally
    from worldline.bench.agentworld.rows import RowIndex, RowRef
    from worldline.bench.agentworld.store import RunWriter
    from worldline.models.base import ChatModel

__all__ = ["agentworld"]

F = TypeVar("F", bound=Callable[..., Any])

_ELSEWHERE = {
    "score": "worldline.cli.agentworld_score:score",
    "report": "worldline.cli.agentworld_score:report",
    "speed": "worldline.cli.agentworld_speed:speed",
}
"""Commands that stand in files of their own."""


class _Group(click.Group):
    """A group some of whose commands are imported only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, attribute = _ELSEWHERE[cmd_name].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Group)
def agentworld() -> None:
    """Measure a model on AgentWorldBench, or on a benchmark of its shape."""


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


_file = click.Path(path_type=Path, dir_okay=False)
_folder = click.Path(path_type=Path, file_okay=False)
_price = click.FloatRange(min=0)

_out_option = click.option("--out", required=True, type=_folder, metavar="RUN", help="Folder of the run.")
_shared_options = _options(
    click.option("--models", type=_file, help="Models file instead of the usual ones."),
    click.option(
        "--concurrency", type=click.IntRange(min=1), default=64, show_default=True, help="Requests to a model at once."
    ),
    click.option("--budget-usd", type=click.FloatRange(min=0), help="Stop before the run costs more; it can go on."),
    click.option("--retries", type=click.IntRange(min=0), help="Tries after the first one; default 5."),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds for one answer; default 600."),
    click.option("--retry-failed", is_flag=True, help="Ask again also what failed for good."),
    click.option(
        "--json",
        "json_file",
        type=_file,
        help="Write what was done (`run`: the summary, too) to FILE as JSON; `-` prints it.",
    ),
)
_model_options = _options(
    click.option("--data", required=True, help="Folder of DOMAIN_test.jsonl files, one file, or Qwen/AgentWorldBench."),
    click.option("--model", required=True, metavar="URL#NAME", help="URL#NAME, a name from models.yaml, local[:NAME]."),
    click.option("--domain", "domains", multiple=True, help="Only this domain; may be repeated."),
    click.option("--limit", type=click.IntRange(min=1), help="At most so many rows, from all domains alike."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the choice of rows, and of sampling."),
    click.option("--temperature", type=click.FloatRange(min=0), help="Default: the model's own, or else 0.6."),
    click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), help="Default: the model's own."),
    click.option("--top-k", type=int, help="Default: the model's own."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Default: the model's own, or else 32768."),
    click.option("--context", type=click.IntRange(min=1), help="Tokens the model can take; older turns are left out."),
    click.option("--tokenizer", type=click.Path(path_type=Path, exists=True), help="tokenizer.json to count by."),
    click.option("--model-price", nargs=2, type=_price, metavar="PROMPT COMPLETION", help="US dollars per 1M tokens."),
    click.option("--dry-run", is_flag=True, help="Only estimate tokens, cost and time; nothing is sent."),
    click.option(
        "--tokens-per-second", type=float, default=50.0, show_default=True, help="Assumed by --dry-run, per request."
    ),
    click.option(
        "--reasoning-tokens", type=int, default=2000, show_default=True, help="Assumed by --dry-run, per row."
    ),
)
_judge_options = _options(
    click.option("--judge", required=True, metavar="URL#NAME", help="The judge, named as a model is."),
    click.option(
        "--judge-prompts", type=click.Path(path_type=Path, exists=True), help="Folder of other judge prompts."
    ),
    click.option(
        "--judge-mode", type=click.Choice(["rubric", "turing", "pairwise"]), default="rubric", show_default=True
    ),
    click.option("--judge-seed", type=int, default=0, show_default=True),
    click.option("--judge-temperature", type=click.FloatRange(min=0), help="Default: the judge's own, or else 0.6."),
    click.option("--judge-max-tokens", type=click.IntRange(min=1), help="Default: the judge's own, or else 32768."),
    click.option("--judge-context", type=click.IntRange(min=1), help="Tokens the judge can take."),
    click.option("--judge-tokenizer", type=click.Path(path_type=Path, exists=True), help="tokenizer.json to count by."),
    click.option("--judge-price", nargs=2, type=_price, metavar="PROMPT COMPLETION", help="US dollars per 1M tokens."),
    click.option(
        "--repeats", type=click.IntRange(min=1), default=1, show_default=True, help="Judgements of each answer."
    ),
)
_protocol_option = click.option(
    "--protocol",
    type=click.Choice(["strict", "official"]),
    default="strict",
    show_default=True,
    help="How it is scored.",
)


@agentworld.command("run")
@_model_options
@_judge_options
@_shared_options
@_protocol_option
@_out_option
def run_command(**options: Any) -> None:
    """Ask, judge and score, as one pipeline.

    A run that was stopped goes on where it was: nothing is asked twice.
    """
    done = _infer(options, judged=True)
    if done is not None:
        _score(options, done)


@agentworld.command("infer")
@_model_options
@_shared_options
@_out_option
def infer_command(**options: Any) -> None:
    """Ask a model for the rows; `judge` can follow later."""
    _write(options, _infer(options, judged=False))


@agentworld.command("judge")
@_judge_options
@click.option(
    "--pairwise",
    "other_run",
    type=_folder,
    metavar="RUN2",
    help="Compare each answer with the one that RUN2 has for the same row.",
)
@_shared_options
@_out_option
def judge_command(**options: Any) -> None:
    """Have the answers of a run judged; another judge than before judges all of them anew."""
    from worldline.bench.agentworld.running import put_judge, stored_rows
    from worldline.bench.agentworld.store import RunFolder, RunWriter

    folder: RunFolder = RunFolder(options["out"])
    index, refs = stored_rows(folder)
    judge = _judge(options)
    with RunWriter(options["out"]) as writer:
        if options["other_run"] is not None:
            refs = _pair(judge, writer, options["other_run"], refs)
        else:
            put_judge(writer, judge)
        done = _go(options, writer, index, refs, None, judge)
    _write(options, done)


def _pair(judge: ModelJudge, writer: RunWriter, other: Path, refs: list[RowRef]) -> list[RowRef]:
    """Have a judge compare the run's answers with another run's; return the rows that both have an answer for."""
    from worldline.bench.agentworld.running import paired_generations
    from worldline.bench.agentworld.store import RunFolder

    judge.mode = "pairwise"
    judge.others = paired_generations(writer.generations, RunFolder(other))
    rows = {generation.row for generation in judge.others.values()}
    both = [ref for ref in refs if ref.key in rows]
    if len(both) < len(refs):
        _say(f"{len(refs) - len(both)} rows are left out: not both runs have an answer")
    return both


def _infer(options: dict[str, Any], *, judged: bool) -> JsonDict | None:
    """Run inference, and judging with it, and tell what was done; None where nothing was sent."""
    from worldline.bench.agentworld.rows import index_rows
    from worldline.bench.agentworld.running import Selection, describe_run, write_run
    from worldline.bench.agentworld.store import RunWriter

    generator = _generator(options)
    judge = _judge(options) if judged else None
    selection = Selection(options["domains"], options["limit"], options["seed"])
    index = index_rows(options["data"])
    refs = selection.of(index)
    if index.bad:
        _say(f"{len(index.bad)} lines are no rows and are left out; the first: {index.bad[0].reason}")
    if options["dry_run"]:
        _show_estimate(options, index, refs, generator, judge)
        return None
    with RunWriter(options["out"]) as writer:
        write_run(writer, describe_run(index, refs, selection, generator, judge), refs)
        return _go(options, writer, index, refs, generator, judge)


def _generator(options: dict[str, Any]) -> Generator:
    from worldline.bench.agentworld.inference import Generator
    from worldline.models.base import Sampling
    from worldline.models.tokens import token_counter

    names = ("temperature", "top_p", "top_k", "max_tokens", "seed")
    return Generator(
        _model(options, options["model"], options["model_price"]),
        Sampling(**{name: options[name] for name in names}),
        options["context"],
        token_counter(options["tokenizer"]),
    )


def _judge(options: dict[str, Any]) -> ModelJudge:
    from worldline.bench.agentworld.judge_prompt import JudgePrompts
    from worldline.bench.agentworld.judging import Judge
    from worldline.bench.agentworld.pipeline import ModelJudge
    from worldline.models.base import Sampling
    from worldline.models.tokens import token_counter

    require_extra("json_repair", "bench")  # asked for now, and not by the first answer that is broken
    sampling = Sampling(temperature=options["judge_temperature"], max_tokens=options["judge_max_tokens"])
    asked = Judge(
        _model(options, options["judge"], options["judge_price"]),
        sampling,
        options["judge_context"],
        token_counter(options["judge_tokenizer"]).count,
    )
    return ModelJudge(asked, JudgePrompts(options["judge_prompts"]), options["judge_mode"], options["judge_seed"])


def _model(options: dict[str, Any], spec: str, price: tuple[float, float] | None) -> ChatModel:
    from worldline.models.config import resolve_model

    overrides: dict[str, Any] = {"concurrency": options["concurrency"]}
    if price:
        overrides["prices"] = {"prompt": price[0], "completion": price[1]}
    for name, option in (("retries", "retries"), ("timeout_s", "timeout")):
        if options[option] is not None:
            overrides[name] = options[option]
    return resolve_model(spec, models=options["models"], overrides=overrides)


def _go(
    options: dict[str, Any],
    writer: RunWriter,
    index: RowIndex,
    refs: list[RowRef],
    generator: Generator | None,
    judge: ModelJudge | None,
) -> JsonDict:
    from worldline.bench.agentworld.cost import Budget, require_prices
    from worldline.bench.agentworld.pipeline import Pipeline
    from worldline.bench.agentworld.running import earlier_spending

    models = [part.model for part in (generator, judge) if part is not None]
    if options["budget_usd"] is not None:
        require_prices(models)
    if options["retry_failed"]:
        writer.generations.reopen(lambda record: record.outcome in ("error", "empty"))
        writer.judgements.reopen(lambda record: record.scores is None and record.verdict is None)
    budget = Budget(options["budget_usd"], earlier_spending(writer))
    before = budget.spent
    pipeline = Pipeline(writer, index, generator, judge, _limits(options), budget)
    tally = _watched(pipeline, refs, models)
    done = {**vars(tally), "spent_usd": budget.spent, "spent_usd_now": budget.spent - before}
    _say(_summary(tally, budget.spent, judged=judge is not None))
    if tally.budget_reached:
        raise ConfigError(
            f"stopped at the budget of ${budget.limit:g}: ${budget.spent:.4f} are spent",
            hint="raise --budget-usd and run the same command again to go on",
        )
    return done


def _limits(options: dict[str, Any]) -> Limits:
    from worldline.bench.agentworld.pipeline import Limits

    n = options["concurrency"]
    return Limits(concurrency=n, judge_concurrency=n, repeats=options.get("repeats", 1))


def _watched(pipeline: Pipeline, refs: list[RowRef], models: list[ChatModel]) -> Tally:
    """Run the pipeline under progress bars."""

    async def work() -> Tally:
        try:
            return await pipeline.run(refs)
        finally:
            for model in models:
                await model.aclose()

    with _bars(pipeline):
        return asyncio.run(work())


@contextmanager
def _bars(pipeline: Pipeline) -> Iterator[None]:
    console = Console(stderr=True)
    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        infer = progress.add_task("infer", total=None, note="", visible=pipeline.generator is not None)
        judge = progress.add_task("judge", total=None, note="", visible=pipeline.judge is not None)

        def show(tally: Tally) -> None:
            note = f"{tally.failed} failed, {tally.truncated} cut off, ${pipeline.budget.spent:.4f}"
            progress.update(infer, completed=tally.generated, total=tally.rows, note=note)
            note = f"{tally.judge_failed} failed"
            progress.update(judge, completed=tally.judged, total=tally.to_judge, note=note)

        pipeline.on_change = show
        yield


def _summary(tally: Tally, spent: float, *, judged: bool) -> str:
    text = f"{tally.generated} of {tally.rows} rows answered ({tally.asked} now), {tally.failed} failed"
    text += f", {tally.truncated} cut off"
    if judged:
        text += f"; {tally.judged} judgements ({tally.judge_asked} now), {tally.judge_failed} failed"
    return f"{text}; ${spent:.4f}" if spent else text


def _show_estimate(
    options: dict[str, Any],
    index: RowIndex,
    refs: list[RowRef],
    generator: Generator,
    judge: ModelJudge | None,
) -> None:
    from worldline.bench.agentworld.cost import Rates, estimate_run
    from worldline.bench.agentworld.store import RunFolder, settled

    folder = RunFolder(options["out"])
    done = {record.key for record in folder.generations() if settled(record)}
    waiting = [ref for ref in refs if generator.key(ref.key) not in done]
    rates = Rates(tokens_per_s=options["tokens_per_second"], reasoning=options["reasoning_tokens"])
    judging = judge.model if judge is not None else None
    estimate = estimate_run(index, waiting, generator, judging, concurrency=options["concurrency"], rates=rates)
    if options["json_file"] is not None:
        write_json(options["json_file"], estimate.model_dump(mode="json"))
    if str(options["json_file"]) == "-":
        return
    cost = "not known: no prices" if estimate.cost_usd is None else f"${estimate.cost_usd:.2f}"
    counted = generator.counter.name
    click.echo(f"{estimate.rows} rows to ask, {len(refs) - estimate.rows} are there already")
    click.echo(f"model: {estimate.prompt_tokens:,} tokens in, {estimate.completion_tokens:,} out (by {counted})")
    if judge is not None:
        click.echo(f"judge: {estimate.judge_prompt_tokens:,} tokens in, {estimate.judge_completion_tokens:,} out")
    click.echo(
        f"longest prompt: {estimate.longest_prompt:,} tokens; {estimate.rows_with_dropped_turns} rows lose turns"
    )
    click.echo(f"cost: {cost}")
    click.echo(
        f"time: {estimate.seconds / 60:.0f} min at {rates.tokens_per_s:g} tokens/s per request and "
        f"{rates.reasoning} tokens of reasoning, {options['concurrency']} requests at once"
    )


def _write(options: dict[str, Any], done: JsonDict | None) -> None:
    if options["json_file"] is not None and done is not None:
        write_json(options["json_file"], done)


def _score(options: dict[str, Any], done: JsonDict) -> None:
    """Score the run and, where JSON is wanted, give the summary with what was done under `run`."""
    from worldline.cli.agentworld_score import score_and_show

    summary = score_and_show(options["out"], options["protocol"], quiet=str(options["json_file"]) == "-")
    _write(options, {**summary.model_dump(mode="json"), "run": done})


def _say(text: str) -> None:
    click.echo(text, err=True)
