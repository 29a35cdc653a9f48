"""Limits of processor time: what else the machine does changes no answer, and what never ends is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from worldline.kernels.processor import Watch, charge
from worldline.kernels.shell import ShellKernel
from worldline.kernels.shell.limits import Limits
from worldline.types import Action, WorldSpec

_ONE = """
import json, sys, time
from worldline.kernels import build_kernel
from worldline.types import Action, WorldSpec

world, action = WorldSpec(**json.loads(sys.argv[1])), Action(**json.loads(sys.argv[2]))
kernel = build_kernel(world)
print("ready", flush=True)
begin = time.monotonic()
proposal = kernel.propose(action)
print(json.dumps([proposal.known, proposal.observation.text, proposal.why, time.monotonic() - begin]))
"""
_COUNT = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT {}) SELECT count(*) AS c FROM r"
_LONG_ENOUGH = [
    ("terminal", {}, "bash", {"command": "for i in $(seq 40000); do x=$((i * 2)); done; echo $x"}, "80000\n"),
    ("terminal", {"packages": ["python3"]}, "bash", {"command": "python3 -c 'print(sum(range(10 ** 7)))'"}, "49999995"),
    ("database", {"engine": "sqlite"}, "execute_sql", {"sql": _COUNT.format(2_000_000)}, "2000000"),
    ("database", {"engine": "duckdb"}, "execute_sql", {"sql": "SELECT sum(a % 7) FROM range(100000000) t(a)"}, "299"),
]
"""Some tenths of a second of processor time each, of the two seconds that they may take."""


def work(seconds: float) -> float:
    """Use processor time of this thread."""
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(1000))
    return time.thread_time() - begin


@pytest.mark.parametrize(("domain", "state", "name", "arguments", "wanted"), _LONG_ENOUGH)
def test_a_busy_machine_does_not_change_an_answer(domain, state, name, arguments, wanted):
    world = json.dumps({"domain": domain, "initial_state": state})
    action = json.dumps({"name": name, "arguments": arguments})
    command = [sys.executable, "-c", _ONE, world, action]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.03)
        os.killpg(process.pid, signal.SIGSTOP)  # as if it, and what it started, had to wait for all others
        time.sleep(2.5)
        os.killpg(process.pid, signal.SIGCONT)
        known, text, why, took = json.loads(process.stdout.read())
    assert known and wanted in text, why
    assert took > 2.0, "too fast to tell"


@pytest.mark.parametrize(
    "command",
    [
        "while :; do python3 -c 'x = sum(range(300000))'; done",
        "while :; do find . -maxdepth 0 -exec sh -c 'for i in 1 2 3 4 5 6 7 8 9; do x=$i$x; done' \\;; done",
    ],
)
def test_what_a_command_has_others_compute_counts_as_its_own(command):
    world = WorldSpec(domain="terminal", initial_state={"packages": ["python3"]})
    kernel = ShellKernel(world, Limits(seconds=0.3))
    proposal = kernel.propose(Action(name="bash", arguments={"command": command}))
    assert not proposal.known and "more than 0.3 s of processor time" in proposal.why
    kernel.reject()
    assert kernel.propose(Action(name="bash", arguments={"command": "echo on"})).observation.text == "on\n"


def test_what_computes_is_stopped_by_its_processor_time_again_and_again():
    stops = []
    with Watch(0.1, lambda: stops.append(threading.current_thread().name)) as watch:
        work(0.6)
    assert watch.fired and watch.used >= 0.6
    assert len(stops) > 1 and set(stops) == {"worldline-watchdog"}
    before = len(stops)
    time.sleep(0.2)
    assert len(stops) == before


def test_what_waits_or_what_another_thread_computes_does_not_count():
    with Watch(0.2, lambda: None) as watch:
        other = threading.Thread(target=work, args=(0.5,))
        other.start()
        other.join()
        time.sleep(0.3)
    assert not watch.fired and watch.used < 0.1


def test_what_blocks_without_computing_is_stopped_by_the_wall_clock():
    stopped = threading.Event()
    with Watch(10.0, stopped.set, wall=0.2) as watch:
        assert stopped.wait(20)
    assert watch.fired and watch.used < 1.0


def test_what_others_computed_for_it_is_charged_through_all_watches():
    with Watch(1.0, lambda: None) as outer:
        with Watch(9.0, lambda: None) as inner:
            charge(3.0)
        assert 3.0 <= inner.used < 3.5
        time.sleep(0.3)
    assert outer.fired and not inner.fired and outer.used >= 3.0
    charge(1.0)  # no one watches: nothing happens


def test_a_forked_process_has_a_watchdog_of_its_own():
    with Watch(9.0, lambda: None):
        child = os.fork()
        if child == 0:
            with Watch(0.05, lambda: None) as watch:
                work(0.4)
            os._exit(0 if watch.fired else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
