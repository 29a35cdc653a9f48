"""Setting up an evaluation run: what is asked for, written down, and refused where it does not fit what is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from worldline import __version__
from worldline.bench.agentworld.inference import Generator
from worldline.bench.agentworld.judging import judgeable
from worldline.bench.agentworld.pipeline import ModelJudge
from worldline.bench.agentworld.records import Generation, Judgement
from worldline.bench.agentworld.rows import RowIndex, RowRef
from worldline.bench.agentworld.store import RunFolder, RunWriter
from worldline.errors import ConfigError
from worldline.models.base import ChatModel
from worldline.types import JsonDict

__all__ = [
    "Selection",
    "describe_judge",
    "describe_run",
    "earlier_spending",
    "paired_generations",
    "put_judge",
    "stored_rows",
    "write_run",
]

_MOST_BAD_ROWS = 100
"""Of the bad rows, so many are written down one by one; all are counted."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows are asked."""

    domains: tuple[str, ...] = ()
    limit: int | None = None
    seed: int = 0

    def of(self, index: RowIndex) -> list[RowRef]:
        """Choose from an index (see :meth:`RowIndex.select`)."""
        return index.select(domains=self.domains, limit=self.limit, seed=self.seed)


def describe_run(
    index: RowIndex, refs: Sequence[RowRef], selection: Selection, generator: Generator, judge: ModelJudge | None
) -> JsonDict:
    """Say what `run.json` says of a run."""
    return {
        "worldline": __version__,
        "data": str(index.folder.resolve()),
        "selection": {"domains": list(selection.domains), "limit": selection.limit, "seed": selection.seed},
        "rows": len(refs),
        "rows_in_data": index.counts(),
        "copies_in_data": sum(ref.copies - 1 for ref in index.refs),
        "bad_rows": len(index.bad),
        "bad_rows_listed": [bad.model_dump() for bad in index.bad[:_MOST_BAD_ROWS]],
        "generation": {**generator.settings, "endpoint": _endpoint(generator.model)},
        "judging": describe_judge(judge),
    }


def describe_judge(judge: ModelJudge | None) -> JsonDict | None:
    """Say what `run.json` says of a judge."""
    if judge is None:
        return None
    return {
        "judge": judge.model.name,
        "mode": judge.mode,
        "seed": judge.seed,
        "prompts": str(judge.prompts.folder) if judge.prompts.folder is not None else None,
        "endpoint": _endpoint(judge.model),
    }


def write_run(writer: RunWriter, settings: JsonDict, refs: Sequence[RowRef]) -> None:
    """Write down what a run is asked for.

    Rows may be added to a run or left out; its model and how it is asked stay.

    Raises:
        ConfigError: The folder holds a run of another model, or of one that was asked in another way.
        StorageError: The folder cannot be written.
    """
    if (writer.folder.path / "run.json").exists():
        before = writer.folder.settings
        _check_same(before.get("generation") or {}, settings["generation"], writer.folder.path)
        if settings["judging"] is None:
            settings = {**settings, "judging": before.get("judging")}
    writer.put_settings(settings)
    writer.put_rows(refs)


def put_judge(writer: RunWriter, judge: ModelJudge) -> None:
    """Write down who judges a run from now on."""
    writer.put_settings({**writer.folder.settings, "judging": describe_judge(judge)})


def _check_same(before: JsonDict, now: JsonDict, path: Path) -> None:
    for name, value in now.items():
        if name != "endpoint" and name in before and before[name] != value:
            raise ConfigError(
                f"{path} holds a run with another {name.replace('_', ' ')}: {before[name]!r}, not {value!r}",
                hint="repeat its options, or choose another --out",
            )


def stored_rows(folder: RunFolder) -> tuple[RowIndex, list[RowRef]]:
    """The rows of a run that was begun.

    Raises:
        ConfigError: The folder holds no run.
    """
    place = Path(folder.settings["data"])
    refs = list(folder.refs().values())
    return RowIndex(place, tuple(refs)), refs


def paired_generations(ours: Iterable[Generation], theirs: RunFolder) -> dict[str, Generation]:
    """Pair the generations of two runs by row.

    Returns:
        By the key of ours, theirs of the same row, where both predict something.

    Raises:
        ConfigError: The other folder holds no run, or one without a prediction for any of our rows.
        StorageError: Its records are damaged.
    """
    _ = theirs.settings  # a folder without a run is to be told apart from a run without rows in common
    by_row = {generation.row: generation for generation in theirs.generations() if judgeable(generation)}
    pairs = {own.key: by_row[own.row] for own in ours if own.row in by_row and judgeable(own)}
    if not pairs:
        raise ConfigError(f"{theirs.path} predicts none of the rows", hint="compare runs over the same data")
    return pairs


def earlier_spending(writer: RunWriter) -> float:
    """US dollars that the calls on record cost."""
    records: Iterator[Generation | Judgement] = chain(writer.generations, writer.judgements)
    return sum(record.usage.cost_usd or 0.0 for record in records if record.usage is not None)


def _endpoint(model: ChatModel) -> str | None:
    inner = getattr(model, "inner", model)
    address: str | None = getattr(getattr(inner, "settings", None), "base_url", None)
    return address
