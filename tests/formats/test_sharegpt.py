"""ShareGPT conversations and what trainers make of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from goldens import DATA, check_golden, golden_files, read_golden

from worldline.formats import detect_format, read_trajectories

ROWS = DATA / "sharegpt" / "rows.jsonl"


@pytest.mark.parametrize("path", golden_files("sharegpt"), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)
    assert detect_format(path).name == "sharegpt"


def test_calls_alone_and_at_once() -> None:
    found = read_golden(ROWS)[0][0]
    assert [(turn.action.arguments, turn.observation.text) for turn in found.turns] == [
        ({"city": "Oslo"}, '{"t": 3}'),
        ({"city": "Rome"}, "19"),
        ({"city": "Bari"}, "20"),
    ]
    assert [turn.extra.get("batch") for turn in found.turns] == [
        None,
        {"index": 0, "size": 2},
        {"index": 1, "size": 2},
    ]
    assert found.world.tools[0].name == "get_weather", "tools may be JSON text"
    assert found.world.task == "Weather in Oslo and Rome?"
    assert (found.extra["sharegpt"]["id"], found.extra["sharegpt"]["loss"]) == ("row-1", [0, 1])


def test_roles_of_llama_factory() -> None:
    found = read_golden(ROWS)[0][1]
    assert found.turns[0].action.command == "ls"
    assert found.turns[0].observation.text == "a\u2028b\n"
    assert found.world.domain == "terminal"


def test_calls_in_tags() -> None:
    found = read_golden(ROWS)[0][2]
    assert [(turn.action.name or turn.action.text, turn.observation.text) for turn in found.turns] == [
        ("a", "one"),
        ("b", "two"),
        ("not json", "failed"),
    ]
    assert found.turns[0].thought == "I look."


def test_results_nobody_asked_for_are_no_turns() -> None:
    found = read_golden(ROWS)[0][3]
    assert [(turn.action.name, turn.observation.text) for turn in found.turns] == [("late", "answer to late")]
    assert "nobody asked" in json.dumps(found.extra)
    assert "plain text" in json.dumps(found.extra)


def test_many_open_tags_take_no_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    value = "<tool_call>" * 200_000
    row = {"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": value}]}
    path.write_text(json.dumps(row), "utf-8")
    began = time.monotonic()
    (found,) = read_trajectories(path)
    assert not found.turns
    assert time.monotonic() - began < 20
