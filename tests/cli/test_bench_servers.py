"""`worldline bench learn --servers` on recordings of real MCP servers, each taken as one that no kernel knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import worldline
from worldline.bench.servers import by_server
from worldline.cli import cli
from worldline.formats import read_trajectories, write_trajectories
from worldline.types import Trajectory

TRAIN = Path(worldline.__file__).parent / "recordings" / "mcp" / "v1" / "train.jsonl.zst"


@pytest.fixture(scope="module")
def sessions() -> list[Trajectory]:
    return [
        t for t in read_trajectories(TRAIN) if "everything" in t.family or len(t.world.initial_state["servers"]) > 2
    ]


def test_each_server_is_taken_by_itself_without_what_the_world_declares(sessions: list[Trajectory]) -> None:
    parts = by_server(sessions)
    assert {"everything", "time"} <= set(parts)
    assert sum(len(t.turns) for part in parts.values() for t in part) <= sum(len(t.turns) for t in sessions)
    for part in parts.values():
        for trajectory in part:
            assert not trajectory.world.initial_state
            assert not any("__" in tool.name for tool in trajectory.world.tools)
            assert all("__" not in (turn.action.name or "") for turn in trajectory.turns)


def test_an_unknown_server_is_measured_from_schemas_alone_and_from_other_tasks(
    sessions: list[Trajectory], tmp_path: Path
) -> None:
    data = tmp_path / "sessions.jsonl"
    write_trajectories(data, [t for t in sessions if "everything" in t.family])
    options = ["bench", "learn", "--servers", "--data", str(data), "--engine", "schemas", "--engine", "kernel"]
    result = CliRunner().invoke(cli, [*options, "--json", "-"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (report,) = json.loads(result.stdout).values()
    rows = {row["engine"]: row for row in report["rows"]}
    assert report["n"] == sum(len(t.turns) for t in sessions if "everything" in t.family)
    assert rows["schemas"]["exact"] > 0.25
    assert rows["kernel"]["exact"] > rows["schemas"]["exact"] + 0.2
    assert rows["kernel"]["error_agreement"] > 0.95
    table = CliRunner().invoke(cli, options, catch_exceptions=False)
    assert "everything" in table.stdout and "all" in table.stdout
    nothing = CliRunner().invoke(cli, [*options, "--task", "nowhere"])
    assert nothing.exit_code != 0
