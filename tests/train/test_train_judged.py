"""A judge inside TRL: asked over HTTP while a model trains, it fails half of the time, and training goes on."""

import asyncio
import itertools
from functools import partial

import pytest
from judge_replies import ChatServer, Reply, chat, fast, predicted, scores
from reward_rows import recorded_rows, written
from small_training import curve, small_recipe

from worldline.data.rows import TrainingMessage
from worldline.train.rewards import reward_function
from worldline.train.rl import rl_trainer
from worldline.train.stage import run_stage
from worldline.train.tuning import tuning_trainer

pytestmark = [
    pytest.mark.full,
    # the libraries' own warnings are not ours to mend
    pytest.mark.filterwarnings("default"),
]
STEPS = 8
MODEL = "{scratch: {hidden: 64, layers: 2, heads: 2, kv_heads: 2, intermediate: 128}}"
FAST = {"optimiser": {"learning_rate": 0.01}, "log_every": 20, "save_every": 500}


@pytest.fixture(autouse=True, scope="module")
def libraries():
    torch = pytest.importorskip("torch")
    pytest.importorskip("trl")
    torch.set_num_threads(1)


def prompts():
    """Recorded turns, asked by a few letters: what is learned here is a form, not an answer."""
    rows = [row for row in recorded_rows("mcp") if row.truth.get("text", "").strip()][:4]
    asked = [(TrainingMessage(role="user", content=f"go {n}"),) for n in range(len(rows))]
    return [row.model_copy(update={"messages": messages}) for row, messages in zip(rows, asked, strict=True)]


def taught(row, told):
    """An SFT row: this prompt, that answer."""
    answer = TrainingMessage(role="assistant", content=told, weight=1)
    return row.model_copy(update={"stage": "sft", "messages": (*row.messages, answer)})


async def test_a_judge_that_fails_half_the_time_leaves_a_training_going_on(tmp_path):
    rows = prompts()
    thinking = [f"<think>secret</think>\n{written(row, 'draft')}\n{written(row, 'wrong')}" for row in rows]
    told = [taught(row, text) for row, good in zip(rows, thinking, strict=True) for text in (good, good, "no block")]
    how = small_recipe(model=MODEL, context=320, sft={"steps": 120, "batch": 4, **FAST})
    await asyncio.to_thread(run_stage, how, "sft", tmp_path / "sft", told, tuning_trainer)
    assert min(curve(tmp_path / "sft", "loss").values()) < 0.1

    replies = itertools.cycle([scores(2), "garbage", scores(4), "garbage", scores(3), "error", scores(2), "error"])
    sent = []

    def answer(request):
        sent.append(reply := next(replies))
        if reply == "error":
            return Reply({"error": "busy"}, status=500)
        return Reply(chat("flawless, 5 of 5") if reply == "garbage" else reply)

    async with ChatServer(responder=answer) as server:
        judge = {"model": f"{server.url}#judge", "tries": 1, "again": 0, "patience": STEPS}
        stage = {"steps": STEPS, "group": 4, "answer": 208, "reward": {"judge": judge}}
        how = small_recipe(model=MODEL, context=320, rl=stage)
        reward = fast(reward_function(rows, how.rl.reward))
        scored, true = [], reward.score
        reward.score = lambda asked: scored.append(true(asked)) or scored[-1]
        trainer = partial(rl_trainer, reward=reward)
        start = tmp_path / "sft" / "model"
        result = await asyncio.to_thread(run_stage, how, "rl", tmp_path / "rl", rows, trainer, start=start)
        await asyncio.to_thread(reward.close)

    answers = [one for group in scored for one in group]
    assert result.steps == STEPS and len(scored) == STEPS and len(answers) == 4 * STEPS
    bad = sum(reply in ("garbage", "error") for reply in sent)
    assert len(sent) == len(server.requests) == reward.judge.asked and bad >= len(sent) // 2 > 4
    # what cannot be read is worth nothing, be it the model's answer or the judge's
    unread = [one for one in answers if one.answer.observation is None]
    misjudged = [one for one in answers if one.rubric.failure == "the judge's answer cannot be read"]
    assert unread and misjudged and not any(one.reward for one in [*unread, *misjudged])
    # groups with an answer that the judge said nothing about have one rubric, and are counted
    alone = [{one.rubric.unjudged for one in group} for group in scored]
    assert {True} in alone and {False} in alone and {True, False} not in alone
    unjudged = curve(tmp_path / "rl", "unjudged")
    assert list(unjudged.values()) == [float(one == {True}) for one in alone]
    assert any(one.reward > 0 for group in scored for one in group if not one.rubric.unjudged)
    # it reasoned and drafted, and the judge saw the last block alone
    assert any(one.answer.reasoning == "secret" and "several blocks" in one.answer.flags for one in answers)
    shown = [predicted(request) for request in server.requests]
    assert any("wrong" in text for text in shown)
    assert not any(word in text for text in shown for word in ("secret", "draft", "think>"))
