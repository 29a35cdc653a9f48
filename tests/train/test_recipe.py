"""Recipes: what ships is right, and what is wrong is pointed at."""

from pathlib import Path

import pytest

from worldline.errors import ConfigError, FormatError
from worldline.train.recipe import load_recipe, parse_recipe, recipe_path, same_run, shipped_recipes

SMALL = "name: small\nmodel:\n  scratch: {hidden: 32}\n"


def test_shipped_recipes_have_all_stages():
    found = {name: load_recipe(path) for name, path in shipped_recipes().items()}
    assert {"tiny-scratch", "smollm2-135m"} <= set(found)
    for name, recipe in found.items():
        assert recipe.name == name and recipe.cpt and recipe.sft and recipe.rl
        assert recipe.as_record()["rl"]["epsilon"] == pytest.approx(3e-4)


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        (f"{SMALL}licence: free for all\n", 4, "licence", None),
        (f"{SMALL}contxt: 5\n", 4, "contxt: unknown key", "context"),
        (f"{SMALL}cpt:\n  stepps: 3\n", 5, "cpt.stepps: unknown key", "steps"),
        (f"{SMALL}rl:\n  optimiser:\n    lr: 3\n", 6, "rl.optimiser.lr: unknown key", "learning_rate"),
        (f"{SMALL}cpt:\n  steps: 0\n", 5, "cpt.steps", None),
        (f"{SMALL}cpt:\n  optimiser: {{beta1: 1.0}}\n", 5, "beta1: Input should be less than 1", None),
        (f"{SMALL}context: 128\nrl:\n  answer: 128\n", 1, "no room", None),
        (f"{SMALL}evaluation: {{generate: true}}\n", 1, "nothing without evaluation.every", None),
        ("name: x\nmodel: {}\n", 2, "start or scratch", None),
        ("name: x\nmodel:\n  scratch: {hidden: 30, heads: 4}\n", 3, "multiple of heads", None),
        ("- a\n", 1, "a mapping", None),
        ("name: [\n", None, "YAML", None),
    ],
)
def test_what_is_wrong_is_pointed_at(text, line, message, hint):
    with pytest.raises(FormatError, match=message) as caught:
        parse_recipe(text, "r.yaml")
    assert caught.value.path == "r.yaml"
    assert line is None or caught.value.line == line
    assert hint is None or hint in caught.value.hint


def test_a_stage_that_is_not_there_is_named():
    recipe = parse_recipe(f"{SMALL}cpt: {{}}\n")
    assert recipe.stage("cpt").batch == 1
    with pytest.raises(ConfigError, match="no stage sft"):
        recipe.stage("sft")


def test_paths_are_relative_to_the_recipe(tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "r.yaml").write_text(f"{SMALL}cpt: {{set: set}}\nsft: {{set: nowhere}}\n")
    recipe = load_recipe(recipe_path(str(tmp_path / "r.yaml")))
    assert recipe.cpt.set == tmp_path / "set" and str(recipe.sft.set) == "nowhere"


def test_prompts_and_benchmarks_are_relative_to_the_recipe_too(tmp_path):
    for name in ("mine", "brief", "bench"):
        (tmp_path / name).mkdir()
    for prompts, found in (("mine", tmp_path / "mine"), ("brief", Path("brief"))):
        (tmp_path / "r.yaml").write_text(f"{SMALL}data: {{prompts: {prompts}, against: [bench]}}\n")
        data = load_recipe(tmp_path / "r.yaml").data
        assert data.prompts == found and data.against == (tmp_path / "bench",)


def test_unknown_recipes_list_the_known_ones():
    with pytest.raises(ConfigError, match="unknown recipe") as caught:
        recipe_path("no-such")
    assert "tiny-scratch" in caught.value.hint


def test_a_run_is_known_again_by_what_changes_its_weights():
    def record(text="", **own):
        return {**parse_recipe(f"{SMALL}cpt: {{steps: 3}}\n{text}").as_record(), "stage": "cpt", "start": None, **own}

    assert same_run(record(), record("licence: MIT\nthreads: 2\ntrackers: [wandb]\n"))
    older = record()
    del older["data"]["transitions"], older["cpt"]["epochs"]
    assert same_run(older, record()) and not same_run(older, record("data: {transitions: 0.5}\n"))
    assert not same_run(record(), record("context: 512\n")) and not same_run(record(), record(start="elsewhere"))
    newer = {**record(), "data": {**record()["data"], "of_tomorrow": 1}}
    assert not same_run(newer, record()) and same_run(newer, newer)
