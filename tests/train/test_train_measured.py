"""Measurements while training for real: from before the first step, of every answer, and of no effect on training."""

from functools import partial

import pytest
from reward_rows import recorded_rows, written
from small_training import ROWS, curve, small_recipe, weights

from worldline.errors import ConfigError
from worldline.train.guarding import read_curve
from worldline.train.rewards import reward_function
from worldline.train.rl import rl_trainer
from worldline.train.stage import run_stage
from worldline.train.tuning import tuning_trainer

pytestmark = [
    pytest.mark.full,
    # the libraries' own warnings are not ours to mend
    pytest.mark.filterwarnings("default"),
]
RL = {"steps": 4, "group": 4, "answer": 8, "optimiser": {"learning_rate": 0.01, "warmup": 0}}


@pytest.fixture(autouse=True, scope="module")
def libraries():
    """Taken here and not above, so that a run which leaves these tests out does not miss them."""
    global torch
    torch = pytest.importorskip("torch")
    pytest.importorskip("trl")
    torch.set_num_threads(1)


def measured(every, rows=3):
    return f"{{turns: 3, max_tokens: 16, rows: {rows}, every: {every}}}"


def short_rows():
    rows = [row.model_copy(update={"messages": row.messages[-1:]}) for row in recorded_rows("mcp")]
    return sorted(rows, key=lambda row: len(row.messages[-1].content))[:6]


def same(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


def test_a_curve_begins_before_the_first_step_and_goes_on_without_doubling(tmp_path):
    how = small_recipe(cpt={"steps": 6, "batch": 2}, evaluation=measured(2))
    run_stage(how, "cpt", tmp_path / "whole", ROWS, tuning_trainer, held_out=ROWS[:3])

    class Stop(Exception):
        pass

    def stop(record):
        if record["step"] == 5:
            raise Stop

    for out, at in (("late", stop), ("early", lambda record: (_ for _ in ()).throw(Stop))):
        with pytest.raises(Stop):
            run_stage(how, "cpt", tmp_path / out, ROWS, tuning_trainer, held_out=ROWS[:3], watch=at)
        run_stage(how, "cpt", tmp_path / out, ROWS, tuning_trainer, held_out=ROWS[:3], resume=True)
        steps = [record["step"] for record in read_curve(tmp_path / out) if "eval_loss" in record]
        assert steps == [0, 2, 4, 6]
        assert curve(tmp_path / out, "eval_loss") == curve(tmp_path / "whole", "eval_loss")


def test_how_often_one_measures_changes_nothing_that_is_learned(tmp_path):
    rows = short_rows()

    def letters(prompts, completions, **_):
        texts = [chat[-1]["content"] for chat in completions]
        return [sum(char.isascii() and char.isalpha() for char in text) / 8 for text in texts]

    for name, every, steps in (("often", 1, 4), ("seldom", 4, 4), ("short", 4, 2)):
        how = small_recipe(rl={**RL, "steps": steps}, evaluation=measured(every), context=1024)
        trainer = partial(rl_trainer, reward=letters)
        run_stage(how, "rl", tmp_path / name, rows, trainer, held_out=rows[:3])
    often, seldom = (curve(tmp_path / name, "eval_reward") for name in ("often", "seldom"))
    assert list(often) == [0, 1, 2, 3, 4] and list(seldom) == [0, 4]
    assert often[0] == seldom[0] and often[4] == seldom[4]
    learned = weights(tmp_path / "often")
    assert same(learned, weights(tmp_path / "seldom")) and not same(learned, weights(tmp_path / "short"))


def test_a_measurement_is_of_every_answer_to_every_prompt(tmp_path, monkeypatch):
    rows = short_rows()
    written_to = {row.id: [written(row), "wrong", written(row, "another")] for row in rows}
    reward = reward_function(rows)
    true, measurements = reward.score, []

    def scored(asked):
        # what a model of so few steps writes cannot be read: other answers stand in, not as many to each prompt
        turn = len(measurements) // 12
        asked = [(id, written_to[id][(n + turn + (id == rows[0].id)) % 3]) for n, (id, _) in enumerate(asked)]
        found = true(asked)
        if reward.tally is not None:
            measurements.extend(zip([id for id, _ in asked], found, strict=True))
        return found

    monkeypatch.setattr(reward, "score", scored)
    how = small_recipe(rl={**RL, "steps": 1}, evaluation=measured(1), context=1024)
    run_stage(how, "rl", tmp_path / "run", rows, partial(rl_trainer, reward=reward), held_out=rows[:3])
    reward.close()
    records = [record for record in read_curve(tmp_path / "run") if "eval_reward" in record]
    assert [record["step"] for record in records] == [0, 1]
    first = measurements[:12]
    assert sorted(id for id, _ in first) == sorted(row.id for row in rows[:3] for _ in range(4))
    readable = [one for _, one in first if one.answer.observation is not None]
    assert 0 < len(readable) < 12
    noted = records[0]
    assert (noted["eval_prompts"], noted["eval_answers"]) == (3, 12) and noted["eval_reward_se"] > 0
    assert noted["eval_reward"] == pytest.approx(sum(one.reward for _, one in first) / 12, abs=1e-5)
    before, now = ([one.reward for _, one in measurements[n : n + 12]] for n in (0, 12))
    assert records[1]["eval_rise"] == pytest.approx((sum(now) - sum(before)) / 12, abs=1e-5)
    assert "eval_rise" not in noted and records[1]["eval_rise"] != 0 and records[1]["eval_rise_se"] > 0
    mean = sum(one.rubric.scores["realism"] for one in readable) / len(readable)
    assert noted["eval_realism"] == pytest.approx(mean, abs=1e-5)


@pytest.mark.parametrize("stage", ["cpt", "rl"])
def test_greedy_answers_are_measured_with_the_model_as_it_is_then(tmp_path, stage):
    rows = short_rows() if stage == "rl" else ROWS
    settings = RL if stage == "rl" else {"batch": 2, "optimiser": {"learning_rate": 0.01, "warmup": 0}}
    evaluation = measured(1)[:-1] + ", generate: true}"
    how = small_recipe(evaluation=evaluation, context=1024, **{stage: {**settings, "steps": 2}})
    asked = []

    def evaluate(folder):
        asked.append(loaded(folder))
        return {"exact": len(asked) / 4, "exact_ci": (0.0, 1.0), "rouge_l": None, "n": 3}

    trainer = rl_trainer if stage == "rl" else tuning_trainer
    result = run_stage(how, stage, tmp_path / "run", rows, trainer, held_out=rows[:2], evaluate=evaluate)
    assert curve(tmp_path / "run", "eval_greedy_exact") == {0: 0.25, 1: 0.5, 2: 0.75}
    both = "eval_reward" if stage == "rl" else "eval_loss"
    assert {both, "eval_greedy_n"} <= set(result.held_out) and result.held_out["eval_greedy_exact"] == 0.75
    assert "eval_greedy_exact_ci" not in result.held_out and "eval_greedy_rouge_l" not in result.held_out
    assert same(asked[-1], weights(tmp_path / "run"))
    assert stage == "rl" or not same(asked[0], asked[-1])


def loaded(folder):
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder).state_dict()


@pytest.mark.parametrize("name", ["nosuch", "comet_ml"])
def test_a_tracker_that_is_not_there_is_an_error_of_the_recipe(tmp_path, name):
    how = small_recipe(f"trackers: [{name}]\n", cpt={"steps": 1})
    with pytest.raises(ConfigError, match="the recipe's trackers"):
        run_stage(how, "cpt", tmp_path / "run", ROWS, tuning_trainer)
    assert not (tmp_path / "run").exists()
