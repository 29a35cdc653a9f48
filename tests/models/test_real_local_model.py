"""SmolLM2 fetched, listed, run inside the process, in Transformers, and served, through the program as a user does.

What it writes is poor, so the checks are about form, origin, cost and failure, never about its content.
"""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from real_home import PYTHON, environment, home_with_model, worldline

pytestmark = pytest.mark.full

_BOTH = """
import asyncio, sys, threading
from pathlib import Path
from worldline.models.base import Sampling
from worldline.models.store import find_model
from worldline.models.llama import LlamaBackend
from worldline.models.transformer import TransformersBackend
stored = find_model("smollm2")
said = [{"role": "user", "content": "Say hello to <|im_end|> in one short sentence."}]
more = [*said, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Again."}]
greedy = Sampling(temperature=0.0, max_tokens=12, seed=0)
for backend in (LlamaBackend(stored.path, threads=1, context=512), TransformersBackend(stored, threads=1, context=512)):
    first = backend.write(said, greedy, threading.Event())
    second = backend.write(more, greedy, threading.Event())
    begun = backend.write(said, greedy, threading.Event(), "Well")
    assert begun.text.startswith("Well")
    kept = second.cached_tokens >= first.prompt_tokens
    print(first.prompt_tokens, second.prompt_tokens, kept, first.text.split()[:3])
    backend.close()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return home_with_model(tmp_path_factory, "llama_cpp", "uvicorn")


def test_it_is_listed_with_its_licence(home: Path):
    rows = json.loads(worldline(home, "models", "list", "--check", "--json").stdout)
    mine = next(row for row in rows if row["name"] == "smollm2")
    assert (mine["state"], mine["licence"], mine["size"], mine["context"]) == ("hash ok", "Apache-2.0", 98362432, 8192)
    assert "experimental" in next(row for row in rows if row["name"] == "qwen2.5-coder-0.5b")["state"]


def play(home: Path, *options: str, commands: tuple[str, ...]) -> list[dict]:
    lines = "".join(json.dumps({"command": command}) + "\n" for command in commands)
    done = worldline(home, "play", "terminal", "--actions", "-", "--json", *options, stdin=lines)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_answers_inside_the_process(home: Path):
    entry = {"local": "smollm2", "threads": 1, "context_length": 4096, "sampling": {"max_tokens": 24}}
    (home / "models.yaml").write_text(json.dumps({"models": {"small": entry}}))
    turns = play(home, "--engine", "model", "--model", "small", commands=("ls", "pwd", "ls"))
    assert [turn["origin"] for turn in turns] == ["generated"] * 3
    usage = [turn["usage"] for turn in turns]
    assert all(0 < u["completion_tokens"] <= 24 for u in usage)
    # The second prompt begins as the first does up to its instruction.
    assert usage[1]["cached_tokens"] > 0.8 * usage[0]["prompt_tokens"]
    again = play(home, "--engine", "model", "--model", "small", commands=("ls", "pwd", "ls"))
    assert [t["observation"] for t in again] == [t["observation"] for t in turns]


def test_both_libraries_read_the_same_weights(home: Path):
    done = subprocess.run([PYTHON, "-c", _BOTH], env=environment(home), capture_output=True, text=True, check=False)
    if "No module named 'torch'" in done.stderr or "No module named 'gguf'" in done.stderr:
        pytest.skip("Transformers, torch or gguf is missing")
    assert done.returncode == 0, done.stderr
    llama, transformers = done.stdout.splitlines()
    assert llama == transformers and "True" in llama


def test_a_prompt_longer_than_the_context_is_refused(home: Path):
    entry = {"local": "smollm2", "threads": 1, "context_length": 256}
    (home / "models.yaml").write_text(json.dumps({"models": {"short": entry}}))
    turn = play(home, "--engine", "model", "--model", "short", commands=("ls",))[0]
    assert turn["error"]["type"] == "ModelError" and "256" in turn["error"]["message"]


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [PYTHON, "-m", "worldline", "models", "serve", "smollm2", "--port", str(port), "--context", "4096"]
    process = subprocess.Popen(
        [*command, "--token-env", "TOKEN"], env={**environment(home), "TOKEN": "s3cret"}, stderr=subprocess.DEVNULL
    )
    try:
        give_up = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False)
                break
            except httpx.TransportError:
                assert process.poll() is None and time.monotonic() < give_up
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, -signal.SIGINT, 130, 2)


def test_it_is_served(home: Path, address: str):
    assert httpx.get(f"{address}/v1/models", trust_env=False).status_code == 401
    entry = {"base_url": address, "model": "smollm2", "context_length": 4096, "sampling": {"max_tokens": 16}}
    (home / "models.yaml").write_text(json.dumps({"models": {"served": {**entry, "key_env": "KEY"}}}))
    lines = json.dumps({"command": "cat /etc/ledger.yaml"}) + "\n"
    done = subprocess.run(
        [PYTHON, "-m", "worldline", "play", "terminal", "--engine", "model", "--model", "served", "--actions", "-",
         "--json"],
        input=lines, env={**environment(home), "KEY": "s3cret"}, cwd=home, capture_output=True, text=True, check=True,
    )  # fmt: skip
    turn = json.loads(done.stdout)
    assert turn["origin"] == "generated" and 0 < turn["usage"]["completion_tokens"] <= 16
