"""Recording many sessions: resuming after a kill, side by side, full disks, the command line."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from recorder_plans import plan

from worldline.cli import cli
from worldline.errors import ConfigError, StorageError
from worldline.formats import read_trajectories
from worldline.record.plan import SessionPlan
from worldline.record.recording import RecordingSettings
from worldline.record.store import journal_path, record_plans

pytestmark = pytest.mark.sandbox


def plans(count: int) -> list[SessionPlan]:
    return [plan(f"echo {number} > f", "cat f", f"echo 'two\u2028lines' {number}") for number in range(count)]


def recorded(path: Path) -> list[str]:
    return [trajectory.origin["plan"] for trajectory in read_trajectories(path)]


def plan_file(path: Path, sessions: list[SessionPlan]) -> Path:
    path.write_text("".join(session.model_dump_json() + "\n" for session in sessions), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.zst"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_sessions_are_written_in_the_order_of_their_plans(tmp_path, name, jobs):
    out, sessions, progress = tmp_path / name, plans(4), []
    summary = record_plans([*sessions, sessions[0]], out, jobs=jobs, on_progress=progress.append)
    assert recorded(out) == [session.id for session in sessions]
    assert (summary.sessions, summary.turns, summary.resumed, progress) == (4, 12, 0, [0, 1, 2, 3, 4])
    assert list(tmp_path.iterdir()) == [out]


def test_a_later_run_takes_up_what_is_there(tmp_path):
    out, sessions = tmp_path / "out.jsonl", plans(3)
    record_plans(sessions[:2], out)
    before = out.read_bytes()
    assert record_plans(sessions, out).resumed == 2
    assert out.read_bytes().startswith(before)
    assert recorded(out) == [session.id for session in sessions]


def test_other_plans_or_settings_are_refused_unless_fresh(tmp_path):
    out, sessions = tmp_path / "out.jsonl", plans(2)
    record_plans(sessions, out)
    with pytest.raises(ConfigError, match="not among the plans"):
        record_plans(sessions[:1], out)
    with pytest.raises(ConfigError, match="other settings"):
        record_plans(sessions, out, RecordingSettings(variant_root=Path("/")))
    assert list(tmp_path.iterdir()) == [out]
    record_plans(sessions[:1], out, fresh=True)
    assert recorded(out) == [sessions[0].id]


def test_a_torn_journal_line_is_dropped(tmp_path):
    out, sessions = tmp_path / "out.jsonl", plans(3)
    record_plans(sessions[:2], out)
    lines = out.read_bytes().splitlines(keepends=True)
    out.unlink()
    journal_path(out).write_bytes(lines[0] + lines[1][:-40])
    assert record_plans(sessions, out).resumed == 1
    assert recorded(out) == [session.id for session in sessions]


def test_a_session_that_cannot_be_recorded_does_not_stop_the_others(tmp_path):
    bad = plan("ls", files={"/home/user/x": {"content": "", "owner": "nosuch"}})
    good = plans(2)
    summary = record_plans([good[0], bad, good[1]], tmp_path / "out.jsonl")
    assert [failure["plan"] for failure in summary.failures] == [bad.id]
    assert recorded(tmp_path / "out.jsonl") == [session.id for session in good]


def record_command(sessions: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "worldline", "record", "terminal", "--plans", str(sessions), "--out", str(out), *more]


def lines_of(path: Path) -> list[str]:
    """Plan ids of the whole lines of a file that may have been torn."""
    if not path.exists():
        return []
    found = [json.loads(line)["origin"]["plan"] for line in path.read_bytes().split(b"\n")[:-1]]
    assert len(found) == len(set(found))
    return found


@pytest.mark.parametrize(
    ("kills", "jobs"), [(4, "1"), (4, "2"), pytest.param(20, "2", marks=pytest.mark.full)], ids=str
)
def test_kill_9_at_random_moments_loses_and_doubles_nothing(tmp_path, kills, jobs):
    sessions, out, dice = plans(10 * kills), tmp_path / "out.jsonl", random.Random(kills + int(jobs))
    command = record_command(plan_file(tmp_path / "plans.jsonl", sessions), out, "--jobs", jobs)
    begin, safe = time.monotonic(), set[str]()
    subprocess.run([*command, "--limit", "2"], capture_output=True, check=True)
    out.unlink()
    usual = time.monotonic() - begin
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(usual * dice.uniform(0.3, 1.7))
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = {*lines_of(journal_path(out)), *lines_of(out)}
        assert safe <= now
        safe = now
    assert safe, "no run got as far as a session: this shows nothing"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert recorded(out) == [session.id for session in sessions]
    assert not journal_path(out).exists()


FULL_DISK = """
import resource, signal, sys
from worldline.cli import main
from worldline.formats import TrajectoryWriter

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
room, write = int(sys.argv.pop(1)), TrajectoryWriter.write

def in_little_room(self, trajectory):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        return write(self, trajectory)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

TrajectoryWriter.write = in_little_room
main()
"""
"""A file size limit stands in for a full disk: a write fails in the middle of a line."""


def test_a_full_disk_says_what_is_safe(tmp_path):
    sessions, out = plans(6), tmp_path / "out.jsonl"
    record_plans(sessions[:1], tmp_path / "one.jsonl")
    room = int(2.5 * (tmp_path / "one.jsonl").stat().st_size)
    arguments = record_command(plan_file(tmp_path / "plans.jsonl", sessions), out)[3:]
    command = [sys.executable, "-c", FULL_DISK, str(room), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "2 sessions are safe in out.jsonl.journal" in done.stderr
    assert "Traceback" not in done.stderr
    assert recorded(journal_path(out)) == [session.id for session in sessions[:2]]
    assert record_plans(sessions, out).resumed == 2
    assert recorded(out) == [session.id for session in sessions]


def test_a_read_only_folder_is_a_storage_error(tmp_path):
    if os.geteuid() == 0:
        target = Path("/proc/worldline.jsonl")  # root writes into read-only folders, but not here
    else:
        tmp_path.chmod(0o500)
        target = tmp_path / "out.jsonl"
    with pytest.raises(StorageError):
        record_plans(plans(1), target)


def test_the_command_line_records_a_script(tmp_path):
    (tmp_path / "world.yaml").write_text(
        "domain: terminal\nname: shop\ninitial_state:\n  files:\n    /home/user/a.txt: hello\n", encoding="utf-8"
    )
    script = tmp_path / "script.txt"
    script.write_text('cat a.txt\n\n{"command": "wc -c < a.txt"}\n{ echo group; }\n"echo quoted"\n', encoding="utf-8")
    out = tmp_path / "out.jsonl.zst"
    arguments = ["record", "terminal", "--out", str(out), "--script", str(script)]
    result = CliRunner().invoke(cli, [*arguments, "--world", str(tmp_path / "world.yaml"), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["sessions"], told["turns"], told["failures"]) == (1, 4, [])
    (trajectory,) = read_trajectories(out)
    assert [turn.observation.stdout for turn in trajectory.turns] == ["hello", "5\n", "group\n", "quoted\n"]
    assert trajectory.family == "shop"


def test_the_command_line_composes_sessions(tmp_path):
    out = tmp_path / "out.jsonl"
    arguments = ["record", "terminal", "--out", str(out), "--generate", "30", "--seed", "7", "--limit", "2"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "2 sessions" in result.stdout
    assert len(recorded(out)) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [("{}", "family: Field required"), ("nonsense", "Invalid JSON"), ('{"family": "f", "x": 1}', "world")],
)
def test_a_bad_plan_file_names_the_line(tmp_path, line, message):
    good = plans(1)[0].model_dump_json()
    (tmp_path / "plans.jsonl").write_text(f"{good}\n{line}\n", encoding="utf-8")
    command = record_command(tmp_path / "plans.jsonl", tmp_path / "out.jsonl")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{tmp_path}/plans.jsonl:2: not a session plan" in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
