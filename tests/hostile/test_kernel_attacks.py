"""Actions that attack the simulation: they cost seconds at most, are never sold as known, and touch nothing real."""

import json
import os
import resource
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from program import PROGRAM, actions, environment, records, worldline

LIMITED = {
    "fork bomb": ":(){ :|:& };:",
    "fork bomb by name": "bomb() { bomb | bomb & }; bomb",
    "endless loop": "while :; do :; done",
    "endless until": "until false; do x=1; done",
    "endless for": "for ((;;)); do :; done",
    "endless recursion": "f() { f; }; f",
    "yes": "yes",
    "yes to a file": "yes > big",
    "yes to wc": "yes | wc -l",
    "cat /dev/zero": "cat /dev/zero",
    "head of /dev/zero": "head -c 5G /dev/zero",
    "head of /dev/zero to a file": "head -c 5G /dev/zero > big; wc -c big",
    "dd": "dd if=/dev/zero of=big bs=1M count=5000",
    "seq": "seq 1 1000000000",
    "braces": "echo {1..1000000000}",
    "doubling": "x=a; while :; do x=$x$x; done",
    "doubling with printf": "printf '%1000000000s' x",
    "a sum of loops": "for i in $(seq 1 10000000); do echo $i; done",
    "awk": "awk 'BEGIN { while (1); }'",
    "awk text": "awk 'BEGIN { x = \"a\"; while (1) x = x x }'",
    "sed": "sed ':a;ba' <<< x",
    "sed that grows": "sed ':a;s/x/xx/g;ba' <<< x",
    "background": "while :; do :; done & wait",
    "eval": "eval \"$(yes 'echo y')\"",
    "python": "python3 -c 'while True: pass'",
    "python memory": "python3 -c 'x = \"a\"\nwhile True: x += x'",
    "python output": "python3 -c 'while True: print(1)'",
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory) -> dict[str, tuple[dict, dict]]:
    """All attacks in one session, an ordinary command behind each."""
    home = tmp_path_factory.mktemp("attacks")
    world = home / "w.yaml"
    world.write_text("domain: terminal\ninitial_state: {packages: [python3]}\n")
    lines = [line for command in LIMITED.values() for line in (command, "echo alive")]
    done = worldline(
        "play", "terminal", "--world", world, "--engine", "kernel", "--actions", "-", "--json",
        home=home, stdin=actions(*lines), timeout=150,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )  # fmt: skip
    assert done.returncode == 0
    found = records(done.stdout)
    return dict(zip(LIMITED, zip(found[::2], found[1::2], strict=True), strict=True))


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_is_never_sold_as_computed(attacked, name: str):
    first, _ = attacked[name]
    assert first["abstained"] or first["origin"] != "computed", first


@pytest.mark.parametrize("name", LIMITED)
def test_an_attack_costs_seconds_and_little_text(attacked, name: str):
    first, _ = attacked[name]
    assert first["elapsed_ms"] < 10_000
    assert len(first["observation"]) < 4_000_000


@pytest.mark.parametrize("name", LIMITED)
def test_the_session_goes_on_after_an_attack(attacked, name: str):
    _, second = attacked[name]
    assert second.get("stdout") == "alive\n", second


SECRET = "this-stands-on-the-host-only"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    return tmp_path


def test_the_host_cannot_be_read_or_written(host: Path):
    target = host / "written"
    outside = [
        f"cat {host}/secret.txt", f"ls -la {host}", f"head {host}/secret.txt", f"grep . {host}/secret.txt",
        f"source {host}/secret.txt", f". {host}/secret.txt", f"mapfile -t x < {host}/secret.txt; echo ${{x[0]}}",
        f"echo x > {target}", f"touch {target}", f"mkdir {target}", f"cp /etc/passwd {target}", f"tee {target} <<< x",
        f"ln -s {host}/secret.txt l; cat l", f"cd {host} && ls", f"find {host} -type f -exec cat {{}} +",
        f"tar cf - {host} | tar xf - -O", f"python3 -c \"print(open('{host}/secret.txt').read())\"",
        f"python3 -c \"open('{target}', 'w').write('x')\"", f"sqlite3 {target} 'create table t(x)'",
        f"bash -c 'cat {host}/secret.txt'", f"sh -c 'cat < {host}/secret.txt'", f"env cat {host}/secret.txt",
        f"awk '{{print}}' {host}/secret.txt",
        f"awk 'BEGIN {{ while ((getline x < \"{host}/secret.txt\") > 0) print x }}'",
        f"sed -n 'r {host}/secret.txt' /dev/null; sed p {host}/secret.txt", f"sed -n 'w {target}' <<< x",
        f"cat ../../../../../../..{host}/secret.txt", f"cat /proc/self/root{host}/secret.txt",
        "cat /proc/self/environ", "env", "printenv", "export -p", "cat /etc/shadow", "id", "ps aux", "kill -9 1",
    ]  # fmt: skip
    world = host / "w.yaml"
    world.write_text("domain: terminal\ninitial_state: {packages: [python3, sqlite3]}\n")
    done = worldline(
        "play", "terminal", "--world", world, "--engine", "kernel", "--actions", "-", "--json",
        "--store", host / "log.db", home=host, stdin=actions(*outside), env={"HOST_VARIABLE": SECRET}, timeout=120,
    )  # fmt: skip
    turns = records(done.stdout)
    assert len(turns) == len(outside)
    for turn in turns:
        assert SECRET not in (turn.get("observation") or ""), turn
        assert "root:$" not in (turn.get("observation") or ""), turn
    assert not target.exists()
    assert sorted(p.name for p in host.iterdir() if not p.name.startswith("log.db")) == ["secret.txt", "w.yaml"]


def test_the_network_cannot_be_reached(tmp_path: Path):
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    port = listener.getsockname()[1]
    reached, over = [], threading.Event()

    def listen() -> None:
        while not over.is_set():
            try:
                reached.append(listener.accept()[0])
            except TimeoutError:
                continue

    thread = threading.Thread(target=listen)
    thread.start()
    commands = [
        f"curl -s http://127.0.0.1:{port}/", f"wget -qO- http://127.0.0.1:{port}/", f"cat < /dev/tcp/127.0.0.1/{port}",
        f"exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3", f"echo x > /dev/tcp/127.0.0.1/{port}", f"nc 127.0.0.1 {port}",
        f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\"",
        f"python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/').read())\"",
        f"git clone http://127.0.0.1:{port}/x.git", f"ssh -p {port} 127.0.0.1", f"echo x > /dev/udp/127.0.0.1/{port}",
    ]  # fmt: skip
    world = tmp_path / "w.yaml"
    world.write_text("domain: terminal\ninitial_state: {packages: [python3, curl, wget, git]}\n")
    try:
        done = worldline(
            "play", "terminal", "--world", world, "--engine", "kernel", "--actions", "-", "--json",
            home=tmp_path, stdin=actions(*commands), timeout=120,
        )  # fmt: skip
        turns = records(done.stdout)
    finally:
        over.set()
        thread.join()
        listener.close()
        for connection in reached:
            connection.close()
    assert len(turns) == len(commands) and not reached
    for command, turn in zip(commands, turns, strict=True):
        assert turn["abstained"] or turn["exit_code"] != 0, command


def test_no_process_is_left_behind(tmp_path: Path):
    mark = f"WORLDLINE_TEST_MARK={os.getpid()}"
    name, _, value = mark.partition("=")
    process = subprocess.Popen(
        [PROGRAM, "play", "terminal", "--engine", "kernel", "--actions", "-", "--json"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=environment(tmp_path, **{name: value}),
    )  # fmt: skip
    out, _ = process.communicate(actions(":(){ :|:& };:", "sleep 1000 &", "nohup sleep 1000 &").encode(), timeout=60)
    assert len(out.splitlines()) == 3
    left = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            left += [path] if mark.encode() in path.read_bytes() else []
        except OSError:
            continue
    assert not left


def test_big_files_and_observations(tmp_path: Path):
    lines = "".join(f"line {n}\n" for n in range(1_000_000))
    world = tmp_path / "w.yaml"
    world.write_text(
        json.dumps({"domain": "terminal", "initial_state": {"files": {"/home/user/million.txt": lines}}}), "utf-8"
    )
    commands = ["wc -l million.txt", "tail -n 1 million.txt", "cat million.txt", "sed -n 500000p million.txt"]
    store = ("--session", "s", "--store", tmp_path / "log.db")
    began = time.monotonic()
    done = worldline(
        "play", "terminal", "--world", world, "--actions", "-", "--json", *store,
        home=tmp_path, stdin=actions(*commands), timeout=120,
    )  # fmt: skip
    count, last, whole, middle = records(done.stdout)
    assert time.monotonic() - began < 60
    if not count["abstained"]:
        assert count["stdout"] == "1000000 million.txt\n"
    if not last["abstained"]:
        assert last["stdout"] == "line 999999\n"
    if not middle["abstained"]:
        assert middle["stdout"] == "line 499999\n"
    assert whole["abstained"] or whole["stdout"] == lines
    # The whole of it is read again from the log.
    again = worldline(
        "play", "terminal", "--actions", "-", "--json", *store,
        home=tmp_path, stdin=actions(*commands, "echo on"), timeout=120,
    )  # fmt: skip
    assert records(again.stdout)[0]["stdout"] == "on\n"
