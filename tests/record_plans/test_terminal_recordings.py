"""The recorded set that ships: frozen files, splits apart, figures as the card says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from worldline import recordings
from worldline.errors import ConfigError
from worldline.formats import read_trajectories
from worldline.record.plans import generate, split_of, trivial
from worldline.record.plans.card import card, chains
from worldline.record.plans.programs import programs_of
from worldline.types import Observation, Trajectory, Turn

FOLDER = Path(recordings.__file__).parent / "terminal" / "v1"


@pytest.fixture(scope="module")
def sets() -> dict[str, list[Trajectory]]:
    return {split: list(read_trajectories(recordings.path("terminal", split))) for split in recordings.SPLITS}


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


def test_no_command_line_stands_in_two_splits(sets: dict[str, list[Trajectory]]) -> None:
    seen: dict[str, str] = {}
    for split, trajectories in sets.items():
        for trajectory in trajectories:
            for turn in trajectory.turns:
                command = turn.action.command or ""
                if not trivial(command):
                    assert seen.setdefault(command, split) == split, command


def test_the_set_is_as_large_and_varied_as_it_must_be(sets: dict[str, list[Trajectory]], turns: list[Turn]) -> None:
    sessions = [trajectory for split in sets.values() for trajectory in split]
    assert len(sessions) >= 400
    assert len(turns) >= 4000
    assert sum(bool(turn.observation.is_error) for turn in turns) / len(turns) >= 0.2
    assert sum(map(chains, sessions)) / len(sessions) >= 0.5
    assert sum(turn.extra["source"] != "own" for turn in turns) / len(turns) >= 0.5
    assert len({name for turn in turns for name in programs_of(turn.action.command or "")}) >= 120
    assert sum((FOLDER / f"{split}.jsonl.zst").stat().st_size for split in sets) < 6_000_000


def test_the_build_command_plans_these_sessions(sets: dict[str, list[Trajectory]]) -> None:
    frozen = json.loads((FOLDER / "SPLITS.json").read_text(encoding="utf-8"))
    planned = {plan.id for plan in generate(frozen["count"], frozen["seed"])}
    assert {item.origin["plan"] for split in sets.values() for item in split} == planned


def test_everything_was_observed_and_judged(sets: dict[str, list[Trajectory]], turns: list[Turn]) -> None:
    assert all(item.source == "observed" and item.origin["variant"] for split in sets.values() for item in split)
    assert all(turn.determined is not None for turn in turns)
    assert not any("killed" in turn.extra for turn in turns)


def test_the_card_shows_the_files(sets: dict[str, list[Trajectory]]) -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == card(sets)


def test_unknown_recordings_are_refused() -> None:
    with pytest.raises(ConfigError, match="no recordings"):
        recordings.path("web", "train")
    with pytest.raises(ConfigError, match="no recordings"):
        recordings.path("terminal", "all")


def test_a_chain_is_a_name_written_and_used_again(sets: dict[str, list[Trajectory]]) -> None:
    trajectory = sets["dev"][0]
    template = trajectory.turns[0]

    def session(*commands: str) -> Trajectory:
        made = [
            template.model_copy(
                update={
                    "action": template.action.model_copy(update={"arguments": {"command": command}}),
                    "observation": Observation.from_streams(b"", b"", 0),
                }
            )
            for command in commands
        ]
        return trajectory.model_copy(update={"turns": tuple(made)})

    assert chains(session("sort x > freshly.out", "wc -l freshly.out"))
    assert chains(session("mkdir -p freshdir", "cd freshdir"))
    assert not chains(session("sort x > freshly.out", "ls"))
    assert not chains(session("ls 2> /dev/null", "cat /dev/null"))
