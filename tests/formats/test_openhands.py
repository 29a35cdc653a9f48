"""OpenHands conversations: SDK events and older ones, as files, rows and folders."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from goldens import DATA, check_golden, golden_files, read_golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.domains.terminal import TERMINAL
from worldline.formats import SkippedRecord, detect_format, read_trajectories
from worldline.formats.folder import InputFolder
from worldline.formats.openhands import OPENHANDS
from worldline.types import Trajectory

FORMAT = "openhands"
FOLDER = DATA / FORMAT / "conversation"
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def read(name: str) -> list[Trajectory]:
    return read_golden(DATA / FORMAT / name)[0]


@pytest.mark.parametrize("path", golden_files(FORMAT), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    assert detect_format(path).name == FORMAT
    check_golden(path, tmp_path)


def test_golden_folder(tmp_path: Path) -> None:
    check_golden(FOLDER, tmp_path)


def test_actions_and_observations_are_paired() -> None:
    (item,) = read("sdk-shell.jsonl")
    assert [(turn.action.command, turn.observation.text) for turn in item.turns] == [
        ("ls", "a\nb"),
        ("false", ""),
        ("sleep 99", ""),
        ("whoami", "openhands"),
    ]
    listed, failed, waiting, _ = item.turns
    assert [turn.extra.get("batch") for turn in item.turns[:2]] == [{"index": n, "size": 2} for n in range(2)]
    assert (listed.observation.exit_code, failed.observation.exit_code, failed.observation.is_error) == (0, 1, True)
    assert waiting.observation.exit_code is None
    assert waiting.extra["timed_out"] is True
    assert listed.thought == "I look."
    assert listed.action.arguments == {"command": "ls", "is_input": False}
    assert (listed.extra["security_risk"], listed.extra["summary"]) == ("LOW", "does it")
    assert listed.timestamp == "2026-06-16T05:39:02.5"


def test_rejected_unanswered_and_own_steps_are_kept_without_being_turns() -> None:
    (item,) = read("sdk-shell.jsonl")
    kinds = [event["kind"] for event in item.extra[FORMAT]["other_events"]]
    assert kinds.count("ActionEvent") == 4  # think, rejected, unanswered, finish
    assert {"UserRejectObservation", "Condensation", "PauseEvent", "ConversationStateUpdateEvent"} <= set(kinds)
    assert kinds.count("ObservationEvent") == 3  # of think and finish, and one logged twice


def test_the_world_of_shell_commands() -> None:
    (item,) = read("sdk-shell.jsonl")
    assert item.world.domain == "terminal"
    assert item.world.task == "Fix it."
    assert [tool.name for tool in item.world.tools] == ["terminal"]
    assert item.world.initial_state == {
        "user": "openhands",
        "hostname": "box1",
        "shell": {"mode": "interactive", "merged": True},
    }
    TERMINAL.validate_state(item.world.initial_state)


def test_tools_errors_delegation_and_shared_call_ids() -> None:
    (item,) = read("sdk-tools.json")
    assert item.world.domain == "swe"
    created, refused, key, first, second, remote = item.turns
    assert created.extra["new_content"] == "x"
    assert (refused.action.text, refused.observation.is_error) == ('{"command": "view"', True)
    assert refused.extra["kind"] == "AgentErrorEvent"
    assert key.extra["after_delegation"] is True
    assert key.action.arguments == {"command": "C-c", "is_input": True}
    assert [(turn.action.command, turn.observation.text) for turn in (first, second)] == [
        ("ls", "first"),
        ("pwd", "second"),
    ]
    assert "after_delegation" not in first.extra
    assert (remote.action.name, remote.action.arguments, remote.observation.text) == (
        "read",
        {"path": "a"},
        "text of a",
    )


def test_older_events_in_rows() -> None:
    item, pairs = read("older-rows.jsonl")
    assert [turn.action.name for turn in item.turns] == [
        "execute_bash",
        "str_replace_editor",
        "execute_ipython_cell",
        "browse_interactive",
        "execute_bash",
        "edit",
        "execute_bash",
    ]
    assert item.world.task == "Fix the bug."
    assert item.family == "openhands-proj__x-1"
    assert item.turns[0].observation.text == "a\r\n"
    assert item.turns[0].extra["batch"] == {"index": 0, "size": 2}
    assert item.turns[3].extra["after_delegation"] is True
    assert item.turns[4].observation.exit_code is None
    assert item.turns[5].observation.is_error is True
    assert item.turns[6].extra["by"] == "user"
    assert item.extra[FORMAT]["test_result"] == {"git_patch": ""}
    assert [(turn.action.command, turn.observation.exit_code) for turn in pairs.turns] == [("ls", 0)]
    assert pairs.world.domain == "terminal"


def test_a_folder_is_read_in_the_order_of_its_numbers() -> None:
    folder = InputFolder(FOLDER)
    assert OPENHANDS.claims(folder)
    assert OPENHANDS.claims(folder.folder("events"))
    assert OPENHANDS.claims(InputFolder(FOLDER.parent)) is None
    (item, sub_agent), (notice,) = read_golden(FOLDER)
    assert [turn.action.command for turn in item.turns] == ["ls", "false", "pwd"]
    assert item.extra[FORMAT]["base_state"]["workspace"] == {"working_dir": "/w"}
    assert notice.error.path is not None
    assert notice.error.path.endswith("event-00006-aaaaaaaa.json")
    assert sub_agent.origin["sub_agent_of"] == "conversation"
    assert [turn.action.command for turn in sub_agent.turns] == ["ls"]


def test_an_empty_conversation_is_a_notice(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    (events / "0.json").write_text("[]")
    items = list(OPENHANDS.read_folder(InputFolder(tmp_path), source=None))  # type: ignore[arg-type]
    assert [item.reason for item in items if isinstance(item, SkippedRecord)] == [
        "an event with `kind`, `action` or `observation` was expected",
        "there are no events",
    ]


def test_damaged_lines_are_notices_and_the_rest_is_kept() -> None:
    (item,), skipped = read_golden(DATA / FORMAT / "damaged.jsonl")
    assert [turn.action.command for turn in item.turns] == ["ls", "false"]
    assert [notice.line for notice in skipped][:3] == [7, 8, 9]


def read_document(value: Any) -> tuple[list[Trajectory], list[SkippedRecord]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.json")
        path.write_text(json.dumps(value), "utf-8")
        skipped: list[SkippedRecord] = []
        return list(read_trajectories(path, format=FORMAT, skip_bad=True, on_skip=skipped.append)), skipped


def sdk_action(number: int, command: str, response: str, call: str) -> dict[str, Any]:
    return {
        "kind": "ActionEvent",
        "id": f"a{number}",
        "source": "agent",
        "thought": [],
        "tool_name": "terminal",
        "tool_call_id": call,
        "tool_call": {"id": call, "name": "terminal", "arguments": json.dumps({"command": command})},
        "llm_response_id": response,
    }


def sdk_answer(number: int, text: str, call: str) -> dict[str, Any]:
    return {
        "kind": "ObservationEvent",
        "id": f"o{number}",
        "source": "environment",
        "tool_name": "terminal",
        "tool_call_id": call,
        "action_id": f"a{number}",
        "observation": {"content": [{"type": "text", "text": text}], "exit_code": 0, "kind": "TerminalObservation"},
    }


@settings(relaxed, max_examples=150)
@given(data=st.data(), count=st.integers(1, 6))
def test_answers_in_any_order_find_their_actions(data: st.DataObject, count: int) -> None:
    """Each answer comes some time after its action; call ids may even be shared."""
    calls = data.draw(st.lists(st.sampled_from("xy"), min_size=count, max_size=count))
    events: list[Any] = [sdk_action(n, f"echo {n}", "r", calls[n]) for n in range(count)]
    for number in data.draw(st.permutations(range(count))):
        after = next(place for place, event in enumerate(events) if event["id"] == f"a{number}")
        events.insert(data.draw(st.integers(after + 1, len(events))), sdk_answer(number, f"{number}", calls[number]))
    (item,), skipped = read_document(events)
    assert not skipped
    assert [(turn.action.command, turn.observation.text) for turn in item.turns] == [
        (f"echo {n}", f"{n}") for n in range(count)
    ]


texts = st.text(max_size=4)
loose: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-2, 3) | texts | st.lists(texts, max_size=2)
nested = loose | st.dictionaries(
    st.sampled_from(["command", "content", "exit_code", "metadata", "kind"]), loose, max_size=3
)
keys = ["id", "source", "action", "observation", "args", "content", "extras", "cause", "tool_name", "tool_call_id"]
more = ["tool_call", "action_id", "thought", "llm_response_id", "error", "llm_message", "tool_call_metadata", "status"]
kinds = st.sampled_from(
    ["ActionEvent", "ObservationEvent", "AgentErrorEvent", "MessageEvent", "ACPToolCallEvent", "UserRejectObservation"]
)
events = st.dictionaries(st.sampled_from([*keys, *more]), nested, max_size=8).flatmap(
    lambda event: st.one_of(
        st.just(event), kinds.map(lambda kind: {"id": "1", "source": "agent", **event, "kind": kind})
    )
)


@settings(relaxed, max_examples=300)
@given(stream=st.lists(events | st.lists(events, max_size=2) | loose, max_size=6), row=st.booleans())
def test_any_events_end_in_a_trajectory_or_a_notice(stream: list[Any], row: bool) -> None:
    found, skipped = read_document({"history": stream} if row else stream)
    assert found or skipped or not stream
    for item in found:
        if item.world.domain == "terminal":
            TERMINAL.validate_state(item.world.initial_state)
