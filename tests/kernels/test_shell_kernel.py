"""The kernel's own promises: trials, forks, following reality, known and unknown, storage."""

from __future__ import annotations

import time
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.errors import KernelError
from worldline.kernels.base import Kernel, Proposal
from worldline.kernels.shell import ShellKernel
from worldline.types import Action, Observation, Turn, WorldSpec

FILES = {"/home/user/a.txt": "hello\nworld\n", "/home/user/sub/b.txt": "beta\n"}


def kernel(**state: object) -> ShellKernel:
    full = {"files": FILES, "packages": ["python3", "jq", "gdb"], **state}
    return ShellKernel(WorldSpec(domain="terminal", initial_state=full))


def act(command: str) -> Action:
    return Action(name="bash", arguments={"command": command})


def ask(subject: Kernel, command: str) -> Proposal:
    return subject.propose(act(command))


def do(subject: Kernel, command: str) -> str:
    proposal = ask(subject, command)
    subject.accept()
    return proposal.observation.text


def seen(stdout: str = "", stderr: str = "", status: int = 0) -> Observation:
    return Observation.from_streams(stdout.encode(), stderr.encode(), status)


def follow(subject: Kernel, command: str, observation: Observation) -> None:
    subject.propose(act(command))
    subject.absorb(Turn(action=act(command), observation=observation))


def test_it_is_a_kernel() -> None:
    assert isinstance(kernel(), Kernel)


# --- trials


def test_a_rejected_trial_leaves_no_trace() -> None:
    subject = kernel()
    do(subject, "x=1; f() { echo one; }; mkdir keep; echo k > keep/k; ln -s a.txt link; umask 027")
    before = subject.dump()
    for command in (
        "x=2; echo changed > a.txt; rm -r keep sub; mkdir -p new/deep; cd new; f() { echo two; }; export Y=1",
        "mv a.txt c.txt; ln -sf c.txt link; chmod 000 c.txt; set -e; trap 'echo t' EXIT; umask 077",
        "exit 3",
        "sleep 100; touch a.txt",
        "chmod 700 sub; mv sub keep/; echo more >> a.txt",
    ):
        ask(subject, command)
        subject.reject()
        assert subject.dump() == before, command
    assert do(subject, "f; echo $x ${Y-none}; cat a.txt keep/k link; ls; umask; pwd; date +%s") == (
        "one\n1 none\nhello\nworld\nk\nhello\nworld\na.txt\nkeep\nlink\nsub\n0027\n/home/user\n1767225600\n"
    )


def test_a_proposal_that_stands_is_rejected_by_the_next() -> None:
    subject = kernel()
    ask(subject, "rm a.txt")
    assert ask(subject, "cat a.txt").observation.stdout == "hello\nworld\n"


def test_writes_and_classes_are_reported() -> None:
    subject = kernel()
    proposal = ask(subject, "sort -ru a.txt | head -n1 > out; rm sub/b.txt")
    assert proposal.writes == ("/home/user/out", "/home/user/sub/b.txt")
    assert {"sort -ru", "head -n", "rm", "(pipe)"} <= set(proposal.classes)
    assert ask(subject, "ls -la").classes == ask(subject, "ls -al").classes == ("ls -al",)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([
    "echo x >> a.txt", "rm -f a.txt", "mkdir -p d/e", "touch d/e/f", "mv sub d 2>/dev/null", "rm -rf d", "x=$x.",
    "cp -r sub copy", "chmod 600 a.txt", "ln -sf a.txt l", "cd sub 2>/dev/null || cd", "echo $x > v", "cat nofile",
    "set -o pipefail", "f() { echo $x; }", "umask 077", "sleep 3",
]), max_size=8), st.integers(0, 7))  # fmt: skip
def test_rejecting_restores_any_state(commands: list[str], index: int) -> None:
    subject = kernel()
    for command in commands:
        before = subject.dump()
        ask(subject, command)
        subject.reject()
        assert subject.dump() == before
        ask(subject, command)
        subject.accept()
    # The same commands in a kernel that never had anything rejected lead to the same files.
    other = kernel()
    for command in commands:
        do(other, command)
    listing = "find . -type f | sort | xargs cat; find . | sort; pwd; echo $x; umask; date +%s"
    assert do(subject, listing) == do(other, listing)


# --- forks and storage


def test_forks_are_independent() -> None:
    subject = kernel()
    do(subject, "v=1; echo one > f")
    twin = subject.fork()
    do(subject, "v=2; echo two > f")
    third = subject.fork()
    do(twin, "v=3; rm a.txt; cd sub")
    assert do(subject, "echo $v; cat f a.txt; pwd") == "2\ntwo\nhello\nworld\n/home/user\n"
    assert do(twin, "echo $v; cat ../f; ls ..; pwd") == "3\none\nf\nsub\n/home/user/sub\n"
    subject.close()
    assert do(third, "echo $v; cat f") == "2\ntwo\n"


def test_a_fork_of_a_fresh_kernel() -> None:
    twin = kernel().fork()
    assert do(twin, "pwd; cat a.txt") == "/home/user\nhello\nworld\n"


def test_fork_is_cheap() -> None:
    subject = kernel(files={f"/home/user/d{i % 10}/f{i}": "hello\n" * 50 for i in range(100)})
    do(subject, "x=1")
    forks, steps = [], []
    alive = []
    for _ in range(15):
        begin = time.perf_counter()
        twin = subject.fork()
        forks.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        twin.propose(act("ls"))
        steps.append(time.perf_counter() - begin)
        alive.append(twin)
    assert median(forks) < 0.001
    assert median(steps) < 0.1  # a loose bound: the machine may be busy; `make bench` prints the real figure


def test_dump_and_load() -> None:
    subject = kernel()
    do(subject, "v=1; f() { echo f$v; }; cd sub; echo new > n; chmod 640 n; trap 'echo bye' EXIT; set -o pipefail")
    data = subject.dump()
    other = kernel()
    other.load(data)
    assert other.dump() == data
    assert do(other, "f; pwd; cat n; stat -c %a n; false | true; echo $?") == "f1\n/home/user/sub\nnew\n640\n1\n"
    assert do(other, "exit") == "bye\n"


@pytest.mark.parametrize("damage", [lambda d: b"", lambda d: d[:40], lambda d: b"x" + d, lambda d: b"not a dump"])
def test_damaged_dumps_are_refused(damage: object) -> None:
    subject = kernel()
    data = subject.dump()
    with pytest.raises(KernelError):
        subject.load(damage(data))  # type: ignore[operator]
    with pytest.raises(KernelError):
        kernel(hostname="other").load(data)


# --- known and unknown


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/passwd", "ls /etc", "cat /usr/share/doc/x", "ls /opt/app", "cd /srv/www", "cat < /etc/hosts",
        "[ -f /etc/foo.conf ] && echo y", "[[ -d /opt/app ]] && echo y", "echo /etc/*.conf", "gdb -p 1",
        "uname -r", "echo $RANDOM", "echo $$", "cat /proc/cpuinfo", ". /etc/profile", "python3 /opt/x.py",
        "for f in /var/log/*.log; do echo $f; done", "time ls",
    ],
)  # fmt: skip
def test_what_is_not_declared_is_not_known(command: str) -> None:
    proposal = ask(kernel(), command)
    assert not proposal.known, proposal.observation
    assert proposal.why


@pytest.mark.parametrize(
    "command",
    [
        "cat nofile", "ls /tmp", "cd nowhere", "[ -e nofile ] || echo no", "cat < nofile", "foo", "echo *",
        "cat /home/user/none", "ls -d /usr /etc", "cat /etc/hostname", "cd /usr/bin && pwd", "echo hi > /etc/x",
        "mkdir /opt/x", "test -x /bin/ls && echo y", "[[ -f a.txt ]] && echo y",
    ],
)  # fmt: skip
def test_what_is_declared_or_closed_is_known(command: str) -> None:
    proposal = ask(kernel(), command)
    assert proposal.known, proposal.why


def test_packages_not_declared() -> None:
    subject = kernel(packages=None)
    assert not ask(subject, "foo").known
    assert ask(subject, "ls").known


def test_a_complete_directory_is_closed() -> None:
    subject = kernel(files={"/opt/app": {"kind": "directory", "complete": True}, "/opt/app/x": "1\n", "/srv/y": "2\n"})
    assert ask(subject, "ls /opt/app; cat /opt/app/none").known
    assert ask(subject, "cat /srv/y").known
    assert not ask(subject, "ls /srv").known


# --- following reality


def test_a_printed_file_is_known_from_then_on() -> None:
    subject = kernel()
    follow(subject, "cat /etc/motd", seen("welcome\n"))
    proposal = ask(subject, "wc -c /etc/motd")
    assert (proposal.observation.stdout, proposal.known) == ("8 /etc/motd\n", True)
    follow(subject, "cat /etc/none", seen("", "cat: /etc/none: No such file or directory\n", 1))
    assert ask(subject, "cat /etc/none").known


def test_a_listed_directory_is_closed_and_its_files_unknown() -> None:
    subject = kernel()
    follow(subject, "ls /opt", seen("app\nnotes.txt\n"))
    assert ask(subject, "cat /opt/other").known
    assert not ask(subject, "cat /opt/notes.txt").known
    assert ask(subject, "[ -e /opt/notes.txt ] && echo there").observation.stdout == "there\n"
    assert ask(subject, "ls /opt").observation.stdout == "app\nnotes.txt\n"


def test_entering_a_place_that_was_not_known() -> None:
    subject = kernel()
    follow(subject, "cd /srv/www/html", seen())
    assert do(subject, "pwd") == "/srv/www/html\n"
    assert not ask(subject, "ls").known


def test_a_failure_that_was_not_foreseen_undoes_the_trial() -> None:
    subject = kernel()
    follow(subject, "cd sub", seen("", "bash: line 1: cd: sub: Permission denied\n", 1))
    assert do(subject, "pwd; echo $?") == "/home/user\n0\n"
    follow(subject, "x=$(gdb --version)", seen())
    assert not ask(subject, "echo $x").known


def test_a_program_that_is_not_simulated_taints() -> None:
    subject = kernel()
    follow(subject, "gdb a.txt", seen())
    assert not ask(subject, "cat a.txt").known
    do(subject, "echo fresh > a.txt")
    assert ask(subject, "cat a.txt").known
    assert ask(subject, "cat sub/b.txt").known


def test_the_status_follows_reality() -> None:
    subject = kernel()
    follow(subject, "gdb --batch", seen("", "", 1))
    assert do(subject, "echo $?") == "1\n"


def test_absorbing_without_a_proposal() -> None:
    subject = kernel()
    subject.absorb(Turn(action=act("echo hi > f"), observation=seen()))
    assert do(subject, "cat f") == "hi\n"


# --- views


def test_footprints_tell_what_is_read() -> None:
    subject = kernel()
    first = subject.footprint(act("grep -c o a.txt < sub/b.txt; cat none.txt /etc/motd"))
    assert first is not None
    assert first["cwd"] == "/home/user"
    assert first["/home/user/none.txt"] == "absent"
    assert first["/etc/motd"] == "unknown"
    do(subject, "echo more >> a.txt")
    second = subject.footprint(act("grep -c o a.txt < sub/b.txt; cat none.txt /etc/motd"))
    assert second is not None
    changed = {key for key in first if first[key] != second[key]}
    assert changed == {"/home/user/a.txt"}
    assert subject.footprint(act("eval $x")) is None
    listing = subject.footprint(act("ls"))
    do(subject, "touch another")
    assert subject.footprint(act("ls")) != listing


def test_description_is_bounded() -> None:
    subject = kernel(files={f"/home/user/f{i}": "x" * 10_000 for i in range(500)})
    do(subject, "v=" + "y" * 5000 + "; cd /tmp; sleep 5; f() { :; }; trap 'echo x' EXIT")
    found = subject.describe()
    assert found["cwd"] == "/tmp"
    assert found["clock"] == "2026-01-01T00:00:05+00:00"
    assert found["functions"] == ["f"]
    assert len(str(found)) < 20_000
    assert found["more_files"] > 400


def test_a_fault_in_one_of_our_commands_is_a_guess(monkeypatch):
    from worldline.kernels.shell import builtins

    def broken(call):
        raise ValueError("a fault of ours")

    table = dict(builtins.commands())
    table["sort"] = broken
    monkeypatch.setattr("worldline.kernels.shell.step.commands", lambda: table)
    kernel = ShellKernel(WorldSpec(domain="terminal", initial_state={"files": {"/home/user/a": "b\na\n"}}))
    proposal = kernel.propose(Action(name="bash", arguments={"command": "sort a"}))
    assert not proposal.known and "a fault of ours" in proposal.why
    kernel.accept()
    assert kernel.propose(Action(name="bash", arguments={"command": "echo on"})).observation.text == "on\n"


def test_forks_take_over_the_shell_of_a_closed_one():
    kernel = ShellKernel(WorldSpec(domain="terminal", initial_state={"files": {"/home/user/a": "one\n"}}))

    def ask(of, command):
        proposal = of.propose(Action(name="bash", arguments={"command": command}))
        of.accept()
        return proposal.observation.text

    ask(kernel, "x=1; f() { echo f; }; cd /tmp")
    first = kernel.fork()
    ask(first, "x=2; unset -f f; rm ~/a; echo new > b; alias y=z; set -u")
    first.close()
    second = kernel.fork()
    assert ask(second, "echo $x; f; pwd; cat ~/a; ls") == "1\nf\n/tmp\none\n"
    assert ask(second, "echo ${nothing}; alias") == "\n"
    assert ask(kernel, "echo $x; cat ~/a") == "1\none\n"
