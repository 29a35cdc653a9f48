"""Prompts of one session begin with each other: at least 95% of the bytes, with notes in them."""

import json
import subprocess
import sys

import pytest

from worldline.bench.prompts import chained, prompt_reuse
from worldline.domains.terminal import TERMINAL
from worldline.engines.notes import notes_budget, notes_on
from worldline.memory.shipped import shipped_memory
from worldline.types import Observation, Source, Trajectory, Turn, WorldSpec

COMMANDS = WorldSpec(domain="terminal", initial_state={"files": {"/home/user/app.log": "started\n" * 40}})


def session(turns: int) -> Trajectory:
    """A session as they are recorded: short commands, answers of a few lines."""
    made = []
    for number in range(turns):
        output = "".join(f"{number}.{line} some output of a command\n" for line in range(5 + number % 6))
        action = TERMINAL.parse_action(f"grep -n 'part {number}' app.log | sort -u")
        made.append(Turn(action=action, observation=Observation.from_streams(output.encode(), b"", 0)))
    return Trajectory(world=COMMANDS, turns=tuple(made), source=Source.OBSERVED)


@pytest.mark.parametrize("engine", ["model", "model+memory", "grounded"])
async def test_thirty_turns(engine: str):
    found = await prompt_reuse([session(30)], engine, shipped_memory("terminal"))
    assert (found.sessions, found.prompts) == (1, 29)
    assert found.share >= 0.95, found


async def test_what_changes_in_the_beginning_is_seen():
    # The measure itself: a world that changes between two prompts keeps nothing behind the change.
    one = await prompt_reuse([session(2)], "model")
    assert 0.5 < one.share < 1
    assert one.kept < one.total


def test_sessions_are_lengthened():
    parts = [session(8)] * 5
    assert [len(t.turns) for t in chained(parts, 20)] == [20]
    assert [len(t.turns) for t in chained(parts, 8)] == [8] * 5


def test_notes_keep_to_their_room():
    memory = shipped_memory("terminal")
    action = TERMINAL.parse_action("ls -l")
    near = memory.nearest("terminal", action, 3)
    for share in (0.0, 0.02, 0.2, 1.0):
        budget = notes_budget(10_000, share)
        notes = notes_on(action, budget=budget, guess="x" * 5000, evidence=near)
        assert sum(map(len, notes.values())) <= budget
    assert set(notes) == {"guess", "evidence"} and notes["evidence"].startswith("$ ls")
    assert notes_on(action, budget=0, guess="x", evidence=near) == {}


def test_the_command_prints_it():
    command = [sys.executable, "-m", "worldline", "bench", "prompt", "--sessions", "1", "--json", "-"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [row["engine"] for row in rows] == ["model", "model+memory", "grounded"]
    assert all(row["prompts"] == 29 and row["share"] >= 0.95 for row in rows), rows
