"""What must not bring the kernel down, and what it must never claim to have computed."""

from __future__ import annotations

import os
import resource
import time

import pytest

from worldline.kernels.shell import ShellKernel
from worldline.types import Action, Observation, Turn, WorldSpec

PACKAGES = ["curl", "jq", "procps", "python3"]

RUNAWAYS = [
    ":(){ :|:& };:",
    "yes",
    "yes > f",
    "while :; do :; done",
    "while true; do echo hello; done",
    "until false; do true; done",
    "x=a; while :; do x=$x$x; done",
    "head -c 5G /dev/zero",
    "head -c 5G /dev/zero > f",
    "cat /dev/zero",
    "cat /dev/zero | head -c 3000000000 | wc -c",
    "cat /dev/urandom",
    "f() { f; }; f",
    "f() { f | f & }; f; wait",
    "seq 1 100000000",
    "seq 1 3000000 | while read i; do :; done",
    "for i in {1..99999999}; do :; done; echo done",
    "printf '%1000000000d' 1",
    "dd if=/dev/zero of=f bs=1M count=5000",
    "truncate -s 100G f",
    "bash -c 'while :; do :; done'",
    "awk 'BEGIN { while (1) ; }'",
    "sed ':a;ba' <<< x",
    "tail -f f0",
    "jq -n 'def f: f; f'",
    "python3 -c 'while True: pass'",
    "python3 -c 'x = [0] * 10**10'",
    "exec 3<>/dev/tcp/127.0.0.1/22; cat <&3",
]


def kernel(**state: object) -> ShellKernel:
    return ShellKernel(WorldSpec(domain="terminal", initial_state={"packages": PACKAGES, **state}))


def act(command: str) -> Action:
    return Action(name="bash", arguments={"command": command})


@pytest.mark.parametrize("command", RUNAWAYS)
def test_runaway_is_survived_and_never_computed(command: str) -> None:
    subject = kernel(files={"/home/user/f0": "here\n"})
    begin = time.process_time()
    proposal = subject.propose(act(command))
    assert time.process_time() - begin < 8
    assert not proposal.known, proposal.observation.text[:200]
    assert not proposal.ended
    subject.reject()
    again = subject.propose(act("cat f0; ls"))
    assert again.observation.stdout == "here\nf0\n"
    assert again.known


@pytest.mark.parametrize("command", RUNAWAYS[:6])
def test_absorbing_a_runaway_leaves_a_usable_state(command: str) -> None:
    subject = kernel(files={"/home/user/f0": "here\n"})
    killed = Observation.from_streams(b"", b"", 124)
    subject.absorb(Turn(action=act(command), observation=killed))
    assert subject.propose(act("cat f0")).observation.stdout == "here\n"


SECRETS = [
    "cat /etc/shadow",
    "cat /proc/1/environ",
    "cat /proc/self/environ",
    "cat /proc/version",
    "cat < /proc/mounts",
    "ls /work /srv",
    "cat /root/.bashrc",
    "curl -s http://127.0.0.1:80/",
    "cat < /dev/tcp/127.0.0.1/22",
    "echo hi > /dev/tcp/127.0.0.1/22",
    "python3 -c 'print(open(\"/etc/hostname\").read())' ; cat /etc/machine-id",
    "mount",
    "df -h",
    "env | grep -i path",
    "ls -la /proc/self/fd",
    "cp /etc/passwd . && cat passwd",
]


@pytest.mark.parametrize("command", SECRETS)
def test_nothing_of_the_host_shows(command: str) -> None:
    os.environ["WORLDLINE_TEST_SECRET"] = "do-not-show-this"
    subject = kernel()
    text = subject.propose(act(command)).observation.text
    assert "do-not-show-this" not in text
    assert "bashkit" not in text
    host = os.uname()
    assert host.nodename not in text
    assert host.release not in text


def test_a_hostile_file_name_stays_inside() -> None:
    subject = kernel()
    proposal = subject.propose(act("mkdir -p a; echo x > a/../../../../../tmp/evil; cat /tmp/evil"))
    assert proposal.observation.stdout == "x\n"
    assert not os.path.exists("/tmp/evil")  # noqa: PTH110 - the host's file system


def test_a_thousand_kernels_fit() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    alive = []
    for _ in range(200):
        subject = kernel(files={f"/home/user/f{i}": "hello\n" * 20 for i in range(20)})
        subject.propose(act("echo hi > x"))
        subject.accept()
        alive.append(subject)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown / 200 * 1000 < 1024 * 1024  # kilobytes
    tasks = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    assert tasks < 40
    for subject in alive:
        subject.close()


def test_odd_texts() -> None:
    subject = kernel()
    for text in ("echo \0", "echo \ud800", "", " ", "\n", "#", "echo \u2028x", "\x01", "echo 'é' | cat"):
        proposal = subject.propose(act(text))
        assert proposal.observation is not None
    assert not subject.propose(act("echo \0")).known
    assert subject.propose(act("echo a\u2028b")).observation.stdout == "a\u2028b\n"
    assert not subject.propose(Action(text="ls")).known


def test_large_files() -> None:
    million = "line\n" * 1_000_000
    subject = kernel(files={"/home/user/big": million})
    assert subject.propose(act("wc -l big")).observation.stdout == "1000000 big\n"
    subject.absorb(Turn(action=act("cat other"), observation=Observation.from_streams(b"x" * 10_000_000, b"", 0)))
    assert not subject.propose(act("wc -c other")).known
    subject.absorb(Turn(action=act("cat small"), observation=Observation.from_streams(b"x" * 100_000, b"", 0)))
    proposal = subject.propose(act("wc -c small"))
    assert (proposal.observation.stdout, proposal.known) == ("100000 small\n", True)
