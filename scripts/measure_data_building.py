"""Measure how fast `worldline data build` makes sets, and whether its memory follows the size of the input.

    python scripts/measure_data_building.py [--jobs N] [--stage cpt|sft|rl]... [--times 1,2,4] [--json FILE]

The input is the train split of our recordings of all domains, repeated with other ids. Each build is a fresh command;
its processor time and the memory of all of its processes together are measured, too: wall-clock time says little on a
machine that does other things meanwhile.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worldline.formats import read_trajectories, write_trajectories
from worldline.recordings import paths
from worldline.types import Trajectory, content_id

DOMAINS = ("terminal", "mcp", "search", "swe", "database", "code")
STAGES = ("cpt", "sft", "rl")
_EVERY = 0.25
"""Seconds between two looks at the memory."""


def repeated(times: int) -> Iterator[Trajectory]:
    for number in range(times):
        for domain in DOMAINS:
            for file in paths(domain, "train"):
                for trajectory in read_trajectories(file):
                    yield trajectory.model_copy(update={"id": content_id([trajectory.id, number])})


def resident(session: int) -> int:
    """Bytes of memory that the processes of a session hold; pages that several share count for each."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            total += int(fields[21]) * resource.getpagesize()
    return total


def build(stage: str, source: Path, jobs: int, out: Path) -> dict[str, Any]:
    asked = ["data", "build", stage, "--from", str(source), "--pool", "all", "--jobs", str(jobs), "--out", str(out)]
    before, started, load = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), os.getloadavg()[0]
    command = [sys.executable, "-m", "worldline", *asked]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    peak = 0
    while running.poll() is None:
        peak = max(peak, resident(running.pid))
        time.sleep(_EVERY)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        raise SystemExit(f"worldline {' '.join(asked)} failed")
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "stage": stage,
        "jobs": jobs,
        "trajectories": report["trajectories"],
        "turns": report["turns"],
        "rows": report["rows"],
        "seconds": seconds,
        "cpu_seconds": cpu,
        "turns_per_minute": 60 * report["turns"] / seconds,
        "turns_per_cpu_minute": 60 * report["turns"] / cpu,
        "peak_mib": peak / 2**20,
        "load_before": load,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stage", action="append", choices=STAGES, help="repeat; default: all")
    parser.add_argument("--times", default="1,2,4", help="sizes of the input, as multiples of the recordings")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for times in map(int, options.times.split(",")):
            source = Path(temporary) / f"{times}.jsonl.zst"
            write_trajectories(source, repeated(times))
            for stage in options.stage or STAGES:
                row = {"times": times, **build(stage, source, options.jobs, Path(temporary) / "set")}
                rows.append(row)
                print(json.dumps(row), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
