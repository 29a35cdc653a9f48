"""Disks that are full, read-only or damaged: one message that says what to do, status 2, earlier results safe."""

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import actions, records, worldline

from worldline.formats import write_trajectories
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(place)], check=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    world = WorldSpec(domain="terminal")
    path = tmp_path / "data.jsonl"
    write_trajectories(
        path,
        [
            Trajectory(
                source=Source.OBSERVED,
                world=world,
                turns=tuple(
                    Turn(
                        action=Action(name="bash", arguments={"command": f"echo {n}.{k}"}),
                        observation=Observation.from_streams(f"{n}.{k}\n".encode(), b"", 0),
                    )
                    for k in range(20)
                ),
            )
            for n in range(20)
        ],
    )
    return path


def play(home: Path, store: Path, *commands: str, **options) -> subprocess.CompletedProcess[str]:
    return worldline(
        "play", "terminal", "--engine", "kernel", "--actions", "-", "--json", "--session", "s", "--store", store,
        home=home, stdin=actions(*commands), **options,
    )  # fmt: skip


def numbered(n: int = 30) -> list[str]:
    """Commands with some 40 kB of output each, the last line of it a number."""
    return [f"seq 1 8000; echo {number}" for number in range(n)]


def test_a_full_disk_ends_a_play_and_it_goes_on_when_there_is_room(tmp_path: Path, small_disk: Path):
    store, commands = small_disk / "log.db", numbered()
    stopped = play(tmp_path, store, *commands)
    *done, failed = records(stopped.stdout)
    assert stopped.returncode == 2 and failed["error"]["type"] == "StorageError" and done
    assert "error: committing to the event log" in stopped.stderr and "free some space" in stopped.stderr
    remount(small_disk, "size=50m")
    rest = play(tmp_path, store, *commands)
    assert rest.returncode == 0
    turns = [*done, *records(rest.stdout)]
    assert [turn["turn"] for turn in turns] == list(range(1, 31))
    assert [turn["stdout"].split()[-1] for turn in turns] == [str(n) for n in range(30)]


def test_a_file_size_limit_is_as_good_as_a_full_disk(tmp_path: Path):
    store, commands = tmp_path / "log.db", numbered()
    limit = 400_000
    stopped = play(
        tmp_path, store, *commands, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    *done, failed = records(stopped.stdout)
    assert stopped.returncode == 2 and failed["error"]["type"] == "StorageError"
    rest = play(tmp_path, store, *commands)
    assert [turn["turn"] for turn in [*done, *records(rest.stdout)]] == list(range(1, 31))


def test_a_read_only_disk_refuses_a_play(tmp_path: Path, small_disk: Path):
    store = small_disk / "log.db"
    assert play(tmp_path, store, "echo kept > f").returncode == 0
    remount(small_disk, "ro")
    refused = play(tmp_path, store, "echo kept > f", "cat f")
    assert refused.returncode == 2 and "event log" in refused.stderr and "--store" in refused.stderr
    new = play(tmp_path, small_disk / "new.db", "ls")
    assert new.returncode == 2 and new.stdout == "" and "--store" in new.stderr
    remount(small_disk, "rw")
    assert records(play(tmp_path, store, "echo kept > f", "cat f").stdout)[0]["stdout"] == "kept\n"


def bench(home: Path, data: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return worldline(
        "bench", "real", "--data", data, "--engine", "kernel", "--engine", "bare-shell", "--json", out, home=home
    )


def test_a_full_disk_ends_a_benchmark_and_it_goes_on_when_there_is_room(tmp_path: Path, small_disk: Path, data: Path):
    (expected,) = (json.loads(bench(tmp_path, data, Path("-")).stdout),)
    (small_disk / "filler").write_bytes(b"x" * 1_000_000)
    stopped = bench(tmp_path, data, small_disk / "rows.json")
    assert stopped.returncode == 2 and "the disk is full: free some space" in stopped.stderr and stopped.stdout == ""
    assert not (small_disk / "rows.json").exists()
    kept = sum(path.read_bytes().count(b"\n") for path in small_disk.glob("*.journal"))
    (small_disk / "filler").unlink()
    assert bench(tmp_path, data, small_disk / "rows.json").returncode == 0
    assert sum(path.read_bytes().count(b"\n") for path in small_disk.glob("*.journal")) == 42 >= kept
    rows = json.loads((small_disk / "rows.json").read_text())
    assert [{**row, "seconds_per_1000": 0} for row in rows] == [{**row, "seconds_per_1000": 0} for row in expected]


def test_a_read_only_disk_refuses_a_benchmark_before_it_runs(tmp_path: Path, small_disk: Path, data: Path):
    remount(small_disk, "ro")
    refused = bench(tmp_path, data, small_disk / "rows.json")
    assert refused.returncode == 2 and "read-only" in refused.stderr and "Traceback" not in refused.stderr


def test_a_damaged_log_says_so(tmp_path: Path):
    store = tmp_path / "log.db"
    play(tmp_path, store, *(f"echo {n}" for n in range(30)))
    whole = store.read_bytes()
    store.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    broken = play(tmp_path, store, "ls")
    assert broken.returncode == 2 and "the file is damaged" in broken.stderr and broken.stdout == ""
    store.write_bytes(whole[: len(whole) // 2])
    assert play(tmp_path, store, "ls").returncode == 2


def test_a_log_of_another_version_says_so(tmp_path: Path):
    import sqlite3

    store = tmp_path / "log.db"
    play(tmp_path, store, "ls")
    db = sqlite3.connect(store)
    db.execute("PRAGMA user_version=99")
    db.commit()
    db.close()
    refused = play(tmp_path, store, "ls")
    assert refused.returncode == 2 and "version 99" in refused.stderr


def test_a_missing_state_folder_is_made(tmp_path: Path):
    home = tmp_path / "new"
    home.mkdir()
    worldline("play", "terminal", "--engine", "kernel", "--actions", "-", home=home, stdin=actions("ls"))
    assert list(home.rglob("sessions.db"))
    shutil.rmtree(home)
