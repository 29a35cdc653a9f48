"""Folders of runs, without PyTorch: whose they are, where they started, and what is read of them again."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.rows import TrainingRow
from worldline.errors import ConfigError, StorageError
from worldline.memory import Memory
from worldline.models.store import StoredModel
from worldline.models.trained import TrainedNote
from worldline.train import evaluation
from worldline.train.evaluation import SCORE, Score, measured, read_score
from worldline.train.recipe import load_recipe, parse_recipe
from worldline.train.runs import RECIPE, RESULT, StageResult, claimed, results_to, start_of
from worldline.train.stage import Run, noted, run_stage
from worldline.types import Source
from worldline.writing import write_json, write_text

SMALL = "name: small\nmodel: {scratch: {hidden: 32}}\ncontext: 512\ncpt: {}\nsft: {}\nrl: {}\n"
FIGURES = {"n": 80, "exact": 0.25, "exact_ci": None, "error_agreement": None, "rouge_l": 0.5, "failures": 3}


def finished(recipe, stage, out, start=None, noted=None):
    """A run that is done, as `run_stage` leaves it, but for the weights."""
    record = claimed(recipe, stage, out, resume=False, seed=recipe.seed, start=start)
    write_json(out / RECIPE, {**record, "start": noted or record["start"]})
    values = dict.fromkeys(("seed", "steps", "rows", "tokens", "learned", "parameters", "trained_parameters"), 0)
    result = StageResult(stage=stage, recipe="small", fitting={}, seconds=1.0, loss=None, held_out={}, **values)
    write_json(out / RESULT, result.model_dump(mode="json"))
    write_text(out / "model" / "config.json", "{}")
    return out


def never(*_, **__):
    raise AssertionError("not reached")


@pytest.fixture
def command(tmp_path):
    """`worldline train STAGE` on a folder, by a recipe's text; what it raised."""

    def run(text, stage, out, *more):
        (tmp_path / "r.yaml").write_text(text)
        arguments = ["train", stage, "--recipe", str(tmp_path / "r.yaml"), "--out", str(out), *map(str, more)]
        return CliRunner().invoke(cli, arguments)

    return run


def test_a_finished_run_is_resumed_by_its_own_recipe_stage_and_start_alone(tmp_path, command):
    recipe = parse_recipe(SMALL)
    start = finished(recipe, "cpt", tmp_path / "cpt")
    out = finished(recipe, "sft", tmp_path / "sft", start / "model")
    (out / SCORE).write_text(Score(cell="small sft", seed=0, figures=FIGURES, trials=(("f", True),)).model_dump_json())
    other = SMALL.replace("name: small", "name: other").replace("context: 512", "context: 600")
    for text, stage, more, said in (
        (other, "sft", ("--from", start), "by its context, name"),
        (SMALL, "rl", ("--from", start), "by its rl, sft, stage"),
        (SMALL, "sft", (), "by its start"),
        (SMALL, "sft", ("--from", start, "--seed", 4), "by its seed"),
    ):
        failed = command(text, stage, out, "--resume", *more)
        assert isinstance(failed.exception, ConfigError) and said in failed.exception.message
        assert not (out / "model" / "README.md").exists()
    assert str(start) in command(SMALL, "sft", out, "--resume").exception.hint
    done = command(SMALL, "sft", out, "--resume", "--from", start, "--no-measure")
    assert done.exit_code == 0 and "80 held-out turns" in done.output
    card = (out / "model" / "README.md").read_text()
    assert "continued pre-training" in card and "fine-tuning" in card and "| small sft | 80 |" in card


def test_a_taken_folder_is_refused_before_sets_are_built(tmp_path, command, monkeypatch):
    monkeypatch.setattr("worldline.train.running.stage_rows", never)
    monkeypatch.setattr("worldline.train.running.held_out_rows", never)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").write_text("x")
    assert "is not empty" in command(SMALL, "cpt", tmp_path / "mine").exception.message
    finished(parse_recipe(SMALL), "cpt", tmp_path / "cpt")
    assert "holds a run already" in command(SMALL, "cpt", tmp_path / "cpt").exception.message


def test_a_start_is_found_from_any_folder(tmp_path, monkeypatch):
    recipe = parse_recipe(SMALL)
    monkeypatch.chdir(tmp_path)
    finished(recipe, "cpt", tmp_path / "runs" / "cpt")
    sft = finished(recipe, "sft", Path("runs/sft"), Path("runs/cpt/model"))
    assert json.loads((sft / RECIPE).read_text())["start"] == str(tmp_path / "runs" / "cpt" / "model")
    older = finished(recipe, "rl", Path("runs/rl"), Path("runs/sft/model"), noted="runs/sft/model")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    runs = Path("../runs")
    assert [result.stage for result in results_to(runs / "rl" / "model")] == ["cpt", "sft", "rl"]
    assert run_stage(recipe, "rl", runs / "rl", never_rows(), never, start=runs / "sft" / "model", resume=True)
    assert run_stage(recipe, "sft", runs / "sft", never_rows(), never, start=runs / "cpt" / "model", resume=True)
    with pytest.raises(ConfigError, match="by its start"):
        run_stage(recipe, "rl", runs / "rl", never_rows(), never, start=runs / "cpt" / "model", resume=True)
    # folders that are moved together still know each other
    (tmp_path / "runs").rename(tmp_path / "moved")
    moved = tmp_path / "moved"
    assert [result.stage for result in results_to(moved / older.name)] == ["cpt", "sft", "rl"]
    assert start_of(moved / "sft") == moved / "cpt" / "model"
    assert run_stage(recipe, "rl", moved / "rl", never_rows(), never, start=moved / "sft" / "model", resume=True)


def never_rows():
    yield never()


def test_runs_that_started_from_each_other_end(tmp_path):
    for name, other in (("cpt", "sft"), ("sft", "cpt")):
        write_json(tmp_path / name / RECIPE, {"start": str(tmp_path / other)})
    assert results_to(tmp_path / "cpt") == []


def test_a_score_that_cannot_be_read_is_measured_again(tmp_path, monkeypatch):
    class Row:
        exact_session_determined = structured = None

        def __getattr__(self, name):
            return FIGURES[name]

    class Turn:
        cluster, exact = "f", True

    asked = []
    monkeypatch.setattr(evaluation, "evaluate_folder", lambda *a, **_: asked.append(a) or (Row(), [Turn()]))
    (tmp_path / SCORE).write_text('{"cell": "x", "figu')
    assert read_score(tmp_path) is None
    score = measured(parse_recipe(SMALL), tmp_path, "small cpt", 3)
    assert score.as_row()["exact"] == 0.25 and score.seed == 3 and read_score(tmp_path) == score
    assert measured(parse_recipe(SMALL), tmp_path, "another name", 3) == score and len(asked) == 1


def test_a_model_that_learned_to_reason_has_not_forgotten_it_after_the_next_stage():
    recipe = parse_recipe(SMALL + "reasoning: true\n")
    row = TrainingRow(stage="rl", domain="mcp", source=Source.OBSERVED, messages=())
    run = Run(recipe, "rl", Path("out"), 0, None, None, [row], [], None, None)
    before = TrainedNote(domains=("terminal",), context=512, prompts=None, reasons=True)
    assert noted(run, before).reasons and noted(run, before).domains == ("mcp", "terminal")
    assert not noted(run, None).reasons
    assert noted(replace(run, stage="sft"), None).reasons


def test_the_weights_that_were_measured_are_freed_whatever_happens(tmp_path, monkeypatch):
    closed = []

    class Model:
        name = "local"

        def __init__(self, stored, threads):
            self.stored = stored

        async def aclose(self):
            closed.append(self.stored)

    def fails(*_, **__):
        raise ConfigError("no")

    stored = StoredModel(
        name="x",
        path=tmp_path,
        format="huggingface",
        size=1,
        licence="MIT",
        trained=parse_recipe(SMALL).note(["terminal"]),
    )
    monkeypatch.setattr(evaluation, "describe", lambda folder: stored)
    monkeypatch.setattr(evaluation, "shipped_memory", lambda domain: Memory())
    monkeypatch.setattr(evaluation, "LocalModel", Model)
    for measure in (fails, lambda *_, **__: (["row"], {"model": ["turn"]})):
        monkeypatch.setattr(evaluation, "measure", measure)
        with suppress(ConfigError):
            assert evaluation.evaluate_folder(tmp_path, parse_recipe(SMALL), suite=object()) == ("row", ["turn"])
    assert closed == [stored, stored]


def test_files_are_written_whole_or_not_at_all(tmp_path):
    write_json(tmp_path / "new" / "x.json", {"a": "é"})
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "new" / "x.json", "\ud800")
    assert json.loads((tmp_path / "new" / "x.json").read_text()) == {"a": "é"}
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="writing"):
        write_json(tmp_path / "file" / "x.json", {})


def test_held_out_turns_that_are_not_there_are_told_before_training(tmp_path, command, monkeypatch):
    monkeypatch.setattr("worldline.train.running.stage_rows", never)
    failed = command(f"{SMALL}evaluation: {{domain: terminl}}\n", "cpt", tmp_path / "out")
    assert isinstance(failed.exception, ConfigError) and "no recordings terminl" in failed.exception.message
    assert load_recipe(tmp_path / "r.yaml").evaluation.domain == "terminl" and not (tmp_path / "out").exists()
