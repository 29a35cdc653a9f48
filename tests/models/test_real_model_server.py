"""A real small model behind a real server, asked through the program as a user does.

What it writes is poor, so the checks are about form, origin, cost and failure, never about its content.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_server import CONTEXT, INSTALL, MODEL, RealServer, find_weights, server_python

from worldline.bench.suite import load_suite
from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json

sys.path.append(str(Path(__file__).parents[1] / "cli"))

from program import PROGRAM, actions, environment, records, worldline

pytestmark = pytest.mark.full

UNKNOWN = "cat /etc/ledger.yaml"
HELD = r"""
root ::= "<predicted_observation>\n" line line? "[exit code: 0]\n</predicted_observation>"
line ::= [a-z] [a-z0-9:. ]{0,20} "\n"
"""
"""A grammar of the server's own kind that holds the model to the form of an observation."""
ENDLESS = r'root ::= [a-z ]+ "\x07"'


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    python = server_python()
    weights = find_weights(python)
    if weights is None:
        pytest.skip(f"{python} has no llama.cpp server or no weights: {INSTALL}")
    server = RealServer(python, weights, tmp_path_factory.mktemp("server"))
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def server(one_server: RealServer) -> RealServer:
    """The server, running."""
    one_server.start()
    return one_server


def write_models(home: Path, url: str) -> None:
    """Name the model three ways: as it is, held to a form, and writing on and on."""
    sampling: dict[str, dict[str, Any]] = {
        "plain": {"max_tokens": 8},
        "held": {"max_tokens": 48, "extra": {"grammar": HELD}},
        "endless": {"max_tokens": 4000, "extra": {"grammar": ENDLESS}},
    }
    entry = {"base_url": url, "model": MODEL, "context_length": CONTEXT, "concurrency": 1, "timeout_s": 120}
    patience = {"retries": 1, "backoff_s": 0.1}
    models = {
        name: {**entry, **patience, "sampling": {"temperature": 0, **wanted}} for name, wanted in sampling.items()
    }
    (home / "models.yaml").write_text(json.dumps({"models": models}))


def play(home: Path, engine: str, model: str, *commands: str, more: tuple[str | Path, ...] = ()) -> list[dict]:
    done = worldline(
        "play", "terminal", "--engine", engine, "--model", model, "--actions", "-", "--json", *more,
        home=home, stdin=actions(*commands), timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return records(done.stdout)


def check_generated(turn: dict) -> None:
    assert turn["origin"] == "generated" and not turn["abstained"] and turn["model_error"] is None
    assert isinstance(turn["observation"], str) and 0 <= turn["confidence"] <= 1
    assert turn["usage"]["prompt_tokens"] > 100 and turn["usage"]["completion_tokens"] > 0
    assert turn["usage"]["latency_s"] > 0 and turn["cached"] is False
    assert "".join(turn["observation"][s["start"] : s["end"]] for s in turn["spans"]) == turn["observation"]
    assert all(MODEL in span["evidence"] for span in turn["spans"])


def test_every_turn_of_the_model_engine_is_generated(server: RealServer, tmp_path: Path):
    write_models(tmp_path, server.url)
    before = server.answered
    turns = play(tmp_path, "model", "plain", "ls", "echo hello", "pwd")
    assert [turn["turn"] for turn in turns] == [1, 2, 3], turns
    assert server.answered == before + 3
    for turn in turns:
        check_generated(turn)
        assert turn["usage"]["completion_tokens"] <= 8
    # Each prompt holds the turns before it.
    sizes = [turn["usage"]["prompt_tokens"] for turn in turns]
    assert sizes == sorted(set(sizes))


def test_a_model_named_by_its_address_and_a_context_that_is_full(tmp_path: Path, one_server: RealServer):
    small = one_server.with_context(768, tmp_path)
    try:
        small.start()
        first, *rest = play(tmp_path, "model", f"{small.url}#{MODEL}", "true", "echo " + "word " * 300)
    finally:
        small.kill()
    check_generated(first)
    assert first["turn"] == 1 and first["usage"]["prompt_tokens"] + first["usage"]["completion_tokens"] <= 768
    # The server says so, and its words arrive.
    assert rest[0]["line"] == 2 and rest[0]["error"]["type"] == "EndpointError"
    assert "HTTP 400" in rest[0]["error"]["message"] and "768" in rest[0]["error"]["message"]


def test_the_seed_reaches_the_model(server: RealServer, tmp_path: Path):
    write_models(tmp_path, server.url)
    models = json.loads((tmp_path / "models.yaml").read_text())
    models["models"]["plain"]["sampling"]["temperature"] = 1.5
    (tmp_path / "models.yaml").write_text(json.dumps(models))
    first, again, other = (
        play(tmp_path, "model", "plain", "fortune", more=("--seed", seed))[0]["observation"] for seed in "112"
    )
    assert first == again != other


def test_grounded_asks_only_for_what_the_kernel_does_not_know(server: RealServer, tmp_path: Path):
    write_models(tmp_path, server.url)
    before = server.answered
    turns = play(
        tmp_path,
        "grounded",
        "held",
        "echo milk > list.txt",
        "cat list.txt",
        UNKNOWN,
        UNKNOWN,
        "wc -l < /etc/ledger.yaml",
    )
    written, printed, asked, again, counted = turns
    assert server.answered == before + 1
    for turn in (written, printed, again, counted):
        assert (turn["origin"], turn["usage"], turn["cached"]) == ("computed", None, None)
    assert (written["stdout"], printed["stdout"]) == ("", "milk\n")
    check_generated(asked)
    assert asked["exit_code"] == 0 and asked["stdout"]
    # What the model wrote is the file from then on.
    assert again["stdout"] == asked["stdout"]
    assert counted["stdout"] == f"{asked['stdout'].count(chr(10))}\n"


class Conversation:
    """The program with its standard input open, asked line by line."""

    def __init__(self, home: Path, engine: str, model: str) -> None:
        command = [PROGRAM, "play", "terminal", "--engine", engine, "--model", model, "--actions", "-", "--json"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home,
            env=environment(home),
            text=True,
        )
        self._watchdog = threading.Timer(120, self._process.kill)
        self._watchdog.start()

    def __enter__(self) -> "Conversation":
        return self

    def __exit__(self, *_: object) -> None:
        _, errors = self._process.communicate(timeout=60)
        self._watchdog.cancel()
        assert self._process.returncode == 0 and "Traceback" not in errors, errors

    def say(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(actions(command))
        self._process.stdin.flush()

    def hear(self) -> dict:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@pytest.mark.parametrize("engine", ["model", "grounded"])
def test_a_server_that_dies_in_the_middle_of_an_answer(server: RealServer, tmp_path: Path, engine: str):
    write_models(tmp_path, server.url)
    before = server.answered
    with Conversation(tmp_path, engine, "endless") as talk:
        talk.say(UNKNOWN)
        time.sleep(6)
        assert server.alive and server.answered == before
        server.kill()
        lost = talk.hear()
        error = lost["error"] if engine == "model" else lost["model_error"]
        assert error["type"] == "EndpointError" and server.url in error["message"] and error["hint"]
        talk.say("echo on")
        after = talk.hear()
    if engine == "model":
        assert (lost["line"], after["line"]) == (1, 2) and after["error"]["type"] == "EndpointError"
    else:
        assert lost["abstained"] and lost["origin"] != "generated"
        assert (after["turn"], after["stdout"], after["origin"]) == (2, "on\n", "computed")


def test_the_response_cache_needs_no_server(server: RealServer, tmp_path: Path):
    write_models(tmp_path, server.url)
    keep = ("--model-cache", tmp_path / "answers.db")
    first = play(tmp_path, "model", "plain", "ls", "id", more=keep)
    for turn in first:
        check_generated(turn)
    server.kill()
    second = play(tmp_path, "model", "plain", "ls", "id", "uptime", more=keep)
    for before, now in zip(first, second, strict=False):
        assert now["observation"] == before["observation"] and now["cached"] is True
    # What was never asked still needs it.
    assert second[2]["error"]["type"] == "EndpointError"


@pytest.mark.sandbox
def test_the_fidelity_table_of_a_real_model(server: RealServer, tmp_path: Path):
    write_models(tmp_path, server.url)
    before = server.answered
    options = ("--engine", "model", "--engine", "grounded", "--model", "plain", "--split", "dev", "--limit", "1")
    done = worldline("bench", "real", *options, home=tmp_path, timeout=400)
    assert done.returncode == 0, done.stderr
    cells = [row.split("│")[1].strip() for row in done.stdout.splitlines() if row.startswith("│")]
    assert cells == ["model", "plain", "grounded", "plain"], done.stdout
    assert "failed" not in done.stdout and server.answered > before


def test_a_benchmark_is_asked_judged_and_reported(server: RealServer, tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    for dialect in ("commands", "keystrokes"):
        shortest = min(load_suite("terminal", "dev", dialect=dialect).trajectories, key=lambda t: len(str(t.world)))
        with (data / "terminal_test.jsonl").open("a") as file:
            file.writelines(plain_json(row) + "\n" for row in rows_of(shortest, (1, 2)))
    run = ["bench", "agentworld", "run", "--data", data, "--out", tmp_path / "run", "--temperature", "0"]
    run += ["--model", f"{server.url}#{MODEL}", "--judge", f"{server.url}#{MODEL}", "--concurrency", "2"]
    run += ["--context", "4096", "--judge-context", "6144", "--max-tokens", "32", "--judge-max-tokens", "160"]
    before = server.answered
    done = worldline(*run, home=tmp_path, timeout=1500)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 rows answered (4 now)" in done.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    judged = [json.loads(line) for line in (tmp_path / "run" / "judgements.jsonl").read_text().splitlines()]
    failed = sum(record.get("scores") is None for record in judged)
    assert (summary["n"], summary["n_pending"], summary["model"]) == (4, 0, MODEL)
    assert summary["failures"].get("judge failure", 0) == failed
    # The server holds answers to the schema, so what fails is only cut off.
    assert all(record["sampling"]["form"] in ("json_schema", "json_object") for record in judged)
    asked = server.answered
    assert asked - before == 4 + sum(record.get("tries", 1) for record in judged)
    again = worldline(*run, home=tmp_path, timeout=600)
    assert "(0 now)" in again.stderr and server.answered == asked
    page = worldline("bench", "report", tmp_path / "run", home=tmp_path, timeout=300)
    assert page.returncode == 0, page.stderr
    assert MODEL in (tmp_path / "run" / "report.html").read_text()
