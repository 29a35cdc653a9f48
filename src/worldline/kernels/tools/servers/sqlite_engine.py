"""One call of the sqlite server, run by SQLite itself on a copy of the database in memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from worldline.errors import KernelError
from worldline.kernels.sql.clock import install_clock, tells_time
from worldline.kernels.tools.servers.replies import Unsure

__all__ = ["Ran", "build_database", "run_query"]

_SECONDS = 2.0
_STEPS = 10_000
_MOST_ROWS = 50_000
_LENGTH = 8 << 20
_PAGES = 16_384
_COMMITTED = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER")
"""First words of the queries after which the server commits."""
_SAFE_PRAGMA_NAMES = (
    "application_id collation_list defer_foreign_keys encoding foreign_key_check foreign_key_list foreign_keys "
    "function_list ignore_check_constraints index_info index_list index_xinfo integrity_check quick_check "
    "recursive_triggers reverse_unordered_selects table_info table_list table_xinfo user_version"
)
_SAFE_PRAGMAS = frozenset(_SAFE_PRAGMA_NAMES.split())
_RANDOM = frozenset({"random", "randomblob"})
_COUNTERS = frozenset({"total_changes", "changes", "last_insert_rowid", "sqlite_source_id", "sqlite_version"})
_WRITING = {
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_DROP_INDEX, sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_DROP_TRIGGER,
}  # fmt: skip


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
    denied: bool = False
    """It asked for what is not allowed here."""


def build_database(script: str, clock: datetime) -> bytes:
    """Run the declared statements in an empty database.

    Raises:
        KernelError: One of them is wrong or never ends.
    """
    connection = sqlite3.connect(":memory:")
    try:
        ran = Ran()
        _guard(connection, ran)
        if tells_time(script):
            install_clock(connection, clock)
        connection.executescript(script)
        connection.commit()
        connection.set_authorizer(None)
        return connection.serialize()
    except (sqlite3.Error, sqlite3.Warning, ValueError) as exc:
        raise KernelError(f"the declared statements cannot be run: {exc}") from exc
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
        _guard(connection, ran)
        if tells_time(query) or b"CURRENT_T" in database.upper() or b"NOW" in database.upper():
            install_clock(connection, clock)
        _run(connection, query, ran)
        connection.set_authorizer(None)
        if connection.in_transaction:
            connection.rollback()
        if ran.writes or connection.total_changes or not database:
            ran.database = connection.serialize()
    finally:
        connection.close()
    return ran


def _run(connection: sqlite3.Connection, query: str, ran: Ran) -> None:
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
        if ran.denied or text in ("string or blob too big", "database or disk is full"):
            raise Unsure(f"the query is not simulated: {text}") from exc
        ran.error = f"Database error: {text}"
    except sqlite3.Warning as exc:
        ran.error = f"Error: {exc}"
    except (ValueError, OverflowError, UnicodeError, MemoryError) as exc:
        ran.error = f"Error: {exc}"


def _guard(connection: sqlite3.Connection, ran: Ran) -> None:
    """Set limits, forbid files, note what is touched."""
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA max_page_count = {_PAGES}").fetchall()
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
    deadline = time.monotonic() + _SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)

    def authorize(code: int, one: str | None, two: str | None, database: str | None, inner: str | None) -> int:
        if code in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            ran.denied = True
            return sqlite3.SQLITE_DENY
        if code == sqlite3.SQLITE_READ:
            ran.reads.add((one or "").lower())
        elif code in _WRITING:
            ran.writes.add((one or "").lower())
        elif code == sqlite3.SQLITE_ALTER_TABLE:
            ran.writes.add((two or "").lower())
        elif code == sqlite3.SQLITE_FUNCTION:
            _function((two or "").lower(), ran)
        elif code == sqlite3.SQLITE_PRAGMA:
            if (one or "").lower() not in _SAFE_PRAGMAS:
                ran.denied = True
                return sqlite3.SQLITE_DENY
            if two is not None and not (one or "").endswith(("_info", "_list", "_xinfo", "_check")):
                ran.writes.add("")
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)


def _function(name: str, ran: Ran) -> None:
    if name in _RANDOM:
        ran.doubts.append("it draws random values")
    elif name in _COUNTERS:
        ran.doubts.append("it depends on the connection or the version")
