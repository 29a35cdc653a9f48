"""A database that runs in memory, rebuilt from the declared state and the calls that changed it."""

from __future__ import annotations

import importlib
import importlib.util
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.domains.database.state import DatabaseState
from worldline.domains.database.tool import DatabaseTool, DuckEngine, Engine, SqlError, SqliteEngine, Trace
from worldline.domains.terminal.state import DEFAULT_CLOCK
from worldline.errors import KernelError
from worldline.kernels.sql.clock import install_clock, tells_time
from worldline.kernels.sql.learning import ROWS, SCHEMA
from worldline.types import Frozen, JsonDict, content_id

__all__ = ["LIMIT", "Call", "Machine", "Start", "engine_version"]

LIMIT = 2.0
"""Seconds that one call may take in the kernel; beyond them its answer is unknown."""

_MANY_CALLS = 48
"""Calls replayed before a SQLite database is copied, so that a fork need not replay them."""
_MANY_ROWS = 500
"""Declared rows from which on the declared state is copied instead of set up again."""


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


@dataclass
class Start:
    """What all machines of a world begin with; shared by forks, with copies of SQLite databases at some states."""

    state: DatabaseState
    copies: dict[tuple[int, str], sqlite3.Connection] = field(default_factory=dict)
    """By number of calls and mark of the last."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def nearest(self, calls: Sequence[Call]) -> tuple[int, sqlite3.Connection | None]:
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
                copy = sqlite3.connect(":memory:", check_same_thread=False)
                source.backup(copy)
                self.copies[key] = copy


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
        self._engine: Engine
        if state.engine == "sqlite":
            spared = self._open_sqlite(calls)
        else:
            self._open_duckdb()
        self._tool = DatabaseTool(self._engine, state.output)
        for call in calls[spared:]:
            self.run(call.name, call.arguments)
        if state.engine == "sqlite" and len(calls) - spared >= _MANY_CALLS and self._copyable(calls):
            start.keep(calls, self._sqlite)

    def _open_sqlite(self, calls: Sequence[Call]) -> int:
        """Open the nearest copy, or set up the declared state; return how many calls that spares."""
        state = self._start.state
        self._engine = engine = SqliteEngine(state.max_rows, min(LIMIT, state.timeout), time.monotonic)
        self._sqlite = engine.connection
        spared, copy = self._start.nearest(calls)
        texts = [state.script, *(spec.sql for spec in state.tables.values())]
        self._watch_clock(" ".join([*texts, *(str(call.arguments) for call in calls[:spared])]))
        if copy is not None:
            with self._start.lock:
                copy.backup(self._sqlite)
            self.counted = False
        else:
            try:
                engine.setup(state.declared(), state.script)
            except (sqlite3.Error, sqlite3.Warning) as exc:
                raise KernelError(f"the declared tables cannot be created: {exc}") from exc
            if self._sqlite.total_changes >= _MANY_ROWS:
                self._start.keep((), self._sqlite)
        engine.guard(state.read_only)
        return spared

    def _open_duckdb(self) -> None:
        state = self._start.state
        if importlib.util.find_spec("duckdb") is None:
            raise KernelError("duckdb is not installed", hint="pip install 'worldline[database]'")
        duckdb = importlib.import_module("duckdb")
        engine = DuckEngine(duckdb, state.max_rows, min(LIMIT, state.timeout), threading.Timer)
        try:
            engine.setup(state.declared(), state.script)
        except duckdb.Error as exc:
            raise KernelError(f"the declared tables cannot be created: {exc}") from exc
        engine.guard(state.read_only)
        self._engine = engine

    def _watch_clock(self, text: str) -> None:
        state = self._start.state
        if not self._clocked and state.engine == "sqlite" and tells_time(text):
            install_clock(self._sqlite, state.clock or DEFAULT_CLOCK)
            self._clocked = True

    def _copyable(self, calls: Sequence[Call]) -> bool:
        """Whether a copy of the database is the whole state: no open transaction, nothing temporary, no settings."""
        if self._sqlite.in_transaction or any("pragma" in str(call.arguments).lower() for call in calls):
            return False
        return not any("temp" in str(call.arguments).lower() for call in calls)

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
        try:
            if name == SCHEMA:
                self._engine.teach([arguments["sql"]], [])
                return ""
            table, columns = _quoted(arguments["table"]), [_quoted(column) for column in arguments["columns"]]
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
            self._engine.teach([f"DELETE FROM {table}"], [(insert, row) for row in arguments["rows"]])
        except SqlError as exc:
            return str(exc)
        return ""

    def names(self) -> list[str]:
        """Names of all tables and views; none where an error ended a transaction that is still open."""
        try:
            return [str(row[0]) for row in self._engine.tables().rows]
        except SqlError:
            return []

    def glance(self, name: str) -> JsonDict:
        """Columns, number of rows and first rows of a table."""
        quoted = _quoted(name)
        try:
            count, first = (next(iter(self._engine.run(sql))) for sql in _glances(quoted))
        except SqlError as exc:
            return {"error": str(exc)}
        rows = [[None if cell is None else str(cell)[:80] for cell in row] for row in first.rows]
        return {"columns": first.columns, "rows": count.rows[0][0], "first": rows}

    def close(self) -> None:
        """Free the database."""
        self._engine.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _glances(quoted: str) -> tuple[str, str]:
    return f"SELECT count(*) FROM {quoted}", f"SELECT * FROM {quoted} LIMIT 5"
