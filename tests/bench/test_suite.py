"""What a benchmark measures on."""

from pathlib import Path

import pytest

from worldline import World, write_trajectories
from worldline.bench.suite import load_suite
from worldline.errors import ConfigError
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def trajectory(command: str, task: str = "t", source: Source = Source.OBSERVED, **shell: object) -> Trajectory:
    world = WorldSpec(domain="terminal", task=task, initial_state={"shell": shell} if shell else {})
    turn = Turn(action=Action(name="bash", arguments={"command": command}), observation=Observation(text="x\n"))
    return Trajectory(source=source, world=world, turns=(turn,))


def saved(folder: Path, *trajectories: Trajectory) -> Path:
    path = folder / "data.jsonl"
    write_trajectories(path, trajectories)
    return path


def test_another_world_keeps_how_the_streams_came(tmp_path: Path):
    data = saved(tmp_path, trajectory("ls", merged=True))
    world = World.terminal(user="ann", shell={"program": "sh"}).spec
    (started,) = load_suite("terminal", "test", data=data, world=world).trajectories
    assert started.world.initial_state == {"user": "ann", "shell": {"program": "sh", "merged": True}}
    assert started.world.task == "t"


def test_whole_tasks_that_need_the_network_are_left_out(tmp_path: Path):
    data = saved(
        tmp_path,
        trajectory("ls", "a"),
        trajectory("curl x", "a"),
        trajectory("git clone x", "b"),
        trajectory("pwd", "c"),
    )
    suite = load_suite("terminal", "test", data=data, offline_only=True)
    assert [t.world.task for t in suite.trajectories] == ["c"] and suite.left_out == 3


def test_simulated_trajectories_are_refused(tmp_path: Path):
    data = saved(tmp_path, trajectory("ls", source=Source.SIMULATED))
    with pytest.raises(ConfigError, match="simulated"):
        load_suite("terminal", "test", data=data)
    with pytest.raises(ConfigError, match="no web trajectories"):
        load_suite("web", "test", data=data)
