"""`worldline world new`, `world learn` and the commands that measure what they made, from beginning to end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline.bench.learned import measure_learned
from worldline.cli import cli
from worldline.errors import ConfigError
from worldline.formats import read_trajectories, write_trajectories
from worldline.worlds import load_world_file

sys.path.insert(0, str(Path(__file__).parents[1] / "worlds" / "learning"))

from library_desk import session


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("desk") / "desk.jsonl"
    write_trajectories(file, (session(seed) for seed in range(18)))
    return file


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_learned_world_is_written_played_and_measured(recorded: Path, tmp_path: Path) -> None:
    world = tmp_path / "desk.world.yaml"
    facts = json.loads(run("world", "learn", recorded, "--out", world, "--name", "desk", "--json"))
    assert {"lend_book", "get_book", "get_loan"} <= set(facts["with_rules"])
    assert load_world_file(world).name == "desk"

    actions = tmp_path / "actions.jsonl"
    lend = {"name": "lend_book", "arguments": {"member_id": "member_6", "isbn": "b01", "days": 2}}
    actions.write_text("\n".join(map(json.dumps, [lend, {"name": "get_loan", "arguments": {"loan_id": "L100"}}])))
    played = run("play", world, "--actions", actions, "--store", tmp_path / "log.db", "--json")
    made, read = (json.loads(line) for line in played.splitlines())
    assert json.loads(made["observation"])["price"] == 6
    assert read["observation"] == made["observation"]
    assert read["origin"] == "computed" and not read["abstained"]

    unseen = tmp_path / "unseen.jsonl"
    write_trajectories(unseen, (session(seed) for seed in range(500, 505)))
    options = ("--engine", "grounded", "--engine", "nearest", "--json", "-")
    grounded, nearest = json.loads(run("bench", "real", "--world", world, "--data", unseen, *options))
    assert grounded["exact"] > max(0.6, nearest["exact"] + 0.2)


def test_leaving_one_task_out_goes_on_where_it_was(recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    options = ("bench", "learn", "--data", recorded, "--limit", 3, "--json", out)
    run(*options)
    report = json.loads(out.read_text())
    rows = {row["engine"]: row for row in report["rows"]}
    assert set(rows) == {"most-frequent", "nearest", "recall", "kernel", "grounded"}
    assert len({row["n_knowable"] for row in rows.values()}) == 1
    assert report["n_recorded"] + report["n_computable"] == rows["grounded"]["n_knowable"]
    assert rows["grounded"]["exact_knowable"] > 0.8
    journal = out.with_name("report.json.grounded.journal")
    before = journal.read_bytes()
    run(*options)
    assert journal.read_bytes() == before
    assert json.loads(out.read_text()) == report
    families = list(dict.fromkeys(t.family for t in read_trajectories(recorded)))[:3]
    parts = [json.loads(run(*options[:-1], "-", "--task", name)) for name in families]
    assert [part["tasks"] for part in parts] == [1, 1, 1]
    for count in ("n", "n_errors", "n_recorded", "n_computable", "trajectories"):
        assert sum(part[count] for part in parts) == report[count]


def test_a_task_that_is_not_there_cannot_be_left_out(recorded: Path) -> None:
    with pytest.raises(ConfigError, match="unknown task 'nowhere'"):
        measure_learned(list(read_trajectories(recorded)), ["kernel"], only=["nowhere"])


def test_definitions_alone_make_a_world(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"tools": [{"name": "create_note", "inputSchema": {"properties": {"text": {}}}}]}))
    said = run("world", "new", "--from-tools", tools, "--out", tmp_path / "n.world.yaml")
    assert "1 tools, 1 of them with rules" in said
    assert run("world", "new", "--from-tools", tools, "--out", "-").startswith("schema_version: 1")


def test_what_cannot_be_learned_from_is_said_in_a_line(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"neither": "nor"}\n')
    result = CliRunner().invoke(cli, ["world", "learn", str(empty), "--out", str(tmp_path / "w.yaml")])
    assert result.exit_code != 0
    assert not (tmp_path / "w.yaml").exists()
