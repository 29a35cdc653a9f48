"""A world that its kernel cannot set up: named, and with --skip-bad left out, whatever is built."""

import json

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.errors import FormatError
from worldline.formats import write_trajectories
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


def trajectory(domain, state):
    action = Action(name="execute_sql", arguments={"sql": "SELECT 1"})
    turn = Turn(action=action, observation=Observation(text="x", is_error=False))
    world = WorldSpec(domain=domain, initial_state=state)
    return Trajectory(source=Source.OBSERVED, world=world, turns=(turn, turn), family="f")


TORN = trajectory("database", {"script": "CREATE TABL x"})
WRONG = trajectory("code", {"files": 7})
GOOD = trajectory("database", {"script": "CREATE TABLE x (a)"})
CASES = [
    ("sft", {}),
    ("sft", {"asked": "grounded"}),
    ("rl", {"asked": "both"}),
    ("rl", {"state_change": True}),
    ("cpt", {"transitions": 1.0}),
]


@pytest.mark.parametrize("bad", [TORN, WRONG], ids=["torn", "wrong"])
@pytest.mark.parametrize(("stage", "options"), CASES)
def test_bad_worlds_are_named_and_can_be_left_out(stage, options, bad):
    how = DataOptions(stage=stage, pool="all", **options)
    with pytest.raises(FormatError, match=f"trajectory {bad.id}: a kernel cannot set its world up"):
        list(build_rows([GOOD, bad], how, BuildReport()))
    alone, both = BuildReport(), BuildReport()
    expected = list(build_rows([GOOD], how, alone))
    assert list(build_rows([bad, GOOD], how.model_copy(update={"skip_bad": True}), both)) == expected
    assert both.left_out - alone.left_out == {"a kernel cannot set its world up": 1}
    [named] = both.unusable
    assert bad.id in named and both.rows == alone.rows and both.labels == alone.labels


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_names_trajectory_and_file(tmp_path, jobs):
    write_trajectories(tmp_path / "in.jsonl", [TORN, *(GOOD.model_copy(update={"id": f"{n:016x}"}) for n in range(9))])
    words = ["data", "build", "rl", "--state-change", "--from", str(tmp_path / "in.jsonl"), "--pool", "all"]
    words += ["--jobs", jobs, "--out", str(tmp_path / "set")]
    failed = CliRunner().invoke(cli, words)
    assert isinstance(failed.exception, FormatError) and not (tmp_path / "set" / "rows.jsonl.zst").exists()
    assert failed.exception.path.endswith("in.jsonl") and TORN.id in str(failed.exception)
    assert "--skip-bad" in failed.exception.hint
    done = CliRunner().invoke(cli, [*words, "--skip-bad", "--json", "-"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    [named] = report["unusable"]
    assert report["rows"] == 9 and TORN.id in named and "in.jsonl" in named
