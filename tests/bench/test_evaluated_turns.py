"""Benchmark rows are scored where they evaluate, and only there."""

import json
from pathlib import Path

from worldline.bench.suite import load_suite, measure
from worldline.formats.agentworldbench import rows_of
from worldline.memory import Memory
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def session(n: int) -> Trajectory:
    turns = tuple(
        Turn(
            action=Action(name="bash", arguments={"command": f"echo {i}"}),
            observation=Observation.from_text(f"{i}\n"),
        )
        for i in range(n)
    )
    state = {"shell": {"merged": True}}
    return Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal", initial_state=state), turns=turns)


def test_only_the_turns_that_rows_evaluate_are_scored(tmp_path: Path):
    path = tmp_path / "terminal_test.jsonl"
    rows = list(rows_of(session(6), selected={2, 5}))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite = load_suite("terminal", "test", data=path)
    assert suite.turns == 2
    ((row,), scores) = measure(suite, ["grounded"], memory=Memory())
    assert [score.turn for score in scores["grounded"]] == [1, 4]
    assert row.n == 2 and row.exact == 1.0


def test_everything_is_scored_where_nothing_is_marked(tmp_path: Path):
    path = tmp_path / "terminal_test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(session(3))))
    assert load_suite("terminal", "test", data=path).turns == 3


def test_sampling_counts_scored_turns(tmp_path: Path):
    path = tmp_path / "terminal_test.jsonl"
    sessions = [
        session(4).model_copy(update={"world": WorldSpec(domain="terminal", task=f"task {i}"), "id": f"t{i}"})
        for i in range(4)
    ]
    rows = [row for one in sessions for row in rows_of(one, selected={1})]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(load_suite("terminal", "test", data=path).sampled(2, seed=0).trajectories) == 2
