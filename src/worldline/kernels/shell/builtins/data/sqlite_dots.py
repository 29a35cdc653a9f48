"""Commands of the `sqlite3` shell that look at the whole database or fill a table."""

from __future__ import annotations

import csv
import io
import re
import sqlite3

from worldline.kernels.shell.builtins.base import Call
from worldline.kernels.shell.builtins.data.sqlite_output import Style, quoted
from worldline.kernels.shell.builtins.shared.textio import Output, read

__all__ = ["dump", "indexes", "load", "schema", "tables"]


def tables(call: Call, database: sqlite3.Connection, out: Output, arguments: list[str]) -> None:
    """`.tables`: names of tables and views, in columns."""
    rows = database.execute(
        "select name from sqlite_master where type in ('table','view') and name not like 'sqlite\\_%' escape '\\'"
        " and name like coalesce(?, '%') order by 1",
        (arguments[0] if arguments else None,),
    ).fetchall()
    _columns(out, [row[0] for row in rows])


def indexes(call: Call, database: sqlite3.Connection, out: Output, arguments: list[str]) -> None:
    """`.indexes`: names of indexes, in columns."""
    rows = database.execute(
        "select name from sqlite_master where type = 'index' and tbl_name like coalesce(?, '%') order by 1",
        (arguments[0] if arguments else None,),
    ).fetchall()
    _columns(out, [row[0] for row in rows])


def _columns(out: Output, names: list[str]) -> None:
    if not names:
        return
    width = max(len(name) for name in names)
    columns = max(1, 80 // (width + 2))
    height = -(-len(names) // columns)
    for row in range(height):
        cells = names[row::height]
        out.line("  ".join(f"{cell:<{width}}" for cell in cells).encode())


def schema(call: Call, database: sqlite3.Connection, out: Output, arguments: list[str]) -> None:
    """`.schema`: the statements that made the tables."""
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        call.unknown(".schema with options")
    rows = database.execute(
        "select sql, type, name from sqlite_master where sql is not null and tbl_name like coalesce(?, '%')"
        " and name not like 'sqlite\\_stat%' escape '\\' order by rowid",
        (arguments[0] if arguments else None,),
    ).fetchall()
    for sql, kind, name in rows:
        if name.startswith("sqlite_") and name != "sqlite_sequence":
            continue
        if kind == "view":
            sql += f"\n/* {_identifier(name)}({','.join(_identifier(item) for item in _names(database, name))}) */"
        if re.match(r"CREATE TABLE\s+['\"]", sql):
            sql = "CREATE TABLE IF NOT EXISTS " + sql[len("CREATE TABLE ") :]
        out.line(f"{sql};".encode())


def _names(database: sqlite3.Connection, table: str) -> list[str]:
    quoted_name = '"' + table.replace('"', '""') + '"'
    return [row[1] for row in database.execute(f"pragma table_info({quoted_name})")]


def _identifier(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


_KEYWORDS = frozenset(
    ["ALL", "AND", "AS", "BETWEEN", "BY", "CASE", "CHECK", "COLLATE", "COMMIT", "CONSTRAINT", "CREATE", "DEFAULT",
     "DELETE", "DESC", "DISTINCT", "DROP", "ELSE", "EXISTS", "FOREIGN", "FROM", "GROUP", "HAVING", "IN", "INDEX",
     "INSERT", "INTO", "IS", "JOIN", "LIMIT", "NOT", "NULL", "ON", "OR", "ORDER", "PRIMARY", "REFERENCES", "SELECT",
     "SET", "TABLE", "THEN", "TO", "UNION", "UNIQUE", "UPDATE", "USING", "VALUES", "WHEN", "WHERE", "KEY"]
)  # fmt: skip
"""Words of SQL that a name must not be without quotes."""


def dump(call: Call, database: sqlite3.Connection, out: Output, arguments: list[str]) -> None:
    """`.dump`: SQL that makes the database again."""
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        call.unknown(".dump with options")
    out.write(b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n")
    query = (
        "select name, type, sql from sqlite_master where sql is not null and tbl_name like coalesce(?, '%')"
        " order by rowid"
    )
    rows = database.execute(query, (arguments[0] if arguments else None,)).fetchall()
    if any(name.startswith("sqlite_") or kind == "view" or kind == "trigger" for name, kind, _ in rows):
        call.unknown(".dump of this database")
    for name, kind, sql in rows:
        if kind != "table":
            continue
        if re.match(r"CREATE TABLE\s+['\"]", sql):
            sql = "CREATE TABLE IF NOT EXISTS " + sql[len("CREATE TABLE ") :]
        out.line(f"{sql};".encode())
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
        shown = name if plain else '"' + name.replace('"', '""') + '"'
        quoted_name = '"' + name.replace('"', '""') + '"'
        for row in database.execute(f"select * from {quoted_name}"):
            out.line(f"INSERT INTO {shown} VALUES({','.join(quoted(v) for v in row)});".encode())
    for _, kind, sql in rows:
        if kind == "index" and not arguments:
            out.line(f"{sql};".encode())
    out.write(b"COMMIT;\n")


def load(call: Call, database: sqlite3.Connection, style: Style, arguments: list[str]) -> None:
    """`.import`: rows of a file into a table, which is made from the first row where it is not there."""
    options = [word for word in arguments if word.startswith("-")]
    plain = [word for word in arguments if not word.startswith("-")]
    skip = 0
    if options[:1] in (["--skip"], ["-skip"]) and plain and plain[0].isdigit():
        skip = int(plain.pop(0))
        options.pop(0)
    if set(options) - {"--csv", "-csv"} or len(plain) != 2:
        call.unknown(".import with these options")
    name, table = plain
    if not call.files.exists(name) or name.startswith("|"):
        call.unknown(".import of what is not there")
    separator = "," if options else style.separator
    if not options and style.mode not in ("csv", "list", "tabs"):
        call.unknown(".import in this mode")
    text = read(call, name).decode()
    if style.mode != "csv" and not options and '"' in text:
        call.unknown(".import of quotes")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))[skip:]
    _insert(call, database, rows, table)


def _insert(call: Call, database: sqlite3.Connection, rows: list[list[str]], table: str) -> None:
    quoted_table = '"' + table.replace('"', '""') + '"'
    known = database.execute("select count(*) from sqlite_master where name = ?", (table,)).fetchone()[0]
    if not known:
        names = rows.pop(0)
        if len({item.lower() for item in names}) != len(names) or "" in names:
            call.unknown("columns without names of their own")
        columns = "".join(
            ("" if not index else ",\n " if index % 4 == 0 else ", ") + f'"{item}" TEXT'
            for index, item in enumerate(names)
        )
        database.execute(f"CREATE TABLE {quoted_table}(\n{columns})")
    width = len(database.execute(f"pragma table_info({quoted_table})").fetchall())
    if any(len(row) != width for row in rows):
        call.unknown("rows of another width")
    marks = ",".join("?" * width)
    try:
        database.executemany(f"INSERT INTO {quoted_table} VALUES({marks})", rows)
    except sqlite3.Error:
        call.unknown("rows that do not fit")
