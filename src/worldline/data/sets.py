"""Training sets on disk: a folder with the rows as compressed JSON lines, what the build reported, and a card."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import zstandard
from pydantic import ValidationError

from worldline.data.rows import TrainingRow
from worldline.errors import FormatError, StorageError, boundary
from worldline.formats.base import first_problem
from worldline.types import JsonDict, content_id

__all__ = ["CARD", "REPORT", "ROWS", "packed_row", "prompts_mark", "read_report", "read_rows", "write_rows"]

ROWS = "rows.jsonl.zst"
REPORT = "report.json"
CARD = "README.md"


def packed_row(row: TrainingRow) -> bytes:
    """Return a row as the line that stands for it in a set."""
    return row.model_dump_json(exclude_defaults=True).encode() + b"\n"


def write_rows(
    folder: Path, rows: Iterable[TrainingRow | bytes], beside: Callable[[], Mapping[str, str]] | None = None
) -> int:
    """Write a set, whole or not at all, and return the number of its rows.

    Report and card of a set that was there before go before its rows are replaced, so that none is ever found beside
    rows it does not tell of.

    Args:
        folder: Made where it is missing.
        rows: Rows, or their lines.
        beside: Gives the texts of report and card by name, once all rows were taken.

    Raises:
        StorageError: The folder cannot be written, or the disk is full; a set that was there before is still there.
    """
    count = 0
    parts = {name: folder / f"{name}.part" for name in (ROWS, REPORT, CARD)}
    with boundary(StorageError, f"writing {folder}", OSError):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with parts[ROWS].open("wb") as file, zstandard.ZstdCompressor(level=6).stream_writer(file) as packed:
                for row in rows:
                    packed.write(row if isinstance(row, bytes) else packed_row(row))
                    count += 1
            texts = {} if beside is None else beside()
            for name, text in texts.items():
                parts[name].write_text(text, encoding="utf-8")
            for name in (REPORT, CARD) if beside is not None else ():
                (folder / name).unlink(missing_ok=True)
            for name in (ROWS, *texts):
                parts[name].replace(folder / name)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)
    return count


def prompts_mark(prompts: Path | None) -> str | None:
    """Name prompts as the report of a set names them (`prompts`), so that two uses can be compared.

    Args:
        prompts: As in `DataOptions.prompts`.

    Returns:
        None: the domain's own. `brief`: the brief ones. Otherwise the folder's name and a hash of its templates, the
        same wherever the folder lies.

    Raises:
        StorageError: A template cannot be read.
    """
    if prompts is None or prompts == Path("full"):
        return None
    if prompts == Path("brief"):
        return "brief"
    with boundary(StorageError, f"reading {prompts}", OSError, UnicodeError):
        texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(prompts.glob("*.j2"))}
    return f"{prompts.resolve().name}@{content_id(texts)}"


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
