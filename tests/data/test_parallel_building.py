"""Making training sets in several processes: the same set, the same errors, a clean end."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from worldline.cli import cli
from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.overlap import Reference
from worldline.data.parallel import build_rows_in_parallel
from worldline.data.sets import REPORT, ROWS, packed_row
from worldline.errors import ConfigError, FormatError, WorldlineError
from worldline.formats import read_trajectories, write_trajectories
from worldline.recordings import path
from worldline.types import Source


@pytest.fixture(scope="module")
def recorded():
    return [t for number, t in zip(range(30), read_trajectories(path("terminal", "train")), strict=False)]


def explode(trajectory):
    raise FormatError("no checks", path=trajectory.id, line=3, hint="none")


def die(trajectory):
    os.kill(os.getpid(), signal.SIGKILL)


def made(trajectories, stage, jobs, **more):
    report = BuildReport()
    options = DataOptions(stage=stage, pool="all")
    rows = build_rows_in_parallel(trajectories, options, report, jobs=jobs, **more)
    return [row if isinstance(row, bytes) else packed_row(row) for row in rows], report


@pytest.mark.parametrize("stage", ["cpt", "sft", "rl"])
def test_a_set_is_the_same_whatever_makes_it(stage, recorded, tmp_path):
    write_trajectories(tmp_path / "in.jsonl", [*recorded, recorded[2]])
    for jobs in ("1", "2"):
        # a process of its own: its strings are hashed otherwise, and no set may depend on that
        asked = ["data", "build", stage, "--from", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / jobs)]
        options = ["--pool", "all", "--jobs", jobs, "--json", "-"]
        done = subprocess.run(
            [sys.executable, "-m", "worldline", *asked, *options],
            env={**os.environ, "PYTHONHASHSEED": jobs},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    for name in (ROWS, REPORT, "README.md"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    report = json.loads((tmp_path / "2" / REPORT).read_text())
    assert report["trajectories"] == 31 and report["left_out"]["a second time"] == 1 and report["rows"] > 15


def test_reports_and_benchmarks_reach_every_process(recorded):
    reference = Reference()
    reference.hold(recorded[25])
    alone, beside = BuildReport(), BuildReport()
    options = DataOptions(stage="rl", pool="all")
    expected = [packed_row(row) for row in build_rows(recorded, options, alone, benchmarks=reference)]
    found = list(build_rows_in_parallel(recorded, options, beside, jobs=2, benchmarks=reference))
    assert found == expected and alone.as_record() == beside.as_record()
    assert beside.left_out["in a benchmark"] >= 1


def test_an_error_in_another_process_is_the_same_error(recorded):
    caught = []
    for jobs in (1, 2):
        with pytest.raises(FormatError) as error:
            made(recorded, "rl", jobs, checks=explode)
        caught.append(error.value.as_record())
    assert caught[0] == caught[1] and caught[0]["line"] == 3


def test_what_is_before_a_bad_trajectory_is_made_first(recorded):
    simulated = [*recorded[:20], recorded[20].model_copy(update={"source": Source.SIMULATED}), *recorded[21:]]
    counts = []
    for jobs in (1, 2):
        report, count = BuildReport(), 0
        options = DataOptions(stage="cpt", pool="all")
        with pytest.raises(ConfigError, match="simulated"):
            for _ in build_rows_in_parallel(simulated, options, report, jobs=jobs):
                count += 1
        counts.append((count, report.rows))
    assert counts == [(20, 20), (20, 20)]


def test_a_lost_process_is_told(recorded):
    with pytest.raises(WorldlineError, match="was lost"):
        made(recorded, "rl", 2, checks=die)


def test_the_input_is_read_only_a_little_ahead(recorded):
    read = 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield recorded[read % len(recorded)].model_copy(update={"id": f"{read:032x}"})

    rows = build_rows_in_parallel(endless(), DataOptions(stage="cpt", pool="all"), BuildReport(), jobs=2)
    for _ in range(40):
        next(rows)
    rows.close()
    assert read < 40 + 8 * (2 * 4 + 3)


def test_an_interruption_ends_every_process_and_leaves_no_set(recorded, tmp_path):
    many = [t.model_copy(update={"id": f"{n:032x}"}) for n, t in enumerate(recorded * 300)]  # a minute of work
    write_trajectories(tmp_path / "in.jsonl", many)
    asked = ["data", "build", "sft", "--from", str(tmp_path / "in.jsonl"), "--out", str(tmp_path / "set")]
    running = subprocess.Popen(
        [sys.executable, "-m", "worldline", *asked, "--pool", "all", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # a test run in the background of a script ignores interruptions, and what it starts would as well
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        text=True,
    )
    part = tmp_path / "set" / f"{ROWS}.part"
    deadline = time.monotonic() + 60
    while not part.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running.poll() is None, "it ended before it was interrupted"
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)  # ends only when the last process that holds the pipes has ended
    assert running.returncode not in (0, None) and "Traceback" not in said
    assert not (tmp_path / "set" / ROWS).exists() and not part.exists()


def test_wrong_numbers_of_processes_are_refused(tmp_path):
    done = CliRunner().invoke(cli, ["data", "build", "cpt", "--real", "code", "--jobs", "0", "--out", str(tmp_path)])
    assert done.exit_code == 2 and "--jobs" in done.output
