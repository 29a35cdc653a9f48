"""Servers that die, hang, flood or talk nonsense: each gives an error observation or a typed error."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.errors import SandboxError, SessionError
from worldline.record.mcp import client, environment, explorer
from worldline.record.mcp.settings import ServerSettings
from worldline.record.plan import ToolPlan
from worldline.record.recording import record_session
from worldline.types import Action, Turn, WorldSpec

SCRIPT = Path(__file__).parent / "servers" / "misbehaving.py"
Start = Callable[..., environment]


def spec(*modes: str) -> WorldSpec:
    servers = {
        f"s{number}": {"kind": "command", "command": ["/usr/bin/python3", str(SCRIPT), mode]}
        for number, mode in enumerate(modes)
    }
    return WorldSpec(domain="mcp", initial_state={"servers": servers})


def settings(timeout: float = 20.0) -> ServerSettings:
    return ServerSettings(Path("/nowhere"), (SCRIPT,), timeout)


def servers(*modes: str, timeout: float = 20.0) -> environment:
    return environment(spec(*modes), settings=settings(timeout))


def go(name: str = "go") -> Action:
    return Action(name=name)


@pytest.mark.parametrize(
    ("mode", "text", "failure"),
    [
        ("neither", "MCP error -32603: The answer has neither result nor error", "invalid"),
        ("list-result", "MCP error -32603: The answer has neither result nor error", "invalid"),
        ("bad-error", "MCP error -32603: The answer has neither result nor error", "invalid"),
        ("bad-content", "MCP error -32603: The result's content is not a list of blocks", "invalid"),
        ("huge", "MCP error -32603: The answer is too long: 50000082 bytes", "long"),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_the_session_goes_on(mode: str, text: str, failure: str):
    with servers(mode) as box:
        answer = box.step(go())
        assert (answer.text, answer.is_error) == (text, True)
        assert answer.data == {"failure": failure}
        assert box.step(go("count")).text == "1"
        assert not box.ended


@pytest.mark.parametrize("mode", ["hang", "garbage", "nan", "deep"])
def test_what_never_answers_times_out(mode: str):
    with servers(mode, timeout=1.5) as box:
        began = time.monotonic()
        answer = box.step(go())
        assert time.monotonic() - began < 10
        assert answer.text == "MCP error -32001: Request timed out"
        assert answer.is_error
        assert answer.data == {"failure": "timeout"}
        assert not box.ended
        if mode != "hang":
            assert box.step(go("count")).text == "1"


@pytest.mark.parametrize(("mode", "failure"), [("die", "closed"), ("flood", "flood"), ("endless", "flood")])
def test_a_server_that_is_gone_stays_gone(mode: str, failure: str):
    with servers(mode, timeout=60) as box:
        assert box.step(go("count")).text == "1"
        answer = box.step(go())
        assert answer.text == "MCP error -32000: Connection closed"
        assert answer.data == {"failure": failure}
        assert box.ended
        with pytest.raises(SessionError):
            box.step(go("count"))


def test_the_other_servers_of_a_world_live_on():
    with servers("die", "none") as box:
        assert box.step(go("s0__go")).is_error
        assert box.step(go("s0__count")).text == "MCP error -32000: Connection closed"
        assert box.step(go("s1__go")).text == "fine"
        assert not box.ended
        assert box.step(go("go")).text == "MCP error -32602: Unknown tool: go"
        assert box.step(go("s9__go")).text == "MCP error -32602: Unknown tool: s9__go"


def test_lines_that_are_no_messages_are_passed_over():
    with servers("noise") as box:
        assert box.step(go()).text == "after the noise"
    with servers("other-id") as box:
        assert box.step(go()).text == "yours"


def test_an_error_of_the_protocol_is_shown_as_clients_show_it():
    with servers("protocol-error") as box:
        answer = box.step(go())
        assert answer.text == "MCP error -32602: Bad arguments"
        assert answer.is_error
        assert answer.data == {"error": {"field": "x"}}


def test_what_a_server_asks_of_its_client_is_declined():
    with servers("asks") as box:
        assert box.step(go()).text == '{"code": -32601, "message": "Method not found"}'


def test_blocks_that_are_no_text_have_a_stand_in_and_their_content_is_kept():
    with servers("blocks") as box:
        answer = box.step(go())
        assert answer.text == "first\n[image image/png]\na note\n[link note://2]\n[hologram of unknown type]"
        assert answer.is_error
        assert answer.data["content"][1]["data"] == "QUJD"
        assert answer.data["structuredContent"] == {"n": 1}


def test_a_lone_surrogate_becomes_the_replacement_character():
    with servers("surrogate") as box:
        assert box.step(go()).text == "a\ufffdb"


def test_a_server_that_hangs_at_the_handshake_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "_START_TIMEOUT", 1.0)
    box = servers("mute")
    began = time.monotonic()
    with pytest.raises(SandboxError, match="did not answer initialize: Request timed out"):
        box.start()
    assert time.monotonic() - began < 20
    assert box.ended


@pytest.mark.parametrize(
    ("mode", "said"), [("dies-early", "no configuration"), ("refuses", "Unsupported protocol version")]
)
def test_a_server_that_does_not_start_says_why(mode: str, said: str):
    with pytest.raises(SandboxError, match=f"s0 did not answer initialize.*{said}"):
        servers(mode).start()


def test_a_program_that_is_not_there():
    world = WorldSpec(
        domain="mcp", initial_state={"servers": {"x": {"kind": "command", "command": ["/opt/none", "--stdio"]}}}
    )
    with pytest.raises(SandboxError, match=r"x did not answer initialize.*No such file"):
        environment(world, settings=settings()).start()


def test_a_known_server_that_is_not_installed():
    world = WorldSpec(domain="mcp", initial_state={"servers": {"x": {"kind": "time"}}})
    with pytest.raises(SandboxError, match=r"the time server is not installed.*install_mcp_servers"):
        environment(world, settings=settings()).start()


@pytest.mark.parametrize("mode", ["pages-forever", "no-tools"])
def test_a_list_of_tools_that_is_none(mode: str):
    with servers(mode) as box, pytest.raises(SandboxError, match="tools"):
        box.tools()


def test_tools_with_odd_names_and_schemas_are_listed_and_explored():
    with servers("none") as box:
        tools = box.tools()
        names = [tool.name for tool in tools]
        assert names[-3:] == ["no schema", "odd schema", "naïve-tool/with:odd.name\u2028"]
        assert tools[names.index("odd schema")].parameters == {}
        world = spec("none").model_copy(update={"tools": tools})
        acting, turns = explorer(world, 3), list[Turn]()
        while len(turns) < 60 and (action := acting.next(turns)) is not None:
            turns.append(Turn(action=action, observation=box.step(action)))
        assert {turn.action.name for turn in turns} >= set(names)


def test_nothing_recorded_is_lost_when_a_server_dies(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WORLDLINE_MCP_MOUNTS", str(SCRIPT))
    plan = ToolPlan(family="dying", world=spec("die"), actions=(go("count"), go("count"), go(), go("count")))
    recorded = record_session(plan)
    assert [turn.observation.text for turn in recorded.turns] == ["1", "2", "MCP error -32000: Connection closed"]
    assert recorded.turns[-1].extra["ended"] is True
    assert recorded.extra == {"commands_after_the_end": 1}
    assert all(turn.determined for turn in recorded.turns)
