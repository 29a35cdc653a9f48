"""What answers tell of tables that a world does not declare: their names, their columns, their rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.domains.database.reading import read_rows
from worldline.types import Action, JsonDict

__all__ = ["ROWS", "SCHEMA", "Lesson", "lesson"]

SCHEMA, ROWS = "learned columns", "learned rows"
"""Names of the calls that stand for what was learned, among those that changed the database."""

_ALL = re.compile(r"\s*SELECT\s+\*\s+FROM\s+\"?(\w+)\"?(?:\s+ORDER\s+BY\s+\w+)?(?:\s+LIMIT\s+(\d+))?\s*(?:;\s*)?", re.I)


@dataclass(frozen=True)
class Lesson:
    """What one answer tells."""

    listed: frozenset[str] | None = None
    """The names of all tables and views, lower case."""
    calls: tuple[tuple[str, JsonDict], ...] = ()
    """What brings the engine's state in line."""
    table: str = ""
    """The table told of, lower case."""
    whole: bool = False
    """All its rows are told."""


def lesson(action: Action, text: str, output: str) -> Lesson | None:
    """Read what a successful answer tells of a table; None where it tells nothing that can be used.

    Args:
        action: The call.
        text: Its answer.
        output: The form of the answers of this world.
    """
    found = read_rows(text, output)
    if found is None:
        return None
    columns, rows, complete = found
    if action.name == "list_tables" and columns == ["name", "type"] and complete:
        return Lesson(listed=frozenset(str(row[0]).lower() for row in rows))
    if action.name == "describe_table" and columns[:2] == ["name", "type"] and complete:
        table = str(action.arguments.get("table", ""))
        return Lesson(calls=((SCHEMA, {"sql": _definition(table, rows)}),), table=table.lower())
    whole = _ALL.fullmatch(str(action.arguments.get("sql", ""))) if action.name == "execute_sql" else None
    if whole is None:
        return None
    limit = int(whole[2]) if whole[2] else None
    every = complete and (limit is None or len(rows) < limit)
    call = (ROWS, {"table": whole[1], "columns": columns, "rows": rows})
    return Lesson(calls=(call,), table=whole[1].lower(), whole=every)


def _definition(table: str, rows: list[list[str | None]]) -> str:
    """A `CREATE TABLE` statement for columns told as name, type, not null, default, primary key."""
    parts, keys = [], []
    for name, kind, not_null, default, key in (row[:5] for row in rows):
        part = f'"{name}" {kind or ""}'
        part += " NOT NULL" if str(not_null).lower() in ("1", "true") else ""
        part += f" DEFAULT {default}" if default is not None else ""
        parts.append(part)
        if str(key).lower() not in ("0", "false", "none"):
            keys.append(f'"{name}"')
    if len(keys) == 1:
        parts = [f"{part} PRIMARY KEY" if part.startswith(f"{keys[0]} ") else part for part in parts]
    elif keys:
        parts.append(f"PRIMARY KEY ({', '.join(keys)})")
    return f'CREATE TABLE "{table}" ({", ".join(parts)})'
