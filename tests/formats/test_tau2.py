"""tau2-bench results: one file, a folder, a simulation of its own, and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from goldens import DATA, check_golden, golden_files, read_golden

from worldline.formats import InputFile, SkippedRecord, detect_format, get_format
from worldline.types import Source

RESULTS = DATA / "tau2" / "results.json"


@pytest.mark.parametrize("path", [*golden_files("tau2"), DATA / "tau2" / "run"], ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert path.is_dir() or detect_format(path).name == "tau2"


def test_both_parties_call_tools() -> None:
    first, second = read_golden(RESULTS)[0]
    assert [(turn.action.name, turn.extra.get("requestor")) for turn in first.turns] == [
        ("get_line", None),
        ("get_line", None),
        ("toggle_roaming", "user"),
        ("check_status_bar", "user"),
    ]
    looked_up, unknown, toggled, status = first.turns
    assert (looked_up.thought, unknown.thought) == ("Let me look.", None)
    assert looked_up.extra["batch"] == {"index": 0, "size": 2}
    assert looked_up.observation.text == '{"line_id": "L1", "roaming": false}', "results of a group are told by id"
    assert (looked_up.observation.is_error, unknown.observation.is_error) == (False, True)
    assert toggled.timestamp == "2026-01-05T10:00:02.5"
    assert status.observation.text == "5G \u2028 ok"
    assert (status.reward, status.done, looked_up.reward) == (1.0, True, None)
    assert [turn.observation.text for turn in second.turns] == ["one", ""], "an id may come twice"
    assert second.turns[-1].reward is None


def test_task_is_split_into_told_and_hidden() -> None:
    first = read_golden(RESULTS)[0][0]
    assert first.world.task == "My data does not work abroad."
    assert isinstance(first.world.hidden_state, dict)
    assert first.world.hidden_state["instructions"]["known_info"] == "Your number is 555-0100."
    assert first.world.extra["policy"].startswith("# Policy")
    assert first.world.extra["task"]["evaluation_criteria"]["reward_basis"] == ["ENV_ASSERTION"]
    assert "user_scenario" not in first.world.extra["task"]
    assert first.world.tools[0].name == "get_line"
    assert first.world.tools[0].parameters["properties"] == {"line_id": {"type": "string"}}
    assert first.family == "tau2-telecom-mobile_data[roaming=off]"


def test_unknown_fields_and_unanswered_calls_are_kept() -> None:
    first = read_golden(RESULTS)[0][0]
    kept = first.extra["tau2"]
    assert kept["new_field"] == {"kept": True}
    assert kept["messages"][2]["tool_calls"][1] == {"id": "c2", "requestor": "assistant", "$turn": 1}
    assert kept["messages"][3]["tool_messages"][0]["$turn"] == 1
    assert kept["messages"][-1]["tool_calls"][0]["name"] == "end_call", "a call without a result is no turn"
    assert "Hi! How can I help you today?" in json.dumps(kept)


def test_full_duplex_calls_come_from_the_ticks() -> None:
    (found,) = read_golden(DATA / "tau2" / "single-simulation.json")[0]
    assert [(turn.action.name, turn.observation.text) for turn in found.turns] == [
        ("get_line", "{}"),
        ("check_status_bar", "no signal"),
    ]
    assert found.world.task == "No data"


def test_folder_names_what_is_missing() -> None:
    found, skipped = read_golden(DATA / "tau2" / "run")
    assert [item.extra["tau2"]["id"] for item in found] == ["sim-1"]
    assert found[0].world.extra["domain_name"] == "telecom"
    assert "sim-x.json" in str(skipped[0].error)
    assert "simulation lost is in the index" in skipped[1].reason


def test_index_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"tasks": [], "info": {}, "simulations": [], "simulation_index": [{"id": "a"}]}', "utf-8")
    (item,) = get_format("tau2").read(InputFile(path), Source.OBSERVED)
    assert isinstance(item, SkippedRecord)
    assert "import the folder" in item.reason


def test_a_big_file_is_recognised_by_its_head(tmp_path: Path) -> None:
    results = json.loads(RESULTS.read_text("utf-8"))
    results["tasks"] = [{**results["tasks"][0], "id": str(number)} for number in range(2_000)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results, indent=2), "utf-8")
    assert path.stat().st_size > 1 << 20
    assert detect_format(path).name == "tau2"
