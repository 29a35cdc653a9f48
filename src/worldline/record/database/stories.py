"""Statements that belong together: rows are written, the write is undone, refused or changed again, and they are read.

A story tells what an agent does about one thing, one call after the other. Stories about tables, views and triggers are in
:mod:`worldline.record.database.structures`.
"""

# ruff: noqa: E501 - a statement reads best on one line

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from worldline.record.database.facts import Column, Facts, literal
from worldline.record.database.writes import fresh_key
from worldline.types import Action

__all__ = ["ABORTED", "REFUSED", "ROLLBACK", "SAVEPOINT", "UPSERT", "Story", "add", "remove", "rows", "total", "write"]

Story = Callable[[Facts, random.Random, str], Iterator[str | Action]]
"""Writes the calls of a story about a table for an engine; a text is SQL."""


def _value(facts: Facts, column: Column, dice: random.Random) -> str:
    """A value that the column takes: what refers to another table is there."""
    if column.name == facts.link and column.values:
        return "'" + dice.choice(column.values).replace("'", "''") + "'"
    return literal(column, dice)


def _row(f: Facts, d: random.Random, key: int) -> str:
    return ", ".join([str(key), *(_value(f, column, d) for column in f.columns)])


def add(f: Facts, d: random.Random, *keys: int) -> str:
    """Add rows under these keys."""
    names = ", ".join([f.key, *(column.name for column in f.columns)])
    return f"INSERT INTO {f.table} ({names}) VALUES {', '.join(f'({_row(f, d, key)})' for key in keys)}"


def write(f: Facts, d: random.Random, key: int) -> str:
    """Change a number of a row."""
    column = f.number(d)
    new = d.choice((literal(column, d), f"{column.name} + {d.randint(1, 9)}", f"{column.name} * 2", "NULL"))
    return f"UPDATE {f.table} SET {column.name} = {new} WHERE {f.key} = {key}"


def remove(f: Facts, *keys: int) -> str:
    """Remove rows."""
    return f"DELETE FROM {f.table} WHERE {f.key} IN ({', '.join(map(str, keys))})"


def rows(f: Facts, d: random.Random, *keys: int) -> str:
    """Show rows."""
    columns = d.choice(("*", f"{f.key}, {f.number(d).name}", f"{f.key}, {f.columns[0].name}, {f.columns[-1].name}"))
    return f"SELECT {columns} FROM {f.table} WHERE {f.key} IN ({', '.join(map(str, keys))}) ORDER BY {f.key}"


def total(f: Facts, d: random.Random) -> str:
    """Count the rows and add up a column."""
    name = f.number(d).name
    return d.choice(
        (
            f"SELECT count(*) AS n FROM {f.table}",
            f"SELECT count(*) AS n, count({name}) AS filled, max({f.key}) AS last FROM {f.table}",
            f"SELECT count(*) AS n, min({name}) AS least, max({name}) AS most FROM {f.table}",
        )
    )


def _two(f: Facts, d: random.Random) -> tuple[int, int]:
    one, two = d.sample(range(1, max(3, f.size + 1)), 2)
    return one, two


# --- transactions


def undone(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield d.choice(("BEGIN", "BEGIN TRANSACTION"))
    yield write(f, d, one)
    yield remove(f, two)
    yield rows(f, d, one, two)
    yield d.choice(("ROLLBACK", "ROLLBACK TRANSACTION") if engine == "sqlite" else ("ROLLBACK",))
    yield rows(f, d, one, two)


def kept(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key = fresh_key(f)
    yield "BEGIN"
    yield add(f, d, key)
    yield total(f, d)
    yield "COMMIT"
    yield rows(f, d, key)
    yield d.choice(("ROLLBACK", "COMMIT"))


def begun_twice(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    yield "BEGIN"
    yield write(f, d, one)
    yield "BEGIN"
    yield rows(f, d, one)
    yield d.choice(("COMMIT", "ROLLBACK"))
    yield rows(f, d, one)


def unmade(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name = f.spare[0]
    yield "BEGIN"
    yield f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, label TEXT)"
    yield f"INSERT INTO {name} VALUES (1, {literal(f.of('text', d), d)}), (2, NULL)"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield "ROLLBACK"
    yield f"SELECT * FROM {name} ORDER BY id"


def at_once(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield f"BEGIN; {write(f, d, one)}; {remove(f, two)}; {rows(f, d, one, two)}; ROLLBACK; {rows(f, d, one, two)}"
    yield f"BEGIN; {remove(f, two)}; COMMIT; {total(f, d)}"
    yield rows(f, d, one, two)


def emptied(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    yield "BEGIN"
    yield d.choice((f"DELETE FROM {f.table}", f"DELETE FROM {f.table} WHERE {f.key} > 2"))
    yield total(f, d)
    yield "ROLLBACK"
    yield total(f, d)
    yield "ROLLBACK"


def dropped(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    yield "BEGIN"
    yield f"DROP TABLE {f.table}"
    yield total(f, d)
    yield "ROLLBACK"
    yield total(f, d)


ROLLBACK: tuple[Story, ...] = (undone, kept, begun_twice, unmade, at_once, emptied, dropped)


# --- SQLite's savepoints


def inner(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield "BEGIN"
    yield write(f, d, one)
    yield "SAVEPOINT before"
    yield remove(f, one, two)
    yield rows(f, d, one, two)
    yield d.choice(("ROLLBACK TO before", "ROLLBACK TO SAVEPOINT before"))
    yield rows(f, d, one, two)
    yield d.choice(("COMMIT", "ROLLBACK"))
    yield rows(f, d, one, two)


def nested(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    yield "SAVEPOINT outer_one"
    yield write(f, d, one)
    yield "SAVEPOINT inner_one"
    yield write(f, d, one)
    yield d.choice(("RELEASE inner_one", "ROLLBACK TO inner_one"))
    yield rows(f, d, one)
    yield "ROLLBACK TO outer_one"
    yield rows(f, d, one)
    yield "RELEASE outer_one"


def released(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key = fresh_key(f)
    yield "SAVEPOINT step"
    yield add(f, d, key)
    yield "RELEASE step"
    yield "ROLLBACK TO step"
    yield rows(f, d, key)


def same_name(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield f"SAVEPOINT s; {write(f, d, one)}; SAVEPOINT s"
    yield remove(f, two)
    yield "ROLLBACK TO s"
    yield rows(f, d, one, two)
    yield "RELEASE s"
    yield "ROLLBACK TO s"
    yield rows(f, d, one, two)
    yield "RELEASE s"
    yield "RELEASE s"


def refused_inside(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key = fresh_key(f)
    yield "SAVEPOINT try"
    yield add(f, d, key)
    yield add(f, d, key)
    yield rows(f, d, key)
    yield "ROLLBACK TO try"
    yield rows(f, d, key)
    yield d.choice(("RELEASE try", "ROLLBACK", "COMMIT"))


def over(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key = fresh_key(f)
    yield "BEGIN IMMEDIATE"
    yield "SAVEPOINT one"
    yield add(f, d, key)
    yield d.choice(("COMMIT", "ROLLBACK"))
    yield "RELEASE one"
    yield rows(f, d, key)


SAVEPOINT: tuple[Story, ...] = (inner, nested, released, same_name, refused_inside, over)


# --- DuckDB's transactions that an error ends


def lost(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield "BEGIN"
    yield write(f, d, one)
    yield add(f, d, two)
    yield rows(f, d, one)
    yield d.choice(("COMMIT", "ROLLBACK", "ROLLBACK"))
    yield rows(f, d, one)


def survived(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    yield "BEGIN"
    yield write(f, d, one)
    yield d.choice((f"SELEC * FROM {f.table}", f"SELECT {f.spare[0]} FROM {f.table}", f"SELECT * FROM {f.spare[0]}"))
    yield rows(f, d, one)
    yield d.choice(("COMMIT", "ROLLBACK"))
    yield rows(f, d, one)


def no_savepoint(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key = fresh_key(f)
    yield "BEGIN"
    yield add(f, d, key)
    yield "SAVEPOINT one"
    yield total(f, d)
    yield "ROLLBACK"
    yield rows(f, d, key)


def written_twice(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key = fresh_key(f)
    yield "BEGIN"
    yield add(f, d, key)
    yield write(f, d, key)
    yield remove(f, key)
    yield add(f, d, key)
    yield rows(f, d, key)
    yield "COMMIT"
    yield rows(f, d, key)


def failed_call(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield f"BEGIN; {remove(f, one)}; {add(f, d, two)}; {total(f, d)}"
    yield total(f, d)
    yield "ROLLBACK"
    yield rows(f, d, one, two)


ABORTED: tuple[Story, ...] = (lost, survived, no_savepoint, written_twice, failed_call, undone)


# --- upserts


def left_alone(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    yield add(f, d, one)
    yield add(f, d, one) + d.choice((" ON CONFLICT DO NOTHING", f" ON CONFLICT ({f.key}) DO NOTHING"))
    yield rows(f, d, one)


def replaced(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    column = f.number(d).name
    yield rows(f, d, one)
    yield add(f, d, one) + f" ON CONFLICT ({f.key}) DO UPDATE SET {column} = excluded.{column}"
    yield f"SELECT * FROM {f.table} WHERE {f.key} = {one}"


def where_more(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    column = f.number(d).name
    sum_of = f"{f.table}.{column} + excluded.{column}"
    for _ in range(2):
        yield (
            add(f, d, one)
            + f" ON CONFLICT ({f.key}) DO UPDATE SET {column} = {sum_of} WHERE excluded.{column} > {f.table}.{column}"
        )
        yield f"SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} = {one}"


def old_and_new(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    (one, _), column, key = _two(f, d), f.number(d).name, fresh_key(f)
    yield (
        add(f, d, one, key)
        + f" ON CONFLICT ({f.key}) DO UPDATE SET {column} = excluded.{column} RETURNING {f.key}, {column}"
    )
    yield f"SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} IN ({one}, {key}) ORDER BY {f.key}"
    yield total(f, d)


def or_else(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    for word in d.sample(("REPLACE", "IGNORE"), 2):
        yield add(f, d, one).replace("INSERT", f"INSERT OR {word}", 1)
        yield rows(f, d, one)


def no_such_key(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    (one, _), column = _two(f, d), f.number(d).name
    yield add(f, d, one) + f" ON CONFLICT ({column}) DO UPDATE SET {column} = excluded.{column}"
    yield rows(f, d, one)
    yield add(f, d, one) + f" ON CONFLICT ({f.key}) DO UPDATE SET {f.spare[0]} = 1"
    yield total(f, d)


def tallied(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, group = f.spare[0], f.group(d)
    text = "'" + (d.choice(group.values) if group.values else "none").replace("'", "''") + "'"
    once = f"INSERT INTO {name} (label) VALUES ({text})"
    yield f"CREATE TABLE {name} (label TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 1)"
    yield once
    yield once
    yield f"{once} ON CONFLICT (label) DO UPDATE SET n = {name}.n + 1"
    yield f"SELECT label, n FROM {name} ORDER BY label"
    yield f"{once} ON CONFLICT (label) DO UPDATE SET n = NULL"
    yield f"SELECT sum(n) AS n FROM {name}"


UPSERT: tuple[Story, ...] = (left_alone, replaced, where_more, old_and_new, or_else, no_such_key, tallied)


# --- writes that are refused


def duplicate(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    yield add(f, d, one)
    yield rows(f, d, one)
    yield remove(f, one)
    yield add(f, d, one)
    yield rows(f, d, one)


def all_or_none(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    (one, _), key = _two(f, d), fresh_key(f)
    yield add(f, d, key, one)
    yield rows(f, d, one, key)
    yield add(f, d, key)
    yield rows(f, d, one, key)


def half_a_call(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    key, later = fresh_key(f), fresh_key(f)
    yield f"{add(f, d, key)}; {add(f, d, key)}; {add(f, d, later)}"
    yield rows(f, d, key, later)
    yield total(f, d)


def out_of_bounds(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, two = _two(f, d)
    yield f"UPDATE {f.table} SET {f.key} = -{one} WHERE {f.key} = {one}"
    yield f"UPDATE {f.table} SET {f.key} = {two} WHERE {f.key} = {one}"
    yield f"UPDATE {f.table} SET {f.columns[0].name} = NULL WHERE {f.key} = {one}"
    yield rows(f, d, one, two)
    yield f"UPDATE {f.table} SET {f.key} = {fresh_key(f)} WHERE {f.key} = {one}"
    yield rows(f, d, one, f.size)


def wrong_type(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    number = f.number(d).name
    yield f"UPDATE {f.table} SET {number} = 'plenty' WHERE {f.key} = {one}"
    yield f"SELECT {f.key}, {number}, typeof({number}) AS kind FROM {f.table} WHERE {f.key} = {one}"
    yield f"UPDATE {f.table} SET {f.key} = 'first' WHERE {f.key} = {one}"
    yield f"UPDATE {f.table} SET {number} = '{d.randint(10, 99)}' WHERE {f.key} = {one}"
    yield f"SELECT {f.key}, {number}, typeof({number}) AS kind FROM {f.table} WHERE {f.key} = {one}"


def nowhere(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    one, _ = _two(f, d)
    if f.other is None:
        yield from duplicate(f, d, engine)
        return
    name = f"'{f.spare[0]} {d.randint(1, 99)}'"
    change = f"UPDATE {f.table} SET {f.link} = {name} WHERE {f.key} = {one}"
    look = f"SELECT {f.key}, {f.link} FROM {f.table} WHERE {f.key} = {one}"
    yield change
    yield look
    yield f"INSERT INTO {f.other.table} (code, name) VALUES ({f.other.size + 1}, {name})"
    yield change
    yield look
    yield f"DELETE FROM {f.other.table} WHERE name = {name}"
    yield f"SELECT * FROM {f.other.table} WHERE code > {f.other.size - 2} ORDER BY code"


def by_conflict(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    """SQLite's ways to go on after a conflict; DuckDB has none of these two."""
    (one, two), key = _two(f, d), fresh_key(f)
    yield add(f, d, key, one, fresh_key(f)).replace("INSERT", "INSERT OR FAIL", 1)
    yield rows(f, d, one, key, f.size)
    yield "BEGIN"
    yield write(f, d, two)
    yield add(f, d, one).replace("INSERT", "INSERT OR ROLLBACK", 1)
    yield rows(f, d, two)
    yield "COMMIT"


REFUSED: tuple[Story, ...] = (duplicate, all_or_none, half_a_call, out_of_bounds, wrong_type, nowhere, by_conflict)
