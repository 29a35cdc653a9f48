"""Worlds of SQL databases: what a world file declares, what an action is, how results read."""

import sqlite3
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from worldline.domains import get_domain
from worldline.domains.database.reading import read_rows
from worldline.domains.database.tool import Result, first_word, render, sqlite_statements
from worldline.errors import ActionError
from worldline.types import Action, WorldSpec

DATABASE = get_domain("database")
STATE = {"tables": {"t": "CREATE TABLE t (a INTEGER)"}, "clock": "2025-05-06T07:08:09"}


def test_a_bare_text_is_sql_and_a_call_stays_what_it_is():
    assert DATABASE.parse_action("SELECT 1") == Action(name="execute_sql", arguments={"sql": "SELECT 1"})
    assert DATABASE.parse_action({"sql": "SELECT 1"}).name == "execute_sql"
    called = DATABASE.parse_action({"name": "describe_table", "arguments": {"table": "t"}})
    assert called == Action(name="describe_table", arguments={"table": "t"})
    with pytest.raises(ActionError):
        DATABASE.parse_action({"table": "t"})


def test_a_table_given_as_text_is_its_definition():
    state = DATABASE.validate_state(STATE)
    assert state["tables"]["t"]["sql"] == "CREATE TABLE t (a INTEGER)"
    assert state["clock"] == "2025-05-06T07:08:09Z" and state["complete"] is True


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "oracle"},
        {"tables": {"t": {"sql": "CREATE TABLE t (a)", "rows": [[1], [1, 2]]}}},
        {"tables": {"t": {"sql": "CREATE TABLE t (a)", "rows": [[1]], "csv": "a\n1\n"}}},
        {"max_rows": 0},
        {"table": {}},
    ],
)
def test_what_is_wrong_in_a_world_file_is_refused(wrong):
    with pytest.raises(ValidationError):
        DATABASE.validate_state(wrong)


def test_the_prompt_names_the_tools_and_the_declared_tables():
    world = WorldSpec(domain="database", initial_state=STATE)
    chat = DATABASE.messages(world, (), DATABASE.parse_action("SELECT 1"))
    assert "execute_sql" in chat[0]["content"] and "CREATE TABLE t (a INTEGER)" in chat[0]["content"]
    answer = DATABASE.parse_answer("<predicted_observation>\nError: no such table: x\n</predicted_observation>", world)
    assert answer.text == "Error: no such table: x" and answer.is_error


def test_results_read_in_each_form():
    result = Result(["a", "b"], [(1, None), (2.5, "x|y")])
    assert render(result, "table") == "a   | b\n----+-----\n1   | NULL\n2.5 | x|y\n(2 rows)"
    assert render(result, "json") == '[{"a": 1, "b": null}, {"a": 2.5, "b": "x|y"}]'
    assert render(result, "csv") == "a,b\n1,\n2.5,x|y"
    assert render(result, "markdown") == "| a | b |\n|---|---|\n| 1 | NULL |\n| 2.5 | x\\|y |"
    assert render(Result(changed=1), "table") == "OK, 1 row affected" and render(Result(), "json") == "OK"


CELLS = st.one_of(
    st.none(), st.integers(-99, 99), st.text("abc xyz", min_size=1, max_size=6).filter(lambda t: t == t.strip())
)


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5),
    st.sampled_from(["table", "json", "csv", "markdown"]),
)
def test_rows_are_read_back_from_the_text(rows, output):
    found = read_rows(render(Result(["a", "b", "c"], rows), output), output)
    assert found == (["a", "b", "c"], [[None if cell is None else str(cell) for cell in row] for row in rows], True)


def test_statements_are_split_where_sqlite_says_they_end():
    trigger = "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; SELECT 1; END;"
    assert sqlite_statements(f"SELECT ';' -- a;b\n; {trigger} /* c;d */ SELECT 2;;") == [
        "SELECT ';' -- a;b\n;",
        trigger,
        "/* c;d */ SELECT 2;",
    ]
    assert sqlite_statements("-- nothing\n") == []


def said_by_sqlite(sql):
    """The same, by asking about every prefix."""
    found, start = [], 0
    for end in [index + 1 for index, letter in enumerate(sql) if letter == ";"]:
        if sqlite3.complete_statement(sql[start:end]):
            found.append(sql[start:end])
            start = end
    return [text.strip() for text in [*found, sql[start:]] if first_word(text) not in ("", ";")]


WORDS = "explain query create TEMP temporary Trigger begin end end2 é select"
PIECES = st.sampled_from([*WORDS.split(), *";;;;'\"`[]-+/*$(\n ", "--", "/*", "*/", "; end ;", "create trigger", "\v"])


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=24), st.sampled_from(["", " "]))
def test_any_text_is_split_as_sqlite_would(pieces, between):
    text = between.join(pieces)
    assert sqlite_statements(text) == said_by_sqlite(text)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT '{';' * 300_000}'",
        f"CREATE TRIGGER x BEGIN {'; end x' * 300_000}",
        f"{'/* ; */' * 300_000} SELECT 1",
        "--;\n" * 300_000,
        "[" * 300_000,
    ],
)
def test_long_texts_are_split_in_no_time(text):
    begin = time.process_time()
    assert len(sqlite_statements(text)) < 2
    assert time.process_time() - begin < 3
