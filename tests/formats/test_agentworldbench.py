"""AgentWorldBench rows: joined without losing what is evaluated, and written back equal."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from goldens import DATA, check_golden, golden_files, read_golden
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from worldline.domains.terminal import TERMINAL
from worldline.domains.terminal.keystrokes import keystroke_action, typed
from worldline.errors import EvaluationOnlyError, FormatError
from worldline.formats import (
    EVALUATION_ONLY,
    detect_format,
    is_evaluation_only,
    read_trajectories,
    write_trajectories,
)
from worldline.formats.agentworld_system import system_prompt, tools_in
from worldline.formats.agentworld_text import HEADING, split_prompt
from worldline.formats.agentworldbench import EVALUATED, rows_of
from worldline.formats.secrets import SecretMasker
from worldline.memory.admit import admit
from worldline.types import (
    Action,
    Demonstration,
    Observation,
    Source,
    ToolSpec,
    Trajectory,
    Turn,
    VolatileSpan,
    WorldSpec,
)

FORMAT = "agentworldbench"
BENCHMARK = sorted((DATA / FORMAT).glob("*_test.jsonl"))
FIELDS = {"task", "id", "prompt", "response", "current_prompt", "system_str", "turn_idx", "total_turns"}
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def rows_in(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def ordered(rows: list[Any]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def read_rows(rows: list[Any], folder: Path) -> list[Trajectory]:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return list(read_trajectories(path, format=FORMAT))


def by_family() -> dict[str, Trajectory]:
    found = [item for path in BENCHMARK for item in read_golden(path)[0]]
    assert len(found) == len({item.family for item in found}) == 9
    return {item.family.removeprefix("agentworldbench-"): item for item in found}


@pytest.mark.parametrize("path", golden_files(FORMAT), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    assert detect_format(path).name == FORMAT
    check_golden(path, tmp_path)


@pytest.mark.parametrize("path", [*BENCHMARK, DATA / FORMAT / "odd.jsonl"], ids=lambda path: path.name)
def test_rows_come_out_as_they_went_in(path: Path, tmp_path: Path) -> None:
    """Also by way of our own format; equal to the byte in every field, lone surrogates included."""
    write_trajectories(tmp_path / "own.jsonl.zst", read_trajectories(path))
    write_trajectories(tmp_path / "out.jsonl", read_trajectories(tmp_path / "own.jsonl.zst"), format=FORMAT)
    assert ordered(rows_in(tmp_path / "out.jsonl")) == ordered(rows_in(path))


def test_rows_far_apart_are_one_trajectory() -> None:
    found = by_family()
    terminal = found["terminal-918273645546372819"]
    assert [EVALUATED in turn.extra for turn in terminal.turns] == [True, False, False, True]
    assert [row["turn_idx"] for row in rows_of(terminal)] == [1, 1, 4]
    mcp = found["mcp-m-1"]
    assert [EVALUATED in turn.extra for turn in mcp.turns] == [True, True]


def test_an_id_of_two_trajectories_keeps_them_apart() -> None:
    found = by_family()
    first, second = found["android-3"], found["android-3~2"]
    assert first.turns[0].action == second.turns[0].action
    assert (first.world.task, second.world.task) == ("Open the mail.\n\nThen stop.", "Do something else.")
    assert [turn.observation.text for turn in second.turns] == ["s1", "s2", "s3"]


def test_same_beginning_with_other_length_or_system_prompt_is_another_trajectory(tmp_path: Path) -> None:
    row = rows_in(DATA / FORMAT / "text_test.jsonl")[0]
    assert row["turn_idx"] == 4
    begun = {**row, "prompt": row["prompt"][:1], "response": row["response"][:1], "turn_idx": 1}
    begun["current_prompt"] = begun["prompt"][0]
    for change in ({"total_turns": 9}, {"system_str": "other"}, {"id": 1}, {"task": "x/terminal"}):
        assert len(read_rows([row, {**begun, **change}], tmp_path)) == 2
    assert len(read_rows([begun, row], tmp_path)) == 1
    assert len(read_rows([row, {**begun, "response": [HEADING + "another answer"]}], tmp_path)) == 2


def test_evaluation_rows_are_refused_by_memory() -> None:
    for item in by_family().values():
        assert is_evaluation_only(item)
        assert item.origin[EVALUATION_ONLY] is True
        with pytest.raises(EvaluationOnlyError):
            admit(item)


def test_domains_are_read_as_they_are() -> None:
    found = by_family()
    terminal = found["terminal-918273645546372819"]
    assert terminal.world.initial_state == {"user": "root", "hostname": "3f2a", "cwd": "/app", "screen": {}}
    TERMINAL.validate_state(terminal.world.initial_state)
    keys = typed(terminal.turns[2].action)
    assert keys is not None
    assert [(entry.text, entry.duration) for entry in keys] == [("", 2.0), ("C-c", 0.5)]
    assert typed(terminal.turns[3].action) == ()
    assert terminal.turns[2].observation.text == "Python 3.11\n>>> \nKeyboardInterrupt\n>>>  \n"
    swe = found["swe-7"]
    assert swe.world.domain == "swe"
    assert [tool.name for tool in swe.world.tools] == ["read_file", "run_shell_command"]
    assert swe.world.tools[0].parameters["required"] == ["path"]
    assert swe.turns[0].action.arguments == {"path": "/r/a.md"}
    assert "### Turn 2\n     6→**Action:**" in swe.turns[0].observation.text
    assert swe.turns[1].observation.text.startswith("Error: **Environment Observation:**\n**Environment")
    android = found["android-3"]
    assert android.turns[0].state_before is not None
    assert android.turns[0].state_before.endswith("**Action:**\n```json\n{}\n```\n")
    assert android.turns[0].action == Action(
        name="click", arguments={"index": 4}, text='{"action_type": "click", "index": 4}'
    )
    assert found["android-4"].turns[0].state_before is not None
    assert found["android-4"].turns[0].state_before.startswith("**Current Phone State:**\n- **App:**")
    assert found["os-1"].turns[0].action.text == "import pyautogui\nprint('''\n```\n''')\npyautogui.click(1, 2)"
    assert found["web-2"].turns[1].action.text == 'browser_type(text="```\n```")'
    assert found["search-11"].turns[1].action.text == 'web_extractor(url="http://e.example")'


def test_damaged_rows_are_named_by_line_and_the_rest_is_kept() -> None:
    trajectories, skipped = read_golden(DATA / FORMAT / "damaged.jsonl")
    assert [item.family for item in trajectories] == ["agentworldbench-terminal-5", "agentworldbench-terminal-77"]
    assert [item.line for item in skipped] == [2, 3, 4, 5, 6, 8]
    assert "turn_idx is 4, but there are 1 prompts" in skipped[0].reason
    with pytest.raises(FormatError, match=r"damaged\.jsonl:2: not a row"):
        list(read_trajectories(DATA / FORMAT / "damaged.jsonl"))


def test_changed_turns_come_out_changed() -> None:
    trajectory = by_family()["android-3"]
    first, second = trajectory.turns
    changed = first.model_copy(
        update={
            "action": Action(name="wait", arguments={}, text='{"action_type": "wait"}'),
            "state_before": "new state",
            "observation": Observation(text="new answer"),
        }
    )
    (row,) = rows_of(trajectory.model_copy(update={"turns": (changed, second)}))
    assert "new state" in row["prompt"][0]
    assert '"wait"' in row["prompt"][0]
    assert '"click"' not in row["prompt"][0]
    assert row["response"][0] == HEADING + "new answer"
    assert row["prompt"][1].startswith("### Turn 2\n**Current State:**\n[ 0] | FrameLayout |\n\n**Action:**\n```xml\n")


def test_dropped_turns_change_the_length() -> None:
    trajectory = by_family()["mcp-m-1"]
    (row,) = rows_of(trajectory.model_copy(update={"turns": trajectory.turns[:1]}))
    assert (row["turn_idx"], row["total_turns"]) == (1, 1)


def test_masked_secrets_do_not_come_back(tmp_path: Path) -> None:
    secret = "ghp_" + "Ab1" * 12
    prompt = f'### Turn 1\n**Action:**\n```json\n[{{"keystrokes":"export T={secret}\\n","duration":1}}]\n```'
    row = {"task": "terminal", "id": 1, "prompt": [prompt + "!"], "response": [f"{HEADING}$ {secret}"]}
    (item,) = read_rows([{**row, "current_prompt": prompt, "turn_idx": 1}], tmp_path)
    (again,) = rows_of(SecretMasker().mask(item))
    assert secret not in json.dumps(again)
    assert again["prompt"][0].replace(again["response"][0].split("$ ")[1], secret) == prompt + "!"


def tool_world() -> WorldSpec:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}, "n": {}}, "required": ["path"]}
    example_turn = Turn(action=Action(name="read", arguments={"path": "a"}), observation=Observation(text="x\n"))
    return WorldSpec(
        domain="swe",
        name="repo",
        task="Fix it.",
        tools=(ToolSpec(name="read", description="Reads.", parameters=parameters), ToolSpec(name="bare")),
        initial_state={"cwd": "/r"},
        demonstrations=(Demonstration(turns=(example_turn,), note="how it answers"),),
        control={"instruction": "The disk is full."},
    )


def test_a_fresh_trajectory_becomes_a_row_for_each_turn(tmp_path: Path) -> None:
    world = tool_world()
    turns = tuple(
        Turn(action=Action(name="read", arguments={"path": name}), observation=Observation.from_text(f"{name}\n"))
        for name in "abc"
    )
    item = Trajectory(source=Source.OBSERVED, world=world, turns=turns)
    rows = list(rows_of(item))
    assert [row["turn_idx"] for row in rows] == [1, 2, 3]
    assert all(set(row) == FIELDS and row["total_turns"] == 3 for row in rows)
    assert rows[1]["prompt"][:1] == [rows[0]["current_prompt"]]
    assert rows[0]["prompt"][0].startswith(rows[0]["current_prompt"] + "\n\n")
    assert "<predicted_observation>" in rows[0]["prompt"][0]
    assert json.loads(split_prompt(rows[0]["current_prompt"]).body)["arguments"] == '{"path": "a"}'
    system = rows[0]["system_str"]
    for piece in ("Fix it.", "### 1. read", "- **path** `string` (REQUIRED)", "The disk is full.", '"cwd":"/r"', "x\n"):
        assert piece in system
    assert tools_in(system)[0] == world.tools[0].model_copy(
        update={"parameters": {**world.tools[0].parameters, "properties": {"path": {"type": "string"}, "n": {}}}}
    )
    assert [row["turn_idx"] for row in rows_of(item, selected={2})] == [2]
    path = tmp_path / "rows.jsonl"
    assert write_trajectories(path, [item], format=FORMAT) == 1
    (again,) = read_trajectories(path)
    assert [(turn.action, turn.observation) for turn in again.turns] == [(t.action, t.observation) for t in turns]
    assert is_evaluation_only(again)
    assert ordered(list(rows_of(again))) == ordered(rows)


def test_simulated_stays_simulated(tmp_path: Path) -> None:
    turn = Turn(action=Action(text="go"), observation=Observation(text="gone"))
    item = Trajectory(source=Source.SIMULATED, world=WorldSpec(domain="web", task="t"), turns=(turn,))
    write_trajectories(tmp_path / "r.jsonl", [item], format=FORMAT)
    (again,) = read_trajectories(tmp_path / "r.jsonl")
    assert again.source is Source.SIMULATED
    assert again.world.task == "t"


def test_shell_commands_in_rows_need_no_screen(tmp_path: Path) -> None:
    turn = Turn(action=Action(name="bash", arguments={"command": "ls"}), observation=Observation(text="a\n"))
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal"), turns=(turn,))
    (again,) = read_rows(list(rows_of(item)), tmp_path)
    assert again.world.initial_state == {}
    assert again.turns[0].action == turn.action


def test_without_turns_there_are_no_rows() -> None:
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="web"), turns=())
    assert list(rows_of(item)) == []


def test_what_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    turn = Turn(action=Action(name="f", arguments={"x": float("nan")}), observation=Observation(text=""))
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="mcp"), turns=(turn,))
    with pytest.raises(FormatError):
        write_trajectories(tmp_path / "r.jsonl", [item], format=FORMAT)


HEADINGS = [
    "### Turn 2\n",
    "**Task Instruction:**\n",
    "**Current State:**\n",
    "**Current Phone State:**",
    "**Action:**\n",
]
FENCES = ["```json\n", "```", "````\n", "\n", "\n\n", "\u2028", "\r", " "]
MARKS = ["**Environment Observation:**\n", "</think>", "<predicted_observation>"]
PROMPTS = ["root@h:/a/../b# ", "a@b:~$", "a@b-:/x\0#"]
BODIES = ['{"name": "f", "arguments": {"a": 1}}', '[{"keystrokes": "x", "duration": 1}]']
awkward = st.sampled_from([*HEADINGS, *FENCES, *MARKS, *BODIES, *PROMPTS])
pieces = st.lists(awkward | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=12).map("".join)


@settings(relaxed, max_examples=400)
@given(text=pieces, layout=st.booleans())
@example(text="", layout=False)
def test_taking_apart_loses_nothing(text: str, layout: bool) -> None:
    whole = f"### Turn 1\n**Current State:**\n{text}\n\n**Action:**\n```json\n{text}\n```" if layout else text
    assert split_prompt(whole).text == whole


@settings(relaxed, max_examples=150)
@given(
    prompts=st.lists(pieces, min_size=1, max_size=4),
    responses=st.lists(pieces, min_size=4, max_size=4),
    domain=st.sampled_from(["terminal", "mcp", "swe", "search", "android", "web", "os", "else"]),
    picked=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    suffix=pieces,
    whole=st.booleans(),
)
def test_any_rows_come_out_as_they_went_in(
    prompts: list[str], responses: list[str], domain: str, picked: list[int], suffix: str, whole: bool
) -> None:
    rows = []
    for number in picked:
        end = min(number, len(prompts))
        row = {
            "task": domain,
            "id": 1,
            "prompt": [*prompts[: end - 1], prompts[end - 1] + suffix],
            "response": responses[:end],
            "current_prompt": prompts[end - 1] if whole else suffix,
            "system_str": "s",
            "turn_idx": end,
            "total_turns": 4,
        }
        rows.append(row)
    with tempfile.TemporaryDirectory() as folder:
        found = read_rows(rows, Path(folder))
    assert ordered([row for item in found for row in rows_of(item)]) == ordered(rows)
    for item in found:
        if item.world.domain == "terminal":
            TERMINAL.validate_state(item.world.initial_state)


actions = st.one_of(
    st.builds(lambda text: Action(text=text), pieces),
    st.builds(
        lambda name, arguments: Action(name=name, arguments=arguments),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
        st.dictionaries(pieces, pieces | st.integers() | st.none(), max_size=3),
    ),
    st.builds(lambda text, wait: keystroke_action([{"keystrokes": text, "duration": wait}]), pieces, st.floats(0, 9)),
)


@settings(relaxed, max_examples=200)
@given(
    steps=st.lists(st.tuples(actions, pieces, st.none() | pieces), min_size=1, max_size=3),
    domain=st.sampled_from(["terminal", "swe", "mcp", "android"]),
)
def test_any_trajectory_is_read_back_from_its_rows(steps: list[tuple[Action, str, str | None]], domain: str) -> None:
    """Observations and states to the byte; actions too, unless a text looks like a call or keystrokes."""
    turns = tuple(
        Turn(action=action, observation=Observation(text=text), state_before=state) for action, text, state in steps
    )
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain=domain), turns=turns)
    with tempfile.TemporaryDirectory() as folder:
        (again,) = read_rows(list(rows_of(item)), Path(folder))
    assert [turn.observation.text for turn in again.turns] == [turn.observation.text for turn in turns]
    assert [turn.state_before for turn in again.turns] == [turn.state_before for turn in turns]
    for before, after in zip(turns, again.turns, strict=True):
        if before.action.text is not None:
            assert after.action.text == before.action.text or after.action.name
        elif domain == "terminal" or typed(before.action) is None:
            assert after.action == before.action
    assert ordered(list(rows_of(again))) == ordered(list(rows_of(item)))


def test_volatile_spans_do_not_reach_the_rows() -> None:
    span = VolatileSpan(start=0, end=1, pattern=".")
    turn = Turn(action=Action(text="date"), observation=Observation(text="9", volatile=(span,)))
    item = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="os"), turns=(turn,))
    assert [row["response"] for row in rows_of(item)] == [[HEADING + "9"]]


def test_task_stands_in_the_system_prompt_or_in_the_first_turn() -> None:
    world = WorldSpec(domain="terminal", task="Count.")
    assert "Count." in system_prompt(world, with_task=True)
    assert "Count." not in system_prompt(world, with_task=False)
