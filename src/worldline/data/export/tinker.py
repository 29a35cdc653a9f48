"""Rows for tinker-cookbook: `TrainOnWhat.CUSTOMIZED` reads `trainable` on every message; weights are on or off."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from worldline.data.export.parts import text_of, write_lines
from worldline.data.rows import TrainingRow
from worldline.types import JsonDict

__all__ = ["export_tinker"]


def export_tinker(rows: Iterable[TrainingRow], out: Path) -> int:
    """Write `train.jsonl`."""
    return write_lines(out / "train.jsonl", map(_row, rows))


def _row(row: TrainingRow) -> JsonDict:
    messages = [
        {"role": message.role, "content": text_of(message), "trainable": message.weight > 0} for message in row.messages
    ]
    return {"messages": messages}
