"""The closed loop: what a simulation allows is taken in reality, and what does not survive is counted."""

import json
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from worldline.bench import closed_loop as loops
from worldline.bench.closed_loop import LoopScore, closed_loop, closed_loop_row
from worldline.cli import cli
from worldline.errors import ConfigError
from worldline.types import Observation
from worldline.worlds import World

GARDEN = "examples/search.world.yaml"


@pytest.fixture
def garden():
    return World.load(GARDEN).spec


def test_where_the_kernel_computes_everything_the_loop_closes(garden):
    row = closed_loop_row([("a", garden), ("b", garden)], 12, seed=3)
    assert (row.sessions, row.steps) == (2, 24)
    assert row.agreement == row.verified == row.unbroken == 1.0
    assert row.simulated_errors == row.real_errors and row.wrongly_allowed in (0.0, None)
    assert row.agreement_ci == (1.0, 1.0)


def test_another_seed_takes_other_actions(garden):
    assert closed_loop("a", garden, 10, seed=1) != closed_loop("a", garden, 10, seed=2)


def test_what_reality_answers_otherwise_is_counted(garden, monkeypatch):
    real = loops._run

    def refusing(world, actions, surroundings):
        answers = real(world, actions, surroundings)
        return [answers[0], Observation(text="Error: no", is_error=True), *answers[2:]]

    monkeypatch.setattr(loops, "_run", refusing)
    score = closed_loop("a", garden, 8, seed=1)
    assert score.first_difference == 2 and score.agreeing == score.steps - 1
    assert score.wrongly_allowed + score.simulated_errors >= 1


def loop(family, steps, simulated, real, allowed):
    return LoopScore(
        family=family, steps=steps, agreeing=steps, first_difference=None, simulated_errors=simulated,
        real_errors=real, wrongly_allowed=allowed, wrongly_refused=0, abstained=0, probes=0, verified=None,
    )  # fmt: skip


def test_the_gap_of_refusals_has_a_sign_and_an_interval(garden, monkeypatch):
    scores = iter([loop("a", 10, 2, 4, 2), loop("b", 10, 3, 3, 0), loop("c", 20, 5, 4, 0), loop("d", 10, 1, 0, 0)])
    monkeypatch.setattr(loops, "closed_loop", lambda *args, **options: next(scores))
    row = closed_loop_row([(family, garden) for family in "abcd"], 20)
    assert row.refusal_gap == pytest.approx((11 - 11) / 50)
    assert row.refusal_gap_ci[0] < 0 < row.refusal_gap_ci[1], "families that refuse too little and too much"
    assert row.wrongly_allowed == pytest.approx(2 / 11)
    assert row.wrongly_allowed_ci[0] == 0 < row.wrongly_allowed < row.wrongly_allowed_ci[1]


def test_a_simulation_that_lets_too_much_pass_has_a_negative_gap(garden, monkeypatch):
    scores = iter([loop("a", 10, 1, 3, 2), loop("b", 10, 1, 3, 2)])
    monkeypatch.setattr(loops, "closed_loop", lambda *args, **options: next(scores))
    row = closed_loop_row([("a", garden), ("b", garden)], 10)
    assert row.refusal_gap == pytest.approx(-0.2) and row.refusal_gap_ci == pytest.approx((-0.2, -0.2))


def test_what_differs_from_run_to_run_is_compared_by_shape(garden, monkeypatch):
    real, runs = loops._run, iter(range(100))

    def ticking(world, actions, surroundings):
        number = next(runs)
        return [one.model_copy(update={"text": f"{one.text} {number}"}) for one in real(world, actions, surroundings)]

    monkeypatch.setattr(loops, "_run", ticking)
    score = closed_loop("a", garden, 4, seed=1)
    assert score.agreeing == 0, "a simulation that leaves out the changing part is wrong"


def test_no_session_is_an_error():
    with pytest.raises(ConfigError):
        closed_loop_row([], 10)


def test_an_interrupted_run_goes_on_and_runs_nothing_twice(garden, tmp_path, monkeypatch):
    worlds = [(family, garden) for family in "aabc"]
    whole = closed_loop_row(worlds, 4, seed=2)
    ran, loop = [], loops.closed_loop

    def counted(family, *args, **options):
        ran.append(options["seed"])
        return loop(family, *args, **options)

    def interrupted(score):
        if len(ran) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(loops, "closed_loop", counted)
    stem = tmp_path / "rows.json"
    with pytest.raises(KeyboardInterrupt):
        closed_loop_row(worlds, 4, seed=2, journal=stem, on_done=interrupted)
    seen = []
    assert closed_loop_row(worlds, 4, seed=2, journal=stem, on_done=seen.append) == whole
    assert ran == [2000, 2001, 2002, 2003] and len(seen) == 4
    more = closed_loop_row([*worlds, ("d", garden)], 4, seed=2, journal=stem)
    assert more.sessions == 5 and ran[4:] == [2004], "more sessions go on from the same journal"
    closed_loop_row(worlds, 5, seed=2, journal=stem)
    closed_loop_row(worlds[:1], 4, seed=3, journal=stem)
    assert len(ran) == 10, "another length and another seed are other sessions"


def test_a_session_whose_endpoint_failed_is_run_again(garden, tmp_path, monkeypatch):
    loop, failures = loops.closed_loop, iter(["EndpointError", None, "OutputError"])

    def failing(*args, **options):
        return loop(*args, **options).model_copy(update={"failure": next(failures)})

    monkeypatch.setattr(loops, "closed_loop", failing)
    for _ in range(2):
        closed_loop_row([("a", garden)], 2, journal=tmp_path / "rows.json")
    closed_loop_row([("a", garden), ("b", garden)], 2, journal=tmp_path / "rows.json")
    assert next(failures, "spent") == "spent"
    closed_loop_row([("a", garden), ("b", garden)], 2, journal=tmp_path / "rows.json")


def test_a_killed_command_goes_on(tmp_path):
    command = [sys.executable, "-m", "worldline", "bench", "closed-loop", "--domain", "search", "--world", GARDEN]
    command += ["--turns", "6", "--turns", "8", "--sessions", "12", "--json"]
    subprocess.run([*command, str(tmp_path / "whole.json")], check=True, capture_output=True)
    out, journal = tmp_path / "rows.json", tmp_path / "rows.json.grounded-6.journal"
    process = subprocess.Popen([*command, str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            if (journal.exists() and journal.read_bytes().count(b"\n") >= 3) or process.poll() is not None:
                break
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    kept = journal.read_bytes().splitlines()
    assert len(kept) >= 3 and not out.exists()
    subprocess.run([*command, str(out)], check=True, capture_output=True)
    assert out.read_text() == (tmp_path / "whole.json").read_text()
    lines = journal.read_bytes().splitlines()
    names = [json.loads(line)["trajectory"] for line in lines[1:]]
    assert lines[:3] == kept[:3] and len(names) == len(set(names)) == 12


def test_the_command_writes_its_rows(tmp_path):
    out = tmp_path / "rows.json"
    command = ["bench", "closed-loop", "--domain", "search", "--world", GARDEN, "--turns", "5", "--sessions", "2"]
    done = CliRunner().invoke(cli, [*command, "--json", str(out)])
    assert done.exit_code == 0, done.output
    [row] = json.loads(out.read_text())
    assert row["domain"] == "search" and row["steps"] == 10 and row["seed"] == 7
    assert row["refusal_gap"] == 0 and row["refusal_gap_ci"] == [0, 0]
    assert "gap, points" in done.output and "+0.0" in done.output


def test_only_worlds_that_hold_a_value_are_acted_in():
    command = ["bench", "closed-loop", "--domain", "search", "--split", "train", "--where", "closed=true"]
    done = CliRunner().invoke(cli, [*command, "--turns", "3", "--sessions", "2", "--json", "-"])
    assert json.loads(done.output)[0]["agreement"] == 1.0
    done = CliRunner().invoke(cli, [*command[:-1], "closed=7"])
    assert isinstance(done.exception, ConfigError)
