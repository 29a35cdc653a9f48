"""Making an adapter folder of a run, as far as it needs no PyTorch; the comparison of answers: test_adapter_full.py."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from worldline.cli import cli
from worldline.errors import ConfigError
from worldline.models.adapters import describe_adapter
from worldline.models.adapters.weights import read_weights, write_weights
from worldline.models.hashing import sha256_of
from worldline.models.store import add_model, find_model
from worldline.train.adapter import lineage, make_adapter
from worldline.train.runs import StageResult, results_to

sys.path.append(str(Path(__file__).parents[1] / "models"))

from tiny_adapter import MODULES, random_weights, tiny_llama

RECIPE = {
    "name": "tiny-run",
    "model": {"start": "tiny"},
    "context": 512,
    "lora": {"rank": 2},
    "data": {"prompts": "brief"},
    "seed": 0,
}


@pytest.fixture(autouse=True)
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDLINE_MODEL_DIR", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    return add_model(tiny_llama(tmp_path / "tiny.gguf"))


def run_of(path, stage="cpt", start=None, seed=0, card=True, **more):
    """A finished run with an adapter, as `run_stage` leaves it."""
    write_weights(random_weights(seed=seed), path / "model" / "adapter", "/somewhere/else")
    record = {**RECIPE, "stage": stage, "start": start, **more}
    (path / "recipe.json").write_text(json.dumps(record))
    result = StageResult(
        stage=stage, recipe="tiny-run", seed=0, steps=3, rows=4, tokens=50, learned=20, fitting={}, parameters=1000,
        trained_parameters=100, seconds=1.0, loss=0.5, held_out={},
    )  # fmt: skip
    (path / "result.json").write_text(result.model_dump_json())
    if card:
        (path / "model" / "README.md").write_text("---\ntags: [worldline]\n---\n\n# Tiny\n\nFigures.\n")
    return path


def test_a_run_becomes_a_folder_that_loads(tmp_path, base):
    made = make_adapter(run_of(tmp_path / "run"), tmp_path / "terminal-tiny", prompts=0)
    assert (made.rank, made.agreement, made.folder) == (2, None, tmp_path / "terminal-tiny")
    stored = describe_adapter(made.folder)
    assert stored.note == made.note and stored.size == made.size
    note = made.note
    assert (note.base, note.base_sha256, note.context, note.prompts) == ("tiny", base.sha256, 512, "brief")
    assert (note.stages, note.domains, note.licence) == (("cpt",), ("terminal",), "apache-2.0")
    assert find_model("tiny+terminal-tiny").adapter == stored
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "worldline.json",
    ]
    assert "somewhere" not in "".join(path.read_text("utf-8", "replace") for path in made.folder.iterdir())


def test_the_card_names_base_hash_and_how_to_ask(tmp_path, base):
    make_adapter(run_of(tmp_path / "run"), tmp_path / "small", name="terminal-tiny", licence="MIT", prompts=0)
    card = (tmp_path / "small" / "README.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    assert head == {
        "base_model": "tiny",
        "base_model_relation": "adapter",
        "tags": ["worldline"],
        "library_name": "peft",
        "license": "mit",
    }
    assert "# Tiny\n\nFigures.\n\n## This adapter" in card and base.sha256 in card
    assert "--model local:tiny+terminal-tiny" in card and "`brief` prompts, at most 512 tokens" in card
    assert sha256_of(tmp_path / "small" / "adapter_model.safetensors") in card and "Checked" not in card
    make_adapter(run_of(tmp_path / "bare", card=False), tmp_path / "bare-small", prompts=0)
    assert "## Training" in (tmp_path / "bare-small" / "README.md").read_text()


def test_the_stages_of_a_run_are_joined(tmp_path):
    run_of(tmp_path / "cpt", seed=1)
    run_of(tmp_path / "sft", "sft", start="cpt/model", seed=2)
    last = run_of(tmp_path / "rl", "rl", start="sft", seed=3, context=300)
    came = lineage(last / "model")
    assert [folder.name for folder in came.folders] == ["cpt", "sft", "rl"] and came.recipe.context == 300
    assert [result.stage for result in results_to(last / "model")] == ["cpt", "sft", "rl"]
    made = make_adapter(last, tmp_path / "whole", prompts=0)
    assert (made.rank, made.note.stages, made.note.context) == (6, ("cpt", "sft", "rl"), 300)
    whole = read_weights(made.folder)
    parts = [read_weights(tmp_path / stage / "model" / "adapter") for stage in ("cpt", "sft", "rl")]
    for module in MODULES:
        wanted = sum(part.pairs[module][1] @ part.pairs[module][0] * part.scale for part in parts)
        a, b = whole.pairs[module]
        np.testing.assert_allclose(b @ a * whole.scale, wanted, atol=0.02 * float(np.abs(wanted).max()))
    assert not made.note.reasons
    thoughtful = run_of(tmp_path / "thoughtful", "rl", start="sft", reasoning=True)
    assert make_adapter(thoughtful, tmp_path / "reasoning", prompts=0).note.reasons
    thin = make_adapter(last, tmp_path / "thin", rank=3, prompts=0)
    assert thin.rank == 3 and thin.size < made.size
    with pytest.raises(ConfigError, match="has rank 6 already"):
        make_adapter(last, tmp_path / "more", rank=6, prompts=0)


def test_a_run_from_an_adapter_on_its_base_holds_that_one_too(tmp_path):
    make_adapter(run_of(tmp_path / "run", seed=1), tmp_path / "first", prompts=0)
    again = run_of(tmp_path / "again", seed=2, model={"start": "tiny+first"})
    made = make_adapter(again, tmp_path / "second", prompts=0)
    assert (made.rank, made.note.base) == (4, "tiny")


def unfinished(run):
    (run / "result.json").unlink()


def whole_weights(run):
    (run / "model" / "adapter").rename(run / "model" / "elsewhere")


@pytest.mark.parametrize(
    ("change", "record", "said"),
    [
        (unfinished, {}, "is not done"),
        (whole_weights, {}, "trained all weights"),
        (None, {"start": "gone/model"}, "started from gone/model, which is not here"),
        (None, {"model": {"scratch": {}}}, "started from random weights"),
        (None, {"model": {"start": "smollm2"}}, "the model smollm2 is not here"),
        (None, {"data": {"prompts": "my-templates"}}, "prompts of its own"),
        (None, {"context": -1}, "recipe.json"),
    ],
)
def test_what_cannot_become_an_adapter(tmp_path, change, record, said):
    run = run_of(tmp_path / "run", **record)
    if change is not None:
        change(run)
    with pytest.raises(ConfigError, match=said):
        make_adapter(run, tmp_path / "out", prompts=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models", "run", "tiny.gguf"]


def test_a_licence_must_be_one(tmp_path):
    (tmp_path / "models" / "tiny.json").write_text(
        find_model("tiny").model_copy(update={"licence": "not stated in the file"}).model_dump_json()
    )
    run = run_of(tmp_path / "run")
    with pytest.raises(ConfigError, match="the base's licence is 'not stated in the file'") as caught:
        make_adapter(run, tmp_path / "out", prompts=0)
    assert "--licence" in (caught.value.hint or "")
    assert make_adapter(run, tmp_path / "out", licence="cc0-1.0", prompts=0).note.licence == "cc0-1.0"


def test_the_command(tmp_path):
    run_of(tmp_path / "run")
    command = ["train", "adapter", "run", "--out", "terminal-tiny", "--check", "0"]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert done.output == ("terminal-tiny: rank 2, 0.0 MB, on tiny; not checked\n--model local:tiny+terminal-tiny\n")
    again = CliRunner().invoke(cli, command)
    assert isinstance(again.exception, ConfigError) and "is not empty" in again.exception.message
    nothing = CliRunner().invoke(cli, ["train", "adapter", "models", "--out", "x"])
    assert isinstance(nothing.exception, ConfigError) and "holds no run" in nothing.exception.message
