"""Each golden file: what it is read as, and that it comes out as it went in.

`WORLDLINE_REGENERATE=1 pytest tests/formats` writes the `.expected.jsonl` files anew; read the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from worldline.formats import detect_format, read_trajectories, write_trajectories
from worldline.formats.jsontext import load_json

GOLDEN = Path(__file__).parent / "golden"
INPUTS = sorted(path for path in GOLDEN.iterdir() if not path.name.endswith(".expected.jsonl"))
FORMATS = {"atif": "atif", "openai": "openai", "mixed": "steps", "tau": "tau_bench", "own": "worldline"}


def name_of(path: Path) -> str:
    return FORMATS[path.name.split("-")[0].split(".")[0]]


def records(path: Path) -> list[object]:
    """The JSON values of a file, a list counting as its elements where they are records."""
    text = path.read_text("utf-8")
    try:
        value = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line]
    listed = isinstance(value, list) and "role" not in value[0]
    return value if listed else [value]


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_is_recognised(path: Path) -> None:
    detection = detect_format(path)
    assert detection.name == name_of(path)
    assert detection.why


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_reads_as_expected(path: Path, tmp_path: Path) -> None:
    expected = path.with_name(path.name + ".expected.jsonl")
    trajectories = list(read_trajectories(path))
    if os.environ.get("WORLDLINE_REGENERATE"):
        write_trajectories(expected, trajectories)
    write_trajectories(tmp_path / "out.jsonl", trajectories)
    assert (tmp_path / "out.jsonl").read_bytes() == expected.read_bytes()
    assert list(read_trajectories(expected)) == trajectories


@pytest.mark.parametrize(
    "path", [path for path in INPUTS if name_of(path) in ("atif", "openai")], ids=lambda path: path.name
)
def test_comes_out_as_it_went_in(path: Path, tmp_path: Path) -> None:
    name = name_of(path)
    own = tmp_path / "own.jsonl.zst"
    write_trajectories(own, read_trajectories(path))
    out = tmp_path / "out.json"
    write_trajectories(out, read_trajectories(own), format=name)
    assert records(out) == records(path)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_atif_carries_every_trajectory(path: Path, tmp_path: Path) -> None:
    """A trajectory that did not come from ATIF is read back from it equal."""
    trajectories = [item for item in read_trajectories(path) if "atif" not in item.extra]
    out = tmp_path / "out.atif.jsonl"
    write_trajectories(out, trajectories, format="atif")
    assert list(read_trajectories(out)) == trajectories if trajectories else True


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_openai_keeps_calls_and_answers(path: Path, tmp_path: Path) -> None:
    """Out and back, the actions and the text of the answers are the same, and so is the source."""
    trajectories = [item for item in read_trajectories(path) if all(turn.action.name for turn in item.turns)]
    out = tmp_path / "out.openai.jsonl"
    write_trajectories(out, trajectories, format="openai")
    for before, after in zip(trajectories, read_trajectories(out) if trajectories else (), strict=True):
        assert [(turn.action.name, turn.action.arguments) for turn in after.turns] == [
            (turn.action.name, turn.action.arguments) for turn in before.turns
        ]
        assert [turn.observation.text for turn in after.turns] == [turn.observation.text for turn in before.turns]
        assert (after.source, after.world.domain) == (before.source, before.world.domain)


def test_steps_form_trials() -> None:
    trajectories = list(read_trajectories(GOLDEN / "mixed.steps.jsonl"))
    assert [(t.world.task, len(t.turns), t.origin["trial"]) for t in trajectories] == [
        ("count", 2, 1),
        ("ask", 3, 1),
        ("count", 1, 2),
    ]
    assert trajectories[0].world.initial_state == {
        "user": "root",
        "shell": {"program": "sh", "mode": "command", "persist": False, "merged": True},
    }
    assert [t.world.domain for t in trajectories] == ["terminal", "mcp", "terminal"]


def test_parallel_calls_become_turns_with_a_note() -> None:
    first = next(iter(read_trajectories(GOLDEN / "openai-conversations.jsonl")))
    assert [turn.action.command for turn in first.turns] == ["ls", "cat x", "echo \U0001f600 \u2028"]
    assert first.turns[1].extra == {"batch": {"index": 1, "size": 2}}
    assert first.turns[0].thought == "I look."
    assert first.world.task == "List files."
    assert first.turns[0].observation.text == "a\nb\n"


def test_atif_leaves_out_copied_context_and_unanswered_calls() -> None:
    (document,) = read_trajectories(GOLDEN / "atif-calls.json")
    assert [turn.action.command for turn in document.turns] == ["wc -l a.txt", "cat missing", "printf 'a\u2028b'", ":"]
    failed = document.turns[1].observation
    assert (failed.stdout, failed.exit_code, failed.is_error) == ("", 1, True)


def test_lone_surrogates_are_kept_beside_valid_text() -> None:
    last = list(read_trajectories(GOLDEN / "openai-conversations.jsonl"))[-1]
    observation = last.turns[0].observation
    assert observation.text == "bad \ufffd byte"
    assert observation.raw is not None
    assert load_json('"bad \\udfff byte"').raw == observation.raw["text"]


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_ids_are_content_hashes(path: Path) -> None:
    for trajectory in read_trajectories(path):
        plain = trajectory.model_copy(update={"id": ""}).model_dump()
        assert type(trajectory).model_validate(plain).id == trajectory.id
