"""How fast the pipeline is, measured: against a client that asks one row after the other, and against a bare loop.

The endpoint is a process of its own on this machine, which answers everything after a fixed time.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from worldline.bench.agentworld.inference import Generator
from worldline.bench.agentworld.judge_prompt import JudgePrompts
from worldline.bench.agentworld.judging import Judge
from worldline.bench.agentworld.pipeline import Limits, ModelJudge, Pipeline
from worldline.bench.agentworld.records import DIMENSIONS
from worldline.bench.agentworld.rows import RowIndex, index_rows
from worldline.bench.agentworld.store import RunWriter
from worldline.bench.peak import peak_memory_mib
from worldline.formats.skeleton import plain_json
from worldline.models.endpoint import EndpointModel
from worldline.models.settings import ModelSettings
from worldline.types import Frozen, JsonDict

__all__ = [
    "SpeedReport",
    "Timing",
    "measure_speed",
    "run_all",
    "serve",
    "slow_endpoint",
    "write_big_data",
]

_SCORES = json.dumps({"strengths": [], "weaknesses": [], "scores": dict.fromkeys(DIMENSIONS, 3)})
_TEXT = f"<predicted_observation>\nok\n</predicted_observation>\n<final_evaluation>\n{_SCORES}\n</final_evaluation>"
"""What a model and a judge may both say."""
_ANSWER = {
    "model": "slow",
    "choices": [{"message": {"content": _TEXT}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 10},
}


class Timing(Frozen):
    """Seconds that each repetition took, in the order they were made."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The fastest one: others are slowed by what else the machine does."""
        return min(self.seconds)


class SpeedReport(Frozen):
    """What was measured; all times in seconds."""

    rows: int
    concurrency: int
    latency_s: float
    sequential_sample: int
    """Requests that were really sent one after the other."""
    sequential_per_row: float
    """Their mean; the time of all rows is computed from it."""
    pipeline: Timing
    """From opening the data to the last record on disk: index, requests, records."""
    client: Timing
    """The same requests through our client, without reading rows or writing records."""
    bare: Timing
    """The same requests by a loop over httpx."""

    @property
    def sequential(self) -> float:
        """Seconds that a client takes which asks one row after the other."""
        return self.sequential_per_row * self.rows

    @property
    def speedup(self) -> float:
        """How many times faster the pipeline is, in its best repetition."""
        return self.sequential / self.pipeline.best

    @property
    def client_overhead(self) -> float:
        """What our client takes beyond the bare loop, as a share of it; best against best."""
        return self.client.best / self.bare.best - 1

    @property
    def pipeline_overhead(self) -> float:
        """What the whole pipeline takes beyond the bare loop, as a share of it; best against best."""
        return self.pipeline.best / self.bare.best - 1


def serve(latency_s: float) -> None:
    """Answer any number of requests at once, each after the latency; connections stay open.

    The port is written to standard output.
    """
    body = json.dumps(_ANSWER).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1])
                    for line in request.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                )
                await reader.readexactly(length)
                await asyncio.sleep(latency_s)
                writer.write(head + body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(client, "127.0.0.1", 0, limit=1 << 24, backlog=1024)
        sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def slow_endpoint(latency_s: float) -> Iterator[str]:
    """Run an endpoint in a process of its own; yields its address."""
    code = f"from worldline.bench.agentworld.load import serve; serve({latency_s!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()


def measure_speed(
    load: Callable[[], RowIndex],
    *,
    rows: int = 200,
    concurrency: int = 64,
    latency_s: float = 0.5,
    repetitions: int = 3,
    sequential_sample: int = 10,
) -> SpeedReport:
    """Time the pipeline, our client and a bare loop, in turn, on the same rows and the same endpoint.

    Args:
        load: Finds the rows; part of what is timed.
        rows: How many.
        concurrency: Requests at once.
        latency_s: Seconds that the endpoint takes.
        repetitions: Of each; their order changes from one to the next.
        sequential_sample: Requests that are sent one after the other.
    """
    index = load()
    generator = _generator("http://127.0.0.1:1/v1", concurrency)
    refs = index.select(limit=rows)
    requests = [generator.request(index.read(ref)) for ref in refs]
    bodies: list[JsonDict] = [
        {"model": "slow", "messages": request.messages, "temperature": 0.6, "max_tokens": 32_768}
        for request in requests
    ]
    times: dict[str, list[float]] = {"pipeline": [], "client": [], "bare": []}
    with slow_endpoint(latency_s) as url:
        asyncio.run(_bare(url, bodies[:concurrency], concurrency))  # the server's and our first steps are slow
        per_row = asyncio.run(_sequential(url, bodies[:sequential_sample]))
        runs: dict[str, Callable[[], float]] = {
            "bare": lambda: asyncio.run(_bare(url, bodies, concurrency)),
            "client": lambda: asyncio.run(_client(url, requests, concurrency)),
            "pipeline": lambda: _pipeline(url, load, len(refs), concurrency),
        }
        for repetition in range(repetitions):
            names = list(runs) if repetition % 2 == 0 else list(reversed(runs))
            for name in names:
                times[name].append(runs[name]())
    return SpeedReport(
        rows=len(refs),
        concurrency=concurrency,
        latency_s=latency_s,
        sequential_sample=min(sequential_sample, len(refs)),
        sequential_per_row=per_row,
        **{name: Timing(seconds=tuple(seconds)) for name, seconds in times.items()},
    )


def _generator(url: str, concurrency: int) -> Generator:
    settings = ModelSettings.model_validate({"base_url": url, "model": "slow", "concurrency": concurrency})
    return Generator(EndpointModel(settings))


def _pipeline(url: str, load: Callable[[], RowIndex], rows: int, concurrency: int) -> float:
    async def run(writer: RunWriter, index: RowIndex) -> None:
        pipeline = Pipeline(writer, index, generator, limits=Limits(concurrency=concurrency))
        await pipeline.run(index.select(limit=rows))
        await generator.model.aclose()

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        generator = _generator(url, concurrency)
        with RunWriter(Path(folder)) as writer:
            asyncio.run(run(writer, load()))
        return time.perf_counter() - began


async def _client(url: str, requests: list[Any], concurrency: int) -> float:
    began = time.perf_counter()
    generator = _generator(url, concurrency)
    await asyncio.gather(*(generator.model.complete(request.messages) for request in requests))
    await generator.model.aclose()
    return time.perf_counter() - began


async def _bare(url: str, bodies: list[JsonDict], concurrency: int) -> float:
    waiting = iter(bodies)

    async def worker(client: httpx.AsyncClient) -> None:
        for body in waiting:
            response = await client.post(f"{url}/chat/completions", json=body)
            response.json()["choices"][0]["message"]["content"]

    began = time.perf_counter()
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(timeout=60, limits=limits, trust_env=False) as client:
        await asyncio.gather(*(worker(client) for _ in range(concurrency)))
    return time.perf_counter() - began


async def _sequential(url: str, bodies: list[JsonDict]) -> float:
    """Mean seconds of a request, where one is sent when the one before is answered."""
    return await _bare(url, bodies, 1) / len(bodies)


def write_big_data(folder: Path, values: Sequence[JsonDict], *, rows: int, megabytes: int) -> Path:
    """Write a folder of rows as large as the published benchmark, made from others by lengthening their histories.

    Args:
        folder: Where; made if missing.
        values: Rows to make them from.
        rows: How many.
        megabytes: Size of the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    each = megabytes * 1_000_000 // rows
    turns = [(value["current_prompt"], value["response"][-1]) for value in values]
    with (folder / "terminal_test.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            value = values[number % len(values)]
            prompts: list[str] = []
            responses: list[str] = []
            size, place = len(plain_json(value)), number
            while size < each:
                prompt, response = turns[place % len(turns)]
                prompts.append(prompt)
                responses.append(response)
                size, place = size + len(prompt) + len(response) + 20, place + 1
            made = {
                "id": number,
                "prompt": [*prompts, value["prompt"][-1]],
                "response": [*responses, value["response"][-1]],
                "turn_idx": len(prompts) + 1,
                "total_turns": len(prompts) + 1,
            }
            file.write(plain_json({**value, **made}) + "\n")
    return folder


def run_all(data: Path, out: Path, concurrency: int) -> JsonDict:
    """Ask for and judge every row of a folder at a fast endpoint; says how it went and what memory it took."""

    async def run(writer: RunWriter, index: RowIndex) -> JsonDict:
        settings = ModelSettings.model_validate({"base_url": url, "model": "judge", "concurrency": concurrency})
        judge = ModelJudge(Judge(EndpointModel(settings), structured=False), JudgePrompts())
        limits = Limits(concurrency=concurrency, judge_concurrency=concurrency)
        tally = await Pipeline(writer, index, generator, judge, limits).run(index.select())
        await generator.model.aclose()
        await judge.model.aclose()
        return vars(tally)

    began = time.perf_counter()
    with slow_endpoint(0.0) as url:
        generator = _generator(url, concurrency)
        with RunWriter(out) as writer:
            index = index_rows(data)
            indexed = time.perf_counter() - began
            tally = asyncio.run(run(writer, index))
    seconds = time.perf_counter() - began
    return {**tally, "index_s": indexed, "seconds": seconds, "peak_mib": peak_memory_mib()}
