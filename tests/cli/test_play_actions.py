"""`worldline play --actions`: one answer a line, whatever the line is."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from program import PROGRAM, actions, environment, records, worldline, write_actions

KEYS = {
    "turn", "action", "observation", "stdout", "stderr", "exit_code", "origin", "abstained", "spans", "confidence",
    "reward", "done", "elapsed_ms",
}  # fmt: skip

WORLD = """\
domain: terminal
task: Make done.txt.
initial_state:
  hostname: kitchen
  files:
    /home/user/notes.txt: "milk\\nbread\\n"
verifier:
  checks:
    - action: {command: cat done.txt}
      equals: "yes\\n"
"""


def play(home: Path, text: str | bytes, *options: str | Path, **more) -> subprocess.CompletedProcess[str]:
    return worldline("play", "terminal", "--actions", "-", "--json", *options, home=home, stdin=text, **more)


def test_one_object_per_turn_with_the_promised_keys(tmp_path: Path):
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    file = write_actions(tmp_path / "a.jsonl", ["wc -l notes.txt", "hostname", "cat missing", "echo yes > done.txt"])
    done = worldline("play", "terminal", "--world", world, "--actions", file, "--json", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    turns = records(done.stdout)
    assert [turn["turn"] for turn in turns] == [1, 2, 3, 4]
    for turn in turns:
        assert set(turn) >= KEYS
        assert turn["observation"] == turn["stdout"] + turn["stderr"]
        assert turn["origin"] == "computed" and not turn["abstained"] and 0 < turn["confidence"] <= 1
        assert [s["end"] - s["start"] for s in turn["spans"]] == [len(turn["observation"])] * bool(turn["observation"])
    assert [turn["stdout"] for turn in turns] == ["2 notes.txt\n", "kitchen\n", "", ""]
    assert turns[2]["stderr"] == "cat: missing: No such file or directory\n" and turns[2]["exit_code"] == 1
    assert [turn["reward"] for turn in turns] == [0.0, 0.0, 0.0, 1.0]
    assert [turn["done"] for turn in turns] == [False, False, False, True]


BAD = {
    "not JSON": b"not json",
    "torn": b'{"command": "ls',
    "a list": b"[1, 2]",
    "a number": b"42",
    "NaN": b"NaN",
    "null": b"null",
    "unknown keys only": b'{"cmd": "ls"}',
    "a command that is a number": b'{"command": 5}',
    "an empty command": b'{"command": "  "}',
    "escaped NUL": b'{"command": "a\\u0000b"}',
    "NUL byte": b'{"command": "a\x00b"}',
    "lone surrogate": b'{"command": "echo \\ud800"}',
    "lone surrogate as a key": b'{"\\ud800": "echo"}',
    "not UTF-8": b'"ls \xff"',
    "UTF-16": '{"command": "ls"}'.encode("utf-16-le").replace(b"\n", b""),
    "deep nesting": b"[" * 100_000,
    "an endless number": b"1" * 10_000,
    "arguments that are no JSON": b'{"name": "bash", "arguments": "{"}',
}


def test_a_bad_line_gives_an_error_object_with_its_number(tmp_path: Path):
    lines = [b'"echo first"', b"", *BAD.values(), b"   ", b'"echo last"']
    done = play(tmp_path, b"\n".join(lines))
    assert done.returncode == 0 and done.stderr == ""
    first, *errors, last = records(done.stdout)
    assert first["stdout"] == "first\n" and last["stdout"] == "last\n" and last["turn"] == 2
    for number, (name, error) in enumerate(zip(BAD, errors, strict=True), 3):
        assert error["turn"] is None and error["line"] == number, name
        assert error["error"]["type"] == "ActionError" and error["error"]["message"] and error["error"]["hint"], name
        assert len(error["error"]["message"]) < 300, name


def test_lines_end_at_line_feeds_only(tmp_path: Path):
    text = '\ufeff"echo a"\r\n\r\n{"command": "echo b\u2028c\u0085d"}\n"echo no newline at the end"'
    done = play(tmp_path, text)
    a, b, c = records(done.stdout)  # splits at U+2028, too: so none may stand in the output as it is
    assert a["stdout"] == "a\n" and b["stdout"] == "b\u2028c\u0085d\n" and c["stdout"] == "no newline at the end\n"


def test_other_keys_of_an_action_are_kept(tmp_path: Path):
    (turn,) = records(play(tmp_path, '{"command": "echo ok", "timeout": 5}\n').stdout)
    assert turn["stdout"] == "ok\n" and turn["action"]["arguments"] == {"command": "echo ok", "timeout": 5}


def test_a_command_of_a_megabyte(tmp_path: Path):
    began = time.monotonic()
    done = play(tmp_path, actions("cat > f <<'E'\n" + "word " * 200_000 + "\nE", "wc -c f", ": " + "x" * 1_000_000))
    assert time.monotonic() - began < 60
    assert records(done.stdout)[1]["stdout"] == "1000001 f\n"


def test_output_is_utf8_in_any_locale(tmp_path: Path):
    done = play(tmp_path, actions("printf 'é\\u202e€'"), env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    assert records(done.stdout)[0]["stdout"] == "é\u202e€"


def test_after_the_end_each_line_gets_an_error(tmp_path: Path):
    ended, refused = records(play(tmp_path, actions("exit 3", "ls")).stdout)
    assert (ended["exit_code"], ended["done"]) == (3, True)
    assert refused["error"]["type"] == "SessionError" and "ended" in refused["error"]["message"]


def test_without_json_a_person_can_read_it(tmp_path: Path):
    done = worldline("play", "terminal", "--actions", "-", home=tmp_path, stdin=actions("echo hi", 5, "cat nope"))
    assert "$ echo hi\nhi\n" in done.stdout and "computed  confidence 0." in done.stdout
    assert "line 2: an action cannot be a number" in done.stdout
    assert "cat: nope: No such file or directory\n" in done.stdout and "exit 1" in done.stdout


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path):
    file = write_actions(tmp_path / "a.jsonl", [f"echo {n}" for n in range(500)])
    command = f"{PROGRAM} play terminal --engine kernel --actions {file} --json | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path), timeout=60
    )
    first, status = done.stdout.splitlines()
    assert json.loads(first)["turn"] == 1 and status == "1" and done.stderr == ""


def test_a_named_session_goes_on_where_it_was(tmp_path: Path):
    half, whole = ["echo 1 > f", "cat f"], ["echo 1 > f", "cat f", "echo 2 >> f", "cat f"]
    options = ("--engine", "kernel", "--session", "monday", "--store", tmp_path / "log.db")
    assert len(records(play(tmp_path, actions(*half), *options).stdout)) == 2
    assert play(tmp_path, actions(*half), *options).stdout == ""
    rest = records(play(tmp_path, actions(*whole), *options).stdout)
    assert [(turn["turn"], turn["stdout"]) for turn in rest] == [(3, ""), (4, "1\n2\n")]
    other = play(tmp_path, actions("ls", "pwd"), *options)
    assert other.returncode == 2 and other.stdout == "" and "--append" in other.stderr
    more = records(play(tmp_path, actions("cat f"), *options, "--append").stdout)
    assert [(turn["turn"], turn["stdout"]) for turn in more] == [(5, "1\n2\n")]


def test_a_line_that_failed_is_no_turn_when_the_run_goes_on(tmp_path: Path):
    options = ("--engine", "kernel", "--on-abstain", "error", "--session", "s", "--store", tmp_path / "log.db")
    lines = ["echo a >> f", "cat /opt/unheard/of", {"cmd": 1}, "echo b >> f"]
    first = records(play(tmp_path, actions(*lines), *options).stdout)
    assert [turn["turn"] for turn in first] == [1, None, None, 2]
    assert first[1]["error"]["type"] == "SessionError" and "abstains" in first[1]["error"]["message"]
    (last,) = records(play(tmp_path, actions(*lines, "cat f"), *options).stdout)
    assert (last["turn"], last["stdout"]) == (3, "a\nb\n")


MISTAKES = {
    "unknown domain": (["play", "nowhere"], "known: code, database, mcp, search, swe, terminal"),
    "unknown engine": (["play", "terminal", "--engine", "nope"], "known: grounded, kernel"),
    "no model": (["play", "terminal", "--engine", "model"], "--model URL#NAME"),
    "no model name": (["play", "terminal", "--model", "http://127.0.0.1:1"], "URL#NAME"),
    "unknown model": (["play", "terminal", "--model", "nope"], "models.yaml"),
    "missing world": (["play", "terminal", "--world", "none.yaml"], "does not exist"),
    "missing actions": (["play", "terminal", "--actions", "none.jsonl"], "none.jsonl"),
    "actions are a folder": (["play", "terminal", "--actions", "."], "directory"),
    "no domain": (["play"], "DOMAIN"),
    "unknown command": (["pley"], "No such command"),
    "unknown option": (["play", "terminal", "--wrold", "x"], "--world"),
    "store is a folder": (["play", "terminal", "--store", "."], "--store"),
    "store is another file": (["play", "terminal", "--store", "other.db"], "not a database"),
    "broken world": (["play", "terminal", "--world", "broken.yaml"], "broken.yaml:"),
    "confidence": (["play", "terminal", "--min-confidence", "2"], "0<=x<=1"),
}


@pytest.mark.parametrize("arguments, told", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_message_that_says_what_to_do(tmp_path: Path, arguments: list[str], told: str):
    (tmp_path / "other.db").write_text("This is no database.\n" * 100)
    (tmp_path / "broken.yaml").write_text("domain: terminal\ninitial_state:\n  flies: {}\n")
    done = worldline(*arguments, home=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert told in done.stderr and len(done.stderr.splitlines()) <= 5
