"""The examples run, and the demo's claim about real bash holds."""

import re
import subprocess
import sys
from pathlib import Path

from worldline import World, read_trajectories

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_demo_compares_with_real_bash():
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "demo.py"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    match = re.search(r"(\d+) of (\d+) answers equal real bash's", done.stdout.replace("\n", " "))
    assert match is not None
    actions = (EXAMPLES / "demo.actions.jsonl").read_text(encoding="utf-8").splitlines()
    assert int(match[2]) == len(actions) >= 15
    assert int(match[1]) >= len(actions) - 1


def test_the_demo_was_recorded_in_its_world_and_observed():
    (recorded,) = read_trajectories(EXAMPLES / "demo.recorded.jsonl")
    assert recorded.source == "observed"
    assert recorded.world.initial_state == World.load(EXAMPLES / "notes.world.yaml").spec.initial_state


def test_every_world_file_loads():
    found = list(EXAMPLES.glob("*.world.yaml"))
    assert found
    for path in found:
        World.load(path)
