"""The database tool: how calls reach an engine and how its results read as text.

One module for both sides: the recorder copies it into the sandbox, where it drives the real engine, and the kernel
drives the same library in memory with it. It therefore imports nothing but the standard library.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = [
    "SETUP_SECONDS",
    "TOOLS",
    "DatabaseTool",
    "DuckEngine",
    "Engine",
    "Result",
    "SqlError",
    "SqliteEngine",
    "SqliteGuard",
    "Trace",
    "first_word",
    "open_duckdb",
    "quoted",
    "render",
    "sqlite_statements",
]

TOOLS: dict[str, tuple[str, ...]] = {"execute_sql": ("sql",), "list_tables": (), "describe_table": ("table",)}
"""Tools and their arguments, all of them texts and all required."""

MAX_TEXT = 4_000
"""Characters of one cell that are shown."""

READ_ONLY = "the database is read-only"

SETUP_SECONDS = 10.0
"""Seconds that all declared statements together may take."""


class SqlError(Exception):
    """What the engine says is wrong; the message is what the agent reads."""


@dataclass
class Result:
    """What one statement gave: rows, a number of changed rows, or neither."""

    columns: list[str] | None = None
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    more: bool = False
    """There are more rows than are shown."""
    changed: int | None = None


@dataclass
class Trace:
    """What a call touched, as far as the engine tells."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    kinds: list[str] = field(default_factory=list)
    """Kinds of the statements that were begun, lower case."""
    changed: bool = False
    """The engine's state may be another one now."""
    timed_out: bool = False
    denied: bool = False
    """It asked for what is not allowed."""


class Engine(Protocol):
    """A running engine."""

    trace: Trace

    def run(self, sql: str) -> Iterable[Result]:
        """Run the statements of a text one by one; raises SqlError where one fails."""

    def tables(self) -> Result:
        """Names and types of all tables and views, by name."""

    def describe(self, table: str) -> Result:
        """Columns of a table; raises SqlError where it does not exist."""

    def close(self) -> None:
        """Free the database."""


class DatabaseTool:
    """Answers tool calls.

    Args:
        engine: Which engine runs the statements.
        output: `table`, `json`, `csv` or `markdown`.
    """

    def __init__(self, engine: Engine, output: str) -> None:
        self.engine = engine
        self._output = output

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Answer a call: the text, and whether it is an error."""
        self.engine.trace = Trace()
        wrong = self._refusal(name, arguments)
        if wrong is not None:
            return f"Error: {wrong}", True
        parts: list[str] = []
        try:
            if name == "list_tables":
                return render(self.engine.tables(), self._output), False
            if name == "describe_table":
                return render(self.engine.describe(arguments["table"]), self._output), False
            for result in self.engine.run(arguments["sql"]):
                parts.append(render(result, self._output))
        except SqlError as exc:
            return "\n\n".join([*parts, f"Error: {exc}"]), True
        return ("\n\n".join(parts), False) if parts else ("Error: there is no statement to run", True)

    def _refusal(self, name: str, arguments: dict[str, Any]) -> str | None:
        if name not in TOOLS:
            return f"unknown tool '{name}'; the tools are {', '.join(TOOLS)}"
        for argument in arguments:
            if argument not in TOOLS[name]:
                return f"{name} has no argument '{argument}'"
        for argument in TOOLS[name]:
            if argument not in arguments:
                return f"{name} needs the argument '{argument}'"
            if not isinstance(arguments[argument], str):
                return f"the argument '{argument}' of {name} must be a text"
        return None


# --- texts


def render(result: Result, output: str) -> str:
    """Write a result as the agent reads it."""
    if result.columns is None:
        if result.changed is None:
            return "OK"
        return f"OK, {result.changed} row{'' if result.changed == 1 else 's'} affected"
    if output == "json":
        return _json(result)
    cells = [[_cell(value) for value in row] for row in result.rows]
    tail = f"(first {len(cells)} rows; there are more)" if result.more else ""
    if output == "csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows(["" if value is None else _cell(value) for value in row] for row in result.rows)
        return buffer.getvalue().rstrip("\n") + (f"\n{tail}" if tail else "")
    if output == "markdown":
        lines = [_piped(result.columns), "|" + "---|" * len(result.columns), *map(_piped, cells)]
        return "\n".join([*lines, tail] if tail else lines)
    count = f"({len(cells)} row{'' if len(cells) == 1 else 's'})"
    return "\n".join([*_aligned(result.columns, cells), tail or count])


def _aligned(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    flat = [[text.replace("\n", "\\n") for text in row] for row in [columns, *cells]]
    widths = [max(len(row[index]) for row in flat) for index in range(len(columns))]
    lines = [" | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in flat]
    return [lines[0], "-+-".join("-" * width for width in widths), *lines[1:]]


def _piped(row: Sequence[str]) -> str:
    texts = (text.replace("|", "\\|").replace("\n", "<br>") for text in row)
    return "| " + " | ".join(texts) + " |"


def _json(result: Result) -> str:
    columns = result.columns or []
    objects = [dict(zip(columns, (_plain(value) for value in row), strict=True)) for row in result.rows]
    value: Any = {"rows": objects, "more": True} if result.more else objects
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else _cell(value)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        value = f"x'{value.hex()}'"
    elif isinstance(value, list | tuple | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = repr(value) if isinstance(value, float) else str(value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}... ({len(text)} characters)"


# --- SQLite


_WRITES = {
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_CREATE_TEMP_VIEW, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_TEMP_TABLE,
    sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_DROP_TEMP_VIEW, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_DROP_TRIGGER,
}  # fmt: skip
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_PRAGMA_NAMES = (
    "application_id case_sensitive_like collation_list defer_foreign_keys encoding foreign_key_check "
    "foreign_key_list foreign_keys freelist_count function_list ignore_check_constraints index_info index_list "
    "index_xinfo integrity_check module_list optimize page_count pragma_list quick_check recursive_triggers "
    "reverse_unordered_selects schema_version table_info table_list table_xinfo user_version"
)
_PRAGMAS = frozenset(_PRAGMA_NAMES.split())
_STEPS = 5_000
"""Instructions of SQLite's machine between two looks at the clock."""
_LENGTH = 4 << 20
"""Bytes of the longest text or blob."""
_PAGES = 16_384
"""Pages of 4 KiB that a database may have."""


class SqliteGuard:
    """Holds a connection to a database in memory, from its first statement on: no files, limited time and size."""

    def __init__(self, connection: sqlite3.Connection, monotonic: Callable[[], float]) -> None:
        self.trace = Trace()
        self.read_only = False
        """Whether every write is refused."""
        self._monotonic = monotonic
        self._deadline = monotonic()
        self._vacuum = False
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA max_page_count = {_PAGES}").fetchall()
        connection.execute(f"PRAGMA temp.max_page_count = {_PAGES}").fetchall()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self.late, _STEPS)

    def start(self, seconds: float) -> None:
        """Let what runs from now on take some time."""
        self._deadline = self._monotonic() + seconds

    def late(self) -> bool:
        """Whether that time is over."""
        return self._monotonic() > self._deadline

    def begin(self, statement: str) -> None:
        """Look at the statement that is run next."""
        self._vacuum = first_word(statement) == "vacuum"

    def _authorize(self, code: int, one: str | None, two: str | None, database: str | None, inner: str | None) -> int:
        trace = self.trace
        if code == sqlite3.SQLITE_READ:
            trace.reads.add((one or "").lower())
            return sqlite3.SQLITE_OK
        if code in _READS:
            if code == sqlite3.SQLITE_FUNCTION:
                trace.functions.add((two or "").lower())
            return sqlite3.SQLITE_OK
        if code == sqlite3.SQLITE_PRAGMA:
            return self._pragma((one or "").lower(), two)
        trace.changed = True
        if code in _WRITES:
            trace.writes.add((one or "").lower())
        elif code == sqlite3.SQLITE_ALTER_TABLE:
            trace.writes.add((two or "").lower())
        if code in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            return sqlite3.SQLITE_OK if self._vacuum and not one else self._deny()
        transaction = code in (sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT)
        return self._deny() if self.read_only and not transaction else sqlite3.SQLITE_OK

    def _pragma(self, name: str, value: str | None) -> int:
        self.trace.functions.add(f"pragma {name}")
        if name not in _PRAGMAS:
            return self._deny()
        if value is not None and not name.endswith(("_info", "_list", "_xinfo", "_check")):
            self.trace.changed = True
        return sqlite3.SQLITE_OK

    def _deny(self) -> int:
        self.trace.denied = True
        return sqlite3.SQLITE_DENY


class SqliteEngine:
    """SQLite in memory.

    Args:
        max_rows: Rows that one result shows.
        timeout: Seconds that one call may take.
        monotonic: A clock that never goes back, in seconds.
    """

    def __init__(self, max_rows: int, timeout: float, monotonic: Callable[[], float]) -> None:
        # no statement is kept prepared: what is touched is told where one is prepared
        self.connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=0
        )
        self._guard = SqliteGuard(self.connection, monotonic)
        self._max_rows, self._timeout = max_rows, timeout

    @property
    def trace(self) -> Trace:
        """What the present call touched."""
        return self._guard.trace

    @trace.setter
    def trace(self, fresh: Trace) -> None:
        self._guard.trace = fresh

    def setup(self, tables: Iterable[tuple[str, str, list[tuple[Any, ...]]]], script: str) -> None:
        """Create what the world declares: name, definition and rows of each table, then a script."""
        self._guard.start(SETUP_SECONDS)
        for name, sql, rows in tables:
            self.connection.execute(sql)
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self.connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows)
        for statement in sqlite_statements(script):
            self._guard.begin(statement)
            for _ in self.connection.execute(statement):
                pass

    def guard(self, read_only: bool) -> None:
        """Say whether writes are refused; called once the declared state is there."""
        self._guard.read_only = read_only

    def run(self, sql: str) -> Iterable[Result]:
        self._guard.start(self._timeout)
        for statement in sqlite_statements(sql):
            self.trace.kinds.append(first_word(statement))
            if self._guard.late():
                raise SqlError(self._told("interrupted"))
            yield self._execute(statement)

    def _execute(self, statement: str, parameters: tuple[Any, ...] = ()) -> Result:
        self._guard.begin(statement)
        was_open = self.connection.in_transaction
        try:
            cursor = self.connection.execute(statement, parameters)
            try:
                if cursor.description is None:
                    return Result(changed=cursor.rowcount if cursor.rowcount >= 0 else None)
                rows = cursor.fetchmany(self._max_rows + 1)
                columns = [column[0] for column in cursor.description]
                return Result(columns, rows[: self._max_rows], more=len(rows) > self._max_rows)
            finally:
                cursor.close()
        except sqlite3.Error as exc:
            raise SqlError(self._told(str(exc))) from None
        except (ValueError, OverflowError) as exc:
            raise SqlError(str(exc)) from None
        finally:
            self.trace.changed = self.trace.changed or was_open != self.connection.in_transaction

    def _told(self, text: str) -> str:
        if text == "interrupted":
            self.trace.timed_out = True
            return f"the statement ran longer than {self._timeout:g} s and was stopped"
        return READ_ONLY if text == "not authorized" and self._guard.read_only and self.trace.changed else text

    def tables(self) -> Result:
        self._guard.start(self._timeout)
        return self._execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY name"
        )

    def describe(self, table: str) -> Result:
        self._guard.start(self._timeout)
        self.trace.reads.add(table.lower())
        result = self._execute(
            'SELECT name, type, "notnull" AS not_null, dflt_value AS "default", pk FROM pragma_table_info(?)', (table,)
        )
        self.trace.writes.clear()  # the virtual table that is asked counts as created
        self.trace.changed = False
        if not result.rows:
            raise SqlError(f"no such table: {table}")
        return result

    def close(self) -> None:
        self.connection.close()


_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\n\r\f]|--[^\n]*|/\*.*?(?:\*/|\Z))++)
    |'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)
    |[\w$\x80-\U0010ffff]+|.""",
    re.X | re.S | re.A,
)
_HEAD = {
    ("", "explain"): "explain",
    ("", "create"): "create",
    ("explain", "create"): "create",
    ("create", "temp"): "create",
    ("create", "temporary"): "create",
    ("create", "trigger"): "trigger",
}
"""Where the first words of a statement lead."""
_BODY = ("trigger", "trigger;", "trigger;end")


def sqlite_statements(sql: str) -> list[str]:
    """Split a text into statements where `sqlite3_complete` says that one is complete."""
    found: list[str] = []
    start = 0
    for end in _ends(sql):
        found.append(sql[start:end])
        start = end
    return [text.strip() for text in [*found, sql[start:]] if first_word(text) not in ("", ";")]


def _ends(sql: str) -> Iterator[int]:
    """Where statements end: after a semicolon, that of a trigger after `; END;` alone."""
    state = ""
    for token in _TOKEN.finditer(sql):
        if token["space"] is not None:
            continue
        word = token[0].lower()
        if word == ";" and state not in _BODY[:2]:
            yield token.end()
            state = ""
        elif state in _BODY:
            state = "trigger;" if word == ";" else "trigger;end" if (state, word) == ("trigger;", "end") else "trigger"
        elif state != "explain" or word in ("explain", "create", "temp", "temporary", "trigger", "end"):
            state = _HEAD.get((state, word), "other")


_FIRST = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*+(\w+|.?)", re.S)


def first_word(sql: str) -> str:
    """The first word of a statement, lower case, comments skipped; its first character where that is no word."""
    found = _FIRST.match(sql)
    return found[1].lower() if found is not None else ""


def quoted(name: str) -> str:
    """A name as it stands in SQL, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


# --- DuckDB


_SETTINGS = (
    "memory_limit = '256MB'",
    "temp_directory = ''",
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "GLOBAL TimeZone = 'UTC'",
    "enable_progress_bar = false",
)
_DUCK_READS = {"SELECT", "EXPLAIN", "RELATION"}
_DUCK_CONTROL = {"TRANSACTION"}


def open_duckdb(duckdb: Any, attached: str | None = None) -> Any:
    """Open a database in memory: no files, no extensions to load, limited size, no other settings.

    Args:
        duckdb: The module.
        attached: Name of an empty database that is there besides.
    """
    connection = duckdb.connect(":memory:", config={"threads": 1})
    for setting in _SETTINGS:
        connection.execute(f"SET {setting}")
    if attached is not None:
        connection.execute(f"ATTACH ':memory:' AS {quoted(attached)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


class DuckEngine:
    """DuckDB in memory.

    Args:
        duckdb: The module.
        max_rows: Rows that one result shows.
        timeout: Seconds that one call may take.
        timer: `threading.Timer`, or the like.
    """

    def __init__(self, duckdb: Any, max_rows: int, timeout: float, timer: Any) -> None:
        self.trace = Trace()
        self._duckdb = duckdb
        self.connection = open_duckdb(duckdb)
        self._max_rows, self._timeout, self._timer = max_rows, timeout, timer
        self._read_only = False
        self._in_transaction = False

    def setup(self, tables: Iterable[tuple[str, str, list[tuple[Any, ...]]]], script: str) -> None:
        """Create what the world declares: name, definition and rows of each table, then a script."""
        with self._limited(SETUP_SECONDS):
            for name, sql, rows in tables:
                self.connection.execute(sql)
                if rows:
                    marks = ", ".join(["(" + ", ".join("?" * len(rows[0])) + ")"] * len(rows))
                    values = [value for row in rows for value in row]
                    self.connection.execute(f"INSERT INTO {quoted(name)} VALUES {marks}", values)
            if script.strip():
                self.connection.execute(script)

    def guard(self, read_only: bool) -> None:
        """Say whether writes are refused; called once the declared state is there."""
        self._read_only = read_only

    def run(self, sql: str) -> Iterable[Result]:
        with self._limited(self._timeout):
            for statement in self._statements(sql):
                yield self._statement(statement)

    @contextmanager
    def _limited(self, seconds: float) -> Iterator[None]:
        timer = self._timer(seconds, self.connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _statements(self, sql: str) -> list[Any]:
        try:
            return list(self.connection.extract_statements(sql))
        except self._duckdb.Error as exc:
            self.trace.kinds.append(first_word(sql))
            raise SqlError(str(exc)) from None

    def _statement(self, statement: Any) -> Result:
        kind = statement.type.name
        self.trace.kinds.append(first_word(statement.query))
        read = kind in _DUCK_READS
        self.trace.changed = self.trace.changed or not read
        if self._read_only and not read and kind not in _DUCK_CONTROL:
            raise SqlError(READ_ONLY)
        expected = {one.name for one in statement.expected_result_type}
        found = self._guarded(lambda: self._result(self.connection.execute(statement), expected))
        if kind in _DUCK_CONTROL:
            self._in_transaction = self.trace.kinds[-1] in ("begin", "start")
        return found

    def _guarded(self, work: Any) -> Result:
        try:
            found: Result = work()
        except self._duckdb.InterruptException:
            self.trace.timed_out = self.trace.changed = True
            raise SqlError(f"the statement ran longer than {self._timeout:g} s and was stopped") from None
        except (self._duckdb.Error, ValueError, OverflowError) as exc:
            self.trace.changed = self.trace.changed or self._in_transaction  # which an error ends
            raise SqlError(_placeless(str(exc))) from None
        return found

    def _result(self, cursor: Any, expected: set[str]) -> Result:
        description = cursor.description or []
        shown = expected == {"QUERY_RESULT"}
        if not shown and [(column[0], str(column[1])) for column in description] == [("Count", "BIGINT")]:
            rows = cursor.fetchall()
            return Result(changed=rows[0][0] if rows and "CHANGED_ROWS" in expected else None)
        if not description or (not shown and "CHANGED_ROWS" not in expected):
            return Result()
        if any("WITH TIME ZONE" in str(column[1]) for column in description):
            raise ValueError("a value with a time zone cannot be shown; cast it to VARCHAR")
        rows = cursor.fetchmany(self._max_rows + 1)
        columns = [column[0] for column in description]
        return Result(columns, rows[: self._max_rows], more=len(rows) > self._max_rows)

    def tables(self) -> Result:
        return self._asked(
            "SELECT table_name AS name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS type "
            "FROM information_schema.tables ORDER BY table_name"
        )

    def describe(self, table: str) -> Result:
        quoted = table.replace("'", "''")
        columns = 'name, type, "notnull" AS not_null, dflt_value AS "default", pk'
        return self._asked(f"SELECT {columns} FROM pragma_table_info('{quoted}')")

    def close(self) -> None:
        self.connection.close()

    def _asked(self, sql: str) -> Result:
        return self._guarded(lambda: self._result(self.connection.execute(sql), {"QUERY_RESULT"}))


def _placeless(message: str) -> str:
    """A message without the folder that the program happens to run in."""
    return message.replace(f'"{os.getcwd().rstrip("/")}/', '"') if os.getcwd() != "/" else message  # noqa: PTH109
