"""What is recorded of databases: kinds of task on samples of public data, on two engines.

Kinds of :data:`KINDS` stand in all splits; those of :data:`~worldline.record.database.chains.CHAINS`, stories that
write and then read, stand in train alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from worldline.record.database.chains import CHAINS, chained
from worldline.record.database.facts import SAMPLES, Column, Facts, kind_of_values, sample_rows
from worldline.record.database.faults import CONSTRAINTS, MISTAKES, endless, wrong_call
from worldline.record.database.reads import ANALYSIS, CATALOGUE, GROUPS, JOINS, SIMPLE, WINDOWS, Maker
from worldline.record.database.writes import CHANGES, DEFINITIONS, TRANSACTIONS, check
from worldline.record.plan import ToolPlan
from worldline.types import Action, JsonDict, WorldSpec, content_id

__all__ = ["KINDS", "VERSIONS", "plans", "sql_call"]

KINDS: dict[str, tuple[Maker, ...]] = {
    "query": SIMPLE + GROUPS,
    "join": JOINS + SIMPLE[:3],
    "window": WINDOWS + GROUPS[:2],
    "analysis": ANALYSIS,
    "change": (*CHANGES, check, check, check),
    "define": (*DEFINITIONS, check),
    "transaction": (*TRANSACTIONS, *CHANGES[:3], *CHANGES[5:9], check, check, check),
    "constraint": (*CONSTRAINTS * 5, *CHANGES[:6], check, check, check),
    "catalogue": CATALOGUE + DEFINITIONS[:8],
    "mistake": (*MISTAKES, *SIMPLE[:5], endless),
    "open": (),
}
"""Statements of each kind of task; those of `open` are the explorer's."""

VERSIONS = {"sqlite": "3.40.1", "duckdb": "2.0.1"}
"""Versions of the engines that the recorded worlds declare."""

_READING = ("query", "join", "window", "analysis")
_SPARE = ("notes", "tallies", "drafts", "bins", "marks", "shelf", "queue", "ledger", "stock_take", "batch_log")
_SAMPLES_PER_KIND = 6
_SAMPLES_PER_CHAIN = 3


def plans(seed: int) -> Iterable[ToolPlan]:
    """Yield the sessions to record: every kind on some data sets, on both engines."""
    yield from _drawn(seed)
    yield from _chains(seed)


def _drawn(seed: int) -> Iterator[ToolPlan]:
    for number, kind in enumerate(KINDS):
        for engine in VERSIONS:
            shift = 5 * number + (3 if engine == "duckdb" else 0)
            for offset in range(_SAMPLES_PER_KIND):
                sample = SAMPLES[(shift + 2 * offset + offset // 3) % len(SAMPLES)]
                for session in range(1 if (kind, engine) == ("open", "duckdb") else 2):
                    dice = random.Random(content_id([seed, kind, engine, sample, session]))
                    yield _plan(kind, engine, sample, dice)


def _chains(seed: int) -> Iterator[ToolPlan]:
    for engine, kinds in CHAINS.items():
        for number, kind in enumerate(kinds):
            for offset in range(_SAMPLES_PER_CHAIN):
                sample = SAMPLES[(number + 4 * offset + (2 if engine == "duckdb" else 0)) % len(SAMPLES)]
                for session in range(2):
                    dice = random.Random(content_id([seed, "chain", kind, engine, sample, session]))
                    yield _chain(kind, engine, sample, dice)


def _chain(kind: str, engine: str, sample: str, dice: random.Random) -> ToolPlan:
    facts, tables = _tables(engine, sample, dice)
    world = _world(kind, engine, sample, tables, facts, dice)
    if dice.random() < 0.2:
        world = world.model_copy(update={"initial_state": {**world.initial_state, "complete": False}})
    steps = chained(kind, engine, facts, dice)
    actions = tuple(sql_call(step) if isinstance(step, str) else step for step in steps)
    family = f"{engine}-{kind}/{sample}"
    return ToolPlan(family=family, world=world, turns=len(actions), actions=actions, split="train")


def _plan(kind: str, engine: str, sample: str, dice: random.Random) -> ToolPlan:
    facts, tables = _tables(engine, sample, dice)
    world = _world(kind, engine, sample, tables, facts, dice)
    turns = dice.randint(9, 14)
    actions = () if kind == "open" else tuple(_actions(kind, engine, facts, turns, dice))
    family = f"{engine}-{kind}/{sample}"
    return ToolPlan(family=family, world=world, seed=dice.randrange(1 << 30), turns=turns, actions=actions)


def _actions(kind: str, engine: str, facts: Facts, turns: int, dice: random.Random) -> Iterator[Action]:
    """Statements of a kind of task, with mistakes between them and a look at what was written."""
    written = False
    for number in range(turns):
        roll = dice.random()
        if number == 0 and roll < 0.4:
            yield dice.choice((Action(name="list_tables"), _described(facts)))
        elif roll < 0.04:
            yield wrong_call(facts, dice, engine)
        elif roll < 0.17 and kind not in ("mistake", "constraint"):
            yield sql_call(dice.choice(MISTAKES)(facts, dice, engine))
        elif roll < 0.2:
            yield dice.choice((Action(name="list_tables"), _described(facts)))
        elif kind in _READING and roll < 0.3:
            yield sql_call(dice.choice(CHANGES)(facts, dice, engine))
            written = True
        elif written and dice.random() < 0.5:
            yield sql_call(check(facts, dice, engine))
            written = False
        else:
            yield sql_call(dice.choice(KINDS[kind])(facts, dice, engine))
            written = written or kind == "change"


def sql_call(sql: str) -> Action:
    """The call that runs a text of SQL."""
    return Action(name="execute_sql", arguments={"sql": sql})


def _described(facts: Facts) -> Action:
    return Action(name="describe_table", arguments={"table": facts.table})


_TABLE_NAMES = ("{}", "{}_sample", "t_{}", "{}_data", "my_{}", "{}_2")


def _tables(engine: str, sample: str, dice: random.Random) -> tuple[Facts, dict[str, Any]]:
    """A table of some rows and columns of a sample, and mostly one that it refers to."""
    header, rows = sample_rows(sample)
    chosen = dice.sample(rows, min(len(rows), dice.randint(10, 45)))
    columns = [_column(name, [row[at] for row in chosen]) for at, name in enumerate(header)]
    name = dice.choice(_TABLE_NAMES).format(sample)
    facts = Facts(name, columns, size=len(chosen), spare=dice.sample(_SPARE, 2))
    links = [column for column in columns if column.kind == "text" and column.repeats]
    tables: dict[str, Any] = {}
    if links and dice.random() < 0.8:
        facts.link = dice.choice(links).name
        facts.other = _other(facts, dice)
        tables[facts.other.table] = _other_table(facts.other, engine)
    tables[name] = {"sql": _definition(facts, engine, dice), **_rows(header, columns, chosen, dice)}
    return facts, tables


def _column(name: str, values: list[str]) -> Column:
    filled = [value for value in values if value]
    return Column(name, kind_of_values(filled), tuple(filled))


def _other(facts: Facts, dice: random.Random) -> Facts:
    column = next(column for column in facts.columns if column.name == facts.link)
    names = tuple(dict.fromkeys(column.values))
    table = dice.choice(("{}_names", "{}s", "all_{}", "{}_codes")).format(facts.link)
    return Facts(table, [Column("name", "text", names)], key="code", size=len(names))


def _other_table(other: Facts, engine: str) -> JsonDict:
    text = "VARCHAR" if engine == "duckdb" else "TEXT"
    sql = f"CREATE TABLE {other.table} (code INTEGER PRIMARY KEY CHECK (code > 0), name {text} NOT NULL UNIQUE)"
    return {"sql": sql, "rows": [[number, name] for number, name in enumerate(other.columns[0].values, 1)]}


def _definition(facts: Facts, engine: str, dice: random.Random) -> str:
    types = {"integer": "INTEGER", "real": "DOUBLE" if engine == "duckdb" else "REAL", "text": "TEXT"}
    parts = [f"{facts.key} INTEGER PRIMARY KEY CHECK ({facts.key} > 0)"]
    for number, column in enumerate(facts.columns):
        told = f"{column.name} {types[column.kind]}"
        full = len(column.values) == facts.size
        told += " NOT NULL" if full and (number == 0 or dice.random() < 0.2) else ""
        if column.name == facts.link and facts.other is not None:
            told += f" REFERENCES {facts.other.table}(name)"
        parts.append(told)
    return f"CREATE TABLE {facts.table} ({', '.join(parts)})"


def _rows(
    header: tuple[str, ...], columns: list[Column], chosen: list[tuple[str, ...]], dice: random.Random
) -> JsonDict:
    """The rows in one of the two forms that a world file has."""
    cells = [[number, *map(_cell, columns, row)] for number, row in enumerate(chosen, 1)]
    plain = not any('"' in value or "," in value for row in chosen for value in row)
    if plain and dice.random() < 0.5:
        lines = [",".join(["id", *header]), *(",".join([str(number), *row]) for number, row in enumerate(chosen, 1))]
        return {"csv": "\n".join(lines) + "\n"}
    return {"rows": cells}


def _cell(column: Column, value: str) -> str | int | float | None:
    if not value:
        return None
    return value if column.kind == "text" else int(value) if column.kind == "integer" else float(value)


def _world(kind: str, engine: str, sample: str, tables: dict[str, Any], facts: Facts, dice: random.Random) -> WorldSpec:
    script = ""
    if engine == "sqlite" and facts.other is not None and dice.random() < 0.6:
        script = "PRAGMA foreign_keys = ON;"
    if dice.random() < 0.2:
        group = facts.group(dice).name
        script += f"CREATE INDEX {facts.table}_{group} ON {facts.table}({group});"
    state: JsonDict = {
        "engine": engine,
        "version": VERSIONS[engine],
        "tables": tables,
        "output": dice.choices(("table", "json", "csv", "markdown"), (4, 3, 1, 2))[0],
        "max_rows": dice.choice((10, 20, 50)),
        "timeout": 1.0 if kind == "mistake" else 5.0,
    }
    if script:
        state["script"] = script
    if kind == "open":
        state["complete"] = False
    elif kind == "mistake" and dice.random() < 0.15:
        state["read_only"] = True
    if dice.random() < 0.8:
        state["clock"] = f"2025-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}T{dice.randint(0, 23):02}:30:00Z"
    task = f"Answer questions about the {sample} data with the {engine} database, and keep it up to date."
    return WorldSpec(domain="database", name=f"{sample}-{kind}", task=task, initial_state=state)
