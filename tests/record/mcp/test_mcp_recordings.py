"""The shipped recordings of MCP servers keep what their card promises, and reality still answers so."""

import json

import pytest

from worldline.formats import read_trajectories
from worldline.record.mcp import environment, reads_back
from worldline.record.volatile import agrees
from worldline.recordings import SPLITS, path


def sessions(split):
    return list(read_trajectories(path("mcp", split)))


def test_they_are_as_many_and_as_varied_as_promised():
    families, total, wrote, turns, errors, kinds = {}, 0, 0, 0, 0, set()
    for split in SPLITS:
        for trajectory in sessions(split):
            assert families.setdefault(trajectory.family, split) == split
            total += 1
            wrote += reads_back(trajectory)
            turns += len(trajectory.turns)
            errors += sum(bool(turn.observation.is_error) for turn in trajectory.turns)
            kinds |= {server["kind"] for server in trajectory.world.initial_state["servers"].values()}
    assert total >= 220
    assert turns >= 2400
    assert len(families) >= 50
    assert len(kinds) >= 8
    assert errors >= turns / 5
    assert wrote >= total / 2
    assert families == json.loads(path("mcp", "train").with_name("SPLITS.json").read_text())["families"]


def test_no_host_and_no_recorder_shows():
    for split in SPLITS:
        for trajectory in sessions(split):
            text = trajectory.model_dump_json()
            for word in ("/root/", "worldline-box", "WORLDLINE", "/tmp/worldline"):
                assert word not in text, trajectory.family


@pytest.mark.parametrize("group", ["time", "sqlite", "git"])
def test_reality_answers_as_recorded(group, installed):
    recorded = next(
        trajectory
        for trajectory in sessions("train")
        if trajectory.family.startswith(f"{group}/") and "clock" in trajectory.world.initial_state
    )
    settings = installed.need(group)
    with environment(recorded.world, settings=settings) as servers:
        for turn in recorded.turns:
            assert agrees(servers.step(turn.action), turn.observation), turn.action.render()
