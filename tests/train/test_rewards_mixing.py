"""Rubric and rules mixed, as a trainer calls it, and the rubric of a judge that fails at times."""

import asyncio
import json
import random
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError
from reward_rows import recorded_rows, written

from worldline.bench.agentworld.records import DIMENSIONS
from worldline.errors import ConfigError, EndpointError, FormatError
from worldline.models import EndpointModel
from worldline.models.scripted import ScriptedModel
from worldline.models.settings import ModelSettings
from worldline.train.rewards import RewardOptions, columns, reward_function
from worldline.train.rewards.judged import JudgedRubric, eval_row
from worldline.train.rewards.mixing import completion_text

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from chat_server import ChatServer, Reply, chat

LOW = dict.fromkeys(DIMENSIONS, 2)


def rows(count=3, domain="mcp"):
    return [row for row in recorded_rows(domain) if row.truth.get("text", "").strip()][:count]


def scores(**changed):
    return json.dumps({"analysis": "", "strengths": [], "weaknesses": [], "scores": {**LOW, **changed}})


def test_a_trainer_calls_it_with_texts_or_chats():
    made = rows()
    reward = reward_function(made)
    data = [columns(row) for row in made]
    assert [set(entry) for entry in data] == [{"prompt", "row"}] * 3
    texts = [written(made[0]), "", written(made[2])]
    chats = [[{"role": "assistant", "content": text}] for text in texts]
    told = {"row": [entry["row"] for entry in data], "completion_ids": [[1]] * 3}
    prompts = [entry["prompt"] for entry in data]
    assert reward(prompts, texts, **told) == reward(prompts, chats, **told) == [25.0, 0.0, 25.0]
    assert reward.__name__ == "worldline_reward"
    logged = {}
    reward(prompts, texts, **told, log_metric=logged.__setitem__)
    assert set(DIMENSIONS) <= set(logged) and logged["reward"] == pytest.approx(50 / 3)
    assert logged["unreadable"] == pytest.approx(1 / 3) and reward.metrics() == {}
    with pytest.raises(ConfigError, match="column"):
        reward(prompts, texts)
    with pytest.raises(ConfigError, match="knows no row"):
        reward(prompts, texts, row=["x"] * 3)
    reward.close()


def test_completions_of_all_shapes():
    assert completion_text([]) == ""
    assert completion_text([{"role": "user", "content": "x"}]) == ""
    parts = [{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
    assert completion_text(parts) == "ab"
    assert completion_text([{"role": "assistant", "content": "a", "reasoning_content": "t"}]) == "<think>t</think>\na"
    with pytest.raises(FormatError):
        completion_text(7)


@pytest.mark.parametrize(("rubric", "rule"), [(9, 1), (1, 1), (1, 0), (0, 1), (3, 7)])
def test_the_ratio_is_what_was_asked_for(rubric, rule):
    made = rows(6)
    reward = reward_function(made, RewardOptions(rubric=rubric, rule=rule))
    for one in reward.score([(row.id, written(row, "no such thing", is_error=False)) for row in made]):
        rules = rule * one.rules.reward if rule else 0.0
        wanted = (rubric * one.rubric.reward + rules) / (rubric + rule)
        assert one.reward == pytest.approx(wanted) and 0 <= one.reward <= 25
    reward.close()


def test_the_other_reading_shares_out_the_rows():
    made = recorded_rows("mcp", 40)
    both = {True: 0, False: 0}
    reward = reward_function(made, RewardOptions(reading="per_row", rubric=1, rule=1))
    for one in reward.score([(row.id, written(row, "no such thing")) for row in made]):
        assert one.reward in (one.rubric.reward, one.rules.reward)
        both[one.reward == one.rules.reward] += 1
    assert all(both.values())
    reward.close()


def test_ratios_without_sense_are_refused():
    for wrong in ({"rubric": 0, "rule": 0}, {"rubric": -1}, {"steps": 9}, {"ratio": 9}):
        with pytest.raises(ValidationError):
            RewardOptions(**wrong)


def judged(script, **options):
    return JudgedRubric(ScriptedModel(script, name="judge"), pause=0.0, **options)


def test_a_judge_sees_the_block_alone():
    (made,) = rows(1)
    judge = judged(lambda messages: scores(format=5))
    reward = reward_function([made], RewardOptions(rule=0), judge=judge)
    block = written(made, "a wrong answer")
    text = f"I am flawless\n</think>\nBEFORE {block}\nBEHIND".replace("BEFORE ", "BEFORE\n")
    (one,) = reward.score([(made.id, text)])
    assert one.reward == 5 * (5 + 4 * 2) / 5 and one.rubric.scores["format"] == 5
    shown = judge.judge.calls[0][-1]["content"]
    assert "a wrong answer" in shown
    assert not any(word in shown for word in ("flawless", "BEFORE", "BEHIND"))
    exact, empty = reward.score([(made.id, written(made)), (made.id, "")])
    assert exact.reward == 25 and empty.reward == 0 and len(judge.judge.calls) == 1, "neither is worth a call"
    reward.close()


def test_a_judge_that_fails_half_the_time_is_asked_again():
    made = rows(6)
    chance = random.Random(4)

    def answer(messages):
        if chance.random() < 0.5:
            return chance.choice([EndpointError("busy"), "no scores at all", scores(format=9), "{"])
        return scores()

    judge = judged(answer, again=6)
    reward = reward_function(made, RewardOptions(rule=0), judge=judge)
    scored = reward.score([(row.id, written(row, f"wrong {n}")) for row in made for n in range(5)])
    assert [one.reward for one in scored] == [10.0] * 30
    assert judge.asked == 30 and judge.failed == 0 and judge.retried > 0
    reward.close()


def test_a_judge_that_fails_for_good_gives_nothing_and_is_counted():
    made = rows(2)
    judge = judged(lambda messages: "the answer is excellent", tries=2, again=1)
    reward = reward_function(made, judge=judge)
    scored = reward.score([(row.id, written(row, "wrong")) for row in made])
    assert [one.reward for one in scored] == [0.0, 0.0]
    assert judge.failed == 2 and judge.retried == 2 and len(judge.judge.calls) == 8
    assert reward.metrics()["failed"] == 1.0
    reward.close()


@pytest.mark.parametrize("domain", ["terminal", "database", "search", "code"])
def test_judging_is_bounded_and_in_order(domain):
    made = rows(4, domain)
    active, most = 0, 0

    async def answer(messages):
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.002)
        active -= 1
        number = int(messages[-1]["content"].rsplit("wrong number ", 1)[1][0])
        return scores(quality=number)

    reward = reward_function(made, RewardOptions(rule=0), judge=judged(answer, concurrency=3))
    asked = [(row.id, written(row, f"wrong number {n}")) for row in made for n in range(1, 6)]
    found = [one.rubric.scores["quality"] for one in reward.score(asked)]
    assert found == [1.0, 2.0, 3.0, 4.0, 5.0] * len(made) and most == 3
    reward.close()


async def test_a_judge_over_http_that_fails_half_the_time():
    made = rows(4)
    numbers = iter(range(10**6))

    def answer(request):
        number = next(numbers)
        if number % 2:
            return Reply({"error": "overloaded"}, status=503) if number % 4 == 1 else Reply(chat("not a score"))
        return Reply(chat(scores()))

    async with ChatServer(responder=answer) as server:
        limits = {"retries": 0, "concurrency": 4}
        model = EndpointModel(ModelSettings(base_url=server.url, model="judge", **limits))
        judge = JudgedRubric(model, concurrency=4, again=4, pause=0.0)
        reward = reward_function(made, RewardOptions(rule=0), judge=judge)
        asked = [(row.id, written(row, f"wrong {n}")) for row in made for n in range(3)]
        for _ in range(2):
            scored = await asyncio.to_thread(reward.score, asked)
            assert [one.reward for one in scored] == [10.0] * 12
        await asyncio.to_thread(reward.close)
        assert judge.failed == 0 and 1 < server.most_active <= 4 + 1


async def test_a_loop_that_runs_already_does_no_harm():
    (made,) = rows(1)
    reward = reward_function([made], RewardOptions(rule=0), judge=judged(lambda messages: scores()))
    for _ in range(2):
        assert reward([""], [written(made, "wrong")], row=[made.id]) == [10.0]
    reward.close()


def test_rows_for_a_judge_hold_the_prompt_and_the_truth():
    for row in rows(3):
        moment = reward_function([row]).moments[row.id]
        shown = eval_row(moment)
        assert shown.truth.strip() == moment.truth.text.strip()
        assert len(shown.prompts) == len(shown.responses) + 1 == shown.turn
    with pytest.raises(ConfigError):
        JudgedRubric(ScriptedModel([]), concurrency=0)
