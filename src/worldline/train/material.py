"""What a stage learns from: its set, or one built as its recipe says; and held-out rows to measure the loss on."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from worldline.bench.rules.generating import rules_by_turn
from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.overlap import benchmark_reference
from worldline.data.rows import Stage, TrainingRow
from worldline.data.sets import REPORT, prompts_mark, read_report, read_rows
from worldline.errors import ConfigError
from worldline.formats import read_trajectories
from worldline.formats.importing import Importer
from worldline.recordings import path as recording_path
from worldline.train.recipe import Recipe
from worldline.types import Source, Trajectory

__all__ = ["check_set", "held_out_rows", "observed_only", "stage_rows", "texts"]


def stage_rows(recipe: Recipe, stage: Stage, seed: int | None = None, *, mask: bool | None = None) -> list[TrainingRow]:
    """Return the rows of a stage.

    Args:
        recipe: The recipe.
        stage: Which stage.
        seed: Of the set that is built; default the recipe's.
        mask: Whether a set that is built for CPT is masked; default as the recipe says.

    Raises:
        ConfigError: There are none, they are of another stage, or simulated and that was not asked for.
        FormatError: A set cannot be read.
    """
    named = recipe.stage(stage).set
    if named is not None:
        check_set(recipe, stage, mask=mask)
        rows = read_rows(named)
        where = str(named)
    else:
        rows = _built(_train(recipe), recipe, stage, recipe.seed if seed is None else seed, mask)
        where = "the data of the recipe"
    found = list(observed_only(rows, allow=recipe.data.allow_simulated, where=where))
    wrong = next((row for row in found if row.stage != stage), None)
    if wrong is not None:
        raise _other_stage(where, wrong, stage)
    if not found:
        raise ConfigError(f"{where} gives no row of {stage}", hint="worldline data build reports why")
    return found


def check_set(recipe: Recipe, stage: Stage, *, mask: bool | None = None) -> None:
    """Find, where a stage names its set, that it is there and can be learned as the recipe says.

    Raises:
        ConfigError: It cannot.
        FormatError: It cannot be read.
        StorageError: There is none.
    """
    named = recipe.stage(stage).set
    if named is None:
        return
    if mask is False and stage == "cpt":
        raise ConfigError(f"{named} was built with its mask", hint="take out cpt.set, to have sets built")
    first = next(read_rows(named), None)
    if first is not None and first.stage != stage:
        raise _other_stage(str(named), first, stage)
    report = read_report(named) if (named / REPORT).is_file() else {}
    asked, wanted = report.get("prompts"), prompts_mark(recipe.data.prompts)
    if "prompts" in report and asked != wanted:
        raise ConfigError(
            f"{named} was built with {_told(asked)}, and the recipe asks by {_told(wanted)}",
            hint="give the set's prompts as data.prompts: what is trained is measured by them, and says so",
        )


def _other_stage(where: str, row: TrainingRow, stage: Stage) -> ConfigError:
    message = f"{where} holds rows of {row.stage}, not of {stage}"
    return ConfigError(message, hint=f"give {stage}.set what `worldline data build {stage}` made")


def _told(prompts: str | None) -> str:
    return f"the prompts {prompts}" if prompts else "the domain's own prompts"


def texts(recipe: Recipe) -> Iterator[str]:
    """Yield the messages of everything that CPT could learn from, whatever its pool, mask and seed are.

    Raises:
        FormatError: A set cannot be read.
    """
    named = recipe.cpt.set if recipe.cpt is not None else None
    data = recipe.data.model_copy(update={"pool": "all", "transitions": 0.0})
    rows = (
        read_rows(named) if named else _built(_train(recipe), recipe.model_copy(update={"data": data}), "cpt", 0, False)
    )
    yield from (message.content for row in rows for message in row.messages)


def held_out_rows(recipe: Recipe, stage: Stage) -> list[TrainingRow]:
    """Return rows of the evaluation's split, laid out as the stage's, all families and nothing masked."""
    how = recipe.evaluation
    everything = recipe.data.model_copy(update={"pool": "all", "transitions": 0.0, "against": ()})
    held_out = read_trajectories(recording_path(how.domain, how.split))
    rows = _built(held_out, recipe.model_copy(update={"data": everything}), stage, recipe.seed, False)
    return list(itertools.islice(rows, how.rows))


def observed_only(rows: Iterable[TrainingRow], *, allow: bool, where: str) -> Iterator[TrainingRow]:
    """Pass rows on, and refuse simulated ones unless they are allowed.

    Raises:
        ConfigError: A row is simulated.
    """
    for row in rows:
        if row.source is not Source.OBSERVED and not allow:
            raise ConfigError(
                f"{where} holds simulated rows", hint="set data.allow_simulated: true to learn from them as well"
            )
        yield row


def _train(recipe: Recipe) -> Iterator[Trajectory]:
    for domain in recipe.data.real:
        yield from itertools.islice(read_trajectories(recording_path(domain, "train")), recipe.data.limit)
    for source in recipe.data.sources:
        yield from itertools.islice(_imported(source), recipe.data.limit)


def _imported(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a file or a folder, read as `worldline data build` reads them."""
    reader = Importer([path], mask=True, strict=True)
    for unit in reader.units():
        yield from reader.read(unit)


def _built(
    trajectories: Iterable[Trajectory], recipe: Recipe, stage: Stage, seed: int, mask: bool | None
) -> Iterator[TrainingRow]:
    data = recipe.data
    options = DataOptions(
        stage=stage,
        seed=seed,
        pool=data.pool,
        mask=data.mask if mask is None else mask,
        transitions=data.transitions,
        state_change=data.state_change,
        allow_simulated=data.allow_simulated,
        prompts=data.prompts,
        asked=data.asked,
        turns_per_trajectory=data.turns_per_trajectory,
        notes_share=recipe.evaluation.notes_share,
    )
    checks = rules_by_turn if stage == "rl" else None
    return build_rows(
        trajectories,
        options,
        BuildReport(),
        benchmarks=benchmark_reference(data.against) if data.against else None,
        checks=checks,
    )
