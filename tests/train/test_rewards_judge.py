"""A judge that a recipe names: asked over HTTP, many answers at a time, and what becomes of those it leaves out."""

import asyncio

import pytest
from judge_replies import ChatServer, Reply, chat, fast, predicted, scores, told
from reward_rows import recorded_rows, written

from worldline.errors import ConfigError, EndpointError, FormatError
from worldline.train.recipe import parse_recipe
from worldline.train.rewards import JudgeOptions, RewardOptions, reward_function
from worldline.train.rewards.rubric import executed_rubric

RECIPE = """
name: small
model: {scratch: {}}
rl:
  reward:
    judge: JUDGE
"""


def rows(count):
    return [row for row in recorded_rows("mcp") if row.truth.get("text", "").strip()][:count]


def test_a_recipe_names_a_judge():
    named = parse_recipe(RECIPE.replace("JUDGE", "http://127.0.0.1:9/v1#judge")).rl.reward
    assert named.judge == JudgeOptions(model="http://127.0.0.1:9/v1#judge")
    whole = parse_recipe(RECIPE.replace("JUDGE", "{model: my-judge, concurrency: 3}")).rl.reward
    assert whole.judge.model == "my-judge" and whole.judge.concurrency == 3
    with pytest.raises(FormatError, match="unknown key") as caught:
        parse_recipe(RECIPE.replace("JUDGE", "{model: my-judge, wrong: 3}"))
    assert caught.value.line == 6
    with pytest.raises(ConfigError, match="which model"):
        reward_function(rows(1), RewardOptions(judge="http://127.0.0.1:9/v1"))


async def test_a_batch_is_judged_at_once_and_sees_blocks_alone():
    made = rows(4)

    async def answer(request):
        for _ in range(200):
            if len(server.requests) == 1 or server.most_active >= 6:
                break
            await asyncio.sleep(0.02)
        return Reply(scores())

    async with ChatServer(responder=answer) as server:
        options = RewardOptions(rule=0, judge=JudgeOptions(model=f"{server.url}#judge", concurrency=8))
        reward = reward_function(made, options)
        texts = [
            f"<think>secret</think>\npraise\n{written(row, 'draft')}\n{written(row, f'wrong {n}')}"
            for row in made
            for n in range(4)
        ]
        ids = [row.id for row in made for _ in range(4)]
        found = await asyncio.to_thread(reward, [""] * 16, texts, row=ids)
        await asyncio.to_thread(reward.close)
    assert found == [10.0] * 16 and 6 <= server.most_active <= 9
    assert all("wrong" in told(request) for request in server.requests)
    shown = [predicted(request) for request in server.requests]
    assert not any(word in text for text in shown for word in ("secret", "praise", "draft"))


async def test_a_judge_that_fails_half_the_time_is_asked_again():
    made, numbers = rows(4), iter(range(10**6))

    def answer(request):
        return Reply({"error": "busy"}, status=500) if next(numbers) % 2 else Reply(scores())

    async with ChatServer(responder=answer) as server:
        judge = JudgeOptions(model=f"{server.url}#judge", concurrency=4, again=12)
        reward = fast(reward_function(made, RewardOptions(rule=0, judge=judge)))
        asked = [(row.id, written(row, f"wrong {n}")) for row in made for n in range(4)]
        scored = await asyncio.to_thread(reward.score, asked)
        await asyncio.to_thread(reward.close)
    assert [one.reward for one in scored] == [10.0] * 16 and reward.judge.retried > 0
    assert reward.metrics()["unjudged"] == 0


async def test_a_group_with_an_answer_that_was_not_judged_is_measured_by_one_rubric():
    made = rows(2)
    broken, whole = made

    def answer(request):
        return Reply({"error": "busy"}, status=500) if "breaks the judge" in told(request) else Reply(scores())

    async with ChatServer(responder=answer) as server:
        judge = JudgeOptions(model=f"{server.url}#judge", again=1)
        reward = fast(reward_function(made, RewardOptions(rule=0, judge=judge)))
        asked = [(row.id, written(row, text)) for text in ("wrong", "also wrong") for row in made]
        asked.append((broken.id, written(broken, "this breaks the judge")))
        scored = await asyncio.to_thread(reward.score, asked)
        await asyncio.to_thread(reward.close)
    for (id, _), one in zip(asked, scored, strict=True):
        assert one.rubric.unjudged == (id == broken.id) and one.rubric.failure is None
        if id == whole.id:
            assert one.reward == 10.0
        else:
            moment = reward.moments[id]
            grounds = reward.cache.of(moment)
            assert one.rubric.scores == executed_rubric(moment, one.answer, grounds).scores
    assert reward.judge.unanswered == 1 and reward.metrics()["unjudged"] == pytest.approx(3 / 5)
    reward.close()


async def test_judgements_that_cannot_be_read_are_worth_nothing():
    made = rows(1)
    async with ChatServer(chat("flawless, 5 of 5")) as server:
        reward = fast(reward_function(made, RewardOptions(judge=f"{server.url}#judge")))
        (one,) = await asyncio.to_thread(reward.score, [(made[0].id, written(made[0], "wrong"))])
        await asyncio.to_thread(reward.close)
    assert one.reward == 0 and not one.rubric.unjudged and reward.judge.failed == 1
    assert reward.metrics()["failed"] == 1.0


async def test_a_dead_judge_stops_the_training():
    made = rows(2)
    async with ChatServer(scores()) as server:
        address = server.url
    judge = JudgeOptions(model=f"{address}#judge", again=0, patience=2)
    reward = fast(reward_function(made, RewardOptions(judge=judge)))
    asked = [(row.id, written(row, "wrong")) for row in made]
    exact = [(row.id, written(row)) for row in made]
    scored = await asyncio.to_thread(reward.score, asked)
    assert all(one.rubric.unjudged for one in scored)
    # a batch in which nothing has to be judged says nothing about the judge
    assert [one.reward for one in await asyncio.to_thread(reward.score, exact)] == [25.0, 25.0]
    with pytest.raises(EndpointError, match="2 batches in a row: cannot reach") as caught:
        await asyncio.to_thread(reward.score, asked)
    assert "--resume" in caught.value.hint
    await asyncio.to_thread(reward.close)
