"""Reading rows back from the text that the database tool answers with."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

__all__ = ["read_rows"]


def read_rows(text: str, output: str) -> tuple[list[str], list[list[str | None]], bool] | None:
    """Read the one result that a text shows.

    Args:
        text: An answer that is no error.
        output: The form it has: `table`, `json`, `csv` or `markdown`.

    Returns:
        Columns, rows (texts; None for NULL), and whether these are all rows; None where the text cannot be read.
    """
    if output == "json":
        return _json(text)
    more = "; there are more)" in text
    if output == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        rows = rows[:-1] if more else rows
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            return None
        return rows[0], [[cell or None for cell in row] for row in rows[1:]], not more
    return _piped(text, output, more)


def _json(text: str) -> tuple[list[str], list[list[str | None]], bool] | None:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    more = isinstance(value, dict) and value.get("more") is True
    objects = value.get("rows") if isinstance(value, dict) else value
    if not isinstance(objects, list) or not objects or not all(isinstance(row, dict) for row in objects):
        return None
    columns = list(objects[0])
    return (
        columns,
        [[None if row[name] is None else _plain(row[name]) for name in columns] for row in objects],
        not more,
    )


def _plain(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _piped(text: str, output: str, more: bool) -> tuple[list[str], list[list[str | None]], bool] | None:
    lines = text.split("\n")
    if output == "table" or more:
        lines = lines[:-1]
    if len(lines) < 2 or not set(lines[1]) <= set("-+|"):
        return None
    split = [_cells(line, output) for line in (lines[0], *lines[2:])]
    if any(len(row) != len(split[0]) for row in split):
        return None
    return split[0], [[None if cell == "NULL" else cell for cell in row] for row in split[1:]], not more


def _cells(line: str, output: str) -> list[str]:
    if output == "markdown":
        line = line.removeprefix("| ").removesuffix(" |")
    return [cell.strip() for cell in line.split(" | ")] if " | " in line else [cell.strip() for cell in line.split("|")]
