"""Harbor trials: continuations, sub-agents, steps, foreign logs, and trials that failed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from goldens import DATA, check_golden, read_golden

from worldline.formats import Importer, InputFile, SkippedRecord, get_format
from worldline.types import Source

HARBOR = DATA / "harbor"


@pytest.mark.parametrize("path", sorted(HARBOR.iterdir()), ids=lambda path: path.name)
def test_golden(path: Path, tmp_path: Path) -> None:
    check_golden(path, tmp_path)


def test_continuation_and_sub_agent() -> None:
    found, skipped = read_golden(HARBOR / "hello__abc")
    assert not skipped
    first, second, helper = found
    assert [len(item.turns) for item in found] == [1, 1, 0], "copied context and plain talk are no turns"
    assert first.turns[0].reward is None
    assert (second.turns[0].reward, second.turns[0].done) == (1.0, True), "the reward belongs to the end"
    assert first.world.name == "hello-file"
    assert {item.family for item in found} == {"harbor-hello-file"}
    assert first.origin["harbor"] == {"trial": "hello__abc"}
    assert first.extra["harbor"]["verifier_result"]["rewards"] == {"reward": 1.0, "style": 0.5}
    assert helper.world.task == "Summarise."


def test_without_atif_the_agents_own_log_is_read() -> None:
    (found,) = read_golden(HARBOR / "hello__nolog")[0]
    assert found.turns[0].action.command == "ls"
    assert found.turns[0].reward == 0.0, "from verifier/reward.txt"
    assert found.origin["harbor"]["trial"] == "hello__nolog", "no result.json: the folder's name"


def test_steps_have_rewards_of_their_own() -> None:
    (found,), skipped = read_golden(HARBOR / "steps__two")
    assert found.origin["harbor"] == {"trial": "steps__two", "step": "first"}
    assert found.turns[0].reward == 1.0
    assert "steps/second/agent/trajectory.json:1: the JSON value breaks off" in str(skipped[0].error)


def test_failed_trial_says_why() -> None:
    found, skipped = read_golden(HARBOR / "failed__early")
    assert not found
    assert "failed with EnvironmentStartTimeoutError" in skipped[-1].reason


def test_job_is_a_folder_of_trials(tmp_path: Path) -> None:
    job = tmp_path / "job"
    shutil.copytree(HARBOR, job)
    (job / "config.json").write_text('{"job_name": "job"}', "utf-8")
    (job / "result.json").write_text('{"n_total_trials": 4}', "utf-8")
    read = Importer([job])
    found = list(read.read_all())
    assert [(Path(entry.name).name, entry.format) for entry in read.entries] == [
        (name, "harbor") for name in ("failed__early", "hello__abc", "hello__nolog", "steps__two")
    ]
    assert len(found) == sum(entry.trajectories for entry in read.entries) == 5
    assert {Path(out.name).name for out in read.left_out} == {"config.json", "result.json"}


def test_a_file_is_no_trial() -> None:
    path = HARBOR / "hello__abc" / "result.json"
    (item,) = get_format("harbor").read(InputFile(path), Source.OBSERVED)
    assert isinstance(item, SkippedRecord)
    assert "name the folder" in item.reason
