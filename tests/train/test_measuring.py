"""Means over answers, and errors over prompts."""

import math

import numpy as np
import pytest
from reward_rows import recorded_rows, written

from worldline.train.measuring import answer_figures, prompt_rewards, rise
from worldline.train.rewards import reward_function


def test_every_answer_counts_once_and_errors_are_those_of_prompts():
    drawn = np.random.default_rng(0).normal(size=(9, 4))
    noted = [(f"p{prompt}", {"x": value}) for prompt, values in enumerate(drawn) for value in values]
    found = answer_figures(noted)
    assert found["x"] == pytest.approx(drawn.mean())
    assert found["x_se"] == pytest.approx(drawn.mean(axis=1).std(ddof=1) / 3)
    assert (found["prompts"], found["answers"]) == (9, 36)


def test_a_prompt_with_few_readable_answers_counts_for_these_alone():
    noted = [("a", {"x": 1.0, "read": 1.0}), *[("a", {"read": 0.0})] * 3, *[("b", {"x": 4.0, "read": 1.0})] * 4]
    found = answer_figures(noted)
    assert found["x"] == pytest.approx(17 / 5) and found["read"] == pytest.approx(5 / 8)
    assert found["x_se"] == pytest.approx(math.sqrt(2 * ((1 - 3.4) ** 2 + (16 - 4 * 3.4) ** 2)) / 5)
    assert "x_se" not in answer_figures(noted[:4]) and answer_figures([]) == {"prompts": 0, "answers": 0}


def test_a_reward_notes_its_answers_only_while_it_is_asked_to():
    made = list(recorded_rows("mcp"))[:2]
    reward = reward_function(made)
    asked = [(row.id, text) for row in made for text in (written(row), "no block")]
    reward.score(asked)
    reward.tally = []
    scored = reward.score(asked)
    reward.close()
    assert [id for id, _ in reward.tally] == [id for id, _ in asked]
    assert [figures["reward"] for _, figures in reward.tally] == [one.reward for one in scored]
    found = answer_figures(reward.tally)
    assert found["reward"] == 12.5 and found["reward_se"] == 0 and found["unreadable"] == 0.5
    assert found["format"] == 5 and found["answers"] == 4


def test_a_rise_is_measured_prompt_by_prompt():
    draw = np.random.default_rng(1)
    before, more = draw.normal(10, 5, size=(16, 8)), draw.normal(1, 0.2, size=(16, 8))
    noted = [
        [(f"p{n}", {"reward": x}) for n, row in enumerate(rewards) for x in row] for rewards in (before, before + more)
    ]
    found = rise(*map(prompt_rewards, noted))
    differences = more.mean(axis=1)
    assert found["rise"] == pytest.approx(differences.mean())
    assert found["rise_se"] == pytest.approx(differences.std(ddof=1) / 4)
    # far less than what either measurement may be off by
    assert found["rise_se"] < answer_figures(noted[0])["reward_se"] / 5
    assert rise({}, {"p": 1.0}) == {} and rise({"p": 1.0}, {"p": 3.0, "q": 5.0}) == {"rise": 2.0}
