"""Sessions of databases that write and then read: their stories, told to the real engines' libraries."""

import random

import pytest

from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.record.database import plans, reads_back
from worldline.record.database.chains import CHAINS, chained
from worldline.record.database.facts import Column, Facts
from worldline.recordings import path
from worldline.types import Action, Turn, WorldSpec

KINDS = [(engine, kind) for engine, kinds in CHAINS.items() for kind in kinds]
ROWS = [[number, f"part {number % 4}", number * 3] for number in range(1, 13)]


def facts():
    columns = [
        Column("name", "text", tuple(row[1] for row in ROWS)),
        Column("stock", "integer", tuple(str(row[2]) for row in ROWS)),
    ]
    return Facts("parts", columns, size=len(ROWS), spare=["bins", "notes"])


def world(engine):
    table = {"sql": "CREATE TABLE parts (id INTEGER PRIMARY KEY CHECK (id > 0), name TEXT NOT NULL, stock INTEGER)"}
    return WorldSpec(domain="database", initial_state={"engine": engine, "tables": {"parts": {**table, "rows": ROWS}}})


def told(engine, steps):
    """What the engine says to each step; a text is SQL."""
    kernel, turns = build_kernel(world(engine)), []
    for step in steps:
        action = step if isinstance(step, Action) else Action(name="execute_sql", arguments={"sql": step})
        turns.append(Turn(action=action, observation=kernel.propose(action).observation))
        kernel.accept()
    kernel.close()
    return turns


@pytest.mark.parametrize(("engine", "kind"), KINDS)
def test_every_story_has_its_way_and_ends_outside_of_transactions(engine, kind):
    for story in CHAINS[engine][kind]:
        steps = list(story(facts(), random.Random(5), engine))
        turns = told(engine, [*steps, "SELECT 7 AS n", "BEGIN", "SELECT 8 AS n"])
        assert any(not turn.observation.is_error for turn in turns[:-3]), story
        assert [turn.observation.is_error for turn in turns[-3:]] == [False, False, False], story


@pytest.mark.parametrize(("engine", "kind"), KINDS)
def test_a_session_is_told_alike_by_the_same_dice_and_is_long_enough(engine, kind):
    once, again = (list(chained(kind, engine, facts(), random.Random(3))) for _ in range(2))
    assert once == again and 10 <= len(once) <= 30
    assert once != list(chained(kind, engine, facts(), random.Random(4)))


def test_an_undone_write_is_seen_before_and_not_after():
    for engine in CHAINS:
        undone = CHAINS[engine]["rollback"][0]
        turns = told(engine, undone(facts(), random.Random(1), engine))
        inside, after = turns[3].observation.text, turns[5].observation.text
        assert inside != after and turns[3].action.arguments != {} and not turns[5].observation.is_error


def test_chains_are_planned_for_the_train_split_alone():
    mine = [plan for plan in plans(1) if plan.split is not None]
    assert {plan.split for plan in mine} == {"train"} and len(mine) >= 100
    assert {plan.family.split("/")[0] for plan in mine} == {f"{engine}-{kind}" for engine, kind in KINDS}
    others = {plan.family.split("/")[0] for plan in plans(1) if plan.split is None}
    assert not others & {f"{engine}-{kind}" for engine, kind in KINDS}


def test_half_of_the_recorded_sessions_read_what_they_wrote():
    found = {split: list(read_trajectories(path("database", split))) for split in ("train", "dev", "test")}
    everything = [reads_back(item) for items in found.values() for item in items]
    assert sum(everything) >= 0.55 * len(everything)
    chains = {f"{engine}-{kind}" for engine, kind in KINDS}
    mine = [item for item in found["train"] if item.family.split("/")[0] in chains]
    assert len(mine) >= 100 and sum(map(reads_back, mine)) == len(mine)
