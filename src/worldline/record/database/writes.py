"""Statements that write: rows, definitions, transactions."""

# ruff: noqa: E501 - a statement reads best on one line

from __future__ import annotations

import random

from worldline.record.database.facts import Facts, literal
from worldline.record.database.reads import Maker

__all__ = ["CHANGES", "DEFINITIONS", "TRANSACTIONS", "check", "fresh_key", "insert"]


def _values(facts: Facts, dice: random.Random) -> str:
    return ", ".join(literal(column, dice) for column in facts.columns)


def _names(facts: Facts) -> str:
    return ", ".join(column.name for column in facts.columns)


def fresh_key(facts: Facts) -> int:
    """A key that no row has yet."""
    facts.size += 1
    return facts.size


def insert(f: Facts, d: random.Random, engine: str) -> str:
    """Add a row, in one of the usual ways."""
    if d.random() < 0.3:
        return f"INSERT INTO {f.table} ({f.key}, {_names(f)}) VALUES ({fresh_key(f)}, {_values(f, d)}), ({fresh_key(f)}, {_values(f, d)})"
    tail = d.choice(("", "", f" RETURNING {f.key}", " RETURNING *"))
    return f"INSERT INTO {f.table} ({f.key}, {_names(f)}) VALUES ({fresh_key(f)}, {_values(f, d)}){tail}"


def upsert(f: Facts, d: random.Random, engine: str) -> str:
    column = f.number(d)
    what = d.choice(("DO NOTHING", f"DO UPDATE SET {column.name} = excluded.{column.name}"))
    return f"INSERT INTO {f.table} ({f.key}, {_names(f)}) VALUES ({f.row_id(d)}, {_values(f, d)}) ON CONFLICT ({f.key}) {what}"


def insert_or(f: Facts, d: random.Random, engine: str) -> str:
    word = d.choice(("REPLACE", "IGNORE"))
    return f"INSERT OR {word} INTO {f.table} ({f.key}, {_names(f)}) VALUES ({f.row_id(d)}, {_values(f, d)})"


def update(f: Facts, d: random.Random, engine: str) -> str:
    column, text = f.number(d), f.group(d)
    new = d.choice((literal(column, d), f"{column.name} + 1", "NULL", f"{column.name} * 2"))
    where = d.choice(
        (f"{f.key} = {f.row_id(d)}", f"{text.name} = {literal(text, d)}", f"{f.key} > {max(1, f.size - 3)}")
    )
    return f"UPDATE {f.table} SET {column.name} = {new} WHERE {where}{d.choice(('', '', f' RETURNING {f.key}, {column.name}'))}"


def delete(f: Facts, d: random.Random, engine: str) -> str:
    column = f.number(d)
    where = d.choice(
        (
            f"{f.key} = {f.row_id(d)}",
            f"{f.key} IN ({f.row_id(d)}, {f.row_id(d)})",
            f"{column.name} > {literal(column, d)}",
        )
    )
    return f"DELETE FROM {f.table} WHERE {where}"


def copy_rows(f: Facts, d: random.Random, engine: str) -> str:
    start = f.size
    f.size += 2
    source = f"SELECT {f.key} + {start}, {_names(f)} FROM {f.table} WHERE {f.key} <= 2"
    return f"INSERT INTO {f.table} ({f.key}, {_names(f)}) {source}"


def check(f: Facts, d: random.Random, engine: str) -> str:
    """Look at what was just written."""
    number = f.number(d).name
    return d.choice(
        (
            f"SELECT * FROM {f.table} WHERE {f.key} >= {max(1, f.size - 2)} ORDER BY {f.key}",
            f"SELECT count(*) AS n, sum({number}) AS total FROM {f.table}",
            f"SELECT {f.key}, {number} FROM {f.table} ORDER BY {f.key} DESC LIMIT 4",
            f"SELECT max({f.key}), min({number}), max({number}) FROM {f.table}",
        )
    )


def _spare(facts: Facts, dice: random.Random) -> str:
    return dice.choice(facts.spare or ["extra"])


def create(f: Facts, d: random.Random, engine: str) -> str:
    name, column = _spare(f, d), f.of("text", d)
    return d.choice(
        (
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, label TEXT NOT NULL, weight INTEGER DEFAULT {d.randint(1, 9)})",
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, label TEXT, weight INTEGER, made TEXT DEFAULT CURRENT_TIMESTAMP)",
            f"CREATE TABLE IF NOT EXISTS {name} (id INTEGER PRIMARY KEY, label TEXT UNIQUE, weight INTEGER CHECK (weight >= 0))",
            f"CREATE TABLE {name} AS SELECT {f.key} AS id, {column.name} AS label, 1 AS weight FROM {f.table} WHERE {f.key} < {d.randint(3, 7)}",
        )
    )


def fill(f: Facts, d: random.Random, engine: str) -> str:
    name = _spare(f, d)
    rows = ", ".join(
        f"({d.randrange(1, 90)}, {literal(f.of('text', d), d)}, {d.randrange(-2, 30)})" for _ in range(d.randint(1, 3))
    )
    return f"INSERT INTO {name} (id, label, weight) VALUES {rows}"


def look(f: Facts, d: random.Random, engine: str) -> str:
    name = _spare(f, d)
    return d.choice(
        (
            f"SELECT * FROM {name} ORDER BY id",
            f"SELECT count(*) FROM {name}",
            f"SELECT label, weight FROM {name} WHERE weight > 1",
        )
    )


def view(f: Facts, d: random.Random, engine: str) -> str:
    group = f.group(d).name
    name = f"{f.table}_by_{group}"
    return d.choice(
        (
            f"CREATE VIEW {name} AS SELECT {group}, count(*) AS n FROM {f.table} GROUP BY {group}",
            f"SELECT * FROM {name} ORDER BY n DESC, {group} LIMIT 5",
            f"DROP VIEW IF EXISTS {name}",
            f"DROP VIEW {name}",
        )
    )


def index(f: Facts, d: random.Random, engine: str) -> str:
    column = d.choice(f.columns).name
    unique = d.choice(("", "", "UNIQUE "))
    name = f"ix_{f.table}_{column}"
    return d.choice(
        (
            f"CREATE {unique}INDEX {name} ON {f.table} ({column})",
            f"DROP INDEX {name}",
            f"CREATE INDEX IF NOT EXISTS {name} ON {f.table} ({column})",
        )
    )


def alter(f: Facts, d: random.Random, engine: str) -> str:
    name = _spare(f, d)
    return d.choice(
        (
            f"ALTER TABLE {name} ADD COLUMN note TEXT",
            f"ALTER TABLE {name} ADD COLUMN flag INTEGER DEFAULT 0",
            f"ALTER TABLE {name} RENAME COLUMN label TO title",
            f"ALTER TABLE {name} RENAME COLUMN title TO label",
            f"ALTER TABLE {name} DROP COLUMN note",
            f"UPDATE {name} SET note = 'seen' WHERE id % 2 = 0",
            f"DROP TABLE {name}",
            f"DROP TABLE IF EXISTS {name}",
        )
    )


def trigger(f: Facts, d: random.Random, engine: str) -> str:
    if engine == "duckdb":
        return d.choice(
            (
                "CREATE SEQUENCE counter START 10",
                "SELECT nextval('counter') AS n",
                f"CREATE OR REPLACE MACRO twice(x) AS x * {d.randint(2, 3)}",
                f"SELECT twice({f.key}) AS t FROM {f.table} LIMIT 3",
            )
        )
    body = f"INSERT INTO {_spare(f, d)} (label, weight) VALUES ('by trigger', {d.randint(1, 9)})"
    return d.choice(
        (
            f"CREATE TRIGGER after_{f.table} AFTER INSERT ON {f.table} BEGIN {body}; END",
            f"DROP TRIGGER IF EXISTS after_{f.table}",
            f"DROP TRIGGER after_{f.table}",
        )
    )


def begin(f: Facts, d: random.Random, engine: str) -> str:
    return d.choice(("BEGIN", "BEGIN TRANSACTION", "BEGIN IMMEDIATE" if engine == "sqlite" else "BEGIN"))


def end(f: Facts, d: random.Random, engine: str) -> str:
    return d.choice(("COMMIT", "ROLLBACK", "ROLLBACK", "END" if engine == "sqlite" else "COMMIT"))


def savepoint(f: Facts, d: random.Random, engine: str) -> str:
    if engine == "duckdb":
        return begin(f, d, engine)
    return d.choice(
        ("SAVEPOINT s1", "SAVEPOINT s1", "ROLLBACK TO s1", "RELEASE s1", "RELEASE SAVEPOINT s1", "ROLLBACK TO s2")
    )


def batch(f: Facts, d: random.Random, engine: str) -> str:
    return f"BEGIN; {update(f, d, engine)}; {check(f, d, engine)}; {d.choice(('ROLLBACK', 'COMMIT'))}"


CHANGES: tuple[Maker, ...] = (
    insert,
    insert,
    insert,
    upsert,
    insert_or,
    update,
    update,
    update,
    delete,
    delete,
    copy_rows,
)
DEFINITIONS: tuple[Maker, ...] = (create, create, fill, fill, look, look, view, view, index, alter, alter, trigger)
TRANSACTIONS: tuple[Maker, ...] = (begin, begin, end, end, savepoint, batch)
