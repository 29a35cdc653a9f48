"""Reasoning from an endpoint: what is asked, graded, compared, kept, counted; builds that stop, dead endpoints."""

import asyncio
import json
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from worldline.bench.agentworld.records import DIMENSIONS
from worldline.cli import cli
from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.layout import answer_message
from worldline.data.sets import read_report, read_rows, write_rows
from worldline.data.teaching import Teaching, TeachingOptions, taught_rows
from worldline.errors import ConfigError, EndpointError
from worldline.formats import read_trajectories
from worldline.models import EndpointModel
from worldline.models.cache import CachedModel
from worldline.models.settings import ModelSettings
from worldline.models.watching import WatchedModel
from worldline.recordings import path
from worldline.train.rewards import read_moment
from worldline.train.rewards.grading import JudgeGrader, RubricGrader
from worldline.types import Observation, Source

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from chat_server import ChatServer, Reply, chat

TUNING = DataOptions(stage="sft", pool="all")


@pytest.fixture(scope="module")
def recorded():
    return [t for _, t in zip(range(6), read_trajectories(path("terminal", "train")), strict=False)]


@pytest.fixture(scope="module")
def prompts(recorded):
    """The turns that are taught, as RL rows, by what is asked."""
    rows = build_rows(recorded, DataOptions(stage="rl", pool="all"), BuildReport())
    return {row.messages[-1].content: row for row in rows}


def answered(row, text=None, reasoning="I think so."):
    """What a model writes: the truth, or another observation."""
    moment = read_moment(row)
    said = moment.truth if text is None else Observation(text=text, stdout=text, stderr="", exit_code=0)
    return f"<think>\n{reasoning}\n</think>\n{answer_message(said, moment.world).content}"


def watched(server, cache=None, patience=12, **settings):
    limits = {"retries": 0, "connect_timeout_s": 30.0, **settings}
    model = EndpointModel(ModelSettings(base_url=server.url, model="teacher", **limits))
    return WatchedModel(model if cache is None else CachedModel(model, cache), patience)


async def built(recorded, teaching, options=TUNING):
    report = BuildReport()
    rows = await asyncio.to_thread(lambda: list(taught_rows(recorded, options, report, teaching)))
    return rows, report


def row_of(prompts, request):
    return prompts[request.body["messages"][-1]["content"]]


def judgement(value):
    return chat(
        json.dumps({"analysis": "", "strengths": [], "weaknesses": [], "scores": dict.fromkeys(DIMENSIONS, value)})
    )


async def test_the_best_answer_teaches_the_true_observation(recorded, prompts):
    def answer(request):
        row, number = row_of(prompts, request), len(server.requests) % 3
        return Reply(
            chat(answered(row, *(("something else entirely",) if number else ()), reasoning=f"Thought {number}"))
        )

    async with ChatServer(responder=answer) as server:
        teaching = Teaching(watched(server), RubricGrader(), TeachingOptions(rollouts=3, window=1))
        rows, report = await built(recorded, teaching)
    assert len(rows) == len(prompts) == report.rows and len(server.requests) == 3 * len(rows)
    assert report.rollouts == {"kept": len(rows), "below the threshold": 2 * len(rows)}
    assert report.teachers == {"endpoint:teacher": len(rows)} and report.trajectories == len(recorded)
    for row, asked in zip(rows, prompts.values(), strict=True):
        told = row.messages[-1]
        assert (row.stage, row.trajectory, row.turn) == ("sft", asked.trajectory, asked.turn)
        assert row.messages[:-1] == asked.messages, "the prompt that is asked later"
        assert told.reasoning == "Thought 0" and told.weight == 1 and row.teacher == "endpoint:teacher"
        moment = read_moment(asked)
        assert moment.domain.compare(moment.domain.parse_answer(told.content, moment.world), moment.truth).exact
        assert row.truth is None and row.source is Source.OBSERVED
        assert row.extra["teaching"]["score"] == 5.0 and "history" not in row.extra


async def test_prompts_are_drawn_from_the_pool_and_never_show_the_truth(recorded, prompts, tmp_path):
    async with ChatServer(responder=lambda request: Reply(chat(answered(row_of(prompts, request))))) as server:
        how = TeachingOptions(rollouts=2, vary_prompts=True)
        rows, _ = await built(recorded, Teaching(watched(server), RubricGrader(), how))
        again, _ = await built(recorded, Teaching(watched(server), RubricGrader(), how))
    assert rows == again
    names = [row.extra["teaching"]["template"] for row in rows]
    assert len(set(names)) > 1
    seeds = {}
    for request in server.requests[: 2 * len(rows)]:
        asked, row = request.body["messages"], row_of(prompts, request)
        seeds.setdefault(row.id, set()).add(request.body["seed"])
        assert row.messages[0].content in asked[0]["content"] and "<think>" in asked[0]["content"]
        assert [m["content"] for m in asked[1:]] == [m.content for m in row.messages[1:]]
    assert all(len(found) == 2 for found in seeds.values())
    for row in rows:
        assert row.messages[0].content != prompts[row.messages[-2].content].messages[0].content
    (tmp_path / "bare.j2").write_text("Think hard.")
    async with ChatServer(chat("x")) as server:
        bare = Teaching(watched(server), RubricGrader(), TeachingOptions(prompts=tmp_path))
        with pytest.raises(ConfigError, match="leaves the world out"):
            await built(recorded, bare)
    assert not server.requests


async def test_a_judge_scores_and_compares(recorded, prompts):
    """Two good answers that are scored alike: the one that wins in both orders is kept."""

    def answer(request):
        number = len(server.requests) % 3
        text = ("good but clumsy", "good and elegant", "bad")[number]
        return Reply(chat(answered(row_of(prompts, request), text, reasoning=text)))

    def judge(request):
        shown = request.body["messages"][-1]["content"]
        if "answer A" in shown:
            first = shown.split("### Two predictions")[1].index("elegant") < shown.split("### Two predictions")[
                1
            ].index("clumsy")
            return Reply(chat(json.dumps({"analysis": "", "choice": "A" if first else "B"})))
        assert "<think>" not in shown and "I think" not in shown
        return Reply(judgement(2 if "bad" in shown.split("### The prediction")[1] else 4))

    async with ChatServer(responder=answer) as server, ChatServer(responder=judge) as court:
        judging = watched(court)
        grader = JudgeGrader(judging, pause=0.0)
        options = TUNING.model_copy(update={"allow_simulated": True})
        how = TeachingOptions(target="rollout", threshold=3.5, window=1)
        rows, report = await built(recorded, Teaching(watched(server), grader, how, (judging,)), options)
    assert rows and [row.messages[-1].reasoning for row in rows] == ["good and elegant"] * len(rows)
    assert all("good and elegant" in row.messages[-1].content for row in rows)
    assert {row.source for row in rows} == {Source.SIMULATED} and report.sources == {"simulated": len(rows)}
    assert report.rollouts == {"kept": len(rows), "not the best": len(rows), "below the threshold": len(rows)}
    assert len(court.requests) == 5 * len(prompts), "three scores and one comparison in both orders"


async def test_what_cannot_be_used_is_counted_and_the_rest_taught(recorded, prompts):
    broken = [
        Reply(chat("no tags at all")),
        Reply(chat("", reasoning_content="hm")),
        Reply(chat("<predicted_observation>\nx\n</predicted_observation>")),
        Reply(chat("<predicted_observation>\nx", finish="length", reasoning_content="hm")),
        Reply({"error": "too long"}, status=400),
        Reply({"error": "busy"}, status=500),
    ]

    def answer(request):
        number = (len(server.requests) - 1) % 7
        return broken[number - 1] if number else Reply(chat(answered(row_of(prompts, request))))

    async with ChatServer(responder=answer) as server:
        how = TeachingOptions(rollouts=7, window=1)
        rows, report = await built(recorded, Teaching(watched(server, concurrency=1), RubricGrader(), how))
    count = len(rows)
    assert count == len(prompts)
    wanted = {"kept": 1, "no tagged answer": 1, "empty": 1, "no reasoning": 1, "cut off": 1, "the teacher failed": 2}
    assert report.rollouts == {name: number * count for name, number in wanted.items()}


async def test_turns_without_a_good_answer_give_no_row(recorded, prompts):
    async with ChatServer(responder=lambda r: Reply(chat(answered(row_of(prompts, r), "all is well")))) as server:
        rows, report = await built(recorded, Teaching(watched(server), RubricGrader(), TeachingOptions(rollouts=1)))
    assert rows == [] and report.left_out["no answer of the teacher is good enough"] == len(prompts)
    assert report.rollouts == {"below the threshold": len(prompts)}


async def test_kernels_and_endpoint_share_the_turns(recorded, prompts):
    async with ChatServer(responder=lambda r: Reply(chat(answered(row_of(prompts, r))))) as server:
        mixed = Teaching(watched(server), RubricGrader(), TeachingOptions(rollouts=1, mix=0.5))
        rows, report = await built(recorded, mixed)
        asked = len(server.requests)
        alone = Teaching(watched(server), RubricGrader(), TeachingOptions(rollouts=1, mix=1.0))
        executed, _ = await built(recorded, alone)
    assert len(rows) == len(prompts) and 0 < report.teachers["executed"] < len(rows)
    assert report.teachers["endpoint:teacher"] == asked == len(rows) - report.teachers["executed"]
    plain = list(build_rows(recorded, TUNING, BuildReport()))
    by_kernel = [row for row in executed if row.teacher == "executed"]
    assert [row.id for row in by_kernel] == [row.id for row in plain], "as if no teacher had been named"


async def test_a_build_that_was_stopped_asks_nothing_twice(recorded, prompts, tmp_path):
    asked, dead = [], False

    def answer(request):
        if dead:
            return Reply({"error": "gone"}, status=503)
        asked.append((request.body["messages"][-1]["content"], request.body["seed"]))
        return Reply(chat(answered(row_of(prompts, request))))

    async with ChatServer(responder=answer) as server:

        def teaching():
            return Teaching(
                watched(server, tmp_path / "a.sqlite", 3), RubricGrader(), TeachingOptions(rollouts=2, window=2)
            )

        def stopped():
            nonlocal dead
            for number, row in enumerate(taught_rows(recorded, TUNING, BuildReport(), teaching()), 1):
                yield row
                dead = dead or number == 2

        with pytest.raises(EndpointError, match=r"times in a row: .*503") as caught:
            await asyncio.to_thread(write_rows, tmp_path / "set", stopped())
        assert "same command goes on" in caught.value.hint and not list((tmp_path / "set").iterdir())
        before, dead = len(asked), False
        rows, _ = await built(recorded, teaching())
        assert 0 < before < len(asked) == len(set(asked)) == 2 * len(prompts)
        again, _ = await built(recorded, teaching())
    assert rows == again and len(asked) == 2 * len(prompts)


@pytest.fixture
def gone():
    """An address where nobody answers, held so that no other server gets it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield SimpleNamespace(url=f"http://127.0.0.1:{held.getsockname()[1]}/v1")


async def test_a_dead_teacher_and_a_dead_judge_end_the_build(recorded, prompts, gone):
    with pytest.raises(EndpointError, match="cannot reach"):
        await built(recorded, Teaching(watched(gone), RubricGrader(), TeachingOptions()))
    async with ChatServer(responder=lambda r: Reply(chat(answered(row_of(prompts, r), "wrong")))) as server:
        judging = watched(gone)
        teaching = Teaching(watched(server), JudgeGrader(judging, pause=0.0), TeachingOptions(), (judging,))
        with pytest.raises(EndpointError, match="cannot reach"):
            await built(recorded, teaching)


async def test_answers_are_asked_side_by_side(recorded, prompts):
    async def answer(request):
        for _ in range(200):
            if server.most_active >= 5:
                break
            await asyncio.sleep(0.02)
        return Reply(chat(answered(row_of(prompts, request))))

    async with ChatServer(responder=answer) as server:
        teaching = Teaching(watched(server, concurrency=6), RubricGrader(), TeachingOptions(rollouts=2, window=4))
        rows, _ = await built(recorded, teaching)
    assert [row.trajectory for row in rows] == [row.trajectory for row in prompts.values()]
    assert 5 <= server.most_active <= 6


def test_simulated_answers_are_refused_unless_asked_for(recorded):
    teaching = Teaching(
        WatchedModel(EndpointModel(ModelSettings(base_url="http://127.0.0.1:9", model="x"))),
        RubricGrader(),
        TeachingOptions(target="rollout"),
    )
    with pytest.raises(ConfigError, match="simulated"):
        next(taught_rows(recorded, TUNING, BuildReport(), teaching))


async def test_the_command_builds_a_set_with_its_report(prompts, tmp_path):
    source = tmp_path / "some.jsonl"
    source.write_text(
        "".join(
            t.model_dump_json() + "\n"
            for t, _ in zip(read_trajectories(path("terminal", "train")), range(6), strict=False)
        )
    )
    out = tmp_path / "set"
    words = ["data", "build", "sft", "--from", str(source), "--pool", "all", "--out", str(out), "--rollouts", "2"]

    def run(*more):
        return CliRunner().invoke(cli, [*words, *more])

    async with ChatServer(responder=lambda r: Reply(chat(answered(row_of(prompts, r))))) as server:
        told = await asyncio.to_thread(run, "--teacher", f"{server.url}#big")
        assert told.exit_code == 0, told.output
        before = len(server.requests)
        assert (await asyncio.to_thread(run, "--teacher", f"{server.url}#big")).exit_code == 0
        assert len(server.requests) == before == 2 * len(prompts)
    report = read_report(out)
    assert report["teachers"] == {"endpoint:big": len(prompts)} and report["teaching"]["grader"] == "rubric"
    assert {row.teacher for row in read_rows(out)} == {"endpoint:big"}
    card = (out / "README.md").read_text()
    assert re.search(r"endpoint:big \| 6", card) and "no key" not in card
    for wrong in (["--judge", "x#y"], ["--mix", "0.5"]):
        failed = await asyncio.to_thread(run, *wrong)
        assert failed.exit_code != 0 and "--teacher" in str(failed.exception or failed.output)
