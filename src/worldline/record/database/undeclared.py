"""Tables that an open world does not declare: which there are, and their rows, depends on the surroundings."""

from __future__ import annotations

import random
from typing import Any

from worldline.domains.database.state import DatabaseState
from worldline.record.chance_words import CHANCE_WORDS
from worldline.record.sandbox import Surroundings
from worldline.types import WorldSpec, content_id

__all__ = ["undeclared_tables"]

_NOUNS = ("audit", "backlog", "readings", "settings", "visits", "tariffs", "repairs", "sensors", "quotas", "parcels")
_ENDINGS = ("", "_log", "_2024", "_old", "_raw", "_eu")
_COLUMNS = (
    "actor VARCHAR(20)",
    "verb VARCHAR(20)",
    "amount INTEGER",
    "state VARCHAR(20)",
    "weight INTEGER",
    "place VARCHAR(20)",
    "level INTEGER",
    "score DOUBLE",
)


def undeclared_tables(
    world: WorldSpec, state: DatabaseState, surroundings: Surroundings
) -> list[tuple[str, str, list[tuple[Any, ...]]]]:
    """Draw the tables that a world leaves open: name, definition and rows; none where the world is complete."""
    if state.complete:
        return []
    elsewhere = [surroundings.days_later, surroundings.other_machine, surroundings.order_seed]
    dice = random.Random(content_id([world.model_dump(mode="json"), elsewhere]))
    found = []
    for noun in sorted(dice.sample(_NOUNS, dice.choice((2, 3)))):
        name = noun + dice.choice(_ENDINGS)
        columns = ("id INTEGER PRIMARY KEY", *dice.sample(_COLUMNS, dice.randint(2, 4)))
        rows = [_row(columns, number, dice) for number in range(1, dice.randrange(4, 15))]
        found.append((name, f"CREATE TABLE {name} ({', '.join(columns)})", rows))
    return [table for table in found if table[0] not in state.tables]


def _row(columns: tuple[str, ...], number: int, dice: random.Random) -> tuple[Any, ...]:
    cells: list[Any] = [number]
    for column in columns[1:]:
        if "INTEGER" in column:
            cells.append(dice.randrange(1000))
        else:
            cells.append(round(dice.uniform(0, 9), 2) if "DOUBLE" in column else dice.choice(CHANCE_WORDS))
    return tuple(cells)
