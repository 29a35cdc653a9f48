"""Playing with a model behind a real HTTP server: every way servers give reasoning, every way they fail."""

import json
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Reply, chat
from program import actions, records, worldline

TEXT = "service: ledger\nport: 8080\n"
ANSWER = f"<predicted_observation>\n{TEXT}[exit code: 0]\n</predicted_observation>"
UNKNOWN = "cat /etc/ledger.yaml"

SHAPES = {
    "vLLM": chat(f"\n\n{ANSWER}", reasoning="A config."),
    "SGLang": chat(f"\n\n{ANSWER}", reasoning_content="A config."),
    "think": chat(f"<think>\nA config.\n</think>\n\n{ANSWER}"),
    "plain": chat(ANSWER),
}


def play(home: Path, url: str, engine: str, text: str, *more: str | Path, **options):
    """Play with a model whose retries are quick; `models.yaml` in the folder names it `local`."""
    (home / "models.yaml").write_text(
        json.dumps(
            {"models": {"local": {"base_url": url, "model": "m", "retries": 2, "backoff_s": 0.01, "timeout_s": 1}}}
        )
    )
    named = ("--engine", engine, "--model", "local", "--actions", "-")
    return worldline("play", "terminal", *named, *more, home=home, stdin=text, **options)


@pytest.mark.parametrize("engine", ["model", "grounded"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_arrives_in_every_shape(tmp_path: Path, serve, shape: str, engine: str):
    server: ChatServer = serve(Reply(SHAPES[shape]))
    address = f"{server.url.removesuffix('/v1')}#Qwen-AgentWorld-35B-A3B"
    done = worldline(
        "play", "terminal", "--engine", engine, "--model", address, "--actions", "-", "--json",
        home=tmp_path, stdin=actions(UNKNOWN),
    )  # fmt: skip
    (turn,) = records(done.stdout)
    assert turn["stdout"] == TEXT and turn["exit_code"] == 0
    assert turn["origin"] == "generated" and not turn["abstained"]
    assert turn["reasoning"] == (None if shape == "plain" else "A config.")
    assert server.requests[0].body["model"] == "Qwen-AgentWorld-35B-A3B"
    assert UNKNOWN in json.dumps(server.requests[0].body["messages"])


def test_what_the_model_wrote_is_state_from_then_on(tmp_path: Path, serve):
    server: ChatServer = serve(Reply(chat(ANSWER)))
    done = play(tmp_path, server.url, "grounded", actions(UNKNOWN, "grep port /etc/ledger.yaml", "echo mine"), "--json")
    first, second, third = records(done.stdout)
    assert first["origin"] == "generated"
    assert (second["origin"], second["stdout"]) == ("computed", "port: 8080\n")
    assert third["origin"] == "computed" and len(server.requests) == 1


FAILURES = {
    "HTML": (Reply("<html>502 \x1b[2J proxy</html>", headers={"Content-Type": "text/html"}), "EndpointError"),
    "not found": (Reply({"error": {"message": "no such model"}}, status=404), "EndpointError"),
    "forever 429": (Reply({"error": "slow down"}, status=429, headers={"Retry-After": "0"}), "RateLimitError"),
    "cut off": (Reply(chat(ANSWER), cut=40), "EndpointError"),
    "slow": (Reply(chat(ANSWER), delay=30), "ModelTimeoutError"),
    "empty": (Reply(chat("")), "EmptyAnswerError"),
    "cut off in its reasoning": (Reply(chat(None, finish="length", reasoning="Hm")), "TruncatedError"),
    "a list": (Reply("[]"), "EndpointError"),
}  # fmt: skip


@pytest.mark.parametrize("reply, kind", FAILURES.values(), ids=FAILURES)
def test_a_model_that_fails_is_an_error_object_and_the_run_goes_on(tmp_path: Path, serve, reply: Reply, kind: str):
    server: ChatServer = serve(reply)
    done = play(tmp_path, server.url, "model", actions(UNKNOWN), "--json")
    (failed,) = records(done.stdout)
    assert failed["line"] == 1 and failed["error"]["type"] == kind and done.returncode == 0
    assert failed["error"]["message"] and "\n" not in failed["error"]["message"]
    # With a kernel behind it, the guess stands in, and says so.
    done = play(tmp_path, server.url, "grounded", actions(UNKNOWN, "echo on"), "--json")
    guess, after = records(done.stdout)
    assert guess["abstained"] and guess["model_error"]["type"] == kind
    assert (after["stdout"], after["origin"], after["model_error"]) == ("on\n", "computed", None)


def test_a_dead_endpoint_is_told_in_one_line(tmp_path: Path, serve):
    began = time.monotonic()
    done = play(tmp_path, "http://127.0.0.1:1", "model", actions("ls", "ls"), env={"COLUMNS": "500"})
    first, second = done.stdout.splitlines()
    assert first.startswith("line 1: ") and "127.0.0.1:1" in first and second.startswith("line 2: ")
    done = play(tmp_path, "http://127.0.0.1:1", "grounded", actions(UNKNOWN))
    assert "no answer from the model: " in done.stdout and "guess" in done.stdout
    assert time.monotonic() - began < 15


def test_a_busy_endpoint_is_asked_again(tmp_path: Path, serve):
    server: ChatServer = serve(Reply({"error": "busy"}, status=429), Reply("<html>", status=503), Reply(chat(ANSWER)))
    (turn,) = records(play(tmp_path, server.url, "model", actions(UNKNOWN), "--json").stdout)
    assert turn["stdout"] == TEXT and len(server.requests) == 3


def test_after_an_outage_the_same_command_asks_again_and_doubles_nothing(tmp_path: Path, serve):
    lines = actions("echo a >> f; cat f", UNKNOWN, "cat f")
    options = ("--json", "--on-abstain", "error", "--session", "s", "--store", tmp_path / "log.db")
    kinds = [r["error"]["type"] if "error" in r else r["turn"] for r in records(
        play(tmp_path, "http://127.0.0.1:1", "grounded", lines, *options).stdout
    )]  # fmt: skip
    assert kinds == [1, "SessionError", 2]
    server: ChatServer = serve(Reply(chat(ANSWER)))
    rest = records(play(tmp_path, server.url, "grounded", lines + actions(UNKNOWN, "cat f"), *options).stdout)
    assert [(turn["turn"], turn["stdout"]) for turn in rest] == [(3, TEXT), (4, "a\n")]


def test_a_cached_answer_needs_no_endpoint(tmp_path: Path, serve):
    server: ChatServer = serve(Reply(chat(ANSWER)))
    options = ("--json", "--model-cache", tmp_path / "cache.db")
    play(tmp_path, server.url, "model", actions(UNKNOWN), *options)
    (again,) = records(play(tmp_path, server.url, "model", actions(UNKNOWN), *options).stdout)
    assert again["stdout"] == TEXT and len(server.requests) == 1


HOSTILE = {
    "fences inside": "<predicted_observation>\na </predicted_observation> b\n</predicted_observation>",
    "think inside": "<predicted_observation>\n<think>x</think>\n</predicted_observation>",
    "escapes": "<predicted_observation>\n\x1b]0;owned\x07\x1b[2J\u202egnp.exe\n</predicted_observation>",
    "a lone surrogate": "<predicted_observation>\nbroken \ud83d text\n</predicted_observation>",
    "NUL": "<predicted_observation>\na\x00b\n</predicted_observation>",
    "no fences": "just words",
    "huge": "<predicted_observation>\n" + "x" * 10_000_000 + "\n</predicted_observation>",
    "markup": "<predicted_observation>\n[bold red]x[/] [link=http://127.0.0.1]y[/link]\n</predicted_observation>",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_are_shown_safely_and_kept(tmp_path: Path, serve, content: str):
    server: ChatServer = serve(Reply(chat(content, reasoning="\x1b[31mred")))
    store = ("--store", tmp_path / "log.db")
    options = ("--session", "s", *store)
    shown = play(tmp_path, server.url, "model", actions("cat x"), *options)
    assert shown.returncode == 0 and not set(shown.stdout) & {"\x1b", "\x07", "\x00", "\u202e"}
    assert "generated" in shown.stdout
    # The log gives back what was seen, and the machine's view of the same answer can be read.
    assert play(tmp_path, server.url, "model", actions("cat x"), *options).stdout == ""
    (turn,) = records(play(tmp_path, server.url, "model", actions("cat x"), "--json", *store).stdout)
    assert turn["observation"] and turn["origin"] == "generated"
    if len(content) < 1000:
        assert turn["stdout"].strip() in content.replace("\ud83d", "\ufffd")
