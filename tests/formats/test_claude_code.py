"""Claude Code's session logs: trees of records become lines of turns."""

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
from worldline.formats.secrets import SecretMasker
from worldline.types import Trajectory

FILES = {path.name: path for path in golden_files("claude_code")}


@pytest.mark.parametrize("path", FILES.values(), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert detect_format(path).name == "claude_code"


def commands(trajectory: Trajectory) -> list[tuple[str, float]]:
    return [(turn.action.command or turn.action.name, turn.train) for turn in trajectory.turns]


def test_split_messages_are_one() -> None:
    (session,), skipped = read_golden(FILES["shell.jsonl"])
    assert not skipped
    assert session.world.domain == "terminal"
    assert session.world.task == "Count the lines of the notes."
    assert session.world.initial_state == {"cwd": "/srv/app", "shell": {"merged": True}}
    first, second, third = session.turns
    assert [turn.extra.get("batch") for turn in session.turns] == [
        {"index": 0, "size": 2},
        {"index": 1, "size": 2},
        None,
    ]
    assert (first.thought, second.thought) == ("I look at the folder and at the notes.", None)
    assert (third.observation.text, third.observation.exit_code) == (
        "cat: missing: No such file or directory\n\u2028 \U0001f600",
        1,
    )
    assert third.extra["wrapper"] == "Exit code 1\n"
    assert first.observation.data["stdout"] == first.observation.text
    assert "sleep 100" in json.dumps(session.extra), "a call without a result stays in the layout"


def test_results_are_kept_as_they_came() -> None:
    (session,), _ = read_golden(FILES["tools.jsonl"])
    assert session.world.domain == "swe"
    turns = {turn.action.call_id: turn for turn in session.turns}
    assert turns["toolu_2"].observation.data["structuredPatch"][0]["lines"] == ["-print('helo')", "+print('hello')"]
    assert (turns["toolu_4"].train, turns["toolu_4"].extra["refused"]) == (0.0, True)
    assert turns["toolu_6"].observation.text == "x\ufffdy"
    assert turns["toolu_6"].observation.raw is not None
    assert turns["toolu_7"].extra["input"] == [1, 2]
    assert turns["toolu_7"].observation.truncated
    records = json.dumps(session.extra["claude_code"]["records"])
    assert "newField" in records
    assert records.count("iVBORw0KGgo=") == 2, "images of the task and of a result"


def test_secrets_are_masked_in_structured_results() -> None:
    (session,), _ = read_golden(FILES["tools.jsonl"])
    masker = SecretMasker()
    text = masker.mask(session).model_dump_json()
    assert "ghp_Ab1" not in text
    assert "k3y-4f9a-77" not in text
    assert sum(masker.counts.values()) == 2


def test_lines_of_a_tree() -> None:
    (main, branch, inline, named), skipped = read_golden(FILES["tree.jsonl"])
    assert not skipped
    assert commands(main) == [
        ("cat list", 1.0),
        ("sort list", 1.0),
        ("Task", 1.0),
        ("cat sorted", 1.0),
        ("echo end", 0.0),
    ]
    assert commands(branch) == [("cat list", 0.0), ("python3 -c 'print(1)'", 1.0)]
    assert branch.origin["branch"] == 1
    assert commands(inline) == [("Grep", 1.0)]
    assert inline.world.task == "Look around."
    assert (named.origin["agent"], commands(named)) == ("a1b2c3d4", [("pwd", 1.0)])
    assert len({item.family for item in (main, branch, inline, named)}) == 1
    assert main.extra["claude_code"]["repeated"] == 2
    assert [record["type"] for record in main.extra["claude_code"]["loose"]] == ["summary", "queue-operation"]


def test_what_a_compacting_agent_holds_is_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "agent-acompact-1.jsonl"
    path.write_text(FILES["agent-cycle.jsonl"].read_text("utf-8").replace('"beef"', '"acompact-1"'), "utf-8")
    (agent,) = read_trajectories(path)
    assert commands(agent) == [("true", 0.0), ("false", 0.0)]


def test_cycles_end() -> None:
    (agent,), skipped = read_golden(FILES["agent-cycle.jsonl"])
    assert not skipped
    assert commands(agent) == [("true", 1.0), ("false", 1.0)]


def test_damage_leaves_the_rest() -> None:
    (session,), skipped = read_golden(FILES["damaged.jsonl"])
    assert commands(session) == [("echo hi", 1.0), ("echo ho", 1.0)]
    assert [item.line for item in skipped] == [4, 5, 6, 7, 10, 11]
    assert "torn" in skipped[-1].reason


def record(kind: str, uuid: int, parent: int | None, content: list[Any], **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    link = None if parent is None else str(parent)
    return {"type": kind, "uuid": str(uuid), "parentUuid": link, "sessionId": "s", "message": message, **more}


@st.composite
def trees(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Calls with and without results, hanging anywhere: later records, themselves, nothing."""
    size = draw(st.integers(1, 25))
    anywhere = st.none() | st.integers(0, 2 * size + 3)
    records = []
    for number in range(size):
        side = {"isSidechain": True} if draw(st.integers(0, 3)) == 0 else {}
        if side and draw(st.booleans()):
            side["agentId"] = draw(st.sampled_from("ab"))
        more = {"message": {"id": f"m{draw(st.integers(0, size))}"}} if draw(st.booleans()) else {}
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"echo {number}"}}
        usual = st.just(2 * number - 1 if number else None)
        records.append(record("assistant", 2 * number, draw(usual | anywhere), [call], **more, **side))
        if draw(st.integers(0, 4)):
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": str(number)}
            records.append(record("user", 2 * number + 1, draw(st.just(2 * number) | anywhere), [result], **side))
    return draw(st.permutations(records)) if draw(st.booleans()) else records


@settings(max_examples=200, deadline=None)
@given(records=trees())
def test_every_answered_call_counts_once(records: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_text("\n".join(map(json.dumps, records)), "utf-8")
        found = list(read_trajectories(path, format="claude_code"))
    counted = Counter(
        (turn.action.command, turn.observation.text) for item in found for turn in item.turns if turn.train
    )
    calls = {block["id"] for item in records for block in item["message"]["content"] if "id" in block}
    answers = [block for item in records for block in item["message"]["content"] if "tool_use_id" in block]
    assert counted == Counter(
        (f"echo {block['content']}", block["content"]) for block in answers if block["tool_use_id"] in calls
    )


def test_many_branches_are_bounded(tmp_path: Path) -> None:
    """A session that goes back again and again to its start is read in time that does not explode."""
    records = [record("user", 0, None, [{"type": "text", "text": "go"}])]
    for number in range(1, 1500):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "x"}}
        records.append(record("assistant", 2 * number, 0, [call]))
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "y"}
        records.append(record("user", 2 * number + 1, 2 * number, [answer]))
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    skipped: list[Any] = []
    found = list(read_trajectories(path, skip_bad=True, on_skip=skipped.append))
    assert len(found) == 201
    assert "more than 200 branches" in skipped[0].reason
