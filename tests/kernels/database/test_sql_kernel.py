"""The SQL kernel: what both engines answer, transactions, copies, limits, and what it does not know."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.errors import KernelError
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.kernels.base import Kernel
from worldline.kernels.sql.machine import engine_version
from worldline.recordings import path
from worldline.types import Action, Observation, Turn, WorldSpec

SHOP = {"sql": "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL, stock INTEGER)", "rows": [[1, "nut", 5]]}
ENGINES = pytest.mark.parametrize("engine", ["sqlite", "duckdb"])


def sql(text):
    return Action(name="execute_sql", arguments={"sql": text})


def kernel(engine="sqlite", **state):
    state = {"engine": engine, "version": engine_version(engine), "tables": {"shop": SHOP}, **state}
    return build_kernel(WorldSpec(domain="database", initial_state=state))


def settle(mine, action):
    """Take an action for good: its own answer comes true."""
    proposal = mine.propose(action if isinstance(action, Action) else sql(action))
    mine.accept()
    return proposal


def text_of(mine, query):
    proposal = mine.propose(sql(query))
    mine.reject()
    return proposal.observation.text


def rows_of(mine):
    return text_of(mine, "SELECT * FROM shop ORDER BY id")


@ENGINES
def test_a_read_shows_what_was_written(engine):
    mine = kernel(engine)
    assert isinstance(mine, Kernel)
    written = settle(mine, "INSERT INTO shop VALUES (2, 'bolt', 7)")
    assert written.known and written.observation.text == "OK, 1 row affected"
    assert rows_of(mine) == "id | name | stock\n---+------+------\n1  | nut  | 5\n2  | bolt | 7\n(2 rows)"


@ENGINES
def test_a_rejected_write_leaves_no_trace(engine):
    mine = kernel(engine)
    before = rows_of(mine)
    mine.propose(sql("DELETE FROM shop; CREATE TABLE other (a INTEGER)"))
    mine.reject()
    assert rows_of(mine) == before
    assert mine.propose(sql("SELECT * FROM other")).observation.is_error


@ENGINES
def test_a_proposal_that_still_stands_is_rejected_by_the_next(engine):
    mine = kernel(engine)
    mine.propose(sql("DELETE FROM shop"))
    assert "nut" in mine.propose(sql("SELECT * FROM shop")).observation.text


STATEMENTS = st.lists(
    st.one_of(
        st.builds(
            "INSERT INTO shop VALUES ({}, 'x{}', {})".format, st.integers(1, 6), st.integers(0, 9), st.integers(0, 9)
        ),
        st.builds("UPDATE shop SET stock = stock + {} WHERE id >= {}".format, st.integers(1, 5), st.integers(0, 6)),
        st.builds("DELETE FROM shop WHERE id = {}".format, st.integers(1, 6)),
    ),
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(STATEMENTS, STATEMENTS)
def test_what_is_rolled_back_was_never_there(kept, undone):
    mine = kernel()
    for statement in kept:
        settle(mine, statement)
    before = rows_of(mine)
    for statement in ["BEGIN", *undone, "ROLLBACK"]:
        settle(mine, statement)
    assert rows_of(mine) == before


@settings(max_examples=25, deadline=None)
@given(STATEMENTS, STATEMENTS)
def test_a_fork_and_its_origin_do_not_meet(common, apart):
    mine = kernel()
    for statement in common:
        settle(mine, statement)
    twin, before = mine.fork(), rows_of(mine)
    for statement in apart:
        settle(twin, statement)
    assert rows_of(mine) == before
    other = kernel()
    for statement in [*common, *apart]:
        settle(other, statement)
    assert rows_of(twin) == rows_of(other)


@settings(max_examples=15, deadline=None)
@given(STATEMENTS)
def test_a_dumped_state_is_the_same_when_loaded(statements):
    mine, other = kernel(), kernel()
    for statement in ["BEGIN", *statements]:
        settle(mine, statement)
    other.load(mine.dump())
    assert rows_of(other) == rows_of(mine)
    settle(mine, "ROLLBACK"), settle(other, "ROLLBACK")
    assert rows_of(other) == rows_of(mine) and other.dump() == mine.dump()


def test_a_state_of_another_world_or_none_at_all_is_refused():
    mine = kernel()
    for data in (kernel(max_rows=3).dump(), b"", b"{}", b"[1"):
        with pytest.raises(KernelError):
            mine.load(data)


def test_many_changes_are_copied_and_not_replayed_by_every_fork():
    mine = kernel()
    for number in range(2, 130):
        settle(mine, f"INSERT INTO shop VALUES ({number}, 'n{number}', {number})")
    settle(mine.fork(), "SELECT 1")  # takes the copy
    begin = time.monotonic()
    forks = [mine.fork() for _ in range(50)]
    texts = {text_of(twin, "SELECT count(*) AS n FROM shop") for twin in forks}
    assert texts == {"n\n---\n129\n(1 row)"} and time.monotonic() - begin < 2
    counters = forks[0].propose(sql("SELECT total_changes()"))
    assert not counters.known and "counters" in counters.why


@ENGINES
def test_an_error_is_the_engines_own_and_changes_nothing(engine):
    mine = kernel(engine)
    for statement in ("INSERT INTO shop VALUES (1, 'again', 1)", "INSERT INTO shop VALUES (3, NULL, 1)", "SELEC 1"):
        proposal = settle(mine, statement)
        assert proposal.known and proposal.observation.is_error and proposal.observation.text.startswith("Error: ")
    assert text_of(mine, "SELECT count(*) AS n FROM shop") == "n\n-\n1\n(1 row)"


def test_statements_before_the_one_that_fails_stay_done():
    mine = kernel()
    proposal = settle(mine, "UPDATE shop SET stock = 9; SELECT missing; DELETE FROM shop")
    assert proposal.observation.text == "OK, 1 row affected\n\nError: no such column: missing"
    assert "9" in rows_of(mine)


def test_calls_that_the_tool_does_not_take():
    mine = kernel()
    for action in (
        Action(name="drop_all"),
        Action(name="execute_sql"),
        Action(name="execute_sql", arguments={"sql": 3}),
    ):
        proposal = mine.propose(action)
        assert proposal.known and proposal.observation.is_error


@ENGINES
def test_a_statement_that_never_ends_is_stopped_and_its_answer_is_a_guess(engine):
    endless = {
        "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT count(*) FROM s",
        "duckdb": "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = 5",
    }
    mine = kernel(engine, timeout=0.4)
    begin = time.monotonic()
    proposal = settle(mine, endless[engine])
    assert not proposal.known and "0.4 s" in proposal.observation.text and time.monotonic() - begin < 5
    assert settle(mine, "SELECT 1 AS one").known


@pytest.mark.parametrize(
    ("engine", "statement"),
    [
        ("sqlite", "ATTACH 'x.db' AS x"),
        ("sqlite", "ATTACH ':memory:' AS x"),
        ("sqlite", "VACUUM INTO 'copy.db'"),
        ("sqlite", "SELECT load_extension('x')"),
        ("sqlite", "PRAGMA temp_store_directory = '/tmp'"),
        ("sqlite", "PRAGMA writable_schema = 1"),
        ("sqlite", "SELECT length(zeroblob(1000000000))"),
        ("duckdb", "ATTACH 'x.db' AS x"),
        ("duckdb", "COPY shop TO 'out.csv'"),
        ("duckdb", "SELECT * FROM read_csv('/etc/passwd')"),
        ("duckdb", "SELECT * FROM '/etc/passwd'"),
        ("duckdb", "INSTALL httpfs"),
        ("duckdb", "EXPORT DATABASE 'folder'"),
        ("duckdb", "SET enable_external_access = true"),
        ("duckdb", "SET memory_limit = '100GB'"),
    ],
)
def test_nothing_reaches_out_of_the_database(engine, statement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    proposal = kernel(engine).propose(sql(statement))
    assert proposal.observation.is_error and list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in proposal.observation.text


def test_a_read_only_world_refuses_writes():
    for engine in ("sqlite", "duckdb"):
        mine = kernel(engine, read_only=True)
        assert settle(mine, "DELETE FROM shop").observation.text == "Error: the database is read-only"
        if engine == "sqlite":
            assert settle(mine, "VACUUM").observation.text == "Error: the database is read-only"
        assert "nut" in rows_of(mine)


def test_time_is_the_declared_one_and_otherwise_unknown():
    mine = kernel(clock="2025-05-06T07:08:09Z")
    stamp = mine.propose(sql("SELECT datetime('now', '+1 day') AS a, date('2020-01-01') AS b, CURRENT_TIMESTAMP AS c"))
    assert stamp.known and "2025-05-07 07:08:09 | 2020-01-01 | 2025-05-06 07:08:09" in stamp.observation.text
    settle(mine, "CREATE TABLE log (at TEXT DEFAULT CURRENT_TIMESTAMP, v INTEGER)")
    settle(mine, "INSERT INTO log (v) VALUES (1)")
    assert "2025-05-06 07:08:09 | 1" in text_of(mine, "SELECT * FROM log")
    for engine in ("sqlite", "duckdb"):
        assert not kernel(engine).propose(sql("SELECT CURRENT_TIMESTAMP AS now")).known


def test_random_values_are_not_known_and_taint_what_they_are_written_to():
    mine = kernel()
    assert not settle(mine, "UPDATE shop SET stock = abs(random()) % 100").known
    assert not mine.propose(sql("SELECT stock FROM shop")).known
    assert mine.propose(sql("SELECT 1")).known


def test_tables_of_an_open_world_are_learned_from_answers():
    mine = kernel(complete=False)

    def seen(action, text):
        proposal = mine.propose(action)
        mine.absorb(Turn(action=action, observation=Observation.from_text(text, is_error=False)))
        return proposal

    assert not seen(sql("SELECT * FROM parts LIMIT 5"), "id | weight\n---+-------\n1  | 30\n(1 row)").known
    again = mine.propose(sql("SELECT * FROM parts LIMIT 5"))
    assert again.known and again.observation.text.endswith("1  | 30\n(1 row)")
    seen(Action(name="list_tables"), "name  | type\n------+------\nparts | table\nshop  | table\n(2 rows)")
    missing = mine.propose(sql("SELECT * FROM absent"))
    assert missing.known and missing.observation.text == "Error: no such table: absent"
    columns = "name   | type    | not_null | default | pk\n-------+---------+----------+---------+---\n"
    seen(
        Action(name="describe_table", arguments={"table": "parts"}),
        f"{columns}id     | INTEGER | 0        | NULL    | 1\nweight | INTEGER | 0        | NULL    | 0\n(2 rows)",
    )
    seen(sql("SELECT * FROM parts"), "id | weight\n---+-------\n1  | 30\n2  | 40\n(2 rows)")
    total = mine.propose(sql("SELECT sum(weight) AS s FROM parts"))
    assert total.known and total.observation.text == "s\n--\n70\n(1 row)"


def test_what_a_session_made_and_took_away_is_surely_gone():
    mine = kernel(complete=False)
    for statement in ("BEGIN", "CREATE TABLE bins (id INTEGER)", "ROLLBACK", "ALTER TABLE shop RENAME TO store"):
        assert settle(mine, statement).known
    other = kernel(complete=False)
    other.load(mine.dump())
    for mind in (mine, other):
        for name in ("bins", "SHOP"):
            gone = mind.propose(sql(f"SELECT * FROM {name}"))
            assert gone.known and gone.observation.text == f"Error: no such table: {name}"
        assert not mind.propose(sql("SELECT * FROM shelves")).known


@pytest.mark.parametrize(
    "made", ["CREATE TABLE IF NOT EXISTS bins (id INTEGER)", "CREATE TEMP TABLE bins (id INTEGER)"]
)
def test_what_may_have_been_there_before_is_not_surely_gone(made):
    mine = kernel(complete=False)
    for statement in ("BEGIN", made, "ROLLBACK"):
        settle(mine, statement)
    assert not mine.propose(sql("SELECT * FROM bins")).known


def test_a_missing_key_is_no_missing_table():
    mine = kernel("duckdb", complete=False)
    settle(mine, "CREATE TABLE parts (id INTEGER, owner INTEGER REFERENCES shop(id))")
    refused = mine.propose(sql("INSERT INTO parts VALUES (1, 77)"))
    assert refused.known and refused.observation.is_error and "77" in refused.observation.text
    assert not mine.propose(sql("SELECT * FROM shelves")).known


def test_a_write_that_went_otherwise_makes_its_table_unknown():
    mine = kernel()
    action = sql("INSERT INTO shop VALUES (2, 'bolt', 7)")
    mine.propose(action)
    mine.absorb(Turn(action=action, observation=Observation.from_text("OK, 3 rows affected", is_error=False)))
    assert not mine.propose(sql("SELECT * FROM shop")).known
    refused = sql("DELETE FROM shop")
    other = kernel()
    other.propose(refused)
    other.absorb(Turn(action=refused, observation=Observation.from_text("Error: locked", is_error=True)))
    assert other.propose(sql("SELECT name FROM shop")).observation.text == "name\n----\nnut\n(1 row)"


def test_what_depends_on_the_version_is_not_known_under_another():
    mine = kernel(version="3.0.0")
    assert mine.propose(sql("SELECT 1")).known
    assert not mine.propose(sql("EXPLAIN SELECT 1")).known and not mine.propose(sql("SELEC 1")).known
    undeclared = kernel(version=None)
    assert undeclared.propose(sql("SELEC 1")).known and not undeclared.propose(sql("EXPLAIN SELECT 1")).known


def test_the_state_can_be_described():
    mine = kernel()
    settle(mine, "INSERT INTO shop VALUES (2, 'bolt', 7)")
    told = mine.describe()
    assert told["tables"]["shop"]["rows"] == 2 and told["tables"]["shop"]["known"] is True
    first = mine.footprint(sql("SELECT 1"))
    settle(mine, "DELETE FROM shop")
    assert mine.footprint(sql("SELECT 1")) != first


def test_declared_tables_that_cannot_be_created_are_an_error():
    with pytest.raises(KernelError, match=r"initial_state\.tables\.t`"):
        kernel(tables={"t": {"sql": "CREATE TABLE t (a", "rows": []}})
    with pytest.raises(KernelError, match=r"initial_state\.tables\.t`"):
        kernel("duckdb", tables={"t": {"sql": "CREATE TABLE t (a INTEGER)", "rows": [["x"]]}})


def test_recorded_sessions_are_answered_to_the_byte_where_they_are_known():
    checked = 0
    for trajectory in list(read_trajectories(path("database", "train")))[::6]:
        mine = build_kernel(trajectory.world)
        for turn in trajectory.turns:
            proposal = mine.propose(turn.action)
            if proposal.known:
                assert proposal.observation.text == turn.observation.text
                assert proposal.observation.is_error == turn.observation.is_error
                checked += 1
            mine.absorb(turn)
        mine.close()
    assert checked > 250
