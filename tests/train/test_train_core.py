"""Training, as far as it needs no PyTorch: cards, curves, checkpoints, refusals, sums, and the command's errors."""

import json
from itertools import islice
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from jinja2 import TemplateError
from train_tokens import chat

from worldline.cli import cli
from worldline.data.sets import REPORT, write_rows
from worldline.errors import ConfigError, StorageError
from worldline.formats import read_trajectories, write_trajectories
from worldline.recordings import path as recording_path
from worldline.train.ablation import CELLS, run_ablation, summed
from worldline.train.card import model_card
from worldline.train.evaluation import Score
from worldline.train.guarding import COMPLETE, CURVE, last_checkpoint, read_curve
from worldline.train.material import held_out_rows, observed_only, stage_rows
from worldline.train.pretrained import HuggingFaceTokens
from worldline.train.recipe import parse_recipe
from worldline.train.runs import RESULT, StageResult, read_result
from worldline.train.stage import run_stage
from worldline.types import Source

SMALL = "name: small\nmodel:\n  scratch: {hidden: 32}\ncontext: 512\n"


def result(stage="cpt", **more):
    values = {
        "recipe": "small",
        "seed": 3,
        "steps": 1200,
        "rows": 40,
        "tokens": 5000,
        "learned": 1234,
        "fitting": {"truncated": 2, "dropped_turns": 7, "too_long": ["x"]},
        "parameters": 1_000_000,
        "trained_parameters": 1_000_000,
        "seconds": 90.0,
        "loss": 1.25,
        "held_out": {"eval_loss": 1.5},
    }
    return StageResult(stage=stage, **{**values, **more})


def test_a_card_tells_what_was_measured_and_nothing_else():
    recipe = parse_recipe(SMALL)
    score = {"name": "after", "n": 80, "exact": 0.25, "exact_ci": (0.125, 0.375), "rouge_l": 0.5, "failures": 3}
    card = model_card(recipe, [result(), result("rl", learned=0, held_out={})], [{**score, "error_agreement": None}])
    assert "| continued pre-training on recorded transitions | 1,200 | 40 | 5,000 | 1,234 |" in card
    assert "| 1.2500 | 1.5000 | 3 | 1.5 |" in card and "by reward" in card
    assert "| after | 80 | 0.250 | 0.125 to 0.375 | - | 0.500 | 3 |" in card
    assert "2 rows lost 7 early turns to the context of 512 tokens, 1 did not fit at all" in card
    assert "No answers were measured" in model_card(recipe, [result()])
    with pytest.raises(ValueError, match="at least one stage"):
        model_card(recipe, [])


def test_a_card_names_its_licence_so_that_publishing_need_not(tmp_path):
    folder = tmp_path / "run" / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"w")
    card = folder / "README.md"
    card.write_text(model_card(parse_recipe(f"{SMALL}licence: Apache-2.0\n"), [result()]))
    command = ["models", "push", str(tmp_path / "run"), "me/mine", "--dry-run", "--json"]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert json.loads(done.output)["licence"] == "apache-2.0"
    assert card.read_text().startswith("---\nlicense: apache-2.0\nlibrary_name: transformers\n")
    card.write_text(model_card(parse_recipe(SMALL), [result()]))
    assert isinstance(CliRunner().invoke(cli, command).exception, ConfigError)


def test_only_whole_checkpoints_count(tmp_path):
    for step in (9, 10, 100):
        (tmp_path / f"checkpoint-{step}").mkdir()
    assert last_checkpoint(tmp_path) is None
    (tmp_path / "checkpoint-9" / COMPLETE).touch()
    (tmp_path / "checkpoint-10" / COMPLETE).touch()
    assert last_checkpoint(tmp_path).name == "checkpoint-10"


def test_a_curve_whose_last_line_was_cut_off_is_read_up_to_it(tmp_path):
    assert read_curve(tmp_path) == []
    (tmp_path / CURVE).write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "lo')
    assert read_curve(tmp_path) == [{"step": 1, "loss": 2.0}]


def test_simulated_rows_are_refused_unless_asked_for(tmp_path):
    rows = [chat(("a", "b")), chat(("c", "d"), source=Source.SIMULATED)]
    write_rows(tmp_path / "set", rows)
    text = f"{SMALL}cpt: {{set: {tmp_path / 'set'}}}\n"
    with pytest.raises(ConfigError, match="simulated") as caught:
        stage_rows(parse_recipe(text), "cpt")
    assert "allow_simulated" in caught.value.hint
    assert len(stage_rows(parse_recipe(f"{text}data: {{allow_simulated: true}}\n"), "cpt")) == 2
    assert list(observed_only(rows[:1], allow=False, where="x")) == rows[:1]


def test_a_set_of_another_stage_or_without_rows_is_refused(tmp_path):
    write_rows(tmp_path / "set", [chat(("a", "b"), stage="sft")])
    write_rows(tmp_path / "empty", [])
    text = f"{SMALL}cpt: {{set: {tmp_path / 'set'}}}\nsft: {{set: {tmp_path / 'empty'}}}\n"
    with pytest.raises(ConfigError, match="holds rows of sft, not of cpt") as caught:
        stage_rows(parse_recipe(text), "cpt")
    assert "worldline data build cpt" in caught.value.hint
    with pytest.raises(ConfigError, match="gives no row of sft"):
        stage_rows(parse_recipe(text), "sft")
    with pytest.raises(ConfigError, match="was built with its mask"):
        stage_rows(parse_recipe(text), "cpt", mask=False)


def test_sets_are_built_of_recordings_and_held_out_rows_are_others():
    text = f"{SMALL}data: {{limit: 12, prompts: brief, pool: all}}\ncpt: {{}}\nrl: {{}}\nevaluation: {{rows: 3}}\n"
    recipe = parse_recipe(text)
    learned, held_out = stage_rows(recipe, "cpt"), held_out_rows(recipe, "cpt")
    assert len(held_out) == 3 and learned
    assert not {row.trajectory for row in learned} & {row.trajectory for row in held_out}
    unmasked = stage_rows(recipe, "cpt", mask=False)
    kept, whole = ([m.weight for row in rows for m in row.messages] for rows in (learned, unmasked))
    assert sum(whole) > sum(kept)
    assert all(row.truth is not None for row in held_out_rows(recipe, "rl"))


def recorded(folder, *, said=None, count=6):
    """A folder with some recordings; `said` stands in what each answers."""
    kept = []
    for trajectory in islice(read_trajectories(recording_path("terminal", "train")), count):
        turns = [
            turn.model_copy(update={"observation": turn.observation.model_copy(update={"text": said})})
            if said
            else turn
            for turn in trajectory.turns
        ]
        kept.append(trajectory.model_copy(update={"turns": tuple(turns)}))
    folder.mkdir()
    write_trajectories(folder / "some.jsonl", kept)
    return folder


def test_folders_are_sources_and_secrets_in_them_are_not_learned(tmp_path):
    secret = "ghp_" + "Ab1" * 12
    folder = recorded(tmp_path / "mine", said=f"token {secret}\n")
    recipe = parse_recipe(f"{SMALL}data: {{real: [], sources: [{folder}], pool: all, mask: false}}\ncpt: {{}}\n")
    rows = stage_rows(recipe, "cpt")
    said = [message.content for row in rows for message in row.messages]
    assert any("token <secret:" in text for text in said) and not any(secret in text for text in said)


def test_what_stands_in_a_benchmark_is_not_learned(tmp_path):
    data = f"real: [], sources: [{recorded(tmp_path / 'mine')}], pool: all"
    text = f"{SMALL}data: {{{data}, against: [{recorded(tmp_path / 'bench', count=2)}]}}\ncpt: {{}}\n"
    whole = stage_rows(parse_recipe(f"{SMALL}data: {{{data}}}\ncpt: {{}}\n"), "cpt")
    held = {trajectory.id for trajectory in read_trajectories(tmp_path / "bench" / "some.jsonl")}
    learned = {row.trajectory for row in stage_rows(parse_recipe(text), "cpt")}
    assert len(held) == 2 and held < {row.trajectory for row in whole} and learned and not held & learned


def test_a_set_of_other_prompts_than_the_recipe_measures_by_is_refused(tmp_path):
    write_rows(tmp_path / "set", [chat(("a", "b"))])
    cpt = f"cpt: {{set: {tmp_path / 'set'}}}\n"
    own, brief = parse_recipe(f"{SMALL}{cpt}"), parse_recipe(f"{SMALL}data: {{prompts: brief}}\n{cpt}")
    assert stage_rows(own, "cpt") == stage_rows(brief, "cpt"), "an older set does not say"
    for prompts, right, wrong in (("brief", brief, own), (None, own, brief)):
        (tmp_path / "set" / REPORT).write_text(json.dumps({"prompts": prompts}))
        assert stage_rows(right, "cpt")
        with pytest.raises(ConfigError, match=r"was built with the .*prompts.*, and the recipe asks by the") as caught:
            stage_rows(wrong, "cpt")
        assert "data.prompts" in caught.value.hint


def test_an_ablation_that_cannot_be_done_whole_is_not_begun(tmp_path):
    write_rows(tmp_path / "set", [chat(("a", "b"))])
    stages = "sft: {}\nrl: {}\n"
    with pytest.raises(ConfigError, match="was built with its mask"):
        run_ablation(parse_recipe(f"{SMALL}cpt: {{set: {tmp_path / 'set'}}}\n{stages}"), tmp_path / "out", [0])
    missing = f"{SMALL}cpt: {{}}\nrl: {{}}\nsft: {{set: {tmp_path / 'nowhere'}}}\n"
    with pytest.raises(StorageError, match="nowhere"):
        run_ablation(parse_recipe(missing), tmp_path / "out", [0])
    assert not (tmp_path / "out").exists()


def test_a_template_that_refuses_a_message_is_an_error_of_the_model():
    class Refusing:
        all_special_ids = ()

        def apply_chat_template(self, *_, **__):
            raise TemplateError("System role not supported")

    with pytest.raises(ConfigError, match="System role not supported"):
        HuggingFaceTokens(Refusing()).render([], False)


@pytest.mark.parametrize("error", [ValueError("nosuch is not supported"), RuntimeError("tensorboard to be installed")])
def test_trackers_that_are_not_there_are_told_before_anything_else(tmp_path, monkeypatch, error):
    def refuse(names):
        raise error

    integrations = SimpleNamespace(get_reporting_integration_callbacks=refuse)
    monkeypatch.setattr("worldline.train.stage.require_extra", lambda module, _: integrations)

    def never():
        raise AssertionError("not reached")
        yield

    recipe = parse_recipe(f"{SMALL}trackers: [nosuch]\ncpt: {{}}\n")
    with pytest.raises(ConfigError, match=f"trackers: {error}"):
        run_stage(recipe, "cpt", tmp_path / "out", never(), never)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else_is_not_written_to(tmp_path):
    recipe = parse_recipe(f"{SMALL}cpt: {{}}\n")

    def never(run):
        raise AssertionError("not reached")

    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ConfigError, match="is not empty"):
        run_stage(recipe, "cpt", tmp_path, [], never)
    out = tmp_path / "run"
    out.mkdir()
    (out / "recipe.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds a run already") as caught:
        run_stage(recipe, "cpt", out, [], never)
    assert "--resume" in caught.value.hint
    with pytest.raises(ConfigError, match="of another recipe"):
        run_stage(recipe, "cpt", out, [], never, resume=True)


def test_results_are_read_back(tmp_path):
    assert read_result(tmp_path) is None
    (tmp_path / RESULT).write_text(result().model_dump_json())
    assert read_result(tmp_path) == result()
    (tmp_path / RESULT).write_text("{")
    with pytest.raises(ConfigError, match="reading"):
        read_result(tmp_path)


def test_the_eight_ways_share_what_they_have_in_common():
    names = ["base", "CPT", "SFT", "CPT+SFT", "CPT+RL", "SFT+RL", "CPT+SFT+RL", "CPT+SFT+RL, no mask"]
    assert [cell.name for cell in CELLS] == names
    assert len({cell.folder for cell in CELLS}) == 8
    whole = CELLS[6]
    assert whole.before().folder == CELLS[3].folder and CELLS[7].before().folder == "cpt-unmasked+sft"
    assert CELLS[0].before() is None and CELLS[1].before().folder == "base"


def test_seeds_are_summed_up_with_an_interval_over_families():
    def score(cell, seed, *trials):
        found = {"error_agreement": 0.5 + seed / 10, "rouge_l": 0.25, "failures": 1}
        return Score(cell=cell, seed=seed, figures=found, trials=trials)

    rows = summed(
        [
            score("base", 0, ("f", False), ("g", False)),
            score("CPT", 0, ("f", True), ("g", False)),
            score("base", 1, ("f", False), ("g", True)),
            score("CPT", 1, ("f", True), ("g", True)),
        ]
    )
    base, trained = rows
    assert (base.cell, base.seeds, base.n, base.exact, base.by_seed) == ("base", (0, 1), 4, 0.25, (0.0, 0.5))
    assert trained.exact == 0.75 and trained.exact_ci[0] == 0.5 and trained.exact_ci[1] == 1.0
    assert trained.error_agreement == pytest.approx(0.55) and trained.failures == 2


def test_an_ablation_goes_on_only_with_its_own_recipe(tmp_path):
    text = f"{SMALL}cpt: {{}}\n"
    with pytest.raises(ConfigError, match="no stage sft"):
        run_ablation(parse_recipe(text), tmp_path, [0])
    (tmp_path / "ablation.json").write_text(json.dumps({"name": "other"}))
    with pytest.raises(ConfigError, match="ablation of another recipe"):
        run_ablation(parse_recipe(text), tmp_path, [0], cells=CELLS[:2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cpt", "--recipe", "no-such"], "unknown recipe"),
        (["rl", "--recipe", "{recipe}"], "no stage rl"),
        (["all", "--recipe", "{recipe}", "--cell", "XYZ"], "unknown row 'XYZ'"),
    ],
)
def test_the_command_refuses_what_is_wrong(tmp_path, arguments, message):
    (tmp_path / "r.yaml").write_text(f"{SMALL}cpt: {{}}\n")
    filled = [argument.format(recipe=tmp_path / "r.yaml") for argument in arguments]
    done = CliRunner().invoke(cli, ["train", *filled, "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, ConfigError) and message in done.exception.message
    assert not (tmp_path / "out").exists()


def test_the_command_lists_recipes():
    done = CliRunner().invoke(cli, ["train", "recipes"])
    assert done.exit_code == 0 and "tiny-scratch\t" in done.output and "smollm2-135m\t" in done.output
