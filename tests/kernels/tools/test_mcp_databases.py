"""The kernels of the sqlite and duckdb servers."""

import time

import pytest
from mcp_worlds import ask, kernel_of, tell

from worldline.errors import KernelError

SETUP = "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL);"
ENDLESS = "SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)"


def sqlite(**server):
    return kernel_of({"db": {"kind": "sqlite", "setup": SETUP, **server}})


def duckdb(**server):
    pytest.importorskip("duckdb")
    return kernel_of({"db": {"kind": "duckdb", "setup": SETUP, **server}})


def test_sqlite_reads_and_writes():
    kernel = sqlite()
    assert ask(kernel, "list_tables") == "[{'name': 't'}]"
    assert ask(kernel, "read_query", query="SELECT * FROM t") == "[{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]"
    assert ask(kernel, "write_query", query="UPDATE t SET b = 'y' WHERE a > 1") == "[{'affected_rows': 1}]"
    assert ask(kernel, "read_query", query="SELECT b FROM t WHERE a = 2") == "[{'b': 'y'}]"
    assert ask(kernel, "create_table", query="CREATE TABLE u(x)") == "Table created successfully"
    assert ask(kernel, "describe_table", table_name="u") == (
        "[{'cid': 0, 'name': 'x', 'type': '', 'notnull': 0, 'dflt_value': None, 'pk': 0}]"
    )
    assert ask(kernel, "append_insight", insight="i") == "Insight added to memo"


def test_sqlite_forgets_what_the_server_does_not_commit():
    kernel = sqlite()
    assert ask(kernel, "write_query", query="REPLACE INTO t VALUES (1, 'z')") == "[]"
    assert ask(kernel, "read_query", query="SELECT b FROM t WHERE a = 1") == "[{'b': 'x'}]"


@pytest.mark.parametrize(
    ("tool", "query", "answer"),
    [
        ("read_query", "DELETE FROM t", "Error: Only SELECT queries are allowed for read_query"),
        ("write_query", " select 1", "Error: SELECT queries are not allowed for write_query"),
        ("create_table", "DROP TABLE t", "Error: Only CREATE TABLE statements are allowed"),
        ("read_query", "SELECT * FROM nope", "Database error: no such table: nope"),
        ("read_query", "SELECT 1; SELECT 2", "Database error: You can only execute one statement at a time."),
        ("write_query", "DELETE FROM t; DROP TABLE t", "Database error: You can only execute one statement at a time."),
        ("write_query", "INSERT INTO t VALUES (1, '')", "Database error: UNIQUE constraint failed: t.a"),
        ("read_query", 5, "!Input validation error: 5 is not of type 'string'"),
    ],
)
def test_sqlite_refuses(tool, query, answer):
    assert ask(sqlite(), tool, query=query) == answer


def test_sqlite_missing_arguments():
    kernel = sqlite()
    assert ask(kernel, "read_query") == "!Input validation error: 'query' is a required property"
    assert ask(kernel, "nope") == "Error: Missing arguments"
    assert ask(kernel, "nope", a=1) == "Error: Unknown tool: nope"


@pytest.mark.parametrize(
    "query",
    [
        ENDLESS,
        "SELECT zeroblob(900000000)",
        "SELECT random()",
        "SELECT last_insert_rowid()",
        "SELECT * FROM pragma_page_count",
        "SELECT count(*) FROM pragma_function_list",
    ],
)
def test_sqlite_does_not_know_everything(query):
    kernel = sqlite()
    start = time.monotonic()
    assert ask(kernel, "read_query", query=query).startswith("?")
    assert time.monotonic() - start < 10
    assert ask(kernel, "read_query", query="SELECT a FROM t") == "[{'a': 1}, {'a': 2}]"


@pytest.mark.parametrize("query", ["ATTACH DATABASE '/tmp/worldline-x.db' AS x", "VACUUM INTO '/tmp/worldline-x.db'"])
def test_sqlite_makes_no_files(query, tmp_path):
    assert ask(sqlite(), "write_query", query=query.replace("/tmp", str(tmp_path))).startswith("?")
    assert not list(tmp_path.iterdir())


ENDED = r"`setup` of the \w+ server cannot be run: "


@pytest.mark.parametrize(
    "statement",
    ["ATTACH 'FOLDER/x.db' AS x; CREATE TABLE x.t (a)", "VACUUM INTO 'FOLDER/x.db'", "PRAGMA writable_schema = 1"],
)
def test_sqlite_setup_makes_no_files(statement, tmp_path):
    with pytest.raises(KernelError, match=ENDED):
        sqlite(setup=statement.replace("FOLDER", str(tmp_path)))
    assert not list(tmp_path.iterdir())


def test_sqlite_setup_ends(monkeypatch):
    monkeypatch.setattr("worldline.kernels.tools.servers.sqlite_engine.SETUP_SECONDS", 0.3)
    with pytest.raises(KernelError, match=f"{ENDED}it ran longer than 0.3 s"):
        sqlite(setup=ENDLESS)


def test_sqlite_empties_unused_pages():
    kernel = sqlite()
    assert ask(kernel, "write_query", query="VACUUM") == "[]"
    assert ask(kernel, "read_query", query="SELECT a FROM t") == "[{'a': 1}, {'a': 2}]"


def test_sqlite_open_world():
    kernel = sqlite(complete=False)
    assert ask(kernel, "list_tables") == "?[{'name': 't'}]"
    tell(kernel, "list_tables", "[{'name': 't'}, {'name': 'more'}]")
    assert ask(kernel, "list_tables") == "[{'name': 't'}, {'name': 'more'}]"
    assert ask(kernel, "read_query", query="SELECT * FROM more").startswith("?Database error")
    tell(kernel, "read_query", "[{'id': 1}]", query="SELECT * FROM more")
    assert ask(kernel, "read_query", query="SELECT * FROM more") == "[{'id': 1}]"
    tell(kernel, "write_query", "[{'affected_rows': 1}]", query="DELETE FROM t WHERE a = 1")
    assert ask(kernel, "read_query", query="SELECT * FROM more") == "[{'id': 1}]"
    tell(kernel, "write_query", "[{'affected_rows': 1}]", query="DELETE FROM more")
    assert ask(kernel, "read_query", query="SELECT * FROM more").startswith("?")
    assert ask(kernel, "read_query", query="SELECT a FROM t") == "[{'a': 2}]"


def test_sqlite_doubts_what_went_otherwise():
    kernel = sqlite()
    tell(kernel, "write_query", "[{'affected_rows': 7}]", query="UPDATE t SET b = 'q'")
    assert ask(kernel, "read_query", query="SELECT b FROM t").startswith("?")


def test_duckdb_reads_and_writes():
    kernel = duckdb()
    assert ask(kernel, "query", query="SELECT * FROM t ORDER BY a") == "[(1, 'x'), (2, None)]"
    assert ask(kernel, "query", query="INSERT INTO t VALUES (3, 'z'); SELECT max(a) FROM t") == "[(3,)]"
    assert ask(kernel, "query", query="BEGIN; DELETE FROM t") == "[(3,)]"
    assert ask(kernel, "query", query="CREATE TEMP TABLE tt(a INTEGER)") == "[]"
    assert ask(kernel, "query", query="SELECT count(*) FROM t") == "[(3,)]"
    assert ask(kernel, "query", query="SELECT * FROM tt").startswith("Database error: Catalog Error")
    assert ask(kernel, "query", query="") == "Error: 'NoneType' object has no attribute 'fetchall'"


def test_duckdb_proposals_change_nothing():
    kernel = duckdb()
    twin = kernel.fork()
    ask(kernel, "query", query="DELETE FROM t")
    assert ask(twin, "query", query="SELECT count(*) FROM t") == "[(2,)]"
    assert ask(kernel, "query", query="SELECT count(*) FROM t") == "[(0,)]"


def test_duckdb_read_only():
    kernel = duckdb(readonly=True)
    assert ask(kernel, "query", query="DELETE FROM t") == (
        'Database error: Invalid Input Error: Cannot execute statement of type "DELETE" on database "data" which is '
        "attached in read-only mode!"
    )
    assert ask(kernel, "query", query="SELECT count(*) FROM t") == "[(2,)]"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY t TO 'worldline-t.csv'",
        "SELECT random()",
        "SELECT count(*) FROM range(1000000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5",
        "SELECT repeat('x', 1000) FROM range(100000000)",
    ],
)
def test_duckdb_does_not_know_everything(query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kernel = duckdb()
    start = time.monotonic()
    assert ask(kernel, "query", query=query).startswith("?")
    assert time.monotonic() - start < 20
    assert ask(kernel, "query", query="SELECT count(*) FROM t") == "[(2,)]"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "statement",
    ["ATTACH 'FOLDER/x.db' AS x", "COPY (SELECT 1) TO 'FOLDER/x.csv'", "SET memory_limit = '9GB'", "LOAD httpfs"],
)
def test_duckdb_setup_makes_no_files_and_lifts_no_limit(statement, tmp_path):
    kernel = duckdb(setup=statement.replace("FOLDER", str(tmp_path)))
    with pytest.raises(KernelError, match=ENDED):
        ask(kernel, "query", query="SELECT 1")
    assert not list(tmp_path.iterdir())


def test_duckdb_setup_ends(monkeypatch):
    monkeypatch.setattr("worldline.kernels.tools.servers.duckdb_engine.SETUP_SECONDS", 0.3)
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = 5"
    kernel = duckdb(setup=f"CREATE TABLE t (a INTEGER); {endless}")
    begin = time.monotonic()
    with pytest.raises(KernelError, match=f"{ENDED}it ran longer than 0.3 s"):
        ask(kernel, "query", query="SELECT 1")
    assert time.monotonic() - begin < 10
