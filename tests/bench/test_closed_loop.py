"""The closed loop: what a simulation allows is taken in reality, and what does not survive is counted."""

import json

import pytest
from click.testing import CliRunner

from worldline.bench import closed_loop as loops
from worldline.bench.closed_loop import closed_loop, closed_loop_row
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


def test_the_command_writes_its_rows(tmp_path):
    out = tmp_path / "rows.json"
    command = ["bench", "closed-loop", "--domain", "search", "--world", GARDEN, "--turns", "5", "--sessions", "2"]
    done = CliRunner().invoke(cli, [*command, "--json", str(out)])
    assert done.exit_code == 0, done.output
    [row] = json.loads(out.read_text())
    assert row["domain"] == "search" and row["steps"] == 10 and row["seed"] == 7
    assert "steps that agree" in done.output


def test_only_worlds_that_hold_a_value_are_acted_in():
    command = ["bench", "closed-loop", "--domain", "search", "--split", "train", "--where", "closed=true"]
    done = CliRunner().invoke(cli, [*command, "--turns", "3", "--sessions", "2", "--json", "-"])
    assert json.loads(done.output)[0]["agreement"] == 1.0
    done = CliRunner().invoke(cli, [*command[:-1], "closed=7"])
    assert isinstance(done.exception, ConfigError)
