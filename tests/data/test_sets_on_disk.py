"""Sets on disk: no report or card ever stands beside rows that it does not tell of."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.overlap import benchmark_reference
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.data.sets import CARD, REPORT, ROWS, prompts_mark, read_report, read_rows, write_rows
from worldline.errors import ConfigError
from worldline.formats import write_trajectories
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def row(text):
    chat = (TrainingMessage(role="user", content=text), TrainingMessage(role="assistant", content="a", weight=1))
    return TrainingRow(stage="cpt", domain="terminal", source=Source.OBSERVED, messages=chat)


def texts(word):
    return {REPORT: json.dumps({"made": word}), CARD: f"# {word}"}


def trajectory(*turns):
    made = [
        Turn(
            action=Action(name="bash", arguments={"command": command}),
            observation=Observation(text=text, is_error=False),
        )
        for command, text in turns
    ]
    world = WorldSpec(domain="terminal", initial_state={"shell": {"merged": True}})
    return Trajectory(source=Source.OBSERVED, world=world, turns=tuple(made), family="f")


@pytest.fixture
def old(tmp_path):
    write_rows(tmp_path, [row("old")], lambda: texts("old"))
    return tmp_path


@pytest.mark.parametrize("last", [ROWS, REPORT, CARD])
def test_a_build_that_ends_while_files_are_replaced_leaves_nothing_stale(old, monkeypatch, last):
    replace = Path.replace

    def until_last(self, target):
        if Path(target).name == last:
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", until_last)
    with pytest.raises(KeyboardInterrupt):
        write_rows(old, [row("new")], lambda: texts("new"))
    words = {file.name: file.read_text() for file in old.iterdir() if file.name != ROWS}
    [only] = read_rows(old)
    assert only.messages[0].content == ("old" if last == ROWS else "new")
    assert not any("old" in text for text in words.values()), "they tell of rows that may be gone"
    assert set(words) == ({REPORT} if last == CARD else set())


def test_a_build_that_fails_leaves_the_old_set_whole(old):
    def failing():
        yield row("new")
        raise ValueError

    with pytest.raises(ValueError):
        write_rows(old, failing(), lambda: texts("new"))
    assert read_report(old) == {"made": "old"} and (old / CARD).read_text() == "# old"
    assert {file.name for file in old.iterdir()} == {ROWS, REPORT, CARD}


def test_prompts_are_named_by_what_they_hold(tmp_path):
    for place in ("a/mine", "b/mine"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "suffix.j2").write_text("Answer.")
    here, there = prompts_mark(tmp_path / "a/mine"), prompts_mark(tmp_path / "b/mine")
    assert here == there and here.startswith("mine@")
    (tmp_path / "b/mine/suffix.j2").write_text("Answer at once.")
    assert prompts_mark(tmp_path / "b/mine") != here
    assert prompts_mark(None) is None and prompts_mark(Path("brief")) == "brief"


@pytest.mark.parametrize(("given", "told"), [([], None), (["--prompts", "brief"], "brief")])
def test_a_report_tells_prompts_and_benchmarks(tmp_path, given, told):
    shared = trajectory(("echo a", "a\n"), ("echo b", "b\n"))
    write_trajectories(tmp_path / "in.jsonl", [shared, trajectory(("echo c", "c\n"), ("echo d", "d\n"))])
    write_trajectories(tmp_path / "bench.jsonl", [shared])
    assert benchmark_reference([tmp_path / "bench.jsonl"]).found(shared).same
    words = ["--from", str(tmp_path / "in.jsonl"), "--against", str(tmp_path / "bench.jsonl"), "--pool", "all"]
    done = CliRunner().invoke(cli, ["data", "build", "rl", *words, "--out", str(tmp_path / "set"), *given])
    assert done.exit_code == 0, done.output
    report = read_report(tmp_path / "set")
    assert report["prompts"] == told and report["against"] == ["bench.jsonl"]
    assert report["rows"] == 1 and report["left_out"] == {"in a benchmark": 1}
    assert ("`brief`" in (tmp_path / "set" / CARD).read_text()) == bool(told)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["sft", "--manual-pages", "3"], "--manual-pages"),
        (["rl", "--transitions", "0.5"], "--transitions"),
        (["sft", "--no-mask"], "--no-mask"),
        (["cpt", "--state-change"], "--state-change"),
        (["cpt", "--asked", "both"], "--asked"),
        (["cpt", "--turns-per-trajectory", "2"], "--turns-per-trajectory"),
        (["sft", "--rollouts", "3"], "--rollouts"),
        (["sft", "--vary-prompts"], "--vary-prompts"),
        (["sft", "--max-overlap", "0.1"], "--max-overlap"),
        (["sft", "--teacher", "http://127.0.0.1:9#x", "--jobs", "2"], "--jobs"),
    ],
)
def test_options_that_would_do_nothing_are_refused(tmp_path, words, named):
    out = tmp_path / "set"
    done = CliRunner().invoke(cli, ["data", "build", *words, "--real", "code", "--out", str(out)])
    assert isinstance(done.exception, ConfigError) and named in str(done.exception)
    assert not out.exists()
