"""Limits that bite, and a box that shows nothing of the host."""

import os
import time
from pathlib import Path

import pytest

from worldline.record.sandbox import Box, descendants, remove_leftovers
from worldline.record.shell import Limits

pytestmark = pytest.mark.sandbox


def test_a_fork_bomb_ends_the_box_and_nothing_else(start):
    shell = start(Limits(processes=60))
    begin = time.monotonic()
    shell.run(":(){ :|:& };:")
    for _ in range(5):
        if shell.ended:
            break
        shell.run("ls")
    assert shell.ended
    assert shell.last is not None and shell.last.killed == "processes"
    assert descendants(shell._box.process.pid) == []
    assert time.monotonic() - begin < 30


def test_the_process_limit_is_a_limit(start):
    shell = start(Limits(processes=30))
    shell.run("for i in $(seq 60); do sleep 20 & done; true")
    assert shell.last is not None and shell.last.killed == "processes"


@pytest.mark.parametrize("user", ["user", "root"])
def test_memory_of_one_process(start, user):
    seen = start(Limits(memory=1 << 30), user=user).run("python3 -c 'bytearray(2 << 30)'")
    assert seen.exit_code == 1
    assert (seen.stderr or "").endswith("MemoryError\n")


def test_memory_of_the_whole_box(start):
    shell = start(Limits(total_memory=200 << 20))
    seen = shell.run("python3 -c 'import time; x = bytearray(b\"1\" * (400 << 20)); time.sleep(9)'")
    assert (seen.exit_code, shell.last and shell.last.killed) == (137, "memory")
    assert shell.run("echo goes on").stdout == "goes on\n"


def test_size_of_a_file_and_of_the_disk(start):
    shell = start(Limits(file_size=1 << 20, disk=4 << 20))
    shell.run("head -c 3000000 /dev/zero > big")
    assert shell.run("stat -c %s big").stdout == "1048576\n"
    seen = shell.run("for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > part$i; done")
    assert "No space left on device" in (seen.stderr or "")
    assert "No space left" in (shell.run("head -c 5000000 /dev/zero | split -b 900000 - /tmp/p").stderr or "")


@pytest.mark.parametrize("command", ["yes", "cat /dev/zero", "while :; do echo again; done", "yes >&2"])
def test_endless_output_is_cut_off(start, command):
    shell = start(Limits(output=10_000, wall=20))
    begin = time.monotonic()
    seen = shell.run(command)
    assert time.monotonic() - begin < 10
    assert (seen.truncated, seen.exit_code, len(seen.text)) == (True, 137, 10_000)
    assert shell.last is not None and shell.last.killed == "output"


def test_much_output_that_ends_is_cut_off_too_and_keeps_its_status(start):
    shell = start(Limits(output=1000))
    seen = shell.run("seq 100000; echo oops >&2; exit_code() { return 5; }; exit_code")
    assert (seen.truncated, seen.exit_code, seen.stderr) == (True, 5, "oops\n")
    assert shell.run("echo next").stdout == "next\n"


def test_a_command_that_takes_too_long_is_killed_and_the_session_goes_on(start):
    shell = start()
    seen = (shell.run("x=1; echo before; sleep 60; echo after", timeout=0.5), shell.last)
    assert (seen[0].stdout, seen[0].stderr, seen[0].exit_code) == ("before\n", "", 124)
    assert seen[1] is not None and seen[1].killed == "time"
    assert shell.run("echo $x $?").stdout == "1 124\n"
    assert shell.run("pgrep sleep").stdout == ""


@pytest.mark.parametrize("command", ["while :; do :; done", "trap '' TERM INT; while :; do sleep 1; done"])
def test_a_shell_that_loops_itself_ends_with_its_session(start, command):
    shell = start()
    assert shell.run(command, timeout=0.5).exit_code == 124
    assert shell.ended


def test_a_background_process_that_holds_the_output_does_not_hold_the_session(start):
    shell = start()
    begin = time.monotonic()
    assert shell.run("sleep 30 & echo on").stdout == "on\n"
    assert shell.run("(sleep 0.3; echo late) & echo now").stdout == "now\n"
    assert shell.run("wait %2; echo waited").stdout == "late\nwaited\n"
    shell.close()
    assert time.monotonic() - begin < 5


def test_there_is_no_network(start):
    shell = start()
    assert shell.run("exec 3<>/dev/tcp/1.1.1.1/80").stderr == (
        "bash: connect: Network is unreachable\nbash: line 1: /dev/tcp/1.1.1.1/80: Network is unreachable\n"
    )
    probe = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    assert "Network is unreachable" in (shell.run(f'python3 -c "{probe}"').stderr or "")
    assert shell.run("cat /proc/net/dev | grep -v lo: | wc -l").stdout == "2\n"


def test_the_host_is_out_of_sight(start):
    secret = Path("/tmp") / f"worldline-secret-{os.getpid()}"
    secret.write_text("host")
    try:
        shell = start(env={"PS4": "+ "})
        here = str(Path(__file__).resolve())
        assert shell.run(f"cat {secret} {here}").exit_code == 1
        assert shell.run("ls /tmp ~ /home /mnt").stdout == "/home:\nuser\n\n/home/user:\n\n/mnt:\n\n/tmp:\n"
        assert shell.run("ls /proc | grep -c '^[0-9]'").stdout.strip().isdigit()
        assert int(shell.run("ls /proc | grep -c '^[0-9]'").stdout) < 12
        assert "resolv" not in (shell.run("cat /etc/resolv.conf /etc/environment").stdout or "")
        assert shell.run("ls /etc/apt /etc/ssh /etc/pip.conf /sys /dev/kvm 2>/dev/null").stdout == "/sys:\n"
        assert shell.run("cat /etc/shadow").exit_code == 1
        assert shell.run("env | grep -c " + (os.environ.get("HOME") or "/nosuch") + "/").stdout == "0\n"
        refused = shell.run("mkdir /usr/share/x; rm /usr/bin/env; echo > /usr/local/bin/env")
        assert refused.exit_code == 1
        if not shell.rootless:
            assert (refused.stderr or "").count("Permission denied") == 3
    finally:
        secret.unlink()


def test_system_programs_do_not_gain_rights(start):
    shell = start()
    assert shell.run("su -c id </dev/null").exit_code != 0
    assert shell.run("unshare -r id; unshare --mount id").exit_code != 0 or shell.run("cat /etc/shadow").exit_code == 1
    assert "NoNewPrivs:\t1" in (shell.run("cat /proc/self/status").stdout or "")


def test_files_of_a_killed_recorder_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone, alive, foreign = (
        tmp_path / name for name in ("worldline-box-999999999-x", f"worldline-box-{os.getpid()}-x", "other")
    )
    for place in (gone, alive, foreign):
        place.mkdir()
    remove_leftovers()
    assert sorted(tmp_path.iterdir()) == sorted([alive, foreign])


def test_a_box_dies_with_its_program(start):
    shell = start()
    box: Box = shell._box
    inside = descendants(box.process.pid)
    assert inside
    box.process.kill()
    box.process.wait()
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in inside) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{pid}").exists() for pid in inside)
