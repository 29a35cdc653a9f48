"""Rows for LLaMA-Factory 0.9: its older data format learns the last turn only, so each learned turn is a row.

`dataset_info.json` names the files; train with `train_on_prompt: false` and `mask_history: true`. The newer data format
(`llamafactory/v1`) takes a weight for each message and gets whole conversations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from worldline.data.export.parts import chat, learned_turns, text_of, write_lines
from worldline.data.rows import TrainingRow
from worldline.errors import StorageError, boundary
from worldline.types import JsonDict

__all__ = ["export_llama_factory"]

_NAME = "worldline"
_OPENAI = {
    "formatting": "openai",
    "columns": {"messages": "messages"},
    "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"},
}


def export_llama_factory(rows: Iterable[TrainingRow], out: Path) -> int:
    """Write `train.jsonl` (a row for each learned turn), `train_v1.jsonl` (whole rows) and `dataset_info.json`."""
    kept = list(rows)
    count = write_lines(out / "train.jsonl", _turns(kept))
    write_lines(out / "train_v1.jsonl", map(_weighted, kept))
    tags = {**_OPENAI["tags"], "system_tag": "system"}  # type: ignore[dict-item]
    entries = {_NAME: {"file_name": "train.jsonl", **_OPENAI, "tags": tags}}
    with boundary(StorageError, f"writing {out}", OSError):
        (out / "dataset_info.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    return count


def _turns(rows: Iterable[TrainingRow]) -> Iterator[JsonDict]:
    for row in rows:
        if row.stage == "rl":
            # its loader takes no prompt without an answer; for RL it reads the prompt alone
            answer = {"role": "assistant", "content": str((row.truth or {}).get("text", ""))}
            yield {"messages": [*chat(row.messages), answer], "id": row.id}
        for before, message in learned_turns(row):
            yield {"messages": [*chat(before), *chat([message])]}


def _weighted(row: TrainingRow) -> JsonDict:
    messages = [
        {
            "role": message.role,
            "content": [{"type": "text", "value": text_of(message)}],
            "loss_weight": message.weight,
        }
        for message in row.messages
    ]
    return {"messages": messages}
