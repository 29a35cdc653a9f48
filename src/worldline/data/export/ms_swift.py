"""Rows for ms-swift 4.6: messages with `loss` and `loss_scale`, the domain as channel, RL truth as `solution`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from worldline.data.export.parts import text_of, write_lines
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.types import JsonDict, canonical_json

__all__ = ["export_ms_swift"]


def export_ms_swift(rows: Iterable[TrainingRow], out: Path) -> int:
    """Write `train.jsonl`; train with `--loss_scale default --enable_channel_loss true`."""
    return write_lines(out / "train.jsonl", map(_row, rows))


def _row(row: TrainingRow) -> JsonDict:
    value: JsonDict = {"messages": [_message(message) for message in row.messages], "channel": row.domain}
    if not any(message.reasoning for message in row.messages):
        value["chat_template_kwargs"] = {"enable_thinking": False}
    if row.stage == "rl":
        value["solution"] = canonical_json({"id": row.id, "truth": row.truth, "checks": row.checks})
    return value


def _message(message: TrainingMessage) -> JsonDict:
    value: JsonDict = {"role": message.role, "content": text_of(message)}
    if message.role == "assistant":
        value["loss"] = message.weight > 0
        if message.weight not in (0.0, 1.0):
            value["loss_scale"] = message.weight
    return value
