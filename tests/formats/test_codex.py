"""Codex's rollout logs: calls, outputs and what is wrapped around them."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from goldens import check_golden, golden_files, read_golden
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.formats import detect_format, read_trajectories
from worldline.formats.codex_calls import call_action, call_observation
from worldline.formats.secrets import SecretMasker

FILES = {path.name: path for path in golden_files("codex")}


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert detect_format(path).name == "codex"


def test_shell_calls_are_alike() -> None:
    (session,), skipped = read_golden(FILES["shell.jsonl"])
    assert not skipped
    assert session.world.domain == "terminal"
    assert session.world.task == "List the files."
    assert [(turn.action.name, turn.action.command) for turn in session.turns] == [
        ("shell", "ls -a | head"),
        ("shell", "ls 'my notes'"),
        ("shell", "cat missing"),
        ("shell", "echo done; exit 3"),
        ("shell", "pwd"),
        ("shell", "sleep 99"),
    ]
    assert [turn.observation.exit_code for turn in session.turns] == [0, 2, 1, 3, None, None]
    assert [turn.extra.get("batch") for turn in session.turns[:3]] == [
        None,
        {"index": 0, "size": 2},
        {"index": 1, "size": 2},
    ]
    third, fourth, last = session.turns[2], session.turns[3], session.turns[5]
    assert third.observation.text == "cat: missing: No such file or directory\n"
    assert third.observation.truncated, "fewer lines are shown than there were"
    assert fourth.observation.text == "done\n"
    assert fourth.observation.data == {"exit_code": 3, "wall_time": 0.0521, "chunk_id": "9f3a1c", "tokens": 2}
    assert fourth.extra["wrapper"].endswith("Original token count: 2\nOutput:\n")
    assert (last.train, last.extra["refused"]) == (0.0, True)
    assert (session.turns[0].thought, session.turns[1].thought) == ("**Listing files**", "Two more at once.")


def test_other_tools() -> None:
    (session,), _ = read_golden(FILES["tools.jsonl"])
    assert session.world.domain == "swe"
    turns = {turn.action.call_id: turn for turn in session.turns}
    assert list(turns) == ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"], "copied history is no turn"
    assert turns["c1"].action.text is not None
    assert turns["c1"].action.text.startswith("*** Begin Patch")
    assert turns["c1"].observation.text.startswith("Success.")
    assert turns["c2"].observation.data["session_id"] == 41
    assert (turns["c2"].observation.exit_code, turns["c3"].observation.text) == (None, "2\n>>> ")
    assert turns["c4"].extra["parts"][0]["type"] == "input_image"
    assert (turns["c5"].action.text, turns["c5"].observation.is_error) == ('{"q": "x"', True)
    assert turns["c6"].extra["output.tools"] == [{"name": "create"}]
    assert turns["c8"].observation.truncated
    masked = SecretMasker().mask(session).model_dump_json()
    assert "sk-proj-aB3" not in masked
    assert "future_event" in masked


def test_rollbacks_and_forks() -> None:
    (main, dropped), _ = read_golden(FILES["rollback-fork.jsonl"])
    assert [(turn.action.command, turn.train) for turn in main.turns] == [("echo copied", 0.0), ("echo right", 1.0)]
    assert [(turn.action.command, turn.train) for turn in dropped.turns] == [("echo copied", 0.0), ("echo wrong", 1.0)]
    assert dropped.turns[1].observation.text == "wrong\n"
    assert main.family == dropped.family
    assert main.turns[0].extra["copied"] == main.origin["forked_from"]


def test_damage_leaves_the_rest() -> None:
    (session,), skipped = read_golden(FILES["damaged.jsonl"])
    assert len(session.turns) == 2
    assert [item.line for item in skipped] == [5, 6, 7, 12, 13]


@pytest.mark.parametrize(
    ("output", "text", "code"),
    [
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\n", "", 0),
        ("Exit code: -1\nWall time: 3 seconds\nOutput:\nx", "x", -1),
        ("Exit code: 0\nnot a header", "Exit code: 0\nnot a header", None),
        ("Wall time: 1.0 seconds\nProcess exited with code 137\nOutput:\nOutput:\ny", "Output:\ny", 137),
        ('{"output":"a\\n","metadata":{"exit_code":4}}', "a\n", 4),
        ('{"output":"a\\n"}', '{"output":"a\\n"}', None),
        ('{"output":7,"metadata":{}}', '{"output":7,"metadata":{}}', None),
    ],
)
def test_wrappers(output: str, text: str, code: int | None) -> None:
    observation, _ = call_observation({"type": "function_call_output", "call_id": "c", "output": output})
    assert (observation.text, observation.exit_code) == (text, code)


@settings(max_examples=200, deadline=None)
@given(words=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_argument_lists_come_back(words: list[str]) -> None:
    """What stands in `extra` and the command text say together what was run."""
    import shlex

    call = {"type": "function_call", "name": "shell", "call_id": "c", "arguments": json.dumps({"command": words})}
    action, extra = call_action(call)
    clean = [word.encode("utf-8", "replace").decode() for word in words]
    assert action.command is not None
    if extra["argv"] == clean:
        assert shlex.split(action.command) == clean
    else:
        assert [*extra["argv"], action.command] == clean


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], int]:
    """Calls, outputs in any order, messages of the user and rollbacks."""
    records: list[dict[str, Any]] = [{"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}]
    waiting: list[int] = []
    answered = 0
    for number in range(draw(st.integers(1, 30))):
        kind = draw(st.sampled_from(["call", "call", "output", "output", "user", "back"]))
        payload: dict[str, Any]
        if kind == "call":
            arguments = json.dumps({"command": str(number)})
            payload = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": str(number)}
            waiting.append(number)
        elif kind == "output" and waiting:
            call = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            payload = {"type": "function_call_output", "call_id": str(call), "output": f"answer {call}"}
            answered += 1
        elif kind == "back":
            payload = {"type": "thread_rolled_back", "num_turns": draw(st.integers(-1, 3))}
        else:
            payload = {"type": "user_message", "message": "go on"}
        event = payload["type"] in ("thread_rolled_back", "user_message")
        records.append({"timestamp": "t", "type": "event_msg" if event else "response_item", "payload": payload})
    return records, answered


@settings(max_examples=200, deadline=None)
@given(log=logs())
def test_every_answered_call_counts_once(log: tuple[list[dict[str, Any]], int]) -> None:
    records, answered = log
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rollout.jsonl")
        path.write_text("\n".join(map(json.dumps, records)), "utf-8")
        found = list(read_trajectories(path, format="codex"))
    counted = Counter(turn.action.call_id for item in found for turn in item.turns if turn.train)
    assert sum(counted.values()) == len(counted) == answered
    assert all(turn.observation.text == f"answer {turn.action.call_id}" for item in found for turn in item.turns)


def test_a_record_nested_too_deeply_does_not_spoil_the_others(tmp_path: Path) -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    lines = FILES["shell.jsonl"].read_text("utf-8").split("\n")
    lines.insert(9, f'{{"timestamp":"t","type":"event_msg","payload":{deep}}}')
    call = {"type": "function_call", "name": "f", "arguments": deep, "call_id": "deep"}
    output = {"type": "function_call_output", "call_id": "deep", "output": f'{{"output":"x","metadata":{deep}}}'}
    lines[-1:] = [json.dumps({"timestamp": "t", "type": "response_item", "payload": item}) for item in (call, output)]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    skipped: list[Any] = []
    (session,) = read_trajectories(path, skip_bad=True, on_skip=skipped.append)
    assert [(item.line, item.reason) for item in skipped] == [(10, "a record that is nested too deeply")]
    assert len(session.turns) == 7
    assert session.turns[-1].action.text == deep
    assert session.turns[-1].observation.text == output["output"]
