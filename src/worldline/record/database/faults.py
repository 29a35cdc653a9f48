"""Statements and calls that an engine or the tool refuses."""

# ruff: noqa: E501 - a statement reads best on one line

from __future__ import annotations

import random

from worldline.record.database.facts import Facts, literal
from worldline.record.database.reads import Maker, filtered, grouped
from worldline.record.database.writes import insert
from worldline.types import Action

__all__ = ["CONSTRAINTS", "MISTAKES", "endless", "wrong_call"]


def syntax(f: Facts, d: random.Random, engine: str) -> str:
    return d.choice(
        (
            f"SELEC * FROM {f.table}",
            f"SELECT * FORM {f.table}",
            f"SELECT {f.key}, FROM {f.table}",
            f"SELECT * FROM {f.table} WHERE",
            f"SELECT count(* FROM {f.table}",
            f"SELECT * FROM {f.table} ORDER {f.key}",
            f"INSERT {f.table} VALUES (1)",
            f"UPDATE {f.table} {f.key} = 1",
            f"SELECT '{d.choice(f.spare or ['x'])} FROM {f.table}",
            f"DELETE {f.table}",
            f"SELECT * FROM {f.table} LIMIT LIMIT 3",
            "CREATE TABLE (id INTEGER)",
            f"SELECT * FROM {f.table} GROUP {f.group(d).name}",
            "SELECT (1 + 2",
            f"SELECT * FROM {f.table};; SELECT 1 +",
            "-- nothing here",
            "",
            f"SELECT TOP 3 * FROM {f.table}",
        )
    )


def missing(f: Facts, d: random.Random, engine: str) -> str:
    name = d.choice(f.spare or ["extra"])
    return d.choice(
        (
            f"SELECT * FROM {f.table[:-1]}",
            f"SELECT * FROM {name}_old",
            f"SELECT {name} FROM {f.table}",
            f"SELECT t.{name} FROM {f.table} t",
            f"SELECT x.{f.key} FROM {f.table} t",
            f"SELECT {name}_total({f.key}) FROM {f.table}",
            f"UPDATE {f.table} SET {name} = 1",
            f"INSERT INTO {f.table} ({name}) VALUES (1)",
            f"DROP TABLE {name}_old",
            f"SELECT {f.key} FROM {f.table} ORDER BY {name}",
            f"CREATE INDEX i_{name} ON {f.table} ({name})",
            f"ALTER TABLE {name}_old ADD COLUMN a INTEGER",
            f"ALTER TABLE {f.table} DROP COLUMN {name}",
            f"DELETE FROM {name}_old WHERE id = 1",
            f"DROP VIEW {f.table}",
        )
    )


def misuse(f: Facts, d: random.Random, engine: str) -> str:
    number, text = f.number(d).name, f.of("text", d).name
    return d.choice(
        (
            f"SELECT * FROM {f.table} WHERE count(*) > 1",
            f"SELECT {f.key}, count(*) FROM {f.table}",
            f"SELECT {number} FROM {f.table} GROUP BY {text}",
            f"SELECT substr({text}) FROM {f.table}",
            f"SELECT a.{f.key} FROM {f.table} a, {f.table} b WHERE {f.key} = 1",
            f"SELECT {f.key} FROM {f.table} UNION SELECT {f.key}, {number} FROM {f.table}",
            f"SELECT {text} + 1 FROM {f.table} LIMIT 2",
            f"SELECT cast('abc' AS INTEGER) FROM {f.table} LIMIT 1",
            f"SELECT * FROM {f.table} LIMIT 'ten'",
            f"INSERT INTO {f.table} VALUES (1)",
            f"INSERT INTO {f.table} ({f.key}) VALUES (1, 2)",
            f"SELECT (SELECT {f.key}, {number} FROM {f.table})",
            f"SELECT sum(max({number})) FROM {f.table}",
            f"CREATE TABLE {f.table} (a INTEGER)",
            f"SELECT {number} FROM {f.table} ORDER BY 9",
            "SELECT date '2024-13-01'",
            "SELECT abs('x', 2)",
            f"SELECT row_number() FROM {f.table}",
            f"UPDATE {f.table} SET {number} = max({number})",
            "ATTACH 'other.db' AS other",
            "SELECT load_extension('x')",
            "PRAGMA no_such_thing",
            "COPY (SELECT 1) TO 'out.csv'",
            "SELECT * FROM read_csv('data.csv')",
        )
    )


def constraint(f: Facts, d: random.Random, engine: str) -> str:
    names = ", ".join(column.name for column in f.columns)
    values = ", ".join(literal(column, d) for column in f.columns)
    nulls = ", ".join("NULL" for _ in f.columns)
    found = [
        f"INSERT INTO {f.table} ({f.key}, {names}) VALUES ({f.row_id(d)}, {values})",
        f"INSERT INTO {f.table} ({f.key}, {names}) VALUES ({f.size + 50}, {nulls})",
        f"UPDATE {f.table} SET {f.columns[0].name} = NULL WHERE {f.key} = {f.row_id(d)}",
        f"UPDATE {f.table} SET {f.key} = {f.row_id(d)} WHERE {f.key} > {max(0, f.size - 3)}",
        f"INSERT INTO {f.table} ({f.key}) VALUES ('not a number')",
        f"UPDATE {f.table} SET {f.key} = -1 WHERE {f.key} = {f.row_id(d)}",
    ]
    if f.other is not None:
        other = f.other
        found += [
            f"INSERT INTO {other.table} (code, name) VALUES ({d.randint(1, other.size)}, 'again')",
            f"INSERT INTO {other.table} (code, name) VALUES ({other.size + d.randint(1, 9)}, {literal(other.columns[0], d)})",
            f"INSERT INTO {other.table} (code, name) VALUES ({-d.randint(1, 9)}, 'below')",
            f"DELETE FROM {other.table} WHERE code = {d.randint(1, other.size)}",
            f"UPDATE {f.table} SET {f.link} = 'nowhere' WHERE {f.key} = {f.row_id(d)}",
            f"DROP TABLE {other.table}",
        ]
    return d.choice(found)


def half_done(f: Facts, d: random.Random, engine: str) -> str:
    """Several statements of which a later one fails."""
    return f"{insert(f, d, engine)}; {d.choice((syntax, missing, misuse, constraint))(f, d, engine)}; {grouped(f, d, engine)}"


def endless(f: Facts, d: random.Random, engine: str) -> str:
    """A statement that never ends by itself."""
    if engine == "duckdb":
        return f"SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = {d.randint(5, 9)}"
    return "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT count(*) FROM s"


MISTAKES: tuple[Maker, ...] = (syntax, syntax, missing, missing, misuse, misuse, misuse, half_done)
CONSTRAINTS: tuple[Maker, ...] = (constraint,)


def wrong_call(f: Facts, d: random.Random, engine: str) -> Action:
    """A call that the tool itself refuses, or a tool that is not there."""
    sql = filtered(f, d, engine)
    return d.choice(
        (
            Action(name="execute_sql", arguments={}),
            Action(name="execute_sql", arguments={"query": sql}),
            Action(name="execute_sql", arguments={"sql": sql, "limit": 5}),
            Action(name="execute_sql", arguments={"sql": None}),
            Action(name="run_query", arguments={"sql": sql}),
            Action(name="describe_table", arguments={}),
            Action(name="describe_table", arguments={"table": f.table + "_archive"}),
            Action(name="list_tables", arguments={"schema": "main"}),
            Action(name="describe_table", arguments={"table": 7}),
        )
    )
