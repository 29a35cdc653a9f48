"""What an explorer knows of a table, and how its values are written in SQL."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["SAMPLES", "Column", "Facts", "kind_of_type", "kind_of_values", "literal", "sample_rows"]

SAMPLES = (
    "airports",
    "antibiotics",
    "barley",
    "cars",
    "electricity",
    "flights",
    "iris",
    "packages",
    "planes",
    "seattle",
    "stocks",
    "weather",
)
"""Data sets whose samples lie beside this module."""

Kind = Literal["integer", "real", "text"]


@cache
def sample_rows(name: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Column names and rows of a sample."""
    with (files("worldline.record.database") / "samples" / f"{name}.csv").open(encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    return tuple(header), tuple(tuple(row) for row in rows)


@dataclass(frozen=True)
class Column:
    """A column with some of its values, as texts, none of them NULL."""

    name: str
    kind: Kind
    values: tuple[str, ...] = ()

    @property
    def repeats(self) -> bool:
        """Whether its values repeat, so that grouping by it makes sense."""
        return len(set(self.values)) * 2 <= len(self.values)


@dataclass
class Facts:
    """A table as an explorer knows it."""

    table: str
    columns: list[Column]
    key: str = "id"
    """Its primary key, an integer."""
    size: int = 0
    """About how many rows it has, keys counted from 1."""
    other: Facts | None = None
    """A table that one of its text columns refers to by name."""
    link: str = ""
    """That column."""
    spare: list[str] = field(default_factory=list)
    """Names for new tables and columns."""

    def of(self, kind: Kind, dice: random.Random) -> Column:
        """A column of a kind; one of another kind where there is none."""
        fitting = [column for column in self.columns if column.kind == kind]
        return dice.choice(fitting or self.columns)

    def number(self, dice: random.Random) -> Column:
        """A column of numbers."""
        return dice.choice([column for column in self.columns if column.kind != "text"] or self.columns)

    def group(self, dice: random.Random) -> Column:
        """A column whose values repeat."""
        return dice.choice([column for column in self.columns if column.repeats] or self.columns)

    def row_id(self, dice: random.Random) -> int:
        """The key of a row that is there."""
        return dice.randint(1, max(1, self.size))


def literal(column: Column, dice: random.Random) -> str:
    """One of a column's values, or one like them, as SQL."""
    if column.kind == "text":
        text = dice.choice(column.values) if column.values else "item"
        if dice.random() < 0.3:
            text = f"{text[:12]} {dice.randrange(1000)}"
        return "'" + text.replace("'", "''") + "'"
    if column.values and dice.random() < 0.6:
        return dice.choice(column.values)
    return str(dice.randrange(200)) if column.kind == "integer" else f"{dice.uniform(0, 100):.2f}"


def kind_of_type(declared: str) -> Kind:
    """The kind of a column by its declared type."""
    upper = declared.upper()
    if "INT" in upper or "BOOL" in upper:
        return "integer"
    return "real" if any(word in upper for word in ("REAL", "DOUB", "FLOA", "DEC", "NUM")) else "text"


def kind_of_values(values: Sequence[str]) -> Kind:
    """The kind of a column by its values."""
    kind: Kind = "integer"
    for value in values:
        if value.lstrip("-").isdigit():
            continue
        try:
            float(value)
        except ValueError:
            return "text"
        kind = "real"
    return kind
