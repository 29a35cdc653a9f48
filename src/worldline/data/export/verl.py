"""Rows for verl 0.9: parquet; fine-tuning learns every assistant message, so each learned turn is a row of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from worldline.data.export.parts import chat, learned_turns
from worldline.data.rows import TrainingRow
from worldline.errors import StorageError, boundary, require_extra
from worldline.types import JsonDict, canonical_json

__all__ = ["export_verl"]

_BATCH = 1000
_ABILITY = "world_model"


def export_verl(rows: Iterable[TrainingRow], out: Path) -> int:
    """Write `train.parquet`: `messages` rows, or for RL `prompt`, `reward_model` and `extra_info`.

    Fine-tuning rows end in the learned turn; what stands before it is one user message, the roles written out, so that
    earlier assistant messages are not learned again.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    require_extra("pyarrow", "train")
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, writer = 0, None
    part = out / "train.parquet.part"
    with boundary(StorageError, f"writing {out}", OSError):
        out.mkdir(parents=True, exist_ok=True)
        try:
            found = _rows(rows)
            while group := list(islice(found, _BATCH)):
                table = pa.Table.from_pylist(group)
                writer = writer or pq.ParquetWriter(part, table.schema)
                writer.write_table(table)
                count += len(group)
        finally:
            if writer is not None:
                writer.close()
        if writer is not None:
            part.replace(out / "train.parquet")
    return count


def _rows(rows: Iterable[TrainingRow]) -> Iterator[JsonDict]:
    for number, row in enumerate(rows):
        if row.stage == "rl":
            yield _rl(row, number)
        for before, message in learned_turns(row):
            yield {"messages": [*_folded(chat(before)), *chat([message])]}


def _folded(messages: list[JsonDict]) -> list[JsonDict]:
    """System message, and one user message for all that follows it."""
    if len(messages) <= 2:
        return messages
    told = "\n\n".join(f"{message['role'].upper()}:\n{message['content']}" for message in messages[1:])
    return [messages[0], {"role": "user", "content": told}]


def _rl(row: TrainingRow, number: int) -> JsonDict:
    truth: Any = {"truth": row.truth, "checks": list(row.checks), "domain": row.domain}
    return {
        "data_source": f"worldline/{row.domain}",
        "prompt": chat(row.messages),
        "ability": _ABILITY,
        "reward_model": {"style": "rule", "ground_truth": canonical_json(truth)},
        "extra_info": {"index": number, "id": row.id},
    }
