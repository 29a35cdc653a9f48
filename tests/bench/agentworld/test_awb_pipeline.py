"""The pipeline over real HTTP: overlap, resuming, budget, failures, and kill -9."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from awb_data import ChatServer, Reply, Request, ServerThread, asked, chat, is_judging, recorded_rows, row, save
from awb_data import scores_answer as scores

from worldline.bench.agentworld.cost import Budget
from worldline.bench.agentworld.inference import Generator
from worldline.bench.agentworld.judge_prompt import JudgePrompts, Question
from worldline.bench.agentworld.judging import Judge
from worldline.bench.agentworld.pipeline import Limits, ModelJudge, Pipeline
from worldline.bench.agentworld.records import EvalRow, Generation, Judgement
from worldline.bench.agentworld.rows import RowIndex, index_rows
from worldline.bench.agentworld.store import RunFolder, RunWriter
from worldline.errors import EndpointError
from worldline.models import EndpointModel, Message
from worldline.models.settings import ModelSettings

PREDICTION = "<predicted_observation>\nfoo\n</predicted_observation>"
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


def answer(request: Request) -> Reply:
    return Reply(chat(scores() if is_judging(request) else PREDICTION, usage=USAGE))


def model_at(server: ChatServer, name: str = "model", **settings: object) -> EndpointModel:
    told = {"base_url": server.url, "model": name, "backoff_s": 0, "concurrency": 16, "retries": 0, **settings}
    return EndpointModel(ModelSettings.model_validate(told))


def generator_at(server: ChatServer, **settings: object) -> Generator:
    return Generator(model_at(server, **settings))


def judge_at(server: ChatServer, **settings: object) -> ModelJudge:
    return ModelJudge(Judge(model_at(server, "judge", **settings), structured=False), JudgePrompts())


def data(folder: Path, n: int = 10) -> RowIndex:
    return index_rows(save(folder / "data", [row(number, 2) for number in range(n)]))


async def run(pipeline: Pipeline) -> None:
    try:
        await pipeline.run(pipeline.index.refs)
    finally:
        for part in (pipeline.generator, pipeline.judge):
            if part is not None:
                await part.model.aclose()


async def test_rows_are_judged_while_others_are_still_asked(tmp_path: Path) -> None:
    index = data(tmp_path)
    gate = asyncio.Event()
    first: list[str] = []

    async def responder(request: Request) -> Reply:
        if is_judging(request):
            gate.set()
        elif first:
            await asyncio.wait_for(gate.wait(), 20)  # until a row is judged
        else:
            first.append("asked")
        return answer(request)

    async with ChatServer(responder=responder) as server:
        with RunWriter(tmp_path / "run") as writer:
            pipeline = Pipeline(writer, index, generator_at(server), judge_at(server))
            await run(pipeline)
    tally = pipeline.tally
    assert (tally.rows, tally.generated, tally.asked, tally.judged, tally.judge_failed) == (10, 10, 10, 10, 0)
    folder = RunFolder(tmp_path / "run")
    assert {generation.row for generation in folder.generations()} == {ref.key for ref in index.refs}
    judged = list(folder.judgements())
    assert len(judged) == 10 and all(judgement.scores for judgement in judged)


async def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    index = data(tmp_path)
    async with ChatServer(responder=answer) as server:
        for _ in range(2):
            with RunWriter(tmp_path / "run") as writer:
                pipeline = Pipeline(writer, index, generator_at(server), judge_at(server))
                await run(pipeline)
        assert len(server.requests) == 20
    assert (pipeline.tally.generated, pipeline.tally.asked) == (10, 0)
    assert (pipeline.tally.judged, pipeline.tally.judge_asked) == (10, 0)


async def test_judging_can_follow_inference_and_repeats_add_to_it(tmp_path: Path) -> None:
    index = data(tmp_path)
    async with ChatServer(responder=answer) as server:
        with RunWriter(tmp_path / "run") as writer:
            await run(Pipeline(writer, index, generator_at(server)))
            assert len(writer.judgements) == 0
            await run(Pipeline(writer, index, None, judge_at(server)))
            assert len(writer.judgements) == 10
            await run(Pipeline(writer, index, None, judge_at(server), Limits(repeats=3)))
            assert len(writer.judgements) == 30
        assert len(server.requests) == 40
    assert Counter(found.repeat for found in RunFolder(tmp_path / "run").judgements()) == {0: 10, 1: 10, 2: 10}


async def test_only_passing_failures_are_asked_again(tmp_path: Path) -> None:
    index = data(tmp_path, 6)
    down = True

    def responder(request: Request) -> Reply:
        number = request.body["messages"]
        text = json.dumps(number)
        if is_judging(request):
            return answer(request)
        if "command 2" in text and len(server.requests) <= 3 and down:
            return Reply("gone", status=502)
        if len(server.requests) == 4 and down:
            return Reply({"error": {"message": "too long"}}, status=400)
        return answer(request)

    async with ChatServer(responder=responder) as server:
        with RunWriter(tmp_path / "run") as writer:
            first = Pipeline(writer, index, generator_at(server), judge_at(server), Limits(concurrency=1))
            await run(first)
            assert (first.tally.asked, first.tally.failed, first.tally.judged) == (6, 4, 2)
        down = False
        before = len(server.requests)
        with RunWriter(tmp_path / "run") as writer:
            second = Pipeline(writer, index, generator_at(server), judge_at(server))
            await run(second)
        assert (second.tally.asked, second.tally.failed, second.tally.judge_asked) == (3, 1, 3)
        assert len(server.requests) == before + 6
    outcomes = Counter(found.outcome for found in RunFolder(tmp_path / "run").generations())
    assert outcomes == {"ok": 5, "error": 1}


async def test_an_endpoint_that_is_gone_stops_the_run(tmp_path: Path) -> None:
    index = data(tmp_path, 50)
    async with ChatServer(Reply("gone", status=502)) as server:
        with RunWriter(tmp_path / "run") as writer:
            pipeline = Pipeline(writer, index, generator_at(server), None, Limits(concurrency=4))
            with pytest.raises(EndpointError, match=r"20 requests in a row failed.*HTTP 502"):
                await run(pipeline)
        assert 20 <= len(server.requests) <= 24


async def test_a_budget_stops_the_run_before_it_is_passed_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    index = data(tmp_path, 20)
    prices = {"prompt": 10, "completion": 100}  # 0.02 for an answer

    async with ChatServer(responder=answer) as server:
        for limit, least in ((0.2, 8), (10.0, 20)):
            with RunWriter(tmp_path / "run") as writer:
                spent = sum(found.usage.cost_usd or 0 for found in writer.generations if found.usage)
                budget = Budget(limit, spent)
                generator = generator_at(server, prices=prices)
                pipeline = Pipeline(writer, index, generator, None, Limits(concurrency=4), budget)
                await run(pipeline)
                assert least <= len(writer.generations) <= round(limit / 0.02)
                assert budget.spent == pytest.approx(0.02 * len(writer.generations))
                assert pipeline.tally.budget_reached == (limit < 1)
        assert len(server.requests) == 20


async def test_failed_rows_are_not_judged(tmp_path: Path) -> None:
    index = data(tmp_path, 4)

    def responder(request: Request) -> Reply:
        return answer(request) if is_judging(request) else Reply(chat("<think>endless", finish="length"))

    async with ChatServer(responder=responder) as server:
        with RunWriter(tmp_path / "run") as writer:
            pipeline = Pipeline(writer, index, generator_at(server), judge_at(server))
            await run(pipeline)
    tally = pipeline.tally
    assert (tally.generated, tally.failed, tally.truncated, tally.judged) == (4, 4, 4, 0)


def command(out: Path, url: str, folder: Path, *more: str) -> list[str]:
    program = str(Path(sys.executable).with_name("worldline"))
    models = ["--model", f"{url}#model", "--judge", f"{url}#judge"]
    where = ["--data", str(folder), "--out", str(out)]
    return [program, "bench", "agentworld", "run", *where, *models, "--concurrency", "8", *more]


def on_disk(out: Path) -> tuple[set[str], set[str]]:
    folder = RunFolder(out)
    return {found.row for found in folder.generations()}, {found.row for found in folder.judgements()}


def killed_often(tmp_path: Path, kills: int, rows: int) -> None:
    """Kill a run again and again at random moments; then let it end, and count."""
    made = recorded_rows(rows)
    folder, out = save(tmp_path / "data", made), tmp_path / "run"
    index = index_rows(folder)
    generator = Generator(EndpointModel(ModelSettings(base_url="http://127.0.0.1:9", model="model")))
    read = [index.read(ref) for ref in index.refs]
    contents = {json.dumps(generator.request(found).messages): found.key for found in read}
    judging = {json.dumps(judge_messages(found)): found.key for found in read}
    assert len(contents) == len(judging) == rows
    draw = random.Random(20)

    def responder(request: Request) -> Reply:
        reply = answer(request)
        reply.delay = draw.uniform(0, 0.2)
        return reply

    repeated: list[str] = []
    with ServerThread(responder) as thread:
        requests = thread.server.requests
        for _ in range(kills):
            answered, judged = on_disk(out)
            before = len(requests)
            process = subprocess.Popen(
                command(out, thread.url, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            give_up = time.monotonic() + 60
            while len(requests) == before and process.poll() is None and time.monotonic() < give_up:
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.35))
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            time.sleep(0.25)  # the server notices
            repeated += again(requests[before:], contents, answered) + again(requests[before:], judging, judged)
        answered, judged = on_disk(out)
        before = len(requests)
        last = subprocess.run(command(out, thread.url, folder), capture_output=True, text=True, timeout=200)
        assert last.returncode == 0, last.stderr
        repeated += again(requests[before:], contents, answered) + again(requests[before:], judging, judged)
        total = Counter(asked(request) for request in requests)
    assert repeated == []
    keys = {ref.key for ref in index.refs}
    assert on_disk(out) == (keys, keys)
    for name, kind in (("generations", Generation), ("judgements", Judgement)):
        lines = (out / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
        records = [kind.model_validate_json(line) for line in lines if line]
        assert len({record.row for record in records}) == len(records) == len(keys)
    # What was under way when the run was killed was asked again, at most the eight of each kind at a time.
    assert sum(total.values()) <= 2 * len(keys) + kills * 16
    assert total.keys() == contents.keys() | judging.keys()


def judge_messages(row: EvalRow) -> list[Message]:
    """What the judge is asked about the prediction."""
    return JudgePrompts().request(Question(row, "rubric", ("foo",)), structured=True).messages


def again(requests: list[Request], contents: dict[str, str], known: set[str]) -> list[str]:
    """Rows that were asked about though the answer was on disk before."""
    keys = [contents[asked(request)] for request in requests if asked(request) in contents]
    return [key for key in keys if key in known]


def test_a_run_that_is_killed_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    killed_often(tmp_path, kills=4, rows=60)


@pytest.mark.full
def test_a_run_that_is_killed_twenty_times(tmp_path: Path) -> None:
    killed_often(tmp_path, kills=20, rows=300)


def test_two_processes_do_not_write_one_run(tmp_path: Path) -> None:
    folder, out = save(tmp_path / "data", [row()]), tmp_path / "run"
    with RunWriter(out), ServerThread(answer) as thread:
        done = subprocess.run(command(out, thread.url, folder), capture_output=True, text=True, timeout=60)
        assert not thread.server.requests
    assert done.returncode == 2 and "another process is writing" in done.stderr
