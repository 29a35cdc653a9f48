"""The shipped recordings of tool worlds are as many as promised. Only counts are compared: no row is ever shown."""

import hashlib
import json
from typing import NamedTuple

import pytest

from worldline.formats import read_trajectories
from worldline.recordings import SPLITS, path

LEAST = {"code": (200, 2000), "database": (200, 2000), "mcp": (200, 2000), "search": (200, 2000), "swe": (100, 1000)}
"""Sessions and turns."""


class Counts(NamedTuple):
    sessions: int
    turns: int
    errors: int
    foreign: int
    """Sessions of another domain, of a family of another split, or without turns."""


def counted(domain, families):
    sessions = turns = errors = foreign = 0
    for split in SPLITS:
        for trajectory in read_trajectories(path(domain, split)):
            sessions += 1
            turns += len(trajectory.turns)
            errors += sum(turn.observation.is_error is True for turn in trajectory.turns)
            at_home = trajectory.world.domain == domain and families.get(trajectory.family) == split
            foreign += not (at_home and trajectory.turns)
    return Counts(sessions, turns, errors, foreign)


@pytest.mark.parametrize("domain", LEAST)
def test_a_set_holds_as_many_sessions_turns_and_errors_as_promised(domain):
    told = json.loads(path(domain, "train").with_name("SPLITS.json").read_text())
    found = counted(domain, told["families"])
    sessions, turns = LEAST[domain]
    assert found.sessions >= sessions and found.turns >= turns
    assert found.errors * 5 >= found.turns
    assert found.foreign == 0
    assert found.sessions == told["sessions"] and set(told["families"].values()) == set(SPLITS)


@pytest.mark.parametrize("domain", LEAST)
def test_a_set_is_the_one_that_was_split(domain):
    told = json.loads(path(domain, "train").with_name("SPLITS.json").read_text())["files"]
    for split in SPLITS:
        file = path(domain, split)
        same = told[file.name] == f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
        assert same, file.name
