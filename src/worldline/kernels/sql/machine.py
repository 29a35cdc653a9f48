"""A database that runs in memory, rebuilt from the declared state and the calls that changed it."""

from __future__ import annotations

import importlib
import importlib.util
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.database.state import DatabaseState
from worldline.domains.database.tool import (
    SETUP_SECONDS,
    DatabaseTool,
    DuckEngine,
    SqlError,
    SqliteEngine,
    Trace,
    quoted,
)
from worldline.domains.terminal.state import DEFAULT_CLOCK
from worldline.errors import KernelError
from worldline.kernels.sql.alarm import Alarm
from worldline.kernels.sql.clock import install_clock, tells_time
from worldline.kernels.sql.learning import ROWS, SCHEMA
from worldline.types import Frozen, JsonDict, content_id

__all__ = ["LIMIT", "Call", "Machine", "Start", "engine_version"]

LIMIT = 2.0
"""Seconds of processor time that one call may take in the kernel; beyond them its answer is unknown."""

_MANY_CALLS = 48
"""Calls replayed before a SQLite database is copied, so that a fork need not replay them."""
_MANY_ROWS = 500
"""Declared rows from which on the declared state is copied instead of set up again."""
_SETTINGS = ("foreign_keys", "ignore_check_constraints", "recursive_triggers", "reverse_unordered_selects")
"""What holds for a connection and not for its database, as far as a pragma tells it."""


class Call(Frozen):
    """A call that changed the database."""

    name: str
    arguments: JsonDict
    mark: str
    """Content hash of this call and all before it."""

    @classmethod
    def after(cls, calls: Sequence[Call], name: str, arguments: JsonDict) -> Call:
        """Build the call that follows others."""
        mark = content_id([calls[-1].mark if calls else "", name, arguments])
        return cls(name=name, arguments=arguments, mark=mark)


def engine_version(engine: str) -> str | None:
    """Version of the library that computes; None where it is not installed."""
    if engine == "sqlite":
        return sqlite3.sqlite_version
    if importlib.util.find_spec("duckdb") is None:
        return None
    version: str = importlib.import_module("duckdb").__version__
    return version


@dataclass(frozen=True)
class _Copy:
    """A SQLite database at some state."""

    database: sqlite3.Connection
    settings: tuple[str, ...]
    """Statements that make another connection like the one that was copied."""

    @classmethod
    def of(cls, source: sqlite3.Connection) -> _Copy:
        database = sqlite3.connect(":memory:", check_same_thread=False)
        source.backup(database)
        settings = [f"PRAGMA {name} = {_one(source, f'PRAGMA {name}')}" for name in (*_SETTINGS, "schema_version")]
        if not _one(source, "SELECT 'a' LIKE 'A'"):
            settings.append("PRAGMA case_sensitive_like = 1")
        return cls(database, tuple(settings))

    def restore(self, target: sqlite3.Connection) -> None:
        """Make a fresh connection like the one that was copied."""
        self.database.backup(target)
        for statement in self.settings:
            target.execute(statement)


@dataclass
class Start:
    """What all machines of a world begin with; shared by forks, with copies of SQLite databases at some states."""

    state: DatabaseState
    copies: dict[tuple[int, str], _Copy] = field(default_factory=dict)
    """By number of calls and mark of the last."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def nearest(self, calls: Sequence[Call]) -> tuple[int, _Copy | None]:
        """The copy that spares most of the calls, and how many it spares."""
        with self.lock:
            for (number, mark), copy in sorted(self.copies.items(), reverse=True, key=lambda item: item[0][0]):
                if number <= len(calls) and mark == (calls[number - 1].mark if number else ""):
                    return number, copy
        return 0, None

    def keep(self, calls: Sequence[Call], source: sqlite3.Connection) -> None:
        """Copy a database for later machines."""
        key = (len(calls), calls[-1].mark if calls else "")
        with self.lock:
            if key not in self.copies:
                self.copies[key] = _Copy.of(source)


class Machine:
    """A running database at the state that some calls led to.

    Args:
        start: The declared state.
        calls: The calls that changed it since, oldest first.

    Raises:
        KernelError: The declared tables cannot be created, or the engine is not installed.
    """

    def __init__(self, start: Start, calls: Sequence[Call]) -> None:
        self._start = start
        self.counted = True
        """Whether the engine's counters (`changes()`, the last row id) are those of the session."""
        self._clocked = False
        state, spared = start.state, 0
        self._engine: SqliteEngine | DuckEngine
        if state.engine == "sqlite":
            spared = self._open_sqlite(calls)
        else:
            self._open_duckdb()
        self._tool = DatabaseTool(self._engine, state.output)
        for call in calls[spared:]:
            self.run(call.name, call.arguments)
        if state.engine == "sqlite" and len(calls) - spared >= _MANY_CALLS and self._copyable():
            start.keep(calls, self._sqlite)

    def _open_sqlite(self, calls: Sequence[Call]) -> int:
        """Open the nearest copy, or set up the declared state; return how many calls that spares."""
        state = self._start.state
        self._engine = engine = SqliteEngine(state.max_rows, min(LIMIT, state.timeout), time.thread_time)
        self._sqlite = engine.connection
        spared, copy = self._start.nearest(calls)
        texts = [state.script, *(spec.sql for spec in state.tables.values())]
        self._watch_clock(" ".join([*texts, *(str(call.arguments) for call in calls[:spared])]))
        if copy is not None:
            with self._start.lock:
                copy.restore(self._sqlite)
            self.counted = False
        else:
            self._set_up(engine)
            if self._sqlite.total_changes >= _MANY_ROWS and self._copyable():
                self._start.keep((), self._sqlite)
        engine.guard(state.read_only)
        return spared

    def _open_duckdb(self) -> None:
        state = self._start.state
        if importlib.util.find_spec("duckdb") is None:
            raise KernelError("duckdb is not installed", hint="pip install 'worldline[database]'")
        duckdb = importlib.import_module("duckdb")
        self._engine = engine = DuckEngine(duckdb, state.max_rows, min(LIMIT, state.timeout), Alarm)
        self._set_up(engine)
        engine.guard(state.read_only)

    def _set_up(self, engine: SqliteEngine | DuckEngine) -> None:
        """Create what the world declares."""
        state = self._start.state
        for table in state.declared():
            with self._declared(f"tables.{table[0]}"):
                engine.setup([table], "")
        with self._declared("script"):
            engine.setup([], state.script)

    @contextmanager
    def _declared(self, name: str) -> Iterator[None]:
        """Say which field of the world it is whose statements fail."""
        try:
            yield
        except self._errors() as exc:
            self.close()
            late = str(exc) == "interrupted" or type(exc).__name__ == "InterruptException"
            why = f"it ran longer than {SETUP_SECONDS:g} s and was stopped" if late else str(exc)
            raise KernelError(
                f"`initial_state.{name}` cannot be run: {why}",
                hint="declared SQL may do what calls may do: docs/database.md",
            ) from exc

    def _errors(self) -> tuple[type[Exception], ...]:
        """What the engine raises where a statement is wrong."""
        error = sqlite3.Error if self._start.state.engine == "sqlite" else importlib.import_module("duckdb").Error
        return error, SqlError, ValueError, OverflowError

    def _watch_clock(self, text: str) -> None:
        state = self._start.state
        if not self._clocked and state.engine == "sqlite" and tells_time(text):
            install_clock(self._sqlite, state.clock or DEFAULT_CLOCK)
            self._clocked = True

    def _copyable(self) -> bool:
        """Whether a copy and its settings are the whole state: no open transaction, nothing temporary."""
        if self._sqlite.in_transaction or _one(self._sqlite, "PRAGMA defer_foreign_keys"):
            return False
        return not _one(self._sqlite, "SELECT count(*) FROM sqlite_temp_master")

    def run(self, name: str, arguments: JsonDict) -> tuple[str, bool, Trace]:
        """Make a call: the text, whether it is an error, and what it touched."""
        if name in (SCHEMA, ROWS):
            return self._learn(name, arguments), False, Trace()
        self._watch_clock(str(arguments))
        text, is_error = self._tool.call(name, arguments)
        trace = self._engine.trace
        self.counted = self.counted or bool({"insert", "replace"} & set(trace.kinds))
        return text, is_error, trace

    def _learn(self, name: str, arguments: JsonDict) -> str:
        """Take over what was learned of a table; what does not fit is left out."""
        engine = self._engine
        engine.guard(read_only=False)
        try:
            if name == SCHEMA:
                list(engine.run(arguments["sql"]))
                return ""
            table, columns = quoted(arguments["table"]), [quoted(column) for column in arguments["columns"]]
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
            list(engine.run(f"DELETE FROM {table}"))
            for row in arguments["rows"]:
                engine.connection.execute(insert, row)
        except self._errors() as exc:
            return str(exc)
        finally:
            engine.guard(self._start.state.read_only)
        return ""

    def names(self) -> list[str]:
        """Names of all tables and views; none where an error ended a transaction that is still open."""
        try:
            return [str(row[0]) for row in self._engine.tables().rows]
        except SqlError:
            return []

    def glance(self, name: str) -> JsonDict:
        """Columns, number of rows and first rows of a table."""
        try:
            count, first = (next(iter(self._engine.run(sql))) for sql in _glances(quoted(name)))
        except SqlError as exc:
            return {"error": str(exc)}
        rows = [[None if cell is None else str(cell)[:80] for cell in row] for row in first.rows]
        return {"columns": first.columns, "rows": count.rows[0][0], "first": rows}

    def close(self) -> None:
        """Free the database."""
        self._engine.close()


def _one(connection: sqlite3.Connection, sql: str) -> Any:
    return connection.execute(sql).fetchone()[0]


def _glances(table: str) -> tuple[str, str]:
    return f"SELECT count(*) FROM {table}", f"SELECT * FROM {table} LIMIT 5"
