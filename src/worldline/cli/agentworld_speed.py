"""`worldline bench agentworld speed`: how fast the pipeline is, and how much memory a large benchmark takes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from worldline.cli.options import json_file_option, write_json

if TYPE_CHECKING:
    from worldline.bench.agentworld.load import SpeedReport
    from worldline.types import JsonDict

__all__ = ["speed"]

_RUN_ALL = (
    "import sys, json; from pathlib import Path; from worldline.bench.agentworld.load import run_all\n"
    "print(json.dumps(run_all(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))"
)


@click.command()
@click.option("--rows", type=click.IntRange(min=1), default=200, show_default=True, help="Rows to ask for.")
@click.option("--concurrency", type=click.IntRange(min=1), default=64, show_default=True, help="Requests at once.")
@click.option("--latency", type=click.FloatRange(min=0), default=0.5, show_default=True, help="Seconds of an answer.")
@click.option("--repetitions", type=click.IntRange(min=1), default=3, show_default=True, help="Of each measurement.")
@click.option(
    "--sequential",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Rows that the sequential client is sent; its time for all is computed from the mean.",
)
@click.option("--memory-mb", type=click.IntRange(min=1), help="Measure peak memory on so many megabytes, too.")
@click.option("--memory-rows", type=click.IntRange(min=1), default=2170, show_default=True, help="... in so many rows.")
@json_file_option
def speed(
    rows: int,
    concurrency: int,
    latency: float,
    repetitions: int,
    sequential: int,
    memory_mb: int | None,
    memory_rows: int,
    json_file: Path | None,
) -> None:
    """Time inference against a client that asks one row after the other, and against a bare httpx loop.

    The rows are made from recorded terminal sessions. The endpoint is a process on this machine which answers
    everything after --latency seconds.
    """
    from worldline.bench.agentworld.load import measure_speed, write_big_data
    from worldline.bench.agentworld.rows import index_rows
    from worldline.formats.skeleton import plain_json

    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary) / "data"
        data.mkdir()
        values = _recorded_rows(rows)
        text = "".join(plain_json(value) + "\n" for value in values)
        (data / "terminal_test.jsonl").write_text(text, encoding="utf-8")
        report = measure_speed(
            lambda: index_rows(data),
            rows=rows,
            concurrency=concurrency,
            latency_s=latency,
            repetitions=repetitions,
            sequential_sample=sequential,
        )
        memory = None
        if memory_mb is not None:
            big = write_big_data(Path(temporary) / "big", values, rows=memory_rows, megabytes=memory_mb)
            memory = _memory(big, Path(temporary) / "run", concurrency)
    if json_file is not None:
        derived = ("sequential", "speedup", "client_overhead", "pipeline_overhead")
        record = {**report.model_dump(mode="json"), **{name: getattr(report, name) for name in derived}}
        write_json(json_file, {**record, "memory": memory})
    if str(json_file) != "-":
        _show(report, memory)


def _recorded_rows(n: int) -> list[Any]:
    from worldline.bench.suite import load_suite
    from worldline.formats.agentworldbench import rows_of

    suite = load_suite("terminal", "dev")
    return list(islice(chain.from_iterable(map(rows_of, suite.trajectories)), n))


def _memory(data: Path, out: Path, concurrency: int) -> JsonDict:
    """Peak memory counts whatever a process did before, so this runs in a fresh one."""
    asked = [sys.executable, "-c", _RUN_ALL, str(data), str(out), str(concurrency)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    result: JsonDict = json.loads(done.stdout)
    return {"data_mb": sum(path.stat().st_size for path in data.iterdir()) / 1e6, **result}


def _show(report: SpeedReport, memory: JsonDict | None) -> None:
    n, at_once = report.rows, report.concurrency
    click.echo(
        f"{n} rows, {at_once} requests at once, an endpoint that takes {report.latency_s:g} s; best and all times"
    )
    how = "measured" if report.sequential_sample == report.rows else "computed"
    sample = f"{report.sequential_sample} sent, {report.sequential_per_row:.3f} s each"
    click.echo(f"one after the other: {report.sequential:.1f} s ({how}: {sample})")
    for name, timing in (("pipeline", report.pipeline), ("client alone", report.client), ("bare httpx", report.bare)):
        every = ", ".join(f"{seconds:.2f}" for seconds in timing.seconds)
        click.echo(f"{name}: {timing.best:.2f} s ({every})")
    click.echo(f"pipeline: {report.speedup:.1f} times faster than one after the other")
    client, whole = 100 * report.client_overhead, 100 * report.pipeline_overhead
    click.echo(f"beyond the bare loop: client {client:+.1f}%, pipeline {whole:+.1f}%")
    if memory is not None:
        click.echo(
            f"{memory['rows']} rows of {memory['data_mb']:.0f} MB asked and judged in {memory['seconds']:.0f} s "
            f"(indexed in {memory['index_s']:.0f} s): {memory['peak_mib']:.0f} MiB peak memory of the process"
        )
