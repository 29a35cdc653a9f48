"""The pipeline is fast and small: measured against real endpoints, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from awb_data import recorded_rows, save

from worldline.bench.agentworld.load import measure_speed, write_big_data
from worldline.bench.agentworld.rows import index_rows

_RUN_ALL = (
    "import sys, json; from pathlib import Path; from worldline.bench.agentworld.load import run_all\n"
    "print(json.dumps(run_all(Path(sys.argv[1]), Path(sys.argv[2]), 64)))"
)


def measured(tmp_path: Path, rows: int, megabytes: int) -> dict[str, Any]:
    data = write_big_data(tmp_path / "data", recorded_rows(60), rows=rows, megabytes=megabytes)
    assert sum(file.stat().st_size for file in data.iterdir()) >= megabytes * 1_000_000
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ALL, str(data), str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    assert (told["rows"], told["generated"], told["judged"]) == (rows, rows, rows)
    assert told["failed"] == told["judge_failed"] == 0
    return told


def test_many_requests_at_once_are_faster_than_one_after_the_other(tmp_path: Path) -> None:
    data = save(tmp_path, recorded_rows(64))
    report = measure_speed(
        lambda: index_rows(data), rows=64, concurrency=32, latency_s=0.5, repetitions=1, sequential_sample=2
    )
    assert report.rows == 64 and report.sequential >= 32
    assert report.pipeline.best >= 1.0
    assert report.speedup == report.sequential / report.pipeline.best > 4  # 32 on a machine that does nothing else


def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    assert measured(tmp_path, rows=100, megabytes=20)["peak_mib"] < 400


@pytest.mark.full
def test_memory_at_the_size_of_the_published_benchmark(tmp_path: Path) -> None:
    assert measured(tmp_path, rows=2170, megabytes=400)["peak_mib"] < 1024


@pytest.mark.full
def test_our_client_costs_less_than_a_bare_loop(tmp_path: Path) -> None:
    data = save(tmp_path, recorded_rows(200))
    report = measure_speed(lambda: index_rows(data), rows=200, concurrency=64, latency_s=0.5, repetitions=3)
    assert report.client_overhead < 0.05
