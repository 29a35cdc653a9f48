"""How far a model is trusted is counted on turns where the guess of the others is mute, with scripted answers."""

import asyncio
import json
from itertools import islice
from pathlib import Path

from worldline.bench.model_trust import asked_turns, model_trust
from worldline.cli.model_trust import measure_model
from worldline.formats import read_trajectories
from worldline.memory import Memory
from worldline.models import ScriptedModel
from worldline.recordings import path as recording_path
from worldline.types import Observation, Source, Trajectory, Turn, WorldSpec

WORLD = WorldSpec(domain="terminal")


def trajectory(*turns: tuple[str, str]) -> Trajectory:
    from worldline.domains.terminal import TERMINAL

    made = [
        Turn(action=TERMINAL.parse_action(command), observation=Observation.from_streams(output.encode(), b"", 0))
        for command, output in turns
    ]
    return Trajectory(world=WORLD, turns=tuple(made), source=Source.OBSERVED)


RANDOM = "awk 'BEGIN { print rand() }'"
SESSION = trajectory(("echo a", "a\n"), (RANDOM, "one\n"), ("cat /srv/a", "x\n"), (f"{RANDOM} ", "two\n"))


def test_only_turns_with_a_mute_guess_are_asked_and_counted():
    memory = Memory([])
    places = asyncio.run(asked_turns([SESSION], memory, None, 0))
    assert places == [(SESSION.id, 1), (SESSION.id, 3)]
    assert len(asyncio.run(asked_turns([SESSION], memory, 1, 0))) == 1
    model = ScriptedModel({"*": "<predicted_observation>\none\n[exit code: 0]\n</predicted_observation>"}, name="m")
    found = asyncio.run(model_trust("terminal", [SESSION], memory, model, places, data={"split": "dev"}))
    trust = found.trust["generated"]["m"]
    assert (trust.n, trust.exact, len(model.calls)) == (2, 1, 2)
    assert 0 < trust.lower < 0.5 and found.data["asked"] == 2
    # The second answer follows the true history, not the wrong first one.
    assert "two" not in model.calls[1][-1]["content"] and len(model.calls[1]) == 8


def test_what_was_measured_before_stays_in_the_file(tmp_path: Path):
    out = tmp_path / "trust.json"
    dev = tmp_path / "dev.jsonl"
    some = list(islice(read_trajectories(recording_path("terminal", "dev")), 4))
    dev.write_text("".join(t.model_dump_json() + "\n" for t in [SESSION, *some]))
    answers = {"*": "<predicted_observation>\none\n[exit code: 0]\n</predicted_observation>"}
    given = {"data": dev, "out": out, "turns": 2, "max_tokens": None, "notes_share": 0.1, "prompts": None}
    for name in ("first", "second"):
        measure_model("terminal", ScriptedModel(answers, name=name), **given)
    assert set(json.loads(out.read_text())["trust"]["generated"]) == {"first", "second"}
