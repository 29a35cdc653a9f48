"""The parts of the MCP recorder that need no box."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.domains.mcp.state import McpState
from worldline.errors import ConfigError, SandboxError
from worldline.record.mcp.answers import observation
from worldline.record.mcp.broker import _Lines
from worldline.record.mcp.client import Reply, _messages
from worldline.record.mcp.launch import box_state, broker_config
from worldline.record.mcp.settings import ServerSettings
from worldline.record.mcp.undeclared import with_undeclared
from worldline.record.sandbox import Surroundings


@given(st.lists(st.binary(max_size=30), max_size=8), st.integers(1, 12), st.integers(1, 9))
def test_lines_do_not_depend_on_how_they_arrive(lines, limit, chunk):
    data = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines)
    whole, pieces = _Lines(limit), _Lines(limit)
    one = list(whole.feed(data))
    other = [line for start in range(0, len(data), chunk) for line in pieces.feed(data[start : start + chunk])]
    assert [(size, kept) for size, kept, _ in one] == [(size, kept) for size, kept, _ in other]
    assert [size for size, _, _ in one] == [len(line.replace(b"\n", b"")) for line in lines]
    assert all(len(kept) <= limit for _, kept, _ in one)


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_any_line_gives_messages_or_none(line):
    for message in _messages(line):
        assert isinstance(message, dict)
        json.dumps(message, ensure_ascii=False).encode("utf-8")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "a"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON, JSON, JSON)
def test_any_result_gives_an_observation(content, structured, failed):
    seen = observation(Reply(result={"content": content, "structuredContent": structured, "isError": failed}))
    assert seen.is_error is (failed is True or seen.data == {"failure": "invalid"})
    assert seen.data is None or seen.data


@pytest.mark.parametrize(
    ("text", "structured", "kept"),
    [
        ("hello", {"result": "hello"}, False),
        ('{\n "a": 1\n}', {"a": 1}, False),
        ("[1]", {"items": [1]}, False),
        ("done", {"success": True, "message": "done"}, True),
        ("1", {"n": 2}, True),
    ],
)
def test_structured_content_is_kept_where_it_says_more(text, structured, kept):
    result = {"content": [{"type": "text", "text": text}], "structuredContent": structured}
    assert (observation(Reply(result=result)).data is not None) is kept


def test_annotated_text_keeps_its_block():
    block = {"type": "text", "text": "x", "annotations": {"priority": 1}}
    assert observation(Reply(result={"content": [block]})).data == {"content": [block]}


def state(**servers):
    return McpState.model_validate({"servers": servers})


def test_only_open_servers_hold_more_than_is_declared():
    closed = {"kind": "memory", "entities": [{"name": "a", "entityType": "t"}]}
    declared = state(one=closed, two={**closed, "complete": False}, three={"kind": "filesystem", "complete": False})
    here = with_undeclared(declared, Surroundings(first_pid=3))
    assert here == with_undeclared(declared, Surroundings(first_pid=300))
    assert here != with_undeclared(declared, Surroundings(days_later=40, order_seed=1))
    assert here.servers["one"] == declared.servers["one"]
    assert here.servers["two"].entities[: len(declared.servers["two"].entities)] == declared.servers["two"].entities
    assert len(here.servers["two"].entities) > 1
    assert here.files
    assert all(path.startswith("/home/user/files/") for path in here.files)
    assert with_undeclared(state(one=closed), Surroundings(days_later=9)) == state(one=closed)


def test_what_is_mounted_can_be_reached(tmp_path):
    place = tmp_path / "a" / "b"
    files = box_state(state(), (place,)).files
    assert files[str(tmp_path)].mode == "755"
    assert str(place) not in files
    assert "/tmp" not in files


def test_two_servers_cannot_serve_the_same_port(tmp_path):
    (tmp_path / "python/lib/python3.11/site-packages/mcp_server_fetch-1.dist-info").mkdir(parents=True)
    web = {"kind": "fetch", "port": 8000}
    with pytest.raises(SandboxError, match="port 8000"):
        broker_config(state(a=web, b=web), ServerSettings(tmp_path))


def test_settings_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLDLINE_MCP_HOME", str(tmp_path))
    monkeypatch.setenv("WORLDLINE_MCP_MOUNTS", f"{tmp_path}::/usr")
    monkeypatch.setenv("WORLDLINE_MCP_TIMEOUT", "2.5")
    found = ServerSettings.from_environment()
    assert (found.home, found.timeout, len(found.mounts)) == (tmp_path, 2.5, 2)
    monkeypatch.setenv("WORLDLINE_MCP_TIMEOUT", "soon")
    with pytest.raises(ConfigError, match="WORLDLINE_MCP_TIMEOUT"):
        ServerSettings.from_environment()
    monkeypatch.setenv("WORLDLINE_MCP_MOUNTS", "relative")
    with pytest.raises(ConfigError, match="relative"):
        ServerSettings.from_environment()
