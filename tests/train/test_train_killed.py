"""A training that is killed at any moment, again and again, ends where one that was left alone ends."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killed_training import STEPS
from small_training import curve, weights

from worldline.train.guarding import last_checkpoint, read_curve
from worldline.train.runs import read_result

pytestmark = [
    pytest.mark.full,
    # the libraries' own warnings are not ours to mend
    pytest.mark.filterwarnings("default"),
]
KILLS = 2


@pytest.fixture(autouse=True, scope="module")
def libraries():
    for name in ("torch", "transformers", "trl", "peft"):
        pytest.importorskip(name)


def started(mode, out, start):
    command = [sys.executable, str(Path(__file__).parent / "killed_training.py"), mode, str(out), str(start)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with (out.parent / f"{out.name}.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def finished(process, out):
    assert process.wait(timeout=900) == 0, (out.parent / f"{out.name}.log").read_text()[-3000:]


def killed_at(step, process, out, after):
    """Kill a training some time after it logged a step."""
    until = time.monotonic() + 600
    while max(curve(out, "loss"), default=0) < step:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)
    time.sleep(after)
    process.kill()
    process.wait()


@pytest.mark.parametrize("mode", ["full", "lora", "rl"])
def test_a_killed_training_ends_like_one_that_was_left_alone(tmp_path, mode):
    import torch

    start, whole, parts = tmp_path / "start", tmp_path / "whole", tmp_path / "parts"
    finished(started(mode, whole, start), whole)
    drawn = random.Random(mode)
    reached = []
    for step in sorted(drawn.sample(range(2, STEPS), KILLS)):
        killed_at(step, started(mode, parts, start), parts, drawn.uniform(0, 0.2))
        assert read_result(parts) is None
        found = last_checkpoint(parts / "checkpoints")
        reached.append((step, None if found is None else found.name))
    finished(started(mode, parts, start), parts)
    figures = {"rl": ("loss", "reward", "eval_reward")}.get(mode, ("loss", "eval_loss"))
    apart = {}
    for name in figures:
        one, other = curve(whole, name), curve(parts, name)
        assert list(one) == list(other)
        apart[name] = max(abs(one[step] - other[step]) for step in one)
    steps = [record["step"] for record in read_curve(parts) if "loss" in record]
    assert steps == list(range(1, STEPS + 1)) and len(set(curve(parts, figures[-1]).values())) > 1
    one, other = weights(whole), weights(parts)
    apart["weights"] = max(float((one[name] - other[name]).abs().max()) for name in one)
    print(json.dumps({"mode": mode, "killed": reached, "apart": apart}))
    assert all(difference == 0 for difference in apart.values()), apart
    assert torch.equal(one["model.embed_tokens.weight"], other["model.embed_tokens.weight"])
