"""Recording: volatile spans and the session-determined mark on real sandboxes."""

from pathlib import Path

import pytest
from recorder_plans import plan

from worldline.domains.terminal import TERMINAL
from worldline.errors import SandboxError
from worldline.record.recording import RecordingSettings, record_session
from worldline.record.shell import Limits
from worldline.types import Source

pytestmark = pytest.mark.sandbox


def test_a_recording_says_what_when_and_how():
    session = plan("echo a > f", "sleep 1.1", "cat f nosuch", "exit 3", "never reached", files={"/home/user/b": "b\n"})
    trajectory = record_session(session)
    assert (trajectory.source, trajectory.family, trajectory.world) == (Source.OBSERVED, "tests", session.world)
    assert trajectory.origin["plan"] == session.id
    assert set(trajectory.origin["programs"]) >= {"bash", "coreutils"}
    assert [turn.timestamp for turn in trajectory.turns] == [
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T00:00:01+00:00",
        "2026-01-01T00:00:01+00:00",
    ]
    third = trajectory.turns[2].observation
    assert (third.stdout, third.stderr) == ("a\n", "cat: nosuch: No such file or directory\n")
    assert trajectory.turns[3].extra == {"source": "own", "ended": True}
    assert trajectory.extra == {"commands_after_the_end": 1}
    assert all(turn.determined is None and not turn.observation.volatile for turn in trajectory.turns)
    assert record_session(session) == trajectory


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("echo $RANDOM", "\\d+"),
        ("echo $$", "\\d+"),
        ("mktemp", "[A-Za-z0-9]+"),
        ("cat /proc/sys/kernel/random/uuid", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("sleep 5 & echo $!", "\\d+"),
        ("python3 -c 'import time; print(time.monotonic_ns())'", "\\d+"),
    ],
)
def test_chance_is_found(command, pattern):
    turn = record_session(plan(command)).turns[0]
    assert pattern in {span.pattern for span in turn.observation.volatile}
    again = record_session(plan(command, family="other")).turns[0]
    assert again.observation.text != turn.observation.text
    assert TERMINAL.compare(again.observation.model_copy(update={"volatile": ()}), turn.observation).exact


def test_what_the_clock_says_is_not_chance():
    turns = record_session(plan("date +%N", "date", "touch a; stat -c %y a; ls -l")).turns
    assert not any(turn.observation.volatile for turn in turns)


def test_a_status_left_to_chance_is_unstable():
    # one status may be the same twice by chance, five hardly ever
    turns = record_session(plan(*["(exit $((RANDOM % 200)))"] * 5)).turns
    assert any(turn.extra.get("unstable") for turn in turns)


def test_a_killed_command_is_marked():
    settings = RecordingSettings(limits=Limits(wall=0.3))
    turns = record_session(plan("sleep 9", "echo on"), settings).turns
    assert (turns[0].observation.exit_code, turns[0].extra["killed"]) == (124, "time")
    assert turns[1].observation.stdout == "on\n"


def test_merged_streams_keep_their_status_beside():
    turn = record_session(plan("echo a; false", shell={"merged": True})).turns[0]
    assert (turn.observation.text, turn.observation.is_error, turn.extra["exit_code"]) == ("a\n", True, 1)


DETERMINED = [
    ("echo a | tr a b; cat a.txt; wc -l a.txt", True),
    ("nosuch", True),
    ("mkdir d && cd d && pwd", True),
    ("ls -l", True),
    ("echo $$", True),
    ("id", True),
    ("date", False),
    ("uname -r", False),
    ("nproc", False),
    ("head -n 1 /proc/meminfo", False),
    ("df --output=fstype . | tail -n 1", False),
    ("ulimit -n", False),
    ("head -c 9 /dev/urandom", False),
]


def check_determined(variant: Path, cases: list[tuple[str, bool]]) -> None:
    session = plan(*(command for command, _ in cases), files={"/home/user/a.txt": "1\n2\n"})
    turns = record_session(session, RecordingSettings(variant_root=variant)).turns
    told = [(turn.action.command, turn.determined) for turn in turns]
    assert told == [(command, answer) for command, answer in cases]


def test_what_the_session_determines_same_programs():
    """With the same programs, everything else that the world does not declare still differs."""
    check_determined(Path("/"), DETERMINED)


@pytest.mark.full
def test_what_the_session_determines_other_programs(variant_root):
    check_determined(
        variant_root, [*DETERMINED, ("bash --version | head -n 1", False), ("cat /etc/debian_version", False)]
    )


def test_a_declared_clock_is_determined():
    session = plan("date", clock="2026-05-05T00:00:00Z")
    assert record_session(session, RecordingSettings(variant_root=Path("/"))).turns[0].determined is True


def test_secrets_are_masked():
    trajectory = record_session(plan("echo 'token = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"'"))
    assert "ghp_0123456789" not in trajectory.model_dump_json()


def test_a_session_without_sandbox_is_an_error(tmp_path):
    with pytest.raises(SandboxError):
        record_session(plan("ls"), RecordingSettings(root=tmp_path))
