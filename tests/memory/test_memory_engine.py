from pathlib import Path

import pytest

from worldline import World
from worldline.bench.calibration import calibrate
from worldline.bench.near import leave_one_family_out
from worldline.engines.calibration import Calibration, Trust
from worldline.formats import read_trajectories
from worldline.kernels import build_kernel
from worldline.memory import Memory
from worldline.memory.shipped import footings_text, shipped_footings
from worldline.memory.transition import follow
from worldline.memory.writer import MemoryWriter
from worldline.recordings import path as recording_path
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

COMMAND = "tool --check {}.cfg"


@pytest.fixture(scope="module")
def memory(tmp_path_factory) -> Path:
    """Two recorded runs of a program that no kernel knows."""
    folder = tmp_path_factory.mktemp("m") / "m"
    with MemoryWriter(folder, build_kernel) as writer:
        for name in ("alpha", "beta"):
            turn = Turn(
                action=Action(name="bash", arguments={"command": COMMAND.format(name)}),
                observation=Observation.from_streams(f"{name}.cfg: checked by user\n".encode(), b"", 0),
            )
            state = {"files": {f"/home/user/{name}.cfg": f"{name}\n"}}
            world = WorldSpec(domain="terminal", initial_state=state)
            writer.add(Trajectory(source=Source.OBSERVED, world=world, turns=(turn,)))
    return folder


def measured(lower: float) -> Calibration:
    trust = {name: Trust(n=40, exact=39, lower=lower) for name in ("*", "presence attested unanimous")}
    return Calibration(domain="terminal", trust={"near": trust})


@pytest.mark.parametrize("engine", ["recall", "grounded"])
def test_a_regrounded_answer_counts_as_far_as_it_was_measured(memory, engine):
    world = World.terminal({"/home/bo/gamma.cfg": "x\n"}, user="bo")
    for calibration, sure in ((measured(0.9), True), (measured(0.4), False), (Calibration(domain="terminal"), False)):
        with world.open(engine, memory=memory, calibration=calibration) as session:
            step = session.step(COMMAND.format("gamma"))
            assert step.prediction.abstained is not sure
            if sure:
                assert step.observation == "gamma.cfg: checked by bo\n"
                assert step.prediction.origin == "recalled" and step.prediction.confidence == 0.9
                assert "re-grounded" in step.prediction.extra["evidence"]


def test_a_directory_does_not_outvote_what_the_kernel_knows(memory):
    with World.terminal({"/home/user/a.txt": "1\n"}).open("grounded", memory=memory) as session:
        assert session.step("cat a.txt").prediction.origin == "computed"


def test_near_matches_are_measured_without_the_asked_family():
    recorded = list(read_trajectories(recording_path("terminal", "train")))[:30]
    footings = shipped_footings("terminal")
    families = []
    answers = list(leave_one_family_out(recorded, footings, families.append))
    assert families == sorted({t.family for t in recorded})
    alone = [t for t in recorded if t.family == recorded[0].family]
    assert answers and not list(leave_one_family_out(alone, footings))
    result = calibrate("terminal", [], Memory(), {}, near=answers)
    assert result.measured("near") and result.trust["near"]["*"].n == len(answers)


def test_shipped_footings_are_what_the_kernel_tells():
    trajectory = next(iter(read_trajectories(recording_path("terminal", "train"))))
    told = follow(trajectory, build_kernel)
    shipped = shipped_footings("terminal")[trajectory.id]
    assert [list(stood) for stood in told] == shipped
    assert footings_text({"a": told}).startswith('{\n"a":[[')
