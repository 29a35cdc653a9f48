"""A benchmark from recordings: what is selected, dropped, written and said."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline import write_trajectories
from worldline.bench.agentworld.rows import index_rows
from worldline.bench.building import BuildOptions, build_benchmark
from worldline.bench.building.build import Benchmark
from worldline.cli import cli
from worldline.errors import ConfigError, EvaluationOnlyError
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

WORDS = [f"w{i}" for i in range(5000)]


def turn(command: str, text: str) -> Turn:
    return Turn(action=Action(name="bash", arguments={"command": command}), observation=Observation.from_text(text))


def session(seed: int, turns: int = 8, domain: str = "terminal", **told: object) -> Trajectory:
    draw = random.Random(seed)
    made = tuple(turn(f"cat f{seed}-{i}", " ".join(draw.sample(WORDS, 40)) + "\n") for i in range(turns))
    values = {"source": Source.OBSERVED, "world": WorldSpec(domain=domain, task=f"task {seed}"), "turns": made}
    return Trajectory.model_validate({**values, **told})


def saved(folder: Path, name: str, *trajectories: Trajectory) -> Path:
    path = folder / name
    write_trajectories(path, trajectories)
    return path


def built(folder: Path, data: Path, out: str = "out", **told: object) -> Benchmark:
    against = told.pop("against", ())
    options = BuildOptions.model_validate({"share": 1.0, **told})
    return build_benchmark([data], folder / out, options, against=against)  # type: ignore[arg-type]


def evaluated(folder: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for ref in index_rows(folder).refs:
        found.setdefault(ref.id, []).append(ref.turn)
    return found


def test_first_last_and_three_between(tmp_path: Path):
    data = saved(tmp_path, "d.jsonl", session(1, 12), session(2, 4), session(3, 1))
    result = built(tmp_path, data)
    turns = evaluated(tmp_path / "out")
    long, short, single = (turns[session(n, count).id] for n, count in ((1, 12), (2, 4), (3, 1)))
    assert long[0] == 1 and long[-1] == 12 and len(long) == 5
    assert short == [1, 2, 3, 4] and single == [1]
    assert result.rows == {"terminal": 10} and result.trajectories == {"terminal": 3}


def test_middle_turns_are_drawn_uniformly():
    from worldline.bench.building.selection import selected_turns

    counts = dict.fromkeys(range(2, 8), 0)
    for seed in range(600):
        for number in selected_turns(session(1, 8), seed=seed)[0][1:-1]:
            counts[number] += 1
    assert all(240 < count < 360 for count in counts.values())  # 300 expected, 4.9 standard deviations


def test_half_of_the_rows_are_kept_by_the_seed_alone(tmp_path: Path):
    sessions = [session(n) for n in range(8)]
    first = built(tmp_path, saved(tmp_path, "a.jsonl", *sessions), "a", share=0.5)
    built(tmp_path, saved(tmp_path, "b.jsonl", *reversed(sessions)), "b", share=0.5)
    built(tmp_path, tmp_path / "a.jsonl", "c", share=0.5, seed=1)
    assert first.rows == {"terminal": 20}
    assert evaluated(tmp_path / "a") == evaluated(tmp_path / "b") != evaluated(tmp_path / "c")


def test_what_training_sets_hold_is_dropped_and_named(tmp_path: Path):
    same, edited, partly, clean = (session(n, 6) for n in range(4))
    # Another task, another final turn: not the same content, nearly the same words.
    near = edited.model_copy(update={"turns": (*edited.turns[:-1], turn("ls", "x\n")), "id": ""})
    holds_one = session(9, 3).model_copy(update={"turns": (*session(9, 2).turns, partly.turns[0])})
    train = saved(tmp_path, "train.jsonl", same.model_copy(update={"family": "other"}), near, holds_one)
    data = saved(tmp_path, "d.jsonl", same, edited, partly, clean)
    result = built(tmp_path, data, against=[train])
    turns = evaluated(tmp_path / "out")
    assert set(turns) == {partly.id, clean.id} and 1 not in turns[partly.id] and 1 in turns[clean.id]
    dropped = [json.loads(line) for line in (tmp_path / "out" / "dropped.jsonl").read_text().splitlines()]
    assert [(item["trajectory"], item.get("turn"), item["why"]) for item in dropped] == [
        (same.id, None, "trajectory: same content in a training set"),
        (edited.id, None, "trajectory: n-grams in a training set"),
        (partly.id, 1, "turn: same content in a training set"),
    ]
    assert result.against_trajectories == 3 and list(result.against) == [str(train)]


def test_short_turns_that_all_have_are_no_contamination(tmp_path: Path):
    plain = session(1, 5).model_copy(update={"turns": (turn("ls", ""), *session(1, 5).turns), "id": "p"})
    train = saved(tmp_path, "t.jsonl", session(2).model_copy(update={"turns": (turn("ls", ""),), "id": "q"}))
    built(tmp_path, saved(tmp_path, "d.jsonl", plain), against=[train])
    assert evaluated(tmp_path / "out")["p"][0] == 1


def test_rows_of_a_benchmark_are_refused(tmp_path: Path):
    built(tmp_path, saved(tmp_path, "d.jsonl", session(1)))
    with pytest.raises(EvaluationOnlyError, match="benchmark's own row"):
        built(tmp_path, tmp_path / "out" / "terminal_test.jsonl", "again")
    assert not (tmp_path / "again").exists()


def test_what_cannot_serve_is_left_out_and_counted(tmp_path: Path):
    unreal = session(2, source=Source.SIMULATED)
    data = saved(tmp_path, "d.jsonl", session(1), session(1, family="copy"), unreal, session(3, domain="game"))
    result = built(tmp_path, data)
    assert result.dropped == {"duplicate": 1, "simulated": 1, "not a domain of the benchmark": 1}
    assert built(tmp_path, data, "with", simulated=True).simulated == 1
    row = json.loads((tmp_path / "with" / "terminal_test.jsonl").read_text().splitlines()[-1])
    assert row["worldline"]["source"] == "simulated"


def test_an_existing_folder_is_never_overwritten(tmp_path: Path):
    data = saved(tmp_path, "d.jsonl", session(1))
    built(tmp_path, data)
    with pytest.raises(ConfigError, match="there already"):
        built(tmp_path, data)
    with pytest.raises(ConfigError, match="no row is left"):
        built(tmp_path, saved(tmp_path, "s.jsonl", session(1, source=Source.SIMULATED)), "none")


def test_a_killed_build_leaves_nothing_half_done(tmp_path: Path):
    data = saved(tmp_path, "d.jsonl", *(session(n, 40) for n in range(60)))
    code = (
        "import sys, os, signal; from pathlib import Path; from worldline.bench.building import build_benchmark\n"
        "build_benchmark([Path(sys.argv[1])], Path(sys.argv[2]),"
        " step=lambda what: os.kill(os.getpid(), signal.SIGKILL) if what == sys.argv[3] else None)"
    )
    for stage in ("reading", "writing"):
        done = subprocess.run([sys.executable, "-c", code, str(data), str(tmp_path / "out"), stage], check=False)
        assert done.returncode == -signal.SIGKILL and not (tmp_path / "out").exists()
    build_benchmark([data], tmp_path / "out")
    build_benchmark([data], tmp_path / "straight")
    name = "terminal_test.jsonl"
    assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "straight" / name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl", "out", "straight"]


def test_the_command_and_its_card(tmp_path: Path):
    data = saved(tmp_path, "d.jsonl", session(1, origin={"licence": "CC-BY-4.0"}), session(2))
    out = tmp_path / "bench"
    arguments = ["bench", "build", "--from", str(data), "--out", str(out), "--licence", "MIT", "--share", "1"]
    told = CliRunner().invoke(cli, [*arguments, "--json", "-"], catch_exceptions=False)
    record = json.loads(told.stdout)
    assert record["rows"] == {"terminal": 10} and record["licences"] == {"CC-BY-4.0": 1, "MIT": 1}
    card = (out / "README.md").read_text()
    for piece in (
        "For evaluation only",
        "Not decontaminated",
        "| CC-BY-4.0 | 1 |",
        record["files"]["terminal_test.jsonl"],
    ):
        assert piece in card
