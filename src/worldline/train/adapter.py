"""A small adapter folder out of a finished run: joined over its stages, rounded to bfloat16, checked, with its card.

Each stage that trains adapters starts from the merged model of the stage before, so what the last one wrote beside its
weights is only the last step. Here the steps are joined into one adapter of the base that the first stage began with.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml

from worldline import __version__
from worldline.errors import ConfigError, StorageError, boundary
from worldline.models.adapters.description import CARD, WEIGHTS, AdapterNote, describe_adapter
from worldline.models.adapters.weights import LoraWeights, joined, read_weights, thinned, write_weights
from worldline.models.hashing import sha256_of
from worldline.models.store import StoredModel, describe, find_model, weights_sha256
from worldline.models.trained import read_note, write_note
from worldline.train.agreement import Agreement, agreement
from worldline.train.card import model_card
from worldline.train.recipe import Recipe
from worldline.train.runs import MODEL, RECIPE, StageResult, read_record, read_result, runs_to, start_of
from worldline.types import JsonDict

__all__ = ["Lineage", "MadeAdapter", "lineage", "make_adapter"]

_ADAPTER = "adapter"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_HEAD = re.compile(r"\A---\n(.*?)\n---\n+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Lineage:
    """How a run's model came about."""

    base: StoredModel
    base_name: str
    """How `--model local:NAME` finds it."""
    folders: tuple[Path, ...]
    """Runs that trained adapters, first to last."""
    results: tuple[StageResult, ...]
    recipe: Recipe
    """Of the last run."""

    @property
    def weights(self) -> LoraWeights:
        """What all stages together add to the base."""
        before = [read_weights(self.base.adapter.path)] if self.base.adapter is not None else []
        return joined([*before, *(read_weights(folder / MODEL / _ADAPTER) for folder in self.folders)])


@dataclass(frozen=True, slots=True)
class MadeAdapter:
    """An adapter folder that was made."""

    folder: Path
    note: AdapterNote
    size: int
    """Bytes of the weights."""
    rank: int
    agreement: Agreement | None
    """None where it was not checked."""


def lineage(folder: Path) -> Lineage:
    """Follow a finished run back to the base that its first stage began with.

    Args:
        folder: The run's folder, or `model/` of it.

    Raises:
        ConfigError: It is no finished run with adapters, or what it started from is gone.
    """
    runs = runs_to(folder)
    if not runs:
        raise ConfigError(f"{folder} holds no run", hint="give the --out folder of `worldline train cpt|sft|rl`")
    if not (runs[-1] / MODEL).is_dir():
        raise ConfigError(f"the run {runs[-1]} is not done", hint="go on with it with --resume")
    if not (runs[-1] / MODEL / _ADAPTER).is_dir():
        raise ConfigError(f"the run {runs[-1]} trained all weights, not an adapter", hint="set `lora` in the recipe")
    whole = [number for number, run in enumerate(runs, 1) if not (run / MODEL / _ADAPTER).is_dir()]
    folders = tuple(runs[max(whole, default=0) :])
    results = tuple(map(_result, folders))
    recipe = _recipe(read_record(runs[-1]), runs[-1])
    start = start_of(folders[0])
    if start is not None:
        if not start.is_dir():
            raise ConfigError(
                f"{folders[0]} started from {start}, which is not here", hint="run this where it was trained"
            )
        model = start / MODEL if (start / MODEL).is_dir() else start
        return Lineage(describe(model), str(start), folders, results, recipe)
    if recipe.model.start is None:
        raise ConfigError(f"{folders[0]} started from random weights, which are no base", hint="push the whole model")
    base, name = find_model(recipe.model.start), recipe.model.start
    if base.adapter is not None:
        name = base.name.removesuffix(f"+{base.adapter.name}")
    return Lineage(base, name, folders, results, recipe)


def make_adapter(
    folder: Path,
    out: Path,
    *,
    name: str | None = None,
    licence: str | None = None,
    rank: int | None = None,
    prompts: int = 4,
    tolerance: float = 0.02,
) -> MadeAdapter:
    """Make an adapter folder of a finished run.

    Args:
        folder: The run's folder.
        out: The new folder.
        name: Of the adapter; default that of `out`.
        licence: Of the adapter, an SPDX identifier; default the recipe's, or else the base's.
        rank: Keep only so much of it: the nearest adapter of that rank.
        prompts: Held-out prompts to check on that it answers as the run's merged model does; 0 does not check.
        tolerance: Share of the tokens of these answers that may come out otherwise.

    Raises:
        ConfigError: It is no run with adapters, the adapter answers otherwise than the merged model, or `out` is taken.
        MissingExtraError: A library is missing.
        StorageError: Something cannot be written.
    """
    name = name or out.name
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be an adapter's name", hint="give one with --name")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not empty", hint="choose another --out")
    came = lineage(folder)
    weights = came.weights
    if rank is not None:
        if rank >= weights.rank:
            raise ConfigError(f"the adapter has rank {weights.rank} already", hint="give a lower --rank, or none")
        weights = thinned(weights, rank)
    partial = out.with_name(f".{out.name}.part")
    try:
        with boundary(StorageError, f"writing {out}", OSError):
            shutil.rmtree(partial, ignore_errors=True)
            write_weights(weights, partial, came.base_name)
            note = _note(came, name, licence, partial / WEIGHTS)
            checked = _check(came, partial, prompts, tolerance) if prompts else None
            write_note(note, partial)
            (partial / CARD).write_text(_card(came, note, weights, partial, checked), encoding="utf-8")
            if out.is_dir():
                out.rmdir()
            partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return MadeAdapter(out, note, describe_adapter(out).size, weights.rank, checked)


def _result(run: Path) -> StageResult:
    result = read_result(run)
    if result is None:
        raise ConfigError(f"the run {run} is not done", hint="go on with it with --resume")
    return result


def _recipe(record: JsonDict, run: Path) -> Recipe:
    with boundary(ConfigError, f"reading {run / RECIPE}", ValueError):
        return Recipe.model_validate({key: value for key, value in record.items() if key in Recipe.model_fields})


def _note(came: Lineage, name: str, licence: str | None, weights: Path) -> AdapterNote:
    recipe, base = came.recipe, came.base
    chosen = licence or recipe.licence or base.licence
    if not _LICENCE.fullmatch(chosen):
        raise ConfigError(f"the base's licence is {chosen!r}", hint="name the adapter's: --licence apache-2.0")
    if recipe.data.prompts not in (None, Path("brief")):
        raise ConfigError(
            f"{came.folders[-1]} was trained with prompts of its own, which an adapter cannot name",
            hint="train it with `prompts: brief`, or with the domain's own",
        )
    told = read_note(came.folders[-1] / MODEL) or recipe.note(name.partition("/")[0] for name in recipe.data.real)
    return AdapterNote(
        name=name,
        base=came.base_name,
        base_sha256=weights_sha256(base),
        base_title=base.title,
        weights_sha256=sha256_of(weights),
        domains=told.domains,
        context=told.context,
        prompts=told.prompts,
        reasons=recipe.reasoning and any(result.stage == "sft" for result in came.results),
        licence=chosen.lower(),
        recipe=recipe.name,
        stages=tuple(result.stage for result in came.results),
        made_by=f"worldline {__version__}",
    )


def _check(came: Lineage, folder: Path, prompts: int, tolerance: float) -> Agreement:
    found = agreement(came.recipe, came.folders[-1] / MODEL, came.base, folder, prompts)
    if found.same < (1 - tolerance) * found.tokens:
        raise ConfigError(
            f"the adapter answers otherwise than {came.folders[-1] / MODEL}: {found.tokens - found.same} of "
            f"{found.tokens} tokens on {found.prompts} prompts",
            hint="keep a higher --rank; is the base the one that was trained on?",
        )
    return found


def _card(came: Lineage, note: AdapterNote, weights: LoraWeights, folder: Path, checked: Agreement | None) -> str:
    """The card of the merged model, with what is different of the adapter."""
    path = came.folders[-1] / MODEL / CARD
    text = path.read_text("utf-8") if path.is_file() else model_card(came.recipe, came.results)
    head = _HEAD.match(text)
    with boundary(ConfigError, f"reading {path}", ValueError, yaml.YAMLError):
        stated = yaml.safe_load(head[1]) if head else {}
    merged = {
        "base_model": note.base,
        "base_model_relation": "adapter",
        **(stated or {}),
        "library_name": "peft",
        "license": note.licence,
    }
    body = text[head.end() :] if head else text
    asked = "`brief` prompts" if note.prompts else "the domain's own prompts"
    size = (folder / WEIGHTS).stat().st_size
    lines = [
        "## This adapter",
        "",
        f"- Base: `{note.base}`{f' ({note.base_title})' if note.base_title else ''}, weights of SHA-256 "
        f"`{note.base_sha256}`.",
        f"- LoRA of rank {weights.rank} in bfloat16, {size / 1e6:.1f} MB, SHA-256 `{note.weights_sha256}`; stages: "
        f"{', '.join(note.stages)}. The figures above are of the merged 32-bit weights.",
        f"- `worldline play {note.domains[0] if note.domains else 'terminal'} --model local:{note.base}+{note.name}` "
        f"asks it as it was trained: {asked}, at most {note.context:,} tokens.",
    ]
    if checked is not None:
        lines.append(
            f"- Checked against the merged weights: {checked.same:,} of {checked.tokens:,} tokens of greedy answers to "
            f"{checked.prompts} held-out prompts are the same."
        )
    front = yaml.safe_dump(merged, sort_keys=False, default_flow_style=None, allow_unicode=True)
    return f"---\n{front}---\n\n{body.rstrip()}\n\n" + "\n".join(lines) + "\n"
