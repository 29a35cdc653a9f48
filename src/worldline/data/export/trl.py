"""Rows for TRL 1.16: prompt and completion, a row for each learned turn, since there is no flag for a message.

With `completion_only_loss` (its default for such rows) the loss counts on the completion alone. RL rows have the
prompt; further columns reach the reward function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from worldline.data.export.parts import chat, learned_turns, write_lines
from worldline.data.rows import TrainingRow
from worldline.types import JsonDict, canonical_json

__all__ = ["export_trl"]


def export_trl(rows: Iterable[TrainingRow], out: Path) -> int:
    """Write `train.jsonl`, which `datasets.load_dataset("json", ...)` reads."""
    return write_lines(out / "train.jsonl", _rows(rows))


def _rows(rows: Iterable[TrainingRow]) -> Iterator[JsonDict]:
    for row in rows:
        if row.stage == "rl":
            told = {"truth": canonical_json(row.truth), "checks": canonical_json(list(row.checks))}
            yield {"prompt": chat(row.messages), "id": row.id, "domain": row.domain, **told}
        for before, message in learned_turns(row):
            yield {"prompt": chat(before), "completion": chat([message])}
