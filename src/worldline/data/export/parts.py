"""What the exporters share: texts with their reasoning, rows cut at each learned turn, and files of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.errors import StorageError, boundary
from worldline.types import JsonDict

__all__ = ["chat", "learned_turns", "text_of", "write_lines"]


def text_of(message: TrainingMessage) -> str:
    """What a message says, its reasoning in front, as chat templates of thinking models write it."""
    if message.reasoning is None:
        return message.content
    return f"<think>\n{message.reasoning.strip()}\n</think>\n\n{message.content}"


def chat(messages: Iterable[TrainingMessage]) -> list[JsonDict]:
    """Messages as role and content."""
    return [{"role": message.role, "content": text_of(message)} for message in messages]


def learned_turns(row: TrainingRow) -> Iterator[tuple[Sequence[TrainingMessage], TrainingMessage]]:
    """Each learned message of a row, with what stands before it: for trainers that learn the last message only."""
    for number, message in enumerate(row.messages):
        if message.weight > 0:
            yield row.messages[:number], message


def write_lines(path: Path, values: Iterable[JsonDict]) -> int:
    """Write JSON lines, whole or not at all, and return their number.

    Raises:
        StorageError: The file cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    count = 0
    with boundary(StorageError, f"writing {path}", OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                for value in values:
                    file.write(json.dumps(value, ensure_ascii=False) + "\n")
                    count += 1
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return count
