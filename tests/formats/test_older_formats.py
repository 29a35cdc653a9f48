"""Odd cases of the formats that were there first; `golden/` holds their plain ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from goldens import DATA, check_golden, golden_files, read_golden

FILES = [path for name in ("atif", "openai", "steps", "tau_bench", "worldline") for path in golden_files(name)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)


def test_atif() -> None:
    (found,), skipped = read_golden(DATA / "atif" / "odd.jsonl")
    assert [(turn.action.call_id, turn.action.text, turn.observation.text) for turn in found.turns] == [
        ("p1", None, ""),
        ("p2", None, "uid=0"),
        (None, "answer by text", "heard\u2028"),
        ("sub", None, "done"),
    ]
    assert found.world.task == "Look here"
    assert [item.line for item in skipped] == [2, 3, 4, 5]


def test_openai() -> None:
    found, skipped = read_golden(DATA / "openai" / "odd.jsonl")
    assert [(turn.action.arguments, turn.observation.text) for turn in found[0].turns] == [
        ({"n": 1}, "one"),
        ({"n": 2}, "two"),
        ({}, ""),
    ], "of two calls with one id the later is answered first"
    assert found[1].turns[0].action.arguments == {"already": "parsed"}
    assert found[1].turns[0].observation.raw is not None
    assert [item.line for item in skipped] == [4, 5, 6, 8, 9]


def test_steps() -> None:
    found, skipped = read_golden(DATA / "steps" / "interleaved.steps.jsonl")
    assert [(item.world.task, item.origin["trial"], len(item.turns)) for item in found] == [
        ("one", 1, 2),
        ("two", 1, 1),
        ("two", 2, 2),
    ]
    assert found[0].turns[1].extra["new"] is True
    assert [item.line for item in skipped] == [6, 8, 9]


def test_tau_bench() -> None:
    found, skipped = read_golden(DATA / "tau_bench" / "odd.json")
    assert [len(item.turns) for item in found] == [3, 0, 0]
    assert found[0].turns[1].action.text == "not json"
    assert (found[0].turns[-1].reward, found[0].turns[-1].done) == (0.0, True)
    assert found[0].world.hidden_state == "You are impatient."
    assert len(skipped) == 2


def test_worldline() -> None:
    (path,) = golden_files("worldline")
    found, skipped = read_golden(path)
    assert [len(item.turns) for item in found] == [1, 0, 1]
    assert [item.line for item in skipped] == [3, 4, 5, 8]
    assert "finite" in skipped[2].reason
