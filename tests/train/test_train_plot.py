"""Curves and ablations as pictures and points."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.errors import ConfigError, StorageError
from worldline.train.ablation import CELLS
from worldline.train.curves import read_curves
from worldline.train.evaluation import Score
from worldline.train.guarding import CURVE
from worldline.train.rewards.rubric import DIMENSIONS

SVG = "{http://www.w3.org/2000/svg}"


def run(folder, stage, records, seed=0):
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_text(json.dumps({"name": "small", "stage": stage, "seed": seed}))
    (folder / CURVE).write_text("".join(json.dumps({"of": 4, **record}) + "\n" for record in records))
    return folder


def held_out(step, reward, error=None, **more):
    figures = {"reward": reward, "exact": 0.0, "unreadable": 0.5, "copied": 0.1, "flagged": 0.2, **more}
    figures |= {name: 1.0 + number / 2 for number, name in enumerate(DIMENSIONS)}
    errors = {} if error is None else {f"{name}_se": error for name in ("reward", "exact")}
    return {"step": step, **{f"eval_{name}": value for name, value in {**figures, **errors}.items()}}


def plot(*arguments):
    return CliRunner().invoke(cli, ["train", "plot", *map(str, arguments)], catch_exceptions=False)


def texts(path):
    return [element.text for element in ElementTree.parse(path).iter(f"{SVG}text")]


def points(curves, name, held_out=True):
    return next(s.points for s in curves.series if s.name == name and s.held_out == held_out)


@pytest.fixture
def rl(tmp_path):
    batches = [{"step": 1, "reward": 6.0}, {"step": 2, "reward": 7.0}]
    records = [held_out(0, 5.0, 0.5), *batches, held_out(2, 8.0, 1.0, rise=3.0, rise_se=0.5)]
    return run(tmp_path / "rl", "rl", records)


def test_reward_is_drawn_with_its_dimensions_and_shares(rl, tmp_path):
    out = tmp_path / "rl.svg"
    assert "is drawn" in plot(rl, "--out", out).output
    told = texts(out)
    wanted = ["small: rl, seed 0", "reward, batches", "reward, held-out", *DIMENSIONS, "exact", "unreadable", "copied"]
    assert set(wanted) <= set(told) and "flagged" in told and "unjudged" not in told
    assert "same prompts, step 2 against 0: +3.00 (+2.02 to +3.98)" in told
    curves = read_curves([rl])
    first, last = points(curves, "reward")
    assert (first.step, first.value, first.low, first.high) == (0, 5.0, pytest.approx(4.02), pytest.approx(5.98))
    assert (last.step, last.value, last.runs) == (2, 8.0, 1)
    assert [p.value for p in points(curves, "reward", held_out=False)] == [6.0, 7.0]
    # a share stays one
    assert points(curves, "exact")[0].low == 0.0 and points(curves, "realism")[0].low is None


def test_several_runs_are_their_mean_and_spread(tmp_path):
    one = run(tmp_path / "a", "cpt", [{"step": 0, "eval_loss": 4.0}, {"step": 2, "loss": 3.0}])
    records = [{"step": 0, "eval_loss": 5.0}, {"step": 2, "loss": 2.0}, {"step": 4, "loss": None, "eval_loss": 1.0}]
    two = run(tmp_path / "b", "cpt", records, seed=7)
    found = read_curves([one, two])
    start, end = points(found, "loss")
    assert (start.value, start.low, start.high, start.runs) == (4.5, 4.0, 5.0, 2)
    assert (end.step, end.value, end.low, end.runs) == (4, 1.0, None, 1)
    assert [p.step for p in points(found, "loss", held_out=False)] == [2] and found.seeds == (0, 7)
    plot(one, two, "--out", tmp_path / "two.svg")
    assert "small: cpt, mean of 2 runs (seeds 0, 7), from lowest to highest" in texts(tmp_path / "two.svg")


def test_without_a_measurement_the_batches_stand_in(tmp_path):
    batch = {"step": 1, "reward": 3.0, "exact": 0.0, **dict.fromkeys(DIMENSIONS, 2.0)}
    found = read_curves([run(tmp_path / "rl", "rl", [batch])])
    assert {series.name for series in found.series} == {"reward", "exact", *DIMENSIONS}
    assert not any(series.held_out for series in found.series)


@pytest.fixture
def ablation(tmp_path):
    folder = tmp_path / "ablation"
    for seed in (0, 1):
        for number, cell in enumerate(CELLS[: 8 - seed]):
            trials = tuple((f"family {n}", n < number) for n in range(8))
            figures = {"error_agreement": 0.5, "rouge_l": 0.5, "failures": 0}
            score = Score(cell=cell.name, seed=seed, figures=figures, trials=trials)
            place = folder / f"seed-{seed}" / cell.folder
            place.mkdir(parents=True)
            (place / "score.json").write_text(score.model_dump_json())
    (folder / "ablation.json").write_text(
        json.dumps({"name": "small", "evaluation": {"domain": "terminal", "split": "dev"}})
    )
    return folder


def test_an_ablation_is_drawn_row_by_row(ablation, tmp_path):
    out = tmp_path / "rows.svg"
    record = json.loads(plot(ablation, "--out", out, "--json").output)
    assert [row["cell"] for row in record["rows"]] == [cell.name for cell in CELLS]
    assert [len(row["seeds"]) for row in record["rows"]] == [2] * 7 + [1]
    assert record["rows"][4]["exact"] == 0.5 and record["rows"][4]["exact_ci"][0] < 0.5
    told = texts(out)
    assert {cell.name for cell in CELLS} <= set(told)
    assert "small: which stages help (terminal dev, greedy, 1 to 2 seeds)" in told


def test_one_picture_is_always_the_same_bytes(rl, ablation, tmp_path):
    for folder in (rl, ablation):
        drawn = []
        for number in range(2):
            out = tmp_path / f"{number}.svg"
            command = [sys.executable, "-m", "worldline", "train", "plot", str(folder), "--out", str(out)]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": str(number)}, timeout=120)
            drawn.append(out.read_bytes())
        assert drawn[0] == drawn[1] and not re.search(rb"\d{4}-\d\d-\d\dT", drawn[0])


def test_points_without_a_picture(rl):
    record = json.loads(plot(rl, "--json").output)
    assert record["stage"] == "rl" and record["runs"] == [str(rl)]
    reward = next(s for s in record["series"] if s["name"] == "reward" and s["held_out"])
    assert [point["value"] for point in reward["points"]] == [5.0, 8.0]


def test_what_cannot_be_drawn_is_told(rl, ablation, tmp_path):
    with pytest.raises(ConfigError, match="nothing to do"):
        plot(rl)
    with pytest.raises(ConfigError, match="holds no run"):
        plot(tmp_path / "none", "--json")
    with pytest.raises(ConfigError, match="runs of rl and sft"):
        plot(rl, run(tmp_path / "sft", "sft", [{"step": 1, "loss": 1.0}]), "--json")
    (tmp_path / "odd").mkdir()
    for text, said in (("{}", "is not that of a run"), ("[]", "reading .*recipe.json"), ("{", "reading .*recipe.json")):
        (tmp_path / "odd" / "recipe.json").write_text(text)
        with pytest.raises(ConfigError, match=said):
            plot(tmp_path / "odd", "--json")
    with pytest.raises(ConfigError, match=f"no {CURVE}"):
        plot(run(tmp_path / "empty", "cpt", []), "--json")
    with pytest.raises(ConfigError, match="drawn alone"):
        plot(ablation, rl, "--json")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "ablation.json").write_text("{}")
    with pytest.raises(ConfigError, match="measured yet"):
        plot(tmp_path / "begun", "--json")
    with pytest.raises(StorageError, match="writing"):
        plot(rl, "--out", tmp_path / "curve.tune")
    with pytest.raises(StorageError, match="writing"):
        plot(rl, "--out", tmp_path / "no" / "curve.svg")
