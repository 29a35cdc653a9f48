"""The recorded keystroke sessions that ship: frozen files, splits apart, figures as the card says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from worldline import recordings
from worldline.domains.terminal.keystrokes import typed
from worldline.domains.terminal.state import TerminalState
from worldline.errors import ConfigError
from worldline.formats import read_trajectories
from worldline.record.keystroke_plans import generate, split_of
from worldline.record.keystroke_plans.card import card
from worldline.types import Trajectory, Turn

FOLDER = Path(recordings.__file__).parent / "terminal" / "keystrokes" / "v1"


@pytest.fixture(scope="module")
def sets() -> dict[str, list[Trajectory]]:
    return {
        split: list(read_trajectories(recordings.path("terminal", split, dialect="keystrokes")))
        for split in recordings.SPLITS
    }


@pytest.fixture(scope="module")
def turns(sets: dict[str, list[Trajectory]]) -> list[Turn]:
    return [turn for split in sets.values() for trajectory in split for turn in trajectory.turns]


def test_files_are_the_frozen_ones() -> None:
    frozen = json.loads((FOLDER / "SPLITS.json").read_text(encoding="utf-8"))
    for name, digest in frozen["files"].items():
        assert "sha256:" + hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_families_stand_in_their_split(sets: dict[str, list[Trajectory]]) -> None:
    frozen = json.loads((FOLDER / "SPLITS.json").read_text(encoding="utf-8"))["families"]
    for split, trajectories in sets.items():
        for trajectory in trajectories:
            assert frozen[trajectory.family] == split == split_of(trajectory.family)


def test_the_build_command_plans_these_sessions(sets: dict[str, list[Trajectory]]) -> None:
    seed = json.loads((FOLDER / "SPLITS.json").read_text(encoding="utf-8"))["seed"]
    assert {item.origin["plan"] for split in sets.values() for item in split} == {plan.id for plan in generate(seed)}


def test_the_set_is_as_large_and_stable_as_it_must_be(sets: dict[str, list[Trajectory]], turns: list[Turn]) -> None:
    assert sum(map(len, sets.values())) >= 150 and len(turns) >= 1500
    assert all(item.source == "observed" and item.origin["variant"] for split in sets.values() for item in split)
    assert all(turn.determined is not None for turn in turns)
    assert sum("unstable" in turn.extra or bool(turn.observation.volatile) for turn in turns) / len(turns) < 0.1
    assert sum(turn.determined is True for turn in turns) / len(turns) > 0.6
    assert sum(bool(turn.extra.get("full_screen")) for turn in turns) / len(turns) > 0.05


def test_observations_are_screens(sets: dict[str, list[Trajectory]]) -> None:
    for trajectory in (item for split in sets.values() for item in split):
        screen = TerminalState.model_validate(trajectory.world.initial_state).screen
        assert screen is not None
        for turn in trajectory.turns:
            rows = turn.observation.text.removesuffix(f"\n{screen.completion}").split("\n")
            assert typed(turn.action) is not None
            assert turn.observation.merged and turn.observation.exit_code is None
            assert len(rows) <= screen.lines and all(len(row) <= screen.columns for row in rows)
            assert all(row == row.rstrip() for row in rows)


def test_the_card_shows_the_files(sets: dict[str, list[Trajectory]]) -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == card(sets)


def test_both_dialects_are_found() -> None:
    assert recordings.path("terminal", "dev", dialect="commands") == recordings.path("terminal", "dev")
    assert [path.parent.parent.name for path in recordings.paths("terminal", "dev")] == ["terminal", "keystrokes"]
    assert recordings.paths("web", "dev") == []
    with pytest.raises(ConfigError, match="no recordings"):
        recordings.path("terminal", "dev", dialect="mouse")
