"""`worldline import` of folders and archives, as a program: the report, dry runs, several paths, resuming."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from worldline.formats import read_trajectories

FORMATS = Path(__file__).parents[1] / "formats"


def run(*arguments: object, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "worldline", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for name in ("harbor", "tau2", "otel_genai"):
        shutil.copytree(FORMATS / "data" / name, folder / name)
    (folder / "notes.txt").write_text("hello\x1b[31m", "utf-8")
    return folder


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_report_has_a_line_for_each_file(runs: Path, tmp_path: Path) -> None:
    done = run("import", "runs", cwd=tmp_path)
    table = rows(done.stdout)
    assert table[0] == ["file", "format", "trajectories", "turns", "skipped", "secrets", "why"]
    assert table[2][:8] == ["runs/harbor/hello__abc", "harbor", "3", "2", "0", "0", "a", "trial:"]
    assert next(row[:6] for row in table if row[0] == "runs/tau2/run") == ["runs/tau2/run", "tau2", "1", "4", "2", "0"]
    assert "runs/notes.txt: left out: no known trajectory format: it is not JSON" in done.stdout
    assert "bad records" in done.stdout
    assert "\x1b" not in done.stdout
    found = list(read_trajectories(tmp_path / "runs.worldline.jsonl"))
    assert f"wrote {len(found)} trajectories to runs.worldline.jsonl" in done.stdout


def test_json_lists_everything(runs: Path, tmp_path: Path) -> None:
    record: dict[str, Any] = json.loads(run("import", "runs", "--out", "o.jsonl", "--json", cwd=tmp_path).stdout)
    assert record["written"] == sum(entry["trajectories"] for entry in record["files"])
    assert record["skipped"] == sum(entry["skipped"] for entry in record["files"]) > 0
    assert all(entry["why"] for entry in record["files"])
    assert record["ignored"][-1]["path"] == "runs/notes.txt"
    assert record["resumed"] == 0


def test_dry_run_writes_nothing(runs: Path, tmp_path: Path) -> None:
    done = run("import", "runs", "--dry-run", cwd=tmp_path)
    assert "dry run: nothing was written" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_strict_and_several_paths(runs: Path, tmp_path: Path) -> None:
    done = run("import", "runs", "--strict", "--out", "o.jsonl", cwd=tmp_path, status=2)
    assert done.stderr.startswith("error: runs/harbor/failed__early: the trial left no trajectory")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    done = run("import", "runs/tau2", "runs/otel_genai/otlp.json", "--out", "o.jsonl", cwd=tmp_path)
    assert "runs/otel_genai/otlp.json" in done.stdout
    assert len(list(read_trajectories(tmp_path / "o.jsonl"))) == 7


def test_archive(runs: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "logs"), "gztar", runs)
    done = run("import", "logs.tar.gz", cwd=tmp_path)
    assert "logs.tar.gz!/harbor/hello__abc" in done.stdout
    assert "to logs.worldline.jsonl" in done.stdout
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "logs.tar.gz").read_bytes()[:-500])
    done = run("import", "cut.tar.gz", cwd=tmp_path, status=2)
    assert done.stderr.startswith("error: cut.tar.gz: ")


def test_output_to_a_pipe(runs: Path, tmp_path: Path) -> None:
    done = run("import", "runs/tau2/results.json", "--out", "-", cwd=tmp_path)
    assert next(json.loads(line)["family"] for line in done.stdout.split("\n")).startswith("tau2-telecom")
    assert "wrote 2 trajectories to -" in done.stderr


def test_a_killed_import_goes_on(tmp_path: Path) -> None:
    """A real kill, while the import runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    row = (FORMATS / "data" / "sharegpt" / "factory-messages.jsonl").read_text("utf-8")
    for number in range(800):
        (folder / f"{number}.jsonl").write_text(row * 5, "utf-8")
    command = [sys.executable, "-m", "worldline", "import", "runs", "--out", "o.jsonl.zst", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    journal = tmp_path / ".o.jsonl.zst.journal"
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if journal.exists() and journal.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = (tmp_path / "o.jsonl.zst").exists()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    record = json.loads(done.stdout)
    assert record["written"] == record["statistics"]["trajectories"] == 4_000
    assert finished or record["resumed"] > 0
    assert sum(1 for _ in read_trajectories(tmp_path / "o.jsonl.zst")) == 4_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.jsonl.zst", "runs"]
