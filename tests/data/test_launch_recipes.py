"""What is exported with a set: the recipe that starts its training, filled with where the set lies."""

import json
import subprocess

import pytest
import yaml
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.export import EXPORTERS
from worldline.data.export.launch import LAUNCHED
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.data.sets import write_rows
from worldline.types import Source

RECORD = """#!/bin/sh
printf '%s\\n' "$WORLDLINE_SET" "$@" >> "$RECORDED"
"""


def a_set(folder, stage):
    chat = [TrainingMessage(role="user", content="ls")]
    if stage != "rl":
        chat.append(TrainingMessage(role="assistant", content="a", weight=1))
    truth = {"text": "a"} if stage == "rl" else None
    row = TrainingRow(stage=stage, domain="terminal", source=Source.OBSERVED, messages=tuple(chat), truth=truth)
    write_rows(folder, [row])
    return folder


def exported(folder, trainer, *more):
    done = CliRunner().invoke(cli, ["data", "export", trainer, str(folder), "--json", "-", *more])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def started(command, folder, tmp_path, elsewhere=None):
    """Run what starts the training, with programs that note their arguments in place of the trainers'."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("trl", "megatron", "python3", "torchrun"):
        (programs / name).write_text(RECORD)
        (programs / name).chmod(0o755)
    notes = tmp_path / "notes"
    env = {"PATH": f"{programs}:/usr/bin:/bin", "RECORDED": str(notes), "WORLDLINE_SET": ""}
    subprocess.run(["sh", "-c", command], cwd=elsewhere or folder, env=env, check=True)
    return notes.read_text().splitlines()


def read_at(word, folder):
    """The path in an argument, from the folder it is read in."""
    return (folder / word.rpartition("=")[2]).resolve()


@pytest.mark.parametrize("trainer", sorted(EXPORTERS))
def test_each_trainer_gets_its_recipe(tmp_path, trainer):
    if trainer == "verl":
        pytest.importorskip("pyarrow")
    record = exported(a_set(tmp_path, "sft"), trainer)
    assert record["start"] and record["rows"] == 1
    assert record["start"].split()[-1] in {path.name for path in (tmp_path / trainer).iterdir()}
    assert trainer in LAUNCHED


def test_one_command_starts_trl_on_the_set(tmp_path):
    home = tmp_path / 'a set\'s "home"'
    record = exported(a_set(home, "cpt"), "trl")
    words = started(record["start"], home / "trl", tmp_path)
    assert read_at(words[words.index("--dataset_name") + 1], home / "trl") == (home / "trl").resolve()
    config = read_at(words[words.index("--accelerate_config") + 1], home / "trl")
    assert yaml.safe_load(config.read_text())["distributed_type"] == "FSDP"


@pytest.mark.parametrize("stage", ["cpt", "sft"])
def test_one_command_starts_ms_swift_at_the_right_stage(tmp_path, stage):
    record = exported(a_set(tmp_path, stage), "ms-swift")
    words = started(record["start"], tmp_path / "ms-swift", tmp_path)
    assert read_at(words[words.index("--dataset") + 1], tmp_path / "ms-swift") == tmp_path / "ms-swift" / "train.jsonl"
    assert words[words.index("--output_dir") + 1] == f"out/{stage}"
    assert ("--add_non_thinking_prefix" in words) == (stage == "cpt")


def test_one_command_starts_verl(tmp_path):
    pytest.importorskip("pyarrow")
    record = exported(a_set(tmp_path / "s", "sft"), "verl")
    words = started(record["start"], tmp_path / "s" / "verl", tmp_path)
    train = next(word for word in words if word.startswith("data.train_files="))
    assert read_at(train, tmp_path / "s" / "verl") == tmp_path / "s" / "verl" / "train.parquet"


@pytest.mark.parametrize("out", ["", "else where"])
def test_the_reward_of_verl_finds_the_rows(tmp_path, out):
    pytest.importorskip("pyarrow")
    folder = a_set(tmp_path / "my $set", "rl")
    target = tmp_path / out if out else folder / "verl"
    record = exported(folder, "verl", *(["--out", str(target)] if out else []))
    words = started(record["start"], target, tmp_path)
    assert (target / words[0]).resolve() == folder.resolve()
    reward = next(word for word in words if word.startswith("reward.custom_reward_function.path="))
    assert read_at(reward, target) == target / "verl_reward.py" and (target / "verl_reward.py").is_file()
    assert any(word.endswith("/train.parquet") for word in words)


def test_a_stage_without_recipe_is_told(tmp_path):
    assert exported(a_set(tmp_path, "rl"), "trl")["start"] is None
    done = CliRunner().invoke(cli, ["data", "export", "trl", str(tmp_path)])
    assert "no launch recipe" in done.output


def test_llama_factory_reads_the_folder_it_is_started_in(tmp_path):
    exported(a_set(tmp_path, "sft"), "llama-factory")
    folder = tmp_path / "llama-factory"
    recipe = yaml.safe_load((folder / "qwen3.5-35b-a3b-llama-factory.yaml").read_text())
    known = json.loads((folder / recipe["dataset_dir"] / "dataset_info.json").read_text())
    assert (folder / known[recipe["dataset"]]["file_name"]).is_file()
    assert json.loads((folder / recipe["deepspeed"]).read_text())["zero_optimization"]["stage"] == 3
