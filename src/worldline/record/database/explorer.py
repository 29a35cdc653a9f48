"""Who explores a database: looks at what there is, reads, writes, looks again, and makes mistakes."""

from __future__ import annotations

import random
from collections.abc import Sequence

from worldline.domains.database.reading import read_rows
from worldline.domains.database.state import DatabaseState
from worldline.record.database.facts import Column, Facts, kind_of_type
from worldline.record.database.faults import CONSTRAINTS, MISTAKES, wrong_call
from worldline.record.database.plans import sql_call
from worldline.record.database.reads import ANALYSIS, GROUPS, JOINS, SIMPLE, WINDOWS
from worldline.record.database.writes import CHANGES, DEFINITIONS, TRANSACTIONS, check
from worldline.types import Action, Turn, WorldSpec

__all__ = ["DatabaseExplorer"]

Row = dict[str, str | None]

_READS = SIMPLE + GROUPS + JOINS + WINDOWS + ANALYSIS
_WRITES = CHANGES + DEFINITIONS + TRANSACTIONS + CONSTRAINTS


class DatabaseExplorer:
    """Satisfies :class:`worldline.record.environment.Explorer`: it learns tables and values from what it is shown.

    Args:
        world: A world of the domain `database`.
        seed: Decides what it tries.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        self._state = DatabaseState.model_validate(world.initial_state)
        self._dice = random.Random(seed)
        self._facts: dict[str, Facts] = {}
        self._todo: list[Action] = [Action(name="list_tables")]
        self._wrote: Facts | None = None

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Learn from the last answer, then act."""
        if turns:
            self._learn(turns[-1])
        if self._todo:
            return self._todo.pop(0)
        dice, engine = self._dice, self._state.engine
        known = [facts for facts in self._facts.values() if facts.columns]
        if not known:
            return sql_call(dice.choice(("SELECT 1 + 1 AS two", "CREATE TABLE notes (id INTEGER, label TEXT)")))
        facts = self._wrote or dice.choice(known)
        if self._wrote is not None and dice.random() < 0.6:
            self._wrote = None
            return sql_call(check(facts, dice, engine))
        roll = dice.random()
        if roll < 0.05:
            return wrong_call(facts, dice, engine)
        if roll < 0.2:
            return sql_call(dice.choice(MISTAKES)(facts, dice, engine))
        if roll < 0.6:
            return sql_call(dice.choice(_READS)(facts, dice, engine))
        self._wrote = facts
        return sql_call(dice.choice(_WRITES)(facts, dice, engine))

    def _learn(self, turn: Turn) -> None:
        if turn.observation.is_error:
            return
        found = read_rows(turn.observation.text, self._state.output)
        columns, cells, _ = found or ([], [], True)
        rows = [dict(zip(columns, row, strict=True)) for row in cells]
        if turn.action.name == "list_tables":
            for row in rows:
                name = str(row.get("name"))
                if name not in self._facts:
                    self._facts[name] = Facts(name, [], spare=["tmp_a", "tmp_b"])
                    self._todo.append(Action(name="describe_table", arguments={"table": name}))
        elif turn.action.name == "describe_table":
            self._describe(str(turn.action.arguments.get("table", "")), rows)
        else:
            self._collect(rows)

    def _describe(self, table: str, rows: list[Row]) -> None:
        facts = self._facts.get(table)
        if facts is None or not rows:
            return
        keys = [row for row in rows if str(row.get("pk")).lower() in ("1", "true")]
        numeric = [str(row["name"]) for row in keys or rows if kind_of_type(row.get("type") or "") == "integer"]
        facts.key = (numeric or [str(rows[0]["name"])])[0]
        facts.size = 5
        facts.columns = [
            Column(str(row["name"]), kind_of_type(row.get("type") or "")) for row in rows if row["name"] != facts.key
        ]
        facts.columns = facts.columns or [Column(facts.key, "integer")]
        self._todo.append(sql_call(f"SELECT * FROM {table} LIMIT {self._dice.randint(4, 9)}"))

    def _collect(self, rows: list[Row]) -> None:
        """Remember values shown for columns that are known."""
        for facts in self._facts.values():
            names = {column.name for column in facts.columns}
            if rows and names and names <= rows[0].keys():
                facts.columns = [
                    Column(
                        column.name, column.kind, tuple(cell for row in rows if (cell := row[column.name]) is not None)
                    )
                    for column in facts.columns
                ]
