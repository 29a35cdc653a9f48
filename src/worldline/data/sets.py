"""Training sets on disk: a folder with the rows as compressed JSON lines, what the build reported, and a card."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import zstandard
from pydantic import ValidationError

from worldline.data.rows import TrainingRow
from worldline.errors import FormatError, StorageError, boundary
from worldline.formats.base import first_problem
from worldline.types import JsonDict

__all__ = ["REPORT", "ROWS", "packed_row", "read_report", "read_rows", "write_rows"]

ROWS = "rows.jsonl.zst"
REPORT = "report.json"


def packed_row(row: TrainingRow) -> bytes:
    """Return a row as the line that stands for it in a set."""
    return row.model_dump_json(exclude_defaults=True).encode() + b"\n"


def write_rows(folder: Path, rows: Iterable[TrainingRow | bytes]) -> int:
    """Write the rows of a set, whole or not at all, and return their number.

    Args:
        folder: Made where it is missing.
        rows: Rows, or their lines.

    Raises:
        StorageError: The folder cannot be written, or the disk is full; a set that was there before is still there.
    """
    part = folder / f"{ROWS}.part"
    count = 0
    with boundary(StorageError, f"writing {folder}", OSError):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file, zstandard.ZstdCompressor(level=6).stream_writer(file) as packed:
                for row in rows:
                    packed.write(row if isinstance(row, bytes) else packed_row(row))
                    count += 1
            part.replace(folder / ROWS)
        finally:
            part.unlink(missing_ok=True)
    return count


def read_rows(path: Path) -> Iterator[TrainingRow]:
    """Read the rows of a set, one after the other.

    Args:
        path: The set's folder, or a file of rows (JSON lines, `.zst` or not).

    Raises:
        FormatError: A line is no row; the message names it.
        StorageError: The file cannot be read.
    """
    file = path / ROWS if path.is_dir() else path
    number = 0
    with boundary(StorageError, f"reading {file}", OSError, zstandard.ZstdError), ExitStack() as stack:
        stream: IO[bytes] = stack.enter_context(file.open("rb"))
        if file.suffix == ".zst":
            packed = stack.enter_context(zstandard.ZstdDecompressor().stream_reader(stream))
            stream = stack.enter_context(io.BufferedReader(packed, 1 << 20))
        for line in stream:
            number += 1
            try:
                yield TrainingRow.model_validate_json(line)
            except ValidationError as exc:
                raise FormatError(f"no training row: {first_problem(exc)}", path=str(file), line=number) from exc


def read_report(folder: Path) -> JsonDict:
    """Read what a build reported.

    Raises:
        FormatError: The folder holds no set.
    """
    with boundary(FormatError, f"reading {folder / REPORT}", OSError, ValueError):
        found: JsonDict = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return found
