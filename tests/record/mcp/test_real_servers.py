"""Real MCP servers in the box, alone and together."""

import json
import re
from typing import Any

import pytest

from worldline.domains.mcp.state import McpState
from worldline.domains.mcp.tools import listed_version, world_tools
from worldline.errors import SandboxError
from worldline.record.mcp import environment, plans
from worldline.record.mcp.settings import PACKAGES
from worldline.record.recording import record_session
from worldline.record.sandbox import Surroundings
from worldline.types import Action, WorldSpec

REPOSITORY = {"commits": [{"message": "Begin", "files": {"a.txt": "one\n"}}], "working": {"a.txt": "one\ntwo\n"}}


def world(**state: Any) -> WorldSpec:
    return WorldSpec(domain="mcp", initial_state=state)


def call(box: environment, tool: str, **arguments: Any) -> str:
    return box.step(Action(name=tool, arguments=arguments)).text


@pytest.mark.parametrize("kind", PACKAGES)
def test_the_listed_tools_are_those_of_the_server(kind, installed):
    settings = installed.need(kind)
    assert settings.version(kind) == listed_version(kind)
    spec = world(servers={"x": {"kind": kind, **({"local_timezone": "Asia/Tokyo"} if kind == "time" else {})}})
    with environment(spec, settings=settings) as box:
        assert box.tools() == world_tools(McpState.model_validate(spec.initial_state))


def test_servers_of_one_world_share_a_box(installed):
    settings = installed.need("git", "sqlite", "duckdb", "time", "fetch")
    spec = world(
        clock="2026-05-04T10:00:00Z",
        servers={
            "git": {"kind": "git", "repositories": {"/home/user/work": REPOSITORY}},
            "db": {"kind": "sqlite", "setup": "CREATE TABLE t (a); INSERT INTO t VALUES (1);"},
            "duck": {"kind": "duckdb", "setup": "CREATE TABLE t (a INT); INSERT INTO t VALUES (2);"},
            "clock": {"kind": "time"},
            "web": {"kind": "fetch", "port": 8100, "pages": {"/": "<html><body><p>Hello</p></body></html>"}},
        },
    )
    with environment(spec, settings=settings) as box:
        assert (
            json.loads(call(box, "clock__get_current_time", timezone="UTC"))["datetime"] == "2026-05-04T10:00:00+00:00"
        )
        assert call(box, "db__read_query", query="SELECT a FROM t") == "[{'a': 1}]"
        assert call(box, "duck__query", query="SELECT a FROM t") == "[(2,)]"
        assert call(box, "web__fetch", url="http://localhost:8100/") == "Contents of http://localhost:8100/:\nHello"
        assert "status code 404" in call(box, "web__fetch", url="http://localhost:8100/none")
        assert "Temporary failure in name resolution" in call(box, "web__fetch", url="http://example.com/")
        assert "+two" in call(box, "git__git_diff_unstaged", repo_path="/home/user/work")
        assert "/home/user/data.db" not in call(box, "git__git_status", repo_path="/home/user/work")


def test_a_repository_follows_from_its_declaration(installed):
    settings = installed.need("git")
    spec = world(servers={"git": {"kind": "git", "repositories": {"/home/user/work": REPOSITORY}}})
    logs = []
    for around in (Surroundings(), Surroundings(first_pid=700, order_seed=3, on_disk=True, days_later=90)):
        with environment(spec, around, settings) as box:
            logs.append(call(box, "git_log", repo_path="/home/user/work"))
    assert logs[0] == logs[1]
    assert re.search(r"Commit: [0-9a-f]{40}\nAuthor: User\nDate: 2025-12-01 09:00:00\+00:00\nMessage: Begin", logs[0])


def test_what_is_not_declared_differs_elsewhere(installed):
    settings = installed.need("sqlite", "time")
    servers = {"db": {"kind": "sqlite", "setup": "CREATE TABLE t (a);", "complete": False}, "clock": {"kind": "time"}}

    def answers(around: Surroundings) -> list[str]:
        with environment(world(servers=servers), around, settings) as box:
            return [
                call(box, "db__list_tables"),
                call(box, "clock__get_current_time", timezone="UTC"),
                call(box, "db__describe_table", table_name="t"),
            ]

    here, again = answers(Surroundings(first_pid=5)), answers(Surroundings(first_pid=600))
    elsewhere = answers(Surroundings(days_later=50, order_seed=9, on_disk=True))
    assert here == again
    assert here[:2] != elsewhere[:2]
    assert here[2] == elsewhere[2]
    assert here[0].count("name") > 1


def test_a_preparation_that_fails_says_so(installed):
    settings = installed.need("sqlite")
    broken = world(servers={"db": {"kind": "sqlite", "setup": "CREATE TABEL t (a);"}})
    with pytest.raises(SandboxError, match='near "TABEL": syntax error'):
        environment(broken, settings=settings).start()


def test_a_planned_session_is_recorded(installed):
    installed.need("time")
    plan = next(plan for plan in plans(1) if plan.family.startswith("time/") and "clock" in plan.world.initial_state)
    recorded = record_session(plan.model_copy(update={"turns": 6}))
    assert len(recorded.turns) == 6
    assert all(turn.determined for turn in recorded.turns)
    assert not any(turn.observation.volatile for turn in recorded.turns)
    assert recorded.origin["programs"] == {"mcp-server-time": listed_version("time")}


def test_file_times_are_virtual_for_node_too(installed):
    settings = installed.need("filesystem")
    spec = world(clock="2026-05-04T10:00:00Z", servers={"fs": {"kind": "filesystem", "roots": ["/home/user/files"]}})
    with environment(spec, settings=settings) as box:
        call(box, "write_file", path="/home/user/files/a.txt", content="x")
        information = call(box, "get_file_info", path="/home/user/files/a.txt")
    for name in ("created", "modified", "accessed"):
        assert f"{name}: Mon May 04 2026 10:00:00 GMT+0000" in information
