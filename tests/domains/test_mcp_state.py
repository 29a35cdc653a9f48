"""What a world of MCP servers declares."""

import pytest
from pydantic import ValidationError

from worldline.domains import get_domain
from worldline.domains.mcp import MCP, McpState
from worldline.domains.mcp.state import as_plain
from worldline.domains.mcp.tools import server_tools, world_tools
from worldline.types import Action, Observation, Turn, WorldSpec

SERVERS = {
    "files": {"kind": "filesystem", "roots": ["/home/user/notes"]},
    "memory": {
        "kind": "memory",
        "entities": [{"name": "a", "entityType": "t"}],
        "relations": [{"from": "a", "to": "a", "relationType": "is"}],
    },
    "clock": {"kind": "time", "local_timezone": "Asia/Tokyo"},
}


def state(**servers):
    return McpState.model_validate({"servers": servers})


def test_a_checked_state_is_checked_again_without_a_change():
    checked = MCP.validate_state({"servers": SERVERS, "files": {"/home/user/notes/a.md": "x"}})
    assert MCP.validate_state(checked) == checked
    assert checked["servers"]["memory"]["relations"] == [{"from": "a", "to": "a", "relationType": "is"}]
    plain = as_plain(McpState.model_validate(checked))
    assert plain["servers"]["files"] == {"kind": "filesystem", "roots": ["/home/user/notes"]}
    assert McpState.model_validate(plain) == McpState.model_validate(checked)


@pytest.mark.parametrize(
    ("servers", "where"),
    [
        ({"x": {"kind": "nothing"}}, ("servers", "x")),
        ({"x": {}}, ("servers", "x")),
        ({"x": {"kind": "filesystem", "roots": ["notes"]}}, ("servers", "x", "filesystem", "roots", 0)),
        ({"x": {"kind": "time", "zone": "UTC"}}, ("servers", "x", "time", "zone")),
        ({"x": {"kind": "fetch", "port": 80}}, ("servers", "x", "fetch", "port")),
        ({"x": {"kind": "command", "command": []}}, ("servers", "x", "command", "command")),
        ({"a b": {"kind": "time"}}, ("servers", "a b", "[key]")),
        ({"a__b": {"kind": "time"}}, ()),
    ],
)
def test_what_is_wrong_is_located(servers, where):
    with pytest.raises(ValidationError) as caught:
        MCP.validate_state({"servers": servers})
    assert caught.value.errors()[0]["loc"] == where


def test_tools_of_one_server_keep_their_names():
    alone = state(clock=SERVERS["clock"])
    assert [tool.name for tool in world_tools(alone)] == ["get_current_time", "convert_time"]
    assert alone.split_tool("anything__else") == ("clock", "anything__else")
    assert (
        "Use 'Asia/Tokyo' as local timezone"
        in world_tools(alone)[0].parameters["properties"]["timezone"]["description"]
    )


def test_tools_of_several_servers_carry_the_servers_name():
    several = state(**SERVERS)
    names = [tool.name for tool in world_tools(several)]
    assert len(names) == len(set(names)) == 14 + 9 + 2
    assert "files__read_text_file" in names
    for name in names:
        server, tool = several.split_tool(name)
        assert several.full_name(server, tool) == name
    assert several.split_tool("read_text_file") is None
    assert several.split_tool("nobody__read_text_file") is None
    assert several.split_tool("memory__no__such") == ("memory", "no__such")


def test_a_server_of_the_users_has_no_listed_tools():
    own = state(mine={"kind": "command", "command": ["server"]})
    assert server_tools(own.servers["mine"]) == ()


def test_the_prompt_shows_the_servers_and_the_tools_that_go_without_saying():
    world = WorldSpec(domain="mcp", initial_state={"servers": {"clock": SERVERS["clock"]}})
    chat = get_domain("mcp").messages(world, [], Action(name="get_current_time", arguments={"timezone": "UTC"}))
    assert '"kind": "time"' in chat[0]["content"]
    assert "### 1. get_current_time" in chat[0]["content"]
    assert "- **timezone** `string` (REQUIRED)" in chat[0]["content"]
    listed = world.model_copy(update={"tools": server_tools(state(**SERVERS).servers["memory"])})
    chat = get_domain("mcp").messages(listed, [], Action(name="read_graph"))
    assert "get_current_time" not in chat[0]["content"]
    assert "create_entities" in chat[0]["content"]


def test_each_prompt_begins_with_the_one_before_it():
    world = WorldSpec(domain="mcp", initial_state={"servers": {"clock": SERVERS["clock"]}})
    first = Action(name="get_current_time", arguments={"timezone": "UTC"})
    turn = Turn(action=first, observation=Observation(text="{}", is_error=False))
    one, two = MCP.messages(world, [], first), MCP.messages(world, [turn], first)
    assert two[0] == one[0]
    assert one[1]["content"].startswith(two[1]["content"])


@pytest.mark.parametrize(
    ("answer", "is_error"),
    [
        ("MCP error -32602: Tool x not found", True),
        ("Error executing tool fetch: no", True),
        ("Input validation error: 'query' is a required property", True),
        ("Access denied - path outside allowed directories: /x not in /y", True),
        ("ENOENT: no such file or directory, open '/x'", True),
        ("Entity with name x not found", True),
        ("Errors: 3", False),
        ("[{'a': 1}]", False),
        ("", False),
    ],
)
def test_how_a_models_answer_begins_says_whether_it_is_an_error(answer, is_error):
    text = f"<predicted_observation>\n{answer}\n</predicted_observation>"
    read = MCP.parse_answer(text, WorldSpec(domain="mcp"))
    assert (read.text, read.is_error) == (answer, is_error)
