"""Real SQLite and DuckDB in the sandbox, and what is planned for them."""

import itertools

import pytest

from worldline.kernels import build_kernel
from worldline.record.database import explorer, plans
from worldline.record.environment import build_environment
from worldline.record.plan import ToolPlan
from worldline.record.recording import record_session
from worldline.record.sandbox import Surroundings
from worldline.types import Action, Turn, WorldSpec

SHOP = {"sql": "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT)", "csv": "id,name\n1,nut\n2,\n"}
STATEMENTS = (
    "SELECT * FROM shop",
    "INSERT INTO shop VALUES (3, 'bolt'); SELECT count(*) AS n FROM shop",
    "INSERT INTO shop VALUES (3, 'again')",
    "BEGIN; DELETE FROM shop",
    "SELECT * FROM shop",
    "ROLLBACK",
    "SELECT name FROM shop ORDER BY id DESC",
    "SELECT * FROM missing",
    "ATTACH 'x.db' AS x",
    "",
)


def world(engine, **state):
    return WorldSpec(domain="database", initial_state={"engine": engine, "tables": {"shop": SHOP}, **state})


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_the_kernel_answers_as_the_real_engine_does(engine):
    mine = build_kernel(world(engine))
    with build_environment(world(engine)) as real:
        actions = [Action(name="list_tables"), Action(name="describe_table", arguments={"table": "shop"})]
        actions += [Action(name="execute_sql", arguments={"sql": text}) for text in STATEMENTS]
        for action in [*actions, Action(name="execute_sql", arguments={"query": 1})]:
            seen = real.step(action)
            told = mine.propose(action).observation
            assert (told.text, told.is_error) == (seen.text, seen.is_error), action
            mine.absorb(Turn(action=action, observation=seen))
        assert set(real.versions()) == {engine, "python3"}


def test_a_statement_that_never_ends_is_stopped_and_the_session_goes_on():
    endless = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT count(*) FROM s"
    with build_environment(world("sqlite", timeout=0.3)) as real:
        stopped = real.step(Action(name="execute_sql", arguments={"sql": endless}))
        assert stopped.is_error and "0.3 s" in stopped.text
        assert not real.step(Action(name="execute_sql", arguments={"sql": "SELECT 1"})).is_error


def test_what_an_open_world_does_not_declare_follows_the_surroundings():
    listed = []
    for around in (Surroundings(), Surroundings(first_pid=7), Surroundings(days_later=50, other_machine=True)):
        with build_environment(world("sqlite", complete=False), around) as real:
            listed.append(real.step(Action(name="list_tables")).text)
    assert listed[0] == listed[1] != listed[2] and "shop" in listed[2]


def test_a_recorded_session_says_what_it_determines():
    actions = tuple(
        Action(name="execute_sql", arguments={"sql": text})
        for text in ("SELECT name FROM shop", "SELECT random()", "SELECT date('now')", "SELECT * FROM none")
    )
    recorded = record_session(ToolPlan(family="x/y", world=world("sqlite"), actions=actions))
    assert [recorded.turns[number].determined for number in (0, 2, 3)] == [True, False, True]
    assert recorded.turns[1].observation.volatile and recorded.origin["programs"]["sqlite"]


def test_an_explorer_finds_its_way_by_what_it_is_shown():
    looker, turns = explorer(world("sqlite"), 3), []
    with build_environment(world("sqlite")) as real:
        for _ in range(12):
            action = looker.next(turns)
            turns.append(Turn(action=action, observation=real.step(action)))
    assert [turn.action.name for turn in turns[:2]] == ["list_tables", "describe_table"]
    assert any("nut" in turn.observation.text for turn in turns)
    assert sum("shop" in str(turn.action.arguments) for turn in turns) > 5


def test_plans_are_many_different_and_always_the_same():
    planned = list(plans(1))
    assert len(planned) >= 220 and sum(plan.turns for plan in planned) >= 2400
    assert len({plan.family for plan in planned}) >= 40 and len({plan.id for plan in planned}) == len(planned)
    assert [plan.id for plan in itertools.islice(plans(1), 5)] == [plan.id for plan in planned[:5]]
    told = {(plan.world.name, str(plan.world.initial_state), str(plan.actions)) for plan in planned}
    assert len(told) == len(planned)
