"""`worldline data`: training sets."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from worldline.cli.options import json_file_option, write_json
from worldline.cli.push import push_data
from worldline.cli.teaching import teaching_of, teaching_options
from worldline.data.rows import ASKED, STAGES, Stage
from worldline.errors import ConfigError

if TYPE_CHECKING:
    from worldline.data.building import BuildReport, Checks, DataOptions
    from worldline.data.rows import TrainingRow
    from worldline.data.teaching import Teaching
    from worldline.types import JsonDict, Trajectory

__all__ = ["data"]

_PATH = click.Path(exists=True, path_type=Path)
_COUNTS = (
    "domains",
    "sources",
    "asked",
    "unsure",
    "guessed",
    "teachers",
    "rollouts",
    "left_out",
    "unusable",
    "dropped_turns",
    "labels",
    "trained",
)
"""What a report counts, as far as it is shown."""


@click.group()
def data() -> None:
    """Make training sets of trajectories, write them in the formats of trainers, and publish them."""


data.add_command(push_data)


@data.command("build")
@click.argument("stage", type=click.Choice(STAGES))
@click.argument("more", nargs=-1, type=_PATH)
@click.option("--from", "paths", multiple=True, type=_PATH, help="Trajectories: files and folders; repeat.")
@click.option("--real", "domains", multiple=True, help="Also the train split of our recordings of a domain; repeat.")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to make.")
@click.option("--against", multiple=True, type=_PATH, help="Benchmark that training must hold nothing of; repeat.")
@click.option(
    "--max-overlap", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Shared n-grams at most."
)
@click.option("--pool", type=click.Choice(["cpt", "tuning", "all"]), help="Families to take; default: the stage's own.")
@click.option("--no-mask", is_flag=True, help="CPT: learn every observation.")
@click.option(
    "--transitions",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="CPT: share of turns also told as transitions.",
)
@click.option("--state-change", is_flag=True, help="SFT, RL: targets also tell what changed, and the reward.")
@click.option("--manual-pages", type=click.IntRange(1), help="CPT: so many manual pages of this machine as well.")
@click.option("--max-characters", type=click.IntRange(1000), help="Longest row; early turns are dropped whole.")
@click.option(
    "--asked",
    type=click.Choice(ASKED),
    default="model",
    show_default=True,
    help="SFT, RL: whose questions rows hold, those of a model by itself or those of a grounded engine.",
)
@click.option(
    "--turns-per-trajectory",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="SFT, RL: at most so many rows of a trajectory, of each kind of question.",
)
@click.option("--allow-simulated", is_flag=True, help="Take simulated trajectories too; the set says which it holds.")
@click.option("--prompts", type=click.Path(path_type=Path), help="Folder of templates, or `brief`.")
@click.option("--skip-bad", is_flag=True, help="Go on past records that cannot be read or whose world is wrong.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all draws.")
@teaching_options
@click.option("--jobs", type=click.IntRange(1), help="Processes; default: one a CPU core. The set is the same.")
@json_file_option
def build(
    stage: Stage,
    more: tuple[Path, ...],
    paths: tuple[Path, ...],
    domains: tuple[str, ...],
    out: Path,
    against: tuple[Path, ...],
    max_overlap: float,
    pool: str | None,
    no_mask: bool,
    transitions: float,
    state_change: bool,
    manual_pages: int | None,
    max_characters: int | None,
    asked: str,
    turns_per_trajectory: int,
    allow_simulated: bool,
    prompts: Path | None,
    skip_bad: bool,
    seed: int,
    jobs: int | None,
    json_file: Path | None,
    **teacher: Any,
) -> None:
    """Turn trajectories into a training set: rows.jsonl.zst, report.json and a card.

    STAGE is cpt (continued pre-training on whole trajectories), sft (one turn each, with executed reasoning or that of
    a teacher) or rl (one turn's prompt each, its truth kept for the reward). With a teacher, a build that was stopped
    goes on where it was when the same command is given again.
    """
    from worldline.data.building import BuildReport, DataOptions
    from worldline.data.card import data_card
    from worldline.data.corpora import manual_rows
    from worldline.data.overlap import benchmark_reference
    from worldline.data.parallel import build_rows_in_parallel
    from worldline.data.sets import CARD, REPORT, prompts_mark, write_rows

    options = DataOptions.model_validate(
        {
            "stage": stage,
            "seed": seed,
            "pool": pool,
            "mask": not no_mask,
            "transitions": transitions,
            "state_change": state_change,
            "allow_simulated": allow_simulated,
            "max_characters": max_characters,
            "max_overlap": max_overlap,
            "prompts": prompts,
            "asked": asked,
            "turns_per_trajectory": turns_per_trajectory,
            "skip_bad": skip_bad,
        }
    )
    _check_options(options, manual_pages)
    if max_overlap != DataOptions.model_fields["max_overlap"].default and not against:
        raise ConfigError("--max-overlap is about benchmarks", hint="name one with --against")
    teaching = teaching_of(stage, out, seed, **teacher)
    if teaching is not None and jobs is not None:
        raise ConfigError("what a teacher is asked is asked in one process", hint="leave --jobs out; see --concurrency")
    report = BuildReport()
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("trajectories")
        reference = benchmark_reference(against, skip_bad=skip_bad) if against else None
        found = _trajectories([*paths, *more], domains, skip_bad)
        watched = (trajectory for trajectory in found if not bar.advance(task))  # type: ignore[func-returns-value]
        rows: Iterator[TrainingRow | bytes]
        if teaching is not None:
            from worldline.data.teaching import taught_rows

            rows = taught_rows(watched, options, report, teaching, benchmarks=reference)
        else:
            processes = jobs or os.cpu_count() or 1
            rows = build_rows_in_parallel(
                watched, options, report, jobs=processes, benchmarks=reference, checks=_checks(stage)
            )
        if manual_pages:
            rows = _joined(rows, manual_rows(manual_pages, report))
        record: JsonDict = {"prompts": prompts_mark(prompts)}

        def beside() -> dict[str, str]:
            record.update({**_record(options, report, [*paths, *more], domains, against), **_taught(teaching)})
            return {REPORT: json.dumps(record, indent=1, ensure_ascii=False) + "\n", CARD: data_card(record)}

        write_rows(out, rows, beside)
    if json_file is not None:
        write_json(json_file, record)
    if str(json_file) != "-":
        _print(record, out)


def _check_options(options: DataOptions, manual_pages: int | None) -> None:
    """Refuse options that the stage has no use for.

    Raises:
        ConfigError: There is one.
    """
    if options.stage == "cpt":
        of, given = (
            "sft and rl",
            {
                "--asked": options.asked != "model",
                "--turns-per-trajectory": options.turns_per_trajectory != 1,
                "--state-change": options.state_change,
            },
        )
    else:
        of, given = (
            "cpt",
            {
                "--no-mask": not options.mask,
                "--transitions": bool(options.transitions),
                "--manual-pages": manual_pages is not None,
            },
        )
    wrong = [name for name, is_given in given.items() if is_given]
    if wrong:
        raise ConfigError(f"{options.stage} has no use for {', '.join(wrong)}", hint=f"that goes with {of}")


def _trajectories(paths: list[Path], domains: tuple[str, ...], skip_bad: bool) -> Iterator[Trajectory]:
    from worldline.formats import read_trajectories
    from worldline.formats.importing import Importer
    from worldline.recordings import paths as recorded

    if not paths and not domains:
        raise ConfigError("nothing to learn from", hint="name trajectories with --from, or our recordings with --real")
    if paths:
        reader = Importer(paths, mask=True, strict=not skip_bad)
        for unit in reader.units():
            yield from (_placed(trajectory, unit.name) for trajectory in reader.read(unit))
    for domain in domains:
        found = recorded(domain, "train")
        if not found:
            raise ConfigError(f"there are no recordings of {domain}")
        for file in found:
            yield from (_placed(trajectory, f"Worldline-Real/{domain} train") for trajectory in read_trajectories(file))


def _placed(trajectory: Trajectory, file: str) -> Trajectory:
    """The trajectory with the file that it was read from, which errors name; our own format does not note it."""
    if isinstance(trajectory.origin.get("file"), str):
        return trajectory
    return trajectory.model_copy(update={"origin": {**trajectory.origin, "file": file}})


def _checks(stage: Stage) -> Checks | None:
    """What finds rule checks, for the stage that has use for them."""
    if stage != "rl":
        return None
    from worldline.bench.rules.generating import rules_by_turn

    return rules_by_turn


def _joined(rows: Iterator[TrainingRow | bytes], more: Iterator[TrainingRow]) -> Iterator[TrainingRow | bytes]:
    yield from rows
    yield from more


def _record(
    options: DataOptions, report: BuildReport, paths: list[Path], domains: tuple[str, ...], against: tuple[Path, ...]
) -> JsonDict:
    from worldline import __version__

    return {
        "made_by": f"worldline {__version__}",
        "options": options.model_dump(mode="json", exclude={"prompts"}),
        "from": [path.name for path in paths] + [f"Worldline-Real/{name} train" for name in domains],
        "against": [path.name for path in against],
        **report.as_record(),
    }


def _taught(teaching: Teaching | None) -> JsonDict:
    """What a set's report says of its teacher."""
    if teaching is None:
        return {}
    how = teaching.how.model_dump(mode="json", exclude={"prompts", "window"})
    return {"teaching": {"teacher": teaching.teacher.name, "grader": teaching.grader.name, **how}}


def _print(record: JsonDict, out: Path) -> None:
    table = Table(title=f"{record['rows']:,} rows of {record['trajectories']:,} trajectories in {out}")
    for name in ("what", "", "count"):
        table.add_column(name, justify="right" if name == "count" else "left")
    for what in _COUNTS:
        for key, count in sorted(record[what].items(), key=lambda item: -item[1]):
            table.add_row(what.replace("_", " "), key, f"{count:,}")
    Console(width=None if Console().is_terminal else 120).print(table)


@data.command("export")
@click.argument("trainer", type=click.Choice(["llama-factory", "ms-swift", "tinker", "trl", "verl"]))
@click.argument("folder", type=_PATH)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder; default: FOLDER/TRAINER.")
@json_file_option
def export_command(trainer: str, folder: Path, out: Path | None, json_file: Path | None) -> None:
    """Write a training set in a trainer's own format, with its own way of masking and a recipe that starts it.

    FOLDER is a set that `worldline data build` made, or a file of its rows.
    """
    from worldline.data.export import export_set

    target = out or (folder if folder.is_dir() else folder.parent) / trainer
    count, command = export_set(trainer, folder, target)
    if json_file is not None:
        write_json(json_file, {"trainer": trainer, "rows": count, "out": str(target), "start": command})
    if str(json_file) != "-":
        click.echo(f"{count:,} rows for {trainer} in {target}")
        click.echo(f"start there with: {command}" if command else "no launch recipe ships for this stage and trainer")
