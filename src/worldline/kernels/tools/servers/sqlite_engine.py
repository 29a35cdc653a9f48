"""One call of the sqlite server, run by SQLite itself on a copy of the database in memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from worldline.domains.database.tool import SETUP_SECONDS, SqliteGuard, Trace
from worldline.errors import KernelError
from worldline.kernels.sql.chance import draws
from worldline.kernels.sql.clock import install_clock, tells_time
from worldline.kernels.tools.servers.replies import Unsure

__all__ = ["Ran", "build_database", "run_query"]

_SECONDS = 2.0
"""Of processor time."""
_MOST_ROWS = 50_000
_COMMITTED = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER")
"""First words of the queries after which the server commits."""
_COUNTERS = frozenset({"total_changes", "changes", "last_insert_rowid", "sqlite_source_id", "sqlite_version"})
_PLACE_NAMES = "freelist_count function_list module_list optimize page_count pragma_list schema_version"
_PLACE = frozenset(f"pragma {name}" for name in _PLACE_NAMES.split())
"""Pragmas that tell of the file, the connection or the version."""


@dataclass(slots=True)
class Ran:
    """What a call did."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    database: bytes = b""
    """The database afterwards."""
    error: str = ""
    """What the server says went wrong, with its prefix."""
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)
    changed: bool = False
    """The database may be another one now."""


def build_database(script: str, clock: datetime) -> bytes:
    """Run the declared statements in an empty database.

    Raises:
        KernelError: One of them is wrong or never ends.
    """
    connection = sqlite3.connect(":memory:")
    try:
        SqliteGuard(connection, time.thread_time).start(SETUP_SECONDS)
        if tells_time(script):
            install_clock(connection, clock)
        connection.executescript(script)
        connection.commit()
        connection.set_authorizer(None)
        return connection.serialize()
    except (sqlite3.Error, ValueError) as exc:
        why = f"it ran longer than {SETUP_SECONDS:g} s and was stopped" if str(exc) == "interrupted" else str(exc)
        raise KernelError(f"`setup` of the sqlite server cannot be run: {why}") from exc
    finally:
        connection.close()


def run_query(database: bytes, query: str, clock: datetime) -> Ran:
    """Run one query as the server does, on a connection of its own.

    Raises:
        Unsure: It runs into a limit.
    """
    ran = Ran(database=database)
    connection = sqlite3.connect(":memory:")
    try:
        if database:
            connection.deserialize(database)
        guard = SqliteGuard(connection, time.thread_time)
        if tells_time(query) or b"CURRENT_T" in database.upper() or b"NOW" in database.upper():
            install_clock(connection, clock)
        guard.start(_SECONDS)
        guard.begin(query)
        trace = guard.trace
        _run(connection, query, ran, trace)
        ran.reads, ran.writes, ran.changed = trace.reads, trace.writes, trace.changed
        ran.doubts = list(_doubts(trace.functions))
        connection.set_authorizer(None)
        if connection.in_transaction:
            connection.rollback()
        if ran.changed or not database:
            ran.database = connection.serialize()
    finally:
        connection.close()
    return ran


def _run(connection: sqlite3.Connection, query: str, ran: Ran, trace: Trace) -> None:
    connection.row_factory = sqlite3.Row
    try:
        cursor = connection.execute(query)
        if query.strip().upper().startswith(_COMMITTED):
            connection.commit()
            ran.rows = [{"affected_rows": cursor.rowcount}]
            return
        rows: Sequence[Any] = cursor.fetchmany(_MOST_ROWS + 1)
        if len(rows) > _MOST_ROWS:
            raise Unsure("the result has too many rows")
        ran.rows = [dict(row) for row in rows]
    except sqlite3.Error as exc:
        text = str(exc)
        if text == "interrupted":
            raise Unsure("the query runs longer than the kernel lets it") from exc
        if trace.denied or text in ("string or blob too big", "database or disk is full"):
            raise Unsure(f"the query is not simulated: {text}") from exc
        ran.error = f"Database error: {text}"
    except (ValueError, OverflowError, UnicodeError, MemoryError) as exc:
        ran.error = f"Error: {exc}"


def _doubts(functions: set[str]) -> Iterator[str]:
    """Why what these functions and pragmas give is not known."""
    if draws("", functions):
        yield "it draws random values"
    if functions & (_COUNTERS | _PLACE):
        yield "it depends on the connection or the version"
