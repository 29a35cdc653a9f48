"""Exploring the SQLite and the DuckDB server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from worldline.domains.mcp.state import DuckdbServer, SqliteServer
from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted

__all__ = ["DuckdbPlayer", "SqlitePlayer"]

_TABLE = re.compile(r"create table (\w+)\s*\(([^;]*)\)", re.IGNORECASE)


class _TablesPlayer(Player):
    """Knows tables and columns from the declaration and from what it makes."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        server = cast(SqliteServer | DuckdbServer, scene.state.servers[scene.server])
        self._tables = {name: _columns(body) for name, body in _TABLE.findall(server.setup)}
        self._number = 900

    def _table(self) -> str:
        return cast(str, self.scene.pick(sorted(self._tables)))

    def _column(self, table: str, kind: str = "") -> str:
        columns = self._tables[table]
        chosen = [name for name, what in columns.items() if kind in what] or list(columns)
        return cast(str, self.scene.pick(chosen))

    def _select(self) -> str:
        scene, table = self.scene, self._table()
        number, text = self._column(table, "INT"), self._column(table, "TEXT")
        letter = scene.pick("aeiou")
        limit = f" LIMIT {scene.random.randint(1, 5)}" if scene.chance(0.5) else ""
        return cast(
            str,
            scene.pick(
                (
                    f"SELECT * FROM {table} ORDER BY id{limit}",
                    f"SELECT {text}, {number} FROM {table} WHERE {number} > {scene.random.randint(1, 300)} ORDER BY id",
                    f"SELECT COUNT(*) AS n, MAX({number}) AS most FROM {table}",
                    f"SELECT {text}, SUM({number}) AS total FROM {table} GROUP BY {text} ORDER BY total DESC, {text}",
                    f"SELECT id, {number} * 2 AS twice FROM {table} WHERE {text} LIKE '%{letter}%' ORDER BY id",
                    f"SELECT DISTINCT {text} FROM {table} ORDER BY {text}{limit}",
                    f"SELECT ROUND(AVG({number}), 2) AS mean FROM {table} WHERE id <= {scene.random.randint(2, 8)}",
                    f"SELECT UPPER({text}) AS loud, LENGTH({text}) AS size FROM {table} ORDER BY id{limit}",
                )
            ),
        )

    def _values(self, table: str, number: int) -> str:
        scene, values = self.scene, list[str]()
        for name, kind in self._tables[table].items():
            if name == "id":
                values.append(str(number))
            elif "INT" in kind:
                values.append(str(scene.random.randint(1, 900)))
            else:
                values.append(f"'{scene.pick((*scene.theme.things, *scene.theme.places))}'")
        return f"({', '.join(values)})"

    def _insert(self, table: str) -> tuple[str, int]:
        self._number += 1
        rows = [self._values(table, self._number)]
        if self.scene.chance(0.3):
            rows.append(self._values(table, self._number + 50))
        return f"INSERT INTO {table} VALUES {', '.join(rows)}", self._number

    def _change(self, table: str) -> str:
        scene, number = self.scene, self._column(table, "INT")
        where = (
            f"id = {scene.random.randint(1, 9)}" if scene.chance(0.6) else f"{number} < {scene.random.randint(5, 200)}"
        )
        if scene.chance(0.35):
            return f"DELETE FROM {table} WHERE {where}"
        return f"UPDATE {table} SET {number} = {number} + {scene.random.randint(1, 50)} WHERE {where}"

    def _definition(self) -> tuple[str, str]:
        scene, theme = self.scene, self.scene.theme
        name = f"{scene.pick(theme.kinds)}_{scene.pick(('log', 'plan', 'tags', 'notes'))}"
        trait = scene.pick(theme.traits)
        self._tables[name] = {"id": "INTEGER", "label": "TEXT", trait: "INTEGER"}
        return name, f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, label TEXT NOT NULL, {trait} INTEGER)"

    def _wrong_query(self) -> str:
        scene, table = self.scene, self._table()
        thing = scene.pick(scene.theme.things).replace("-", "_")
        return cast(
            str,
            scene.pick(
                (
                    f"SELECT * FROM {thing}s",
                    f"SELECT {thing} FROM {table}",
                    f"SELECT * FORM {table}",
                    f"SELECT COUNT( FROM {table}",
                    f"SELECT no_such_function(id) FROM {table}",
                    "SELECT",
                )
            ),
        )


def _columns(body: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in body.split(","):
        words = part.split()
        if words and words[0].upper() not in ("PRIMARY", "FOREIGN", "UNIQUE", "CHECK"):
            found[words[0]] = " ".join(words[1:]).upper()
    return found


class SqlitePlayer(_TablesPlayer):
    """Queries, writes and reads back, defines tables, keeps insights, and uses the wrong tool."""

    def moves(self) -> Sequence[Weighted]:
        """Right and wrong ones."""
        return [
            (2.5, self._read),
            (1.0, self._catalogue),
            (2.5, self._insert_and_read),
            (2.0, self._change_and_read),
            (1.0, self._define),
            (0.7, self._insight),
            (2.0, self._wrong),
        ]

    def _read(self) -> Move:
        yield self.scene.call("read_query", query=self._select())

    def _catalogue(self) -> Move:
        yield self.scene.call("list_tables")
        yield self.scene.call("describe_table", table_name=self._table())

    def _insert_and_read(self) -> Move:
        scene, table = self.scene, self._table()
        query, number = self._insert(table)
        turn = yield scene.call("write_query", query=query)
        yield scene.call("read_query", query=f"SELECT * FROM {table} WHERE id >= {number} ORDER BY id")
        if "rror" not in turn.observation.text and scene.chance(0.25):
            yield scene.call("write_query", query=query)  # the key is there already

    def _change_and_read(self) -> Move:
        scene, table = self.scene, self._table()
        yield scene.call("write_query", query=self._change(table))
        yield scene.call("read_query", query=f"SELECT * FROM {table} ORDER BY id LIMIT {scene.random.randint(4, 12)}")

    def _define(self) -> Move:
        scene = self.scene
        name, query = self._definition()
        yield scene.call("create_table", query=query)
        yield scene.call("describe_table", table_name=name)
        if scene.chance(0.5):
            query, number = self._insert(name)
            yield scene.call("write_query", query=query)
            yield scene.call("read_query", query=f"SELECT * FROM {name} WHERE id >= {number} ORDER BY id")
        if scene.chance(0.3):
            yield scene.call("write_query", query=f"DROP TABLE {name}")
            del self._tables[name]
            yield scene.call("list_tables")

    def _insight(self) -> Move:
        scene = self.scene
        text = f"{scene.pick(scene.theme.things)} leads in {scene.pick(scene.theme.traits)}"
        yield scene.call("append_insight", insight=text)

    def _wrong(self) -> Move:
        scene, table = self.scene, self._table()
        yield scene.pick(
            (
                scene.call("read_query", query=self._wrong_query()),
                scene.call("read_query", query=self._wrong_query()),
                scene.call("read_query", query=self._change(table)),
                scene.call("write_query", query=f"SELECT * FROM {table}"),
                scene.call("create_table", query=f"DROP TABLE {table}"),
                scene.call("create_table", query=f"CREATE TABLE {table} (id INTEGER)"),
                scene.call("describe_table", table_name=scene.pick(scene.theme.places).replace("-", "_")),
                scene.call("write_query", query=f"INSERT INTO {table} VALUES (1)"),
                scene.call("write_query", query=f"{self._change(table)}; {self._change(table)}"),
                scene.call("describe_table"),
                scene.call("read_query", sql=f"SELECT * FROM {table}"),
            )
        )


class DuckdbPlayer(_TablesPlayer):
    """The same through one tool, with DuckDB's own statements."""

    def moves(self) -> Sequence[Weighted]:
        """Right and wrong ones."""
        return [
            (2.5, self._read),
            (1.2, self._catalogue),
            (2.5, self._insert_and_read),
            (2.0, self._change_and_read),
            (1.0, self._define),
            (2.0, self._wrong),
        ]

    def _read(self) -> Move:
        yield self.scene.call("query", query=self._select())

    def _catalogue(self) -> Move:
        scene = self.scene
        yield scene.call("query", query=scene.pick(("SHOW TABLES", f"DESCRIBE {self._table()}", "SELECT 1 + 1 AS two")))

    def _insert_and_read(self) -> Move:
        scene, table = self.scene, self._table()
        query, number = self._insert(table)
        yield scene.call("query", query=query)
        yield scene.call("query", query=f"SELECT * FROM {table} WHERE id >= {number} ORDER BY id")

    def _change_and_read(self) -> Move:
        scene, table = self.scene, self._table()
        yield scene.call("query", query=self._change(table))
        yield scene.call("query", query=f"SELECT * FROM {table} ORDER BY id LIMIT {scene.random.randint(4, 12)}")

    def _define(self) -> Move:
        scene = self.scene
        name, query = self._definition()
        yield scene.call("query", query=query)
        insert, _ = self._insert(name)
        yield scene.call("query", query=insert)
        yield scene.call("query", query=f"SELECT * FROM {name} ORDER BY id")

    def _wrong(self) -> Move:
        scene, table = self.scene, self._table()
        yield scene.pick(
            (
                scene.call("query", query=self._wrong_query()),
                scene.call("query", query=self._wrong_query()),
                scene.call("query", query=f"INSERT INTO {table} VALUES (1)"),
                scene.call("query", query=f"CREATE TABLE {table} (id INTEGER)"),
                scene.call("query", query=f"SELECT CAST('{scene.pick(scene.theme.things)}' AS INTEGER)"),
                scene.call("query", sql=f"SELECT * FROM {table}"),
                scene.call("query", query=""),
            )
        )
