"""What a world file of the domain `database` declares."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from worldline.types import Frozen

__all__ = ["DatabaseState", "TableSpec"]

Cell = str | int | float | bool | None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _cells(text: str) -> list[tuple[Cell, ...]]:
    """Rows of a CSV text without its first line; an empty field is NULL."""
    rows = list(csv.reader(io.StringIO(text)))
    return [tuple(cell if cell else None for cell in row) for row in rows[1:] if row]


class TableSpec(Frozen):
    """A table that is there at the start: its definition, and its rows in one of two forms."""

    sql: str
    """The whole `CREATE TABLE` statement."""
    rows: tuple[tuple[Cell, ...], ...] = ()
    csv: str | None = None
    """Rows as CSV text whose first line names columns; an empty, unquoted field is NULL."""

    @model_validator(mode="after")
    def _one_form(self) -> TableSpec:
        if self.rows and self.csv is not None:
            raise ValueError("a table has `rows` or `csv`, not both")
        if len({len(row) for row in self.rows}) > 1:
            raise ValueError("all `rows` of a table must be of one length")
        return self

    def cells(self) -> list[tuple[Cell, ...]]:
        """The rows, whichever form they are declared in."""
        return list(self.rows) if self.csv is None else _cells(self.csv)


class DatabaseState(Frozen):
    """`initial_state` of a world of this domain."""

    engine: Literal["sqlite", "duckdb"] = "sqlite"
    version: str | None = None
    """Version of the engine (`3.40.1`); None: unknown, and what depends on it is not known for sure."""
    tables: dict[str, TableSpec] = Field(default_factory=dict)
    """By name, created in this order."""
    script: str = ""
    """SQL that runs after the tables are there: views, indexes, more rows."""
    complete: bool = True
    """All tables are declared, so that another one does not exist; otherwise it is unknown whether it does."""
    read_only: bool = False
    """Whether every write is refused."""
    output: Literal["table", "json", "csv", "markdown"] = "table"
    """How rows are shown."""
    max_rows: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Rows that one answer shows."""
    timeout: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Seconds that one call may take."""
    clock: Annotated[datetime, AfterValidator(_aware)] | None = None
    """What the database takes for now; None: unknown."""

    @model_validator(mode="before")
    @classmethod
    def _bare_tables(cls, value: Any) -> Any:
        """A table given as a bare text is its definition."""
        if isinstance(value, dict) and isinstance(value.get("tables"), dict):
            tables = {name: {"sql": spec} if isinstance(spec, str) else spec for name, spec in value["tables"].items()}
            return {**value, "tables": tables}
        return value

    def declared(self) -> list[tuple[str, str, list[tuple[Cell, ...]]]]:
        """Name, definition and rows of each table, in the order they are created in."""
        return [(name, spec.sql, spec.cells()) for name, spec in self.tables.items()]
