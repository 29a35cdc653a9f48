"""The brief prompt of tool worlds: short, examples as turns, the state that the call is about, the guess."""

import json
from pathlib import Path

import pytest

from worldline.domains import get_domain
from worldline.types import Action, Observation, Turn, WorldSpec

DOMAINS = ("code", "database", "mcp", "search", "swe")


def turn(number, text="done"):
    return Turn(action=Action(name="put", arguments={"n": number}), observation=Observation(text=text))


@pytest.mark.parametrize("name", DOMAINS)
def test_examples_stand_as_turns_and_the_call_comes_last(name):
    domain = get_domain(name, Path("brief"))
    action = Action(name="put", arguments={"n": 3})
    notes = {"state": '{"items": [1, 2]}', "guess": "stored 3"}
    chat = domain.messages(WorldSpec(domain=name), [turn(1), turn(2, "x" * 5000)], action, notes=notes)
    assert [m["role"] for m in chat] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert chat[1]["content"] == 'put {"n":1}' and "done\n</predicted_observation>" in chat[2]["content"]
    assert 400 < len(chat[4]["content"]) < 500
    last = chat[-1]["content"]
    assert '```\n{"items": [1, 2]}\n```' in last and "```\nstored 3\n```" in last
    assert last.endswith('\n\nput {"n":3}')
    assert sum(len(m["content"]) for m in chat) < 1500


@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_not_known_is_not_told(name):
    chat = get_domain(name, Path("brief")).messages(WorldSpec(domain=name), [], Action(name="nothing"))
    assert "```" not in chat[-1]["content"] and "Known state" not in chat[-1]["content"]
    assert get_domain(name).messages(WorldSpec(domain=name), [], Action(name="nothing"))[0] != chat[0]


def test_where_nothing_tells_the_present_state_the_declared_one_is_told():
    world = WorldSpec(domain="database", initial_state={"engine": "sqlite", "script": "CREATE TABLE t (a)"})
    domain, action = get_domain("database", Path("brief")), Action(name="list_tables")
    alone = domain.messages(world, [], action)[-1]["content"]
    assert "State at the start:" in alone and "CREATE TABLE t (a)" in alone
    told = domain.messages(world, [], action, notes={"state": '{"tables": {}}'})[-1]["content"]
    assert "Known state:" in told and "CREATE TABLE" not in told


def test_the_tool_that_is_called_is_described():
    chat = get_domain("database", Path("brief")).messages(WorldSpec(domain="database"), [], Action(name="list_tables"))
    assert "list_tables: List the names of all tables and views." in chat[-1]["content"]


def test_of_a_long_state_the_values_that_the_call_names_are_told():
    rows = {f"table_{n}": {"columns": ["id", "name"], "note": "x" * 300, "rows": n} for n in range(40)}
    action = Action(name="execute_sql", arguments={"sql": "SELECT count(*) FROM table_31"})
    notes = {"state": json.dumps({"tables": rows})}
    last = get_domain("database", Path("brief")).messages(WorldSpec(domain="database"), [], action, notes=notes)[-1]
    assert "tables.table_31.rows: 31" in last["content"] and len(last["content"]) < 1500
