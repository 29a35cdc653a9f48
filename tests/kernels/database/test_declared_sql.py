"""Declared SQL: it is held as a call's SQL is, it ends, and its settings stay."""

import time

import pytest

from worldline.errors import KernelError
from worldline.kernels import build_kernel
from worldline.kernels.sql.alarm import Alarm
from worldline.kernels.sql.learning import ROWS, SCHEMA
from worldline.kernels.sql.machine import Machine, engine_version
from worldline.types import Action, WorldSpec

ENDLESS = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT n FROM s",
    "duckdb": "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = 5",
}
PARTS = {"sql": "CREATE TABLE parts (id INTEGER PRIMARY KEY, part_of INTEGER REFERENCES parts, name TEXT)"}
MANY = {**PARTS, "rows": [[number, None, "nut"] for number in range(600)]}


def kernel(engine="sqlite", **state):
    state = {"engine": engine, "version": engine_version(engine), **state}
    return build_kernel(WorldSpec(domain="database", initial_state=state))


def answer(mine, sql, keep=True):
    proposal = mine.propose(Action(name="execute_sql", arguments={"sql": sql}))
    if keep:
        mine.accept()
    else:
        mine.reject()
    return proposal.observation.text if proposal.known else f"?{proposal.observation.text}"


@pytest.mark.parametrize(
    ("engine", "statement"),
    [
        ("sqlite", "ATTACH 'FOLDER/x.db' AS h; CREATE TABLE h.t (a)"),
        ("sqlite", "ATTACH 'FOLDER/x.db' AS h"),
        ("sqlite", "VACUUM INTO 'FOLDER/x.db'"),
        ("sqlite", "SELECT load_extension('FOLDER/x')"),
        ("sqlite", "PRAGMA temp_store_directory = 'FOLDER'"),
        ("sqlite", "PRAGMA writable_schema = 1"),
        ("sqlite", "SELECT zeroblob(1000000000)"),
        ("duckdb", "ATTACH 'FOLDER/x.db' AS h; CREATE TABLE h.t (a INTEGER)"),
        ("duckdb", "COPY (SELECT 1) TO 'FOLDER/x.csv'"),
        ("duckdb", "EXPORT DATABASE 'FOLDER/x'"),
        ("duckdb", "CREATE TABLE t AS SELECT * FROM read_text('/etc/hostname')"),
        ("duckdb", "INSTALL httpfs"),
        ("duckdb", "LOAD httpfs"),
        ("duckdb", "SET memory_limit = '100GB'"),
        ("duckdb", "SET temp_directory = 'FOLDER'"),
        ("duckdb", "SET enable_external_access = true"),
    ],
)
def test_declared_statements_reach_no_file_and_no_limit(engine, statement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    statement = statement.replace("FOLDER", str(tmp_path))
    for field, state in (("script", {"script": statement}), ("tables.t", {"tables": {"t": statement}})):
        with pytest.raises(KernelError, match=rf"`initial_state\.{field}`"):
            kernel(engine, **state)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_declared_statements_that_never_end_are_stopped(engine, monkeypatch):
    monkeypatch.setattr("worldline.domains.database.tool.SETUP_SECONDS", 0.4)
    begin = time.monotonic()
    with pytest.raises(KernelError, match=r"`initial_state\.script` cannot be run: it ran longer than"):
        kernel(engine, script=f"SELECT 1; {ENDLESS[engine]}")
    assert time.monotonic() - begin < 8
    assert answer(kernel(engine, script="SELECT 1"), "SELECT 2 AS two") == "two\n---\n2\n(1 row)"


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_many_short_statements_end_as_well(engine):
    mine = kernel(engine, timeout=0.2)
    begin = time.monotonic()
    text = answer(mine, "SELECT 1 AS one;" * 30_000)
    assert text.startswith("?") and text.endswith("ran longer than 0.2 s and was stopped")
    assert time.monotonic() - begin < 20
    assert answer(mine, "SELECT 1 AS one") == "one\n---\n1\n(1 row)"


def test_an_alarm_rings_until_it_is_cancelled():
    rung = []
    alarm = Alarm(0.01, lambda: rung.append(1))
    alarm.start()
    until = time.monotonic() + 10
    while len(rung) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    alarm.cancel()
    before = len(rung)
    time.sleep(0.15)
    assert before >= 3 and len(rung) == before


SET_UP = {
    "foreign_keys = ON": ("INSERT INTO parts VALUES (9000, 8000, 'x')", "Error: FOREIGN KEY constraint failed"),
    "case_sensitive_like = ON": ("SELECT 'a' LIKE 'A' AS same", "same\n----\n0\n(1 row)"),
    "ignore_check_constraints = ON": ("INSERT INTO positive VALUES (-1)", "OK, 1 row affected"),
    "reverse_unordered_selects = ON": ("SELECT id FROM parts LIMIT 1", "id\n---\n599\n(1 row)"),
    "recursive_triggers = ON": (
        "INSERT OR REPLACE INTO parts VALUES (1, NULL, 'x'); SELECT * FROM gone",
        "OK, 1 row affected\n\nid\n--\n1\n(1 row)",
    ),
    "user_version = 7": ("PRAGMA user_version", "user_version\n------------\n7\n(1 row)"),
}
MORE = (
    "CREATE TABLE positive (a CHECK (a > 0)); CREATE TABLE gone (id INTEGER);"
    "CREATE TRIGGER keep AFTER DELETE ON parts BEGIN INSERT INTO gone VALUES (old.id); END;"
)


@pytest.mark.parametrize("setting", SET_UP)
@pytest.mark.parametrize("by", ["script", "call"])
def test_settings_are_there_after_a_rejected_write_and_in_forks(setting, by):
    statement, expected = SET_UP[setting]
    mine = kernel(tables={"parts": MANY}, script=MORE + (f"PRAGMA {setting}" if by == "script" else ""))
    if by == "call":
        answer(mine, f"PRAGMA {setting}")
        for number in range(50):
            answer(mine, f"UPDATE parts SET name = 'n{number}' WHERE id = 5")
        answer(mine.fork(), "SELECT 1")  # takes the copy
    assert answer(mine, statement, keep=False) == expected
    assert answer(mine, statement, keep=False) == expected
    assert len(mine._start.copies) >= 1
    assert answer(mine.fork(), statement) == expected


def test_a_copy_has_the_version_of_the_schema():
    mine = kernel(tables={"parts": MANY}, script=MORE)
    before = answer(mine, "PRAGMA schema_version")
    assert answer(mine.fork(), "PRAGMA schema_version") == before and len(mine._start.copies) == 1


@pytest.mark.parametrize(
    ("script", "statement"),
    [
        ("CREATE TEMP TABLE note AS SELECT 5 AS n", "SELECT n FROM note"),
        ("BEGIN; DELETE FROM parts", "ROLLBACK; SELECT count(*) AS n FROM parts"),
        ("CREATE TEMP VIEW note AS SELECT 1 AS n", "SELECT n FROM note"),
    ],
)
def test_what_a_copy_does_not_hold_is_set_up_again(script, statement):
    mine = kernel(tables={"parts": MANY}, script=script)
    first = answer(mine, statement, keep=False)
    assert not first.startswith(("?", "Error"))
    assert answer(mine, statement, keep=False) == first
    assert answer(mine.fork(), statement) == first


def test_a_read_only_open_world_learns_tables():
    for engine in ("sqlite", "duckdb"):
        mine = kernel(engine, read_only=True, complete=False)
        running = mine._ready()
        assert isinstance(running, Machine)
        assert running.run(SCHEMA, {"sql": "CREATE TABLE note (n INTEGER)"})[0] == ""
        assert running.run(ROWS, {"table": "note", "columns": ["n"], "rows": [["5"]]})[0] == ""
        assert running.run("execute_sql", {"sql": "SELECT n FROM note"})[0] == "n\n-\n5\n(1 row)"
        assert running.run("execute_sql", {"sql": "DELETE FROM note"})[0] == "Error: the database is read-only"
