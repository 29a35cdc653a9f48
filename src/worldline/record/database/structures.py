"""Stories about tables, views, triggers and the like: made, changed, filled, taken away, and read after each of it."""

# ruff: noqa: E501 - a statement reads best on one line

from __future__ import annotations

import random
from collections.abc import Iterator

from worldline.record.database.facts import Facts, literal
from worldline.record.database.stories import Story, add, remove, rows, total, write
from worldline.record.database.writes import fresh_key
from worldline.types import Action

__all__ = ["ARCHIVE", "CHILD", "GENERATED", "SCHEMA", "TRIGGER", "VIEW"]


def _text(f: Facts, d: random.Random) -> str:
    return literal(f.of("text", d), d)


def _columns(table: str) -> Action:
    return Action(name="describe_table", arguments={"table": table})


# --- views


def followed(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    group, name = f.group(d).name, f"{f.table}_counts"
    look = f"SELECT * FROM {name} ORDER BY n DESC, {group} LIMIT {d.randint(3, 6)}"
    yield f"CREATE VIEW {name} AS SELECT {group}, count(*) AS n FROM {f.table} GROUP BY {group}"
    yield look
    yield d.choice((remove(f, *range(1, d.randint(3, 6))), add(f, d, fresh_key(f), fresh_key(f))))
    yield look


def not_written(f: Facts, d: random.Random, engine: str) -> Iterator[str | Action]:
    column, name = f.number(d).name, f"{f.table}_few"
    yield f"CREATE VIEW {name} AS SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} <= {d.randint(3, 5)}"
    yield f"INSERT INTO {name} VALUES ({fresh_key(f)}, 1)"
    yield f"UPDATE {name} SET {column} = 0"
    yield f"SELECT * FROM {name} ORDER BY {f.key}"
    yield write(f, d, d.randint(1, 3))
    yield f"SELECT * FROM {name} ORDER BY {f.key}"
    yield f"DROP TABLE {name}"
    yield _columns(name)


def made_again(f: Facts, d: random.Random, engine: str) -> Iterator[str | Action]:
    column, name = f.number(d).name, f"{f.table}_ends"
    made = f"CREATE VIEW {name} AS SELECT min({column}) AS low, max({column}) AS high FROM {f.table}"
    yield made
    yield made.replace("min", "avg")
    yield f"SELECT * FROM {name}"
    yield f"DROP VIEW {name}"
    yield f"SELECT * FROM {name}"
    yield made.replace("max", "count").replace("high", "n")
    yield f"SELECT * FROM {name}"
    yield Action(name="list_tables")


def broken(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    table, name = f.spare[0], f"{f.spare[0]}_view"
    yield f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, label TEXT); INSERT INTO {table} VALUES (1, {_text(f, d)}), (2, {_text(f, d)})"
    yield f"CREATE VIEW {name} AS SELECT id, upper(label) AS loud FROM {table}"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield f"DROP TABLE {table}"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield f"CREATE TABLE {table} AS SELECT {f.key} AS id, {f.of('text', d).name} AS label FROM {f.table} WHERE {f.key} <= 2"
    yield f"SELECT * FROM {name} ORDER BY id"


def stacked(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column = f.number(d).name
    low, high = f"{f.table}_low", f"{f.table}_low_sum"
    yield f"CREATE VIEW {low} AS SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} < {d.randint(4, 8)}; CREATE VIEW {high} AS SELECT count({column}) AS n, max({column}) AS most FROM {low}"
    yield f"SELECT * FROM {high}"
    yield f"UPDATE {f.table} SET {column} = {literal(f.number(d), d)} WHERE {f.key} = {d.randint(1, 3)}"
    yield f"SELECT * FROM {high}"
    yield f"DROP VIEW {low}"
    yield f"SELECT * FROM {high}"


VIEW: tuple[Story, ...] = (followed, not_written, made_again, broken, stacked)


# --- SQLite's triggers


def logged(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column, log = f.number(d).name, f"{f.table}_log"
    yield f"CREATE TABLE {log} (step INTEGER PRIMARY KEY, item INTEGER, was, now)"
    yield f"CREATE TRIGGER note_{column} AFTER UPDATE OF {column} ON {f.table} BEGIN INSERT INTO {log} (item, was, now) VALUES (OLD.{f.key}, OLD.{column}, NEW.{column}); END"
    yield f"UPDATE {f.table} SET {column} = {d.randint(1, 99)} WHERE {f.key} <= {d.randint(1, 3)}"
    yield f"SELECT * FROM {log} ORDER BY step"
    yield f"BEGIN; UPDATE {f.table} SET {column} = 0 WHERE {f.key} = 1; SELECT count(*) AS n FROM {log}; ROLLBACK"
    yield f"SELECT count(*) AS n FROM {log}"
    yield f"DROP TABLE {log}"
    yield f"UPDATE {f.table} SET {column} = 1 WHERE {f.key} = 1"
    yield rows(f, d, 1)


def guarded(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    way = d.choice(("ABORT, 'the first rows stay'", "FAIL, 'not this one'", "IGNORE"))
    yield f"CREATE TRIGGER keep_first BEFORE DELETE ON {f.table} WHEN OLD.{f.key} < 3 BEGIN SELECT RAISE({way}); END"
    yield remove(f, 1)
    yield remove(f, 2, 5)
    yield rows(f, d, 1, 2, 5)
    yield "DROP TRIGGER keep_first"
    yield remove(f, 2)
    yield rows(f, d, 1, 2, 5)
    yield "DROP TRIGGER keep_first"


def filled_in(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column, key, first = f.number(d).name, fresh_key(f), f.columns[0]
    names = f"{f.key}, {first.name}" if first.name != column else f.key
    values = f"{key}, {literal(first, d)}" if first.name != column else str(key)
    yield f"CREATE TRIGGER fill_{column} AFTER INSERT ON {f.table} WHEN NEW.{column} IS NULL BEGIN UPDATE {f.table} SET {column} = {d.randint(1, 50)} WHERE {f.key} = NEW.{f.key}; END"
    yield f"INSERT INTO {f.table} ({names}) VALUES ({values})"
    yield f"SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} = {key}"
    yield f"CREATE TRIGGER fill_{column} AFTER DELETE ON {f.table} BEGIN SELECT 1; END"
    yield "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' ORDER BY name"


def through_a_view(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column, name = f.number(d).name, f"{f.table}_door"
    yield f"CREATE VIEW {name} AS SELECT {f.key}, {column} FROM {f.table}"
    yield f"UPDATE {name} SET {column} = 5 WHERE {f.key} = 1"
    yield f"CREATE TRIGGER {name}_set INSTEAD OF UPDATE ON {name} BEGIN UPDATE {f.table} SET {column} = NEW.{column} * 10 WHERE {f.key} = OLD.{f.key}; END"
    yield f"UPDATE {name} SET {column} = {d.randint(2, 9)} WHERE {f.key} <= 2"
    yield f"SELECT * FROM {name} WHERE {f.key} <= 3 ORDER BY {f.key}"
    yield f"DELETE FROM {name} WHERE {f.key} = 1"
    yield total(f, d)


def counted(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name = f.spare[1]
    yield f"CREATE TABLE {name} (gone INTEGER); INSERT INTO {name} VALUES (0)"
    yield f"CREATE TRIGGER count_gone AFTER DELETE ON {f.table} BEGIN UPDATE {name} SET gone = gone + 1; END"
    yield remove(f, *range(3, d.randint(5, 9)))
    yield f"SELECT gone FROM {name}"
    yield f"DELETE FROM {f.table} WHERE {f.key} > 1000"
    yield f"SELECT gone, (SELECT count(*) FROM {f.table}) AS here FROM {name}"


TRIGGER: tuple[Story, ...] = (logged, guarded, filled_in, through_a_view, counted)


# --- what DuckDB has in their place: sequences, generated columns, types of one's own, lists, macros


def numbered(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, start = f.spare[0], d.randint(1, 90)
    yield f"CREATE SEQUENCE {name}_ids START {start}"
    yield f"CREATE TABLE {name} (id INTEGER DEFAULT nextval('{name}_ids'), label TEXT)"
    yield f"INSERT INTO {name} (label) VALUES ({_text(f, d)}), ({_text(f, d)})"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield f"BEGIN; INSERT INTO {name} (label) VALUES ('undone'); ROLLBACK"
    yield f"INSERT INTO {name} (label) VALUES ({_text(f, d)}) RETURNING id"
    yield f"SELECT count(*) AS n, max(id) AS last FROM {name}"
    yield f"DROP SEQUENCE {name}_ids"


def computed_columns(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, factor = f.spare[1], d.randint(2, 5)
    yield f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, price INTEGER, gross INTEGER GENERATED ALWAYS AS (price * {factor}))"
    yield f"INSERT INTO {name} (id, price) VALUES (1, {d.randint(1, 99)}), (2, {d.randint(1, 99)})"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield f"INSERT INTO {name} (id, price, gross) VALUES (3, 1, 1)"
    yield f"UPDATE {name} SET gross = 0"
    yield f"UPDATE {name} SET price = price + 1 WHERE id = 2"
    yield f"SELECT * FROM {name} ORDER BY id"


def own_types(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, words = f.spare[0], d.sample(("low", "fair", "high", "open", "shut"), 3)
    yield f"CREATE TYPE grade AS ENUM ({', '.join(repr(word) for word in words)})"
    yield f"CREATE TABLE {name}_grades (id INTEGER PRIMARY KEY, mark grade)"
    yield f"INSERT INTO {name}_grades SELECT {f.key}, '{words[1]}' FROM {f.table} WHERE {f.key} <= 3"
    yield f"INSERT INTO {name}_grades VALUES (9, 'lowest')"
    yield f"UPDATE {name}_grades SET mark = '{words[0]}' WHERE id = 2"
    yield f"SELECT * FROM {name}_grades ORDER BY mark, id"
    yield "DROP TYPE grade"


def lists(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name = f.spare[1]
    yield f"CREATE TABLE {name}_bags (id INTEGER PRIMARY KEY, items VARCHAR[])"
    yield f"INSERT INTO {name}_bags VALUES (1, [{_text(f, d)}]), (2, [])"
    yield f"UPDATE {name}_bags SET items = list_append(items, {_text(f, d)})"
    yield f"SELECT id, items, len(items) AS n FROM {name}_bags ORDER BY id"
    yield f"INSERT INTO {name}_bags VALUES (3, {_text(f, d)})"
    yield f"SELECT id, unnest(items) AS item FROM {name}_bags ORDER BY id, item"


def macros(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column = f.number(d).name
    use = f"SELECT {f.key}, scaled({column}) AS scaled FROM {f.table} WHERE {f.key} <= 3 ORDER BY {f.key}"
    yield f"CREATE MACRO scaled(x) AS x * {d.randint(2, 9)}"
    yield use
    yield "CREATE MACRO scaled(x) AS x + 1"
    yield "CREATE OR REPLACE MACRO scaled(x) AS x + 1"
    yield write(f, d, 2)
    yield use
    yield "DROP MACRO scaled"
    yield use


GENERATED: tuple[Story, ...] = (numbered, computed_columns, own_types, lists, macros)


# --- tables that change


def widened(f: Facts, d: random.Random, engine: str) -> Iterator[str | Action]:
    name = f.spare[0]
    look = f"SELECT {f.key}, {name} FROM {f.table} WHERE {f.key} <= 3 ORDER BY {f.key}"
    yield f"ALTER TABLE {f.table} ADD COLUMN {name} INTEGER DEFAULT {d.randint(0, 9)}"
    yield look
    yield f"UPDATE {f.table} SET {name} = {f.key} * 10 WHERE {f.key} % 2 = 1"
    yield look
    yield f"ALTER TABLE {f.table} ADD COLUMN {name} TEXT"
    yield _columns(f.table)
    yield f"ALTER TABLE {f.table} DROP COLUMN {name}"
    yield look


def column_renamed(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    old = f.number(d).name
    new = f"{old}_{d.choice(('now', 'value', 'new'))}"
    yield f"ALTER TABLE {f.table} RENAME COLUMN {old} TO {new}"
    yield f"SELECT {f.key}, {old} FROM {f.table} WHERE {f.key} <= 2 ORDER BY {f.key}"
    yield f"SELECT {f.key}, {new} FROM {f.table} WHERE {f.key} <= 2 ORDER BY {f.key}"
    yield f"ALTER TABLE {f.table} RENAME COLUMN {new} TO {old}"


def table_renamed(f: Facts, d: random.Random, engine: str) -> Iterator[str | Action]:
    new = f"{f.table}_{d.choice(('before', 'kept', 'all'))}"
    yield f"ALTER TABLE {f.table} RENAME TO {new}"
    yield total(f, d)
    yield f"SELECT count(*) AS n FROM {new}"
    yield Action(name="list_tables")
    yield f"ALTER TABLE {new} RENAME TO {f.table}"
    yield total(f, d)


def copied(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, column = f.spare[1], f.number(d).name
    made = f"CREATE TABLE {name} AS SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} <= {d.randint(2, 5)}"
    yield made
    yield f"SELECT * FROM {name} ORDER BY {f.key}"
    yield made
    yield f"INSERT INTO {name} VALUES (1, NULL), (1, 7)"
    yield f"SELECT {f.key}, count(*) AS n FROM {name} GROUP BY {f.key} ORDER BY {f.key}"
    yield f"DROP TABLE {name}"
    yield f"SELECT * FROM {name}"


def with_defaults(f: Facts, d: random.Random, engine: str) -> Iterator[str | Action]:
    name = f"{f.spare[0]}_plan"
    yield f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, label TEXT NOT NULL DEFAULT 'new', weight INTEGER DEFAULT 1 CHECK (weight < 10))"
    yield f"INSERT INTO {name} (id) VALUES (1), (2)"
    yield f"INSERT INTO {name} (id, label, weight) VALUES (3, {_text(f, d)}, {d.randint(10, 20)})"
    yield f"INSERT INTO {name} (id, label) VALUES (4, NULL)"
    yield f"UPDATE {name} SET weight = weight + {d.randint(1, 5)}, label = {_text(f, d)} WHERE id = 2"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield _columns(name)


def passing(f: Facts, d: random.Random, engine: str) -> Iterator[str | Action]:
    name = f"{f.spare[1]}_now"
    yield f"CREATE TEMP TABLE {name} (id INTEGER, label TEXT)"
    yield f"INSERT INTO {name} SELECT {f.key}, {f.of('text', d).name} FROM {f.table} WHERE {f.key} <= {d.randint(2, 4)}"
    yield f"SELECT * FROM {name} ORDER BY id"
    yield Action(name="list_tables")
    yield f"DROP TABLE {name}; DROP TABLE {name}"
    yield f"SELECT count(*) FROM {name}"


def indexed(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column = f.group(d).name
    yield f"CREATE UNIQUE INDEX one_{column} ON {f.table} ({column})"
    yield f"CREATE INDEX by_{column} ON {f.table} ({column})"
    yield f"CREATE INDEX by_{column} ON {f.table} ({f.key})"
    yield write(f, d, 2)
    yield f"SELECT {column}, count(*) AS n FROM {f.table} GROUP BY {column} ORDER BY n DESC, {column} LIMIT 3"
    yield f"DROP INDEX by_{column}; DROP INDEX by_{column}"


SCHEMA: tuple[Story, ...] = (widened, column_renamed, table_renamed, copied, with_defaults, passing, indexed)


# --- rows that move


def moved(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, last = f"{f.table}_archive", d.randint(2, 5)
    back = f"INSERT INTO {f.table} SELECT * FROM {name}"
    yield f"CREATE TABLE {name} AS SELECT * FROM {f.table} WHERE {f.key} <= {last}"
    yield f"DELETE FROM {f.table} WHERE {f.key} IN (SELECT {f.key} FROM {name})"
    yield f"SELECT (SELECT count(*) FROM {f.table}) AS here, (SELECT count(*) FROM {name}) AS there"
    yield back
    yield back
    yield total(f, d)


def set_from(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column, name = f.number(d).name, f"{f.spare[0]}_prices"
    yield f"CREATE TABLE {name} (item INTEGER, price INTEGER); INSERT INTO {name} VALUES (1, {d.randint(1, 99)}), (3, {d.randint(1, 99)}), (900, 5)"
    yield f"UPDATE {f.table} SET {column} = {name}.price FROM {name} WHERE {name}.item = {f.table}.{f.key}"
    yield f"SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} <= 3 ORDER BY {f.key}"
    yield f"UPDATE {f.table} SET {column} = {name}.cost FROM {name} WHERE {name}.item = {f.table}.{f.key}"
    yield f"UPDATE {f.table} SET {column} = (SELECT price + 1 FROM {name} WHERE item = {f.key}) WHERE {f.key} IN (1, 2)"
    yield f"SELECT {f.key}, {column} FROM {f.table} WHERE {f.key} <= 3 ORDER BY {f.key}"


def topmost_out(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column = f.number(d).name
    top = f"SELECT {f.key} FROM {f.table} ORDER BY {column} DESC, {f.key} LIMIT {d.randint(1, 3)}"
    yield top
    yield f"DELETE FROM {f.table} WHERE {f.key} IN ({top}) RETURNING {f.key}"
    yield top
    yield f"DELETE FROM {f.table} ORDER BY {column}"
    yield total(f, d)


def gathered(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name, group, column = f"{f.spare[1]}_sums", f.group(d).name, f.number(d).name
    fill = f"INSERT INTO {name} SELECT {group}, count(*), max({column}) FROM {f.table} GROUP BY {group}"
    yield fill
    yield f"CREATE TABLE {name} (part TEXT PRIMARY KEY, n INTEGER, most DOUBLE)"
    yield fill
    yield f"SELECT * FROM {name} ORDER BY n DESC, part LIMIT 5"
    yield remove(f, 1, 2, 3)
    yield f"DELETE FROM {name}; {fill}; SELECT sum(n) AS n FROM {name}"


def by_cases(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    column = f.number(d).name
    yield f"UPDATE {f.table} SET {column} = CASE {f.key} WHEN 1 THEN {d.randint(1, 50)} WHEN 2 THEN {d.randint(1, 50)} END WHERE {f.key} <= 3"
    yield rows(f, d, 1, 2, 3)
    yield f"UPDATE {f.table} SET {column} = {column} + 1 WHERE {f.key} <= 3 RETURNING {f.key}, {column}"
    yield f"UPDATE {f.table} SET {column} = 1 LIMIT"
    yield rows(f, d, 1, 2, 3, 4)


ARCHIVE: tuple[Story, ...] = (moved, set_from, topmost_out, gathered, by_cases)


# --- tables that refer to another one


def _children(f: Facts, d: random.Random, name: str, rule: str) -> Iterator[str]:
    yield f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES {f.table}({f.key}){rule}, label TEXT)"
    yield f"INSERT INTO {name} VALUES (1, 1, {_text(f, d)}), (2, 1, NULL), (3, 2, {_text(f, d)})"


def orphaned(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name = f"{f.spare[0]}_of_{f.table}"
    rule = d.choice((" ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT")) if engine == "sqlite" else ""
    if engine == "sqlite":
        yield "PRAGMA foreign_keys = ON"
    yield from _children(f, d, name, rule)
    yield f"INSERT INTO {name} VALUES (4, {f.size + 100}, 'lost')"
    yield remove(f, 1)
    yield f"SELECT * FROM {name} ORDER BY id"
    yield f"UPDATE {name} SET owner = 2 WHERE id = 1"
    yield f"SELECT p.{f.key}, count(c.id) AS n FROM {f.table} p JOIN {name} c ON c.owner = p.{f.key} GROUP BY p.{f.key} ORDER BY 1"


def in_order(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name = f"{f.spare[1]}_parts"
    yield from _children(f, d, name, "")
    yield f"DROP TABLE {f.table}"
    yield f"DELETE FROM {name} WHERE owner = 1"
    yield remove(f, 1)
    yield rows(f, d, 1, 2)
    yield f"SELECT * FROM {name} ORDER BY id"


def put_off(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    """A reference that is looked at when the transaction ends; DuckDB looks at once and knows no such rule."""
    name = f"{f.table}_later"
    key = f.size + d.randint(20, 40)
    if engine == "sqlite":
        yield "PRAGMA foreign_keys = ON"
    yield f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES {f.table}({f.key}) DEFERRABLE INITIALLY DEFERRED)"
    yield "BEGIN"
    yield f"INSERT INTO {name} VALUES (1, {key})"
    yield "COMMIT"
    yield d.choice(("ROLLBACK", add(f, d, key)))
    yield "COMMIT"
    yield f"SELECT count(*) AS n FROM {name}"
    yield rows(f, d, key)


def own_kin(f: Facts, d: random.Random, engine: str) -> Iterator[str]:
    name = f"{f.spare[0]}_tree"
    yield f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES {name}(id), label TEXT NOT NULL)"
    yield f"INSERT INTO {name} VALUES (1, NULL, {_text(f, d)}); INSERT INTO {name} VALUES (2, 1, {_text(f, d)}), (3, 1, {_text(f, d)})"
    yield f"INSERT INTO {name} VALUES (4, 2, NULL)"
    yield f"WITH RECURSIVE up AS (SELECT id, parent, 0 AS depth FROM {name} WHERE parent IS NULL UNION ALL SELECT c.id, c.parent, depth + 1 FROM {name} c JOIN up ON c.parent = up.id) SELECT id, depth FROM up ORDER BY depth, id"
    yield f"DELETE FROM {name} WHERE id = 3"
    yield f"SELECT parent, count(*) AS n FROM {name} GROUP BY parent ORDER BY n, parent"


CHILD: tuple[Story, ...] = (orphaned, in_order, put_off, own_kin)
