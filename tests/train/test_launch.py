"""What is launched on many GPUs: the scripts parse, the configuration is YAML, and verl's reward is ours."""

import importlib.util
import subprocess
from pathlib import Path

import pytest
import yaml
from reward_rows import recorded_rows, written

from worldline.data.sets import write_rows
from worldline.train.recipe import recipe_path

LAUNCH = recipe_path("tiny-scratch").parent / "launch"


@pytest.mark.parametrize("script", sorted(LAUNCH.glob("*.sh")), ids=lambda path: path.name)
def test_launch_scripts_parse_and_can_be_run(script):
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert script.stat().st_mode & 0o100
    named = [word.strip('"') for word in script.read_text().split() if "$(dirname" not in word and "/verl_" in word]
    assert all((LAUNCH / Path(word).name).is_file() for word in named)


def test_the_stage_of_ms_swift_is_checked():
    done = subprocess.run(
        ["sh", str(LAUNCH / "qwen3.5-35b-a3b-ms-swift.sh")], env={"STAGE": "x", "PATH": "/bin:/usr/bin"}, check=False
    )
    assert done.returncode == 2


def test_weights_are_sharded():
    config = yaml.safe_load((LAUNCH / "accelerate-fsdp.yaml").read_text())
    assert config["distributed_type"] == "FSDP" and config["fsdp_config"]["fsdp_version"] == 2


def test_the_reward_of_verl_is_that_of_our_own_trainer(tmp_path, monkeypatch):
    rows = recorded_rows("terminal")[:4]
    write_rows(tmp_path, rows)
    monkeypatch.setenv("WORLDLINE_SET", str(tmp_path))
    spec = importlib.util.spec_from_file_location("verl_reward", LAUNCH / "verl_reward.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    right = module.compute_score("worldline/terminal", written(rows[0]), "", {"id": rows[0].id})
    wrong = module.compute_score("worldline/terminal", "nothing", "", {"id": rows[0].id})
    assert right["score"] > 20 and right["exact"] == 1.0 and wrong == {"score": 0.0, "exact": 0.0, "read": 0.0}
