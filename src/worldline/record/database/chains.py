"""Sessions of stories that write and then read (see :mod:`worldline.record.database.stories`)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from worldline.record.database import stories, structures
from worldline.record.database.facts import Facts
from worldline.record.database.faults import MISTAKES, wrong_call
from worldline.record.database.reads import SIMPLE
from worldline.record.database.stories import Story
from worldline.types import Action

__all__ = ["CHAINS", "chained"]

_BOTH: dict[str, tuple[Story, ...]] = {
    "rollback": stories.ROLLBACK,
    "upsert": stories.UPSERT,
    "refused": stories.REFUSED,
    "view": structures.VIEW,
    "schema": structures.SCHEMA,
    "archive": structures.ARCHIVE,
    "child": structures.CHILD,
}
CHAINS: dict[str, dict[str, tuple[Story, ...]]] = {
    "sqlite": {**_BOTH, "savepoint": stories.SAVEPOINT, "trigger": structures.TRIGGER},
    "duckdb": {**_BOTH, "aborted": stories.ABORTED, "generated": structures.GENERATED},
}
"""Stories by engine and kind of task."""

_LEAST = 10
"""Calls of a session; a story that is begun is told to its end."""


def chained(kind: str, engine: str, facts: Facts, dice: random.Random) -> Iterator[str | Action]:
    """Tell stories of a kind in some order, with other calls between now and then; a text is SQL."""
    told = list(CHAINS[engine][kind])
    dice.shuffle(told)
    number = 0
    while told and number < _LEAST:
        for step in told.pop()(facts, dice, engine):
            roll = dice.random()
            if roll < 0.03:
                yield wrong_call(facts, dice, engine)
            elif roll < 0.08:
                yield dice.choice(MISTAKES)(facts, dice, engine)
            elif roll < 0.12:
                yield dice.choice(SIMPLE)(facts, dice, engine)
            yield step
            number += 1
