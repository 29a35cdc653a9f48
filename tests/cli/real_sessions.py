"""A small set of sessions recorded from real bash, for benchmarks to run on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from worldline import write_trajectories
from worldline.record.shell import RealShell
from worldline.types import Action, Source, Trajectory, Turn, WorldSpec

SESSIONS = [
    ["echo one > a.txt", "cat a.txt", "wc -l a.txt", "cat missing"],
    ["mkdir -p d/e; ls -R", "touch d/x; ls d", "rmdir d", "echo $?"],
    ["printf 'b\\na\\n' > l", "sort l", "sort -u l | head -n 1", "grep -c a l"],
    ["false", "pwd; hostname", "uname -r", "cd /tmp; pwd"],
    ["seq 1 5 | paste -sd+", "seq 3 | tac", "nosuchcommand", "echo done"],
    ["curl -s http://127.0.0.1:9/", "echo offline"],
]


def record(path: Path) -> list[Trajectory]:
    """Run the sessions for real and write them to `path`."""
    if shutil.which("bwrap") is None:
        reason = "bubblewrap is not installed: apt-get install bubblewrap"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    found = []
    for number, commands in enumerate(SESSIONS):
        world = WorldSpec(domain="terminal", task=f"task {number}", initial_state={"packages": ["curl"]})
        with RealShell(world) as shell:
            turns = tuple(
                Turn(action=Action(name="bash", arguments={"command": c}), observation=shell.run(c)) for c in commands
            )
        found.append(Trajectory(source=Source.OBSERVED, world=world, turns=turns, family=f"family {number // 2}"))
    write_trajectories(path, found)
    return found
