import json

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.errors import ConfigError, EvaluationOnlyError, StorageError
from worldline.formats import read_trajectories, write_trajectories
from worldline.recordings import path as recording_path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    recorded = list(read_trajectories(recording_path("terminal", "train")))
    write_trajectories(folder / "one.jsonl", recorded[:3])
    write_trajectories(folder / "two.jsonl", recorded[2:5])
    return folder


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_build_add_info_query_and_play(folder, tmp_path):
    memory = str(tmp_path / "m")
    built = json.loads(run("memory", "build", memory, str(folder / "one.jsonl"), "--json"))
    assert (built["added"], built["known"]) == (3, 0)
    assert built["memory"]["with_footprint"] > 0
    again = json.loads(run("memory", "build", memory, str(folder / "one.jsonl"), "--json"))
    assert (again["added"], again["known"]) == (0, 3)
    assert "2 trajectories added" in run("memory", "add", memory, str(folder / "two.jsonl"), "--no-footprints")
    facts = json.loads(run("memory", "info", memory, "--json"))
    assert facts["trajectories"] == 5 and facts["transitions"] > built["memory"]["transitions"]
    assert "terminal" in run("memory", "info", memory)
    action = next(iter(read_trajectories(folder / "one.jsonl"))).turns[0].action.render()
    found = json.loads(run("memory", "query", memory, action, "--json"))
    assert found["recall"]["action"] == action and found["nearest"][0]["action"] == action
    assert "nearest" in run("memory", "query", memory, "cat nosuch.txt")
    actions = tmp_path / "actions.jsonl"
    actions.write_text('{"command": "echo hello"}\n')
    store = str(tmp_path / "s.db")
    played = run("play", "terminal", "--memory", memory, "--actions", str(actions), "--json", "--store", store)
    assert json.loads(played)["observation"] == "hello\n"
    shown = run(
        "bench", "real", "--data", str(folder / "two.jsonl"), "--memory", memory, "--engine", "recall", "--json", "-"
    )
    assert json.loads(shown)[0]["exact"] > 0.2


def test_wrong_use_is_a_typed_error(folder, tmp_path):
    with pytest.raises(ConfigError, match="no trajectories"):
        run("memory", "build", str(tmp_path / "m"))
    for command in (["add"], ["info"], ["query"]):
        with pytest.raises(StorageError, match="no memory directory"):
            run("memory", *command, str(tmp_path / "nothing"), *(["ls"] if command == ["query"] else []))
    marked = tmp_path / "marked.jsonl"
    first = next(iter(read_trajectories(folder / "one.jsonl")))
    write_trajectories(marked, [first.model_copy(update={"extra": {"evaluation_only": True}})])
    with pytest.raises(EvaluationOnlyError):
        run("memory", "build", str(tmp_path / "m"), str(marked))


def test_bench_memory(tmp_path):
    pytest.importorskip("numpy")
    run(
        "bench",
        "memory",
        "--n",
        "3000",
        "--queries",
        "60",
        "--keep",
        str(tmp_path / "m"),
        "--json",
        str(tmp_path / "f"),
    )
    figures = json.loads((tmp_path / "f").read_text())
    assert figures["build"]["n"] >= 3000 and figures["build"]["peak_mib"] > 10
    by_kind = {row["kind"]: row for row in figures["queries"]}
    assert by_kind["recall"]["found"] == by_kind["recall"]["n"]
    assert by_kind["near"]["found"] > 0 and by_kind["nearest"]["p50_ms"] > 0
    with pytest.raises(ConfigError, match="not empty"):
        run("bench", "memory", "--n", "10", "--keep", str(tmp_path / "m"))
