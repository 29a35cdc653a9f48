"""mini-swe-agent's trajectory files: tool calls, the Responses API, and fenced commands."""

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
from worldline.types import Trajectory

FORMAT = "mini_swe_agent"
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def read(name: str) -> Trajectory:
    (item,), _ = read_golden(DATA / FORMAT / name)
    return item


@pytest.mark.parametrize("path", golden_files(FORMAT), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    assert detect_format(path).name == FORMAT
    check_golden(path, tmp_path)


def test_parallel_calls_are_turns_in_the_order_of_the_commands() -> None:
    item = read("tool-calls.traj.json")
    assert [turn.action.command for turn in item.turns] == [
        "ls",
        "cat missing",
        "printf x",
        "sleep 60",
        "seq 1 100",
        "whoami",
    ]
    assert [turn.extra.get("batch") for turn in item.turns[:3]] == [{"index": n, "size": 3} for n in range(3)]
    listed, missing, *_ = item.turns
    assert (listed.observation.text, listed.observation.exit_code, listed.observation.is_error) == ("a\nb\n", 0, False)
    assert (missing.observation.exit_code, missing.observation.is_error) == (1, True)
    assert (listed.thought, missing.thought) == ("I look.", None)
    assert listed.extra["message.reasoning_content"] == "hm"


def test_what_was_cut_for_the_model_is_whole() -> None:
    turn = read("tool-calls.traj.json").turns[4]
    assert turn.observation.text == "".join(f"{number}\n" for number in range(1, 101))
    assert "<output_head>" in turn.extra["shown"]
    assert not turn.observation.truncated


def test_timeouts_have_no_exit_code() -> None:
    turn = read("tool-calls.traj.json").turns[3]
    assert (turn.observation.text, turn.observation.exit_code, turn.observation.is_error) == ("partly\n", None, True)
    assert turn.extra["exception_type"] == "TimeoutExpired"
    older = read("version-1.traj.json").turns[3]
    assert older.observation.text.startswith("The last command <command>python3</command> timed out")
    assert (older.observation.exit_code, older.observation.is_error) == (None, True)


def test_rejected_refused_and_final_commands_are_no_turns() -> None:
    item = read("tool-calls.traj.json")
    others = [message["place"] for message in item.extra[FORMAT]["other_messages"]]
    assert others == [0, 1, 6, 10, 11, 12, 15, 16]
    assert item.turns[-1].extra["by"] == "user"
    older = read("version-1.traj.json")
    assert [turn.action.command for turn in older.turns] == ["ls", "cat <<'EOF'\n``\nEOF", "yes", "python3"]


def test_the_envelope_is_taken_off_exactly() -> None:
    first, second, cut, _ = read("version-1.traj.json").turns
    assert first.observation.text == "</output>\n<output>\na\n"
    assert (second.observation.text, second.observation.exit_code) == ("no newline", 1)
    assert cut.observation.truncated
    assert cut.observation.text.startswith("<returncode>0</returncode>\n<warning>")
    assert cut.observation.exit_code == 0


def test_the_world_says_how_commands_were_run() -> None:
    assert read("tool-calls.traj.json").world.initial_state == {
        "cwd": "/testbed",
        "shell": {"mode": "command", "persist": False, "merged": True},
    }
    local = read("responses.traj.json").world
    assert local.initial_state["shell"]["program"] == "sh"
    for name in ("tool-calls.traj.json", "responses.traj.json", "bare-list.json"):
        world = read(name).world
        assert world.domain == "terminal"
        TERMINAL.validate_state(world.initial_state)


def test_responses_api_messages() -> None:
    (turn,) = read("responses.traj.json").turns
    assert (turn.action.command, turn.action.call_id, turn.thought) == ("ls", "fc1", "I look.")
    assert turn.observation.text == "a\n"


def test_what_stands_before_a_break_is_kept() -> None:
    (item,), (notice,) = read_golden(DATA / FORMAT / "cut.traj.json")
    assert [turn.action.command for turn in item.turns] == ["ls"]
    assert notice.line == 50


def read_document(value: Any) -> tuple[list[Trajectory], list[SkippedRecord]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.traj.json")
        path.write_text(json.dumps(value), "utf-8")
        skipped: list[SkippedRecord] = []
        return list(read_trajectories(path, format=FORMAT, skip_bad=True, on_skip=skipped.append)), skipped


outputs = st.sampled_from(["", "\n", "a\n", "</output>", "<output>\n", "<returncode>7</returncode>\n", "{}", "\r\n"])
texts = st.lists(outputs | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=4).map("".join)


@settings(relaxed, max_examples=200)
@given(runs=st.lists(st.tuples(texts, st.integers(-5, 255)), min_size=1, max_size=4), json_style=st.booleans())
def test_any_output_is_read_off_its_envelope(runs: list[tuple[str, int]], json_style: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": "task"}]
    for output, code in runs:
        shown = f"<returncode>{code}</returncode>\n<output>\n{output}</output>"
        if json_style:
            shown = json.dumps({"returncode": code, "output": output}, indent=2)
        messages += [{"role": "assistant", "content": "```bash\nx\n```"}, {"role": "user", "content": shown}]
    (item,), skipped = read_document({"trajectory_format": "mini-swe-agent-1", "messages": messages})
    assert not skipped
    assert [(turn.observation.text, turn.observation.exit_code) for turn in item.turns] == runs


loose: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=2)
messages = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "user", "assistant", "tool", "exit"]) | loose,
        "type": st.sampled_from(["function_call_output", "message"]) | loose,
        "content": loose | st.just("```bash\nls\n```"),
        "output": loose,
        "tool_call_id": st.sampled_from(["a", "b"]) | loose,
        "call_id": st.sampled_from(["a", "b"]) | loose,
        "tool_calls": loose | st.just([{"id": "a", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]),
        "extra": loose
        | st.fixed_dictionaries(
            {},
            optional={
                "actions": loose | st.just([{"command": "ls", "tool_call_id": "a"}, {"command": "pwd"}]),
                "raw_output": loose,
                "returncode": loose,
                "exception_info": loose,
                "interrupt_type": loose,
            },
        ),
    },
)


@settings(relaxed, max_examples=200)
@given(listed=st.lists(messages, max_size=6), info=loose, bare=st.booleans())
def test_any_messages_end_in_a_trajectory(listed: list[Any], info: Any, bare: bool) -> None:
    found, skipped = read_document(listed if bare else {"messages": listed, "info": info})
    if not bare:
        assert len(found) == 1
        assert not skipped
    for item in found:
        TERMINAL.validate_state(item.world.initial_state)
