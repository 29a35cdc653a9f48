"""Writing training sets in the formats of trainers, each with its own way of saying what the loss counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from worldline.data.export.launch import write_launch
from worldline.data.export.llama_factory import export_llama_factory
from worldline.data.export.ms_swift import export_ms_swift
from worldline.data.export.tinker import export_tinker
from worldline.data.export.trl import export_trl
from worldline.data.export.verl import export_verl
from worldline.data.rows import Stage, TrainingRow
from worldline.data.sets import read_rows
from worldline.errors import unknown_name

__all__ = ["EXPORTERS", "Exporter", "export", "export_set", "write_launch"]

Exporter = Callable[[Iterable[TrainingRow], Path], int]

EXPORTERS: dict[str, Exporter] = {
    "llama-factory": export_llama_factory,
    "ms-swift": export_ms_swift,
    "tinker": export_tinker,
    "trl": export_trl,
    "verl": export_verl,
}
"""What writes rows into a folder, by trainer; each returns the number of rows it wrote."""


def export(trainer: str, rows: Iterable[TrainingRow], out: Path) -> int:
    """Write rows for a trainer.

    Raises:
        ConfigError: There is no such trainer, or a library that it needs is not installed.
        StorageError: The folder cannot be written.
    """
    if trainer not in EXPORTERS:
        raise unknown_name("trainer", trainer, EXPORTERS)
    return EXPORTERS[trainer](rows, out)


def export_set(trainer: str, path: Path, out: Path) -> tuple[int, str | None]:
    """Write a set for a trainer, with the recipe that starts it.

    Args:
        trainer: The trainer.
        path: The set's folder, or a file of its rows.
        out: Folder to write.

    Returns:
        Number of rows, and the command that starts the training there; None where no recipe ships for the stage.

    Raises:
        ConfigError: There is no such trainer, or a library that it needs is not installed.
        FormatError: A row cannot be read.
        StorageError: The folder cannot be written.
    """
    stages: dict[Stage, None] = {}

    def watched() -> Iterator[TrainingRow]:
        for row in read_rows(path):
            stages[row.stage] = None
            yield row

    count = export(trainer, watched(), out)
    started = [write_launch(trainer, stage, out, path) for stage in stages]
    return count, next((command for command in started if command is not None), None)
