"""SWE-agent's trajectory files of all generations."""

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
from worldline.types import Trajectory, Turn

FORMAT = "swe_agent"
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def read(name: str) -> list[Trajectory]:
    return read_golden(DATA / FORMAT / name)[0]


@pytest.mark.parametrize("path", golden_files(FORMAT), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    assert detect_format(path).name == FORMAT
    check_golden(path, tmp_path)


def test_before_tool_calls_commands_are_typed() -> None:
    (item,) = read("before-1.0.traj")
    assert [(turn.action.name, turn.action.command or turn.action.text) for turn in item.turns] == [
        ("bash", "ls -F\n"),
        ("edit", "edit 1:1\nx = 1\nend_of_edit\n"),
        ("bash", "sleep 100\n"),
    ]
    assert item.world.domain == "swe"
    assert item.world.task == "ISSUE: it is broken."
    assert item.turns[0].extra["state"] == {"open_file": "n/a", "working_dir": "/r"}
    assert item.turns[0].extra["response"].endswith("```")
    assert item.turns[2].extra["timed_out"] is True
    assert item.turns[2].done is True
    kept = item.extra["swe_agent"]
    assert [step["action"] for step in kept["other_steps"]] == ["exit_cost", "exit_format"]
    assert [message.get("is_demo", False) for message in kept["history"]] == [False, True, True, False]


def test_tool_calls_give_structured_actions() -> None:
    (item,) = read("tool-calls-1.0.traj")
    first, second, last = item.turns
    assert (first.action.name, first.action.arguments) == ("str_replace_editor", {"command": "view", "path": "/r"})
    assert first.action.call_id == "c1"
    assert first.extra["command"] == "str_replace_editor view /r"
    assert first.observation.text == "Here are the files\r\n"
    assert second.action.command == "cat a.py"
    assert "command" not in second.extra
    assert last.done is True
    assert "messages" not in json.dumps(item.extra)


def test_steps_that_never_ran_are_no_turns() -> None:
    (item,) = read("query-1.1.traj")
    assert [turn.action.command for turn in item.turns] == ["true", "ls -la", "python3", "echo \ufffd"]
    assert [step["step"] for step in item.extra["swe_agent"]["other_steps"]] == [0, 1, 2, 7]
    silent, listed, cancelled, odd = item.turns
    assert silent.observation.text == ""
    assert silent.extra["extra_info"] == {"sampler": {"tries": 2}}
    assert listed.observation.is_error is None
    assert cancelled.extra["timed_out"] is True
    assert cancelled.observation.is_error is True
    assert odd.extra["unknown_field"] == {"a": 1}
    assert odd.observation.raw is not None
    assert item.world.domain == "terminal"
    assert item.world.initial_state == {"shell": {"mode": "interactive", "merged": True}}
    TERMINAL.validate_state(item.world.initial_state)


def test_each_attempt_is_a_trajectory_once() -> None:
    first, second = read("attempts.traj")
    assert (first.turns[0].action.command, second.turns[0].action.command) == ("ls", "pwd")
    assert first.origin["attempt"] == 0
    assert second.origin == {"format": FORMAT, "file": "attempts.traj", "attempt": 1, "chosen": True}
    assert second.extra["swe_agent"]["info"]["chooser"] == {"chosen_idx": 1}


def test_a_history_alone_is_read_from_its_messages() -> None:
    (item,) = read("history-only.traj")
    assert [turn.action.name for turn in item.turns] == ["str_replace_editor", "bash", "submit"]
    assert item.turns[1].observation.text == "OBSERVATION:\nx = 1\r\n"


def test_what_stands_before_a_break_is_kept() -> None:
    (item,), (notice,) = read_golden(DATA / FORMAT / "cut.traj")
    assert [turn.action.command for turn in item.turns] == ["true", "ls -la"]
    assert item.world.task == "ISSUE: it is broken."
    assert notice.line == 71
    (item,), (notice,) = read_golden(DATA / FORMAT / "wrong-step.traj")
    assert [turn.action.command for turn in item.turns] == ["ls"]
    assert notice.reason == "trajectory.1: a step object was expected; the steps before it are kept"


def read_bytes(data: bytes) -> tuple[list[Trajectory], list[SkippedRecord]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.traj")
        path.write_bytes(data)
        skipped: list[SkippedRecord] = []
        return list(read_trajectories(path, format=FORMAT, skip_bad=True, on_skip=skipped.append)), skipped


def typed_command(turn: Turn) -> str | None:
    """The command as SWE-agent typed it: the calls stand in the history and may be cut away."""
    return turn.extra.get("command", turn.action.command if turn.action.name == "bash" else turn.action.text)


def test_every_cut_keeps_the_steps_before_it() -> None:
    """Cut anywhere, a file gives a beginning of its turns, each of them whole, and a notice."""
    whole = (DATA / FORMAT / "tool-calls-1.0.traj").read_bytes()
    (reference,), _ = read_bytes(whole)
    commands = [typed_command(turn) for turn in reference.turns]
    most = 0
    for end in range(20, len(whole.rstrip()) - 1, 7):
        found, skipped = read_bytes(whole[:end])
        assert len(skipped) == 1
        assert skipped[0].line
        turns = found[0].turns if found else ()
        assert [typed_command(turn) for turn in turns] == commands[: len(turns)]
        assert [turn.observation for turn in turns] == [turn.observation for turn in reference.turns[: len(turns)]]
        assert len(turns) >= most
        most = len(turns)
    assert most == 3


texts = st.sampled_from(["", "ls", "submit", "exit_cost", "edit 1:1\nx\nend_of_edit", "\u2028", " "]) | st.text(
    max_size=5
)
loose: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | texts | st.lists(texts, max_size=2)
steps = st.fixed_dictionaries(
    {},
    optional={
        "action": texts | loose,
        "observation": texts | loose,
        "thought": texts | loose,
        "response": texts | loose,
        "state": loose | st.dictionaries(texts, loose, max_size=2),
        "execution_time": loose,
        "extra_info": loose,
        "query": loose,
    },
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "trajectory": st.lists(steps | loose, max_size=4) | loose,
        "history": st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["user", "assistant", "tool"])},
                optional={"action": texts, "tool_calls": loose, "content": loose, "is_demo": loose},
            )
            | loose,
            max_size=4,
        ),
        "info": loose | st.fixed_dictionaries({"exit_status": loose}),
        "attempts": st.lists(st.fixed_dictionaries({}, optional={"trajectory": st.lists(steps)}), max_size=2) | loose,
    },
)


@settings(relaxed, max_examples=200)
@given(document=documents)
def test_any_document_ends_in_trajectories_or_notices(document: Any) -> None:
    found, skipped = read_bytes(json.dumps(document).encode())
    assert found or skipped or document.get("attempts")
    for item in found:
        assert all(turn.action.name or turn.action.text for turn in item.turns)
