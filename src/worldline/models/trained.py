"""What a trained model says of its training: `worldline.json` in its folder, so that it is asked as it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from worldline.errors import ConfigError, boundary
from worldline.types import Frozen
from worldline.writing import write_text

__all__ = ["NOTE", "TrainedNote", "read_note", "write_note"]

NOTE = "worldline.json"


class TrainedNote(Frozen):
    """How a model was trained, as far as asking it depends on that."""

    schema_version: Literal[1] = 1
    domains: tuple[str, ...]
    """What it was trained on."""
    context: int
    """Tokens of prompt and answer together in training."""
    prompts: Literal["brief"] | None
    """Prompts it was trained with; None: the domain's own."""
    reasons: bool = False
    """Whether it has learned to reason before it answers."""


def read_note(folder: Path) -> TrainedNote | None:
    """Read the note in a model's folder; None where there is none.

    Raises:
        ConfigError: It cannot be read.
    """
    path = folder / NOTE
    if not path.is_file():
        return None
    with boundary(ConfigError, f"reading {path}", OSError, ValueError):
        return TrainedNote.model_validate_json(path.read_text(encoding="utf-8"))


def write_note(note: TrainedNote, folder: Path) -> None:
    """Write the note into a model's folder.

    Raises:
        StorageError: It cannot be written.
    """
    write_text(folder / NOTE, note.model_dump_json(indent=1) + "\n")
