"""Tables that an open world does not declare: which there are, and their rows, depends on the surroundings."""

from __future__ import annotations

import random
from typing import Any

from worldline.domains.database.state import DatabaseState
from worldline.record.sandbox import Surroundings
from worldline.types import WorldSpec, content_id

__all__ = ["UNDECLARED", "undeclared_tables"]

UNDECLARED: dict[str, tuple[str, ...]] = {
    "audit_log": ("id INTEGER PRIMARY KEY", "actor VARCHAR(20)", "verb VARCHAR(20)", "amount INTEGER"),
    "settings": ("name VARCHAR(20) PRIMARY KEY", "value VARCHAR(20)"),
    "backlog": ("ticket INTEGER PRIMARY KEY", "state VARCHAR(20)", "weight INTEGER"),
    "readings": ("sensor VARCHAR(20)", "hour INTEGER", "level INTEGER"),
}
"""Tables that may be there, with their columns."""

_WORDS = (
    "amber",
    "basalt",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "garnet",
    "harbor",
    "indigo",
    "juniper",
    "kelp",
    "onyx",
)


def undeclared_tables(
    world: WorldSpec, state: DatabaseState, surroundings: Surroundings
) -> list[tuple[str, str, list[tuple[Any, ...]]]]:
    """Draw the tables that a world leaves open: name, definition and rows; none where the world is complete."""
    if state.complete:
        return []
    elsewhere = [surroundings.days_later, surroundings.other_machine, surroundings.order_seed]
    dice = random.Random(content_id([world.model_dump(mode="json"), elsewhere]))
    chosen = sorted(dice.sample(sorted(UNDECLARED), dice.choice((2, 3))))
    found = []
    for name in chosen:
        first, *others = UNDECLARED[name]
        columns = (first, *dice.sample(others, dice.randint(1, len(others))))
        rows = [_row(columns, number, dice) for number in range(1, dice.randrange(4, 15))]
        found.append((name, f"CREATE TABLE {name} ({', '.join(columns)})", rows))
    return [table for table in found if table[0] not in state.tables]


def _row(columns: tuple[str, ...], number: int, dice: random.Random) -> tuple[Any, ...]:
    cells: list[Any] = []
    for column in columns:
        if "PRIMARY" in column and "INTEGER" in column:
            cells.append(number)
        elif "INTEGER" in column:
            cells.append(dice.randrange(1000))
        else:
            cells.append(f"{dice.choice(_WORDS)}{number}" if "PRIMARY" in column else dice.choice(_WORDS))
    return tuple(cells)
