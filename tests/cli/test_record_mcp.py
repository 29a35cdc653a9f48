"""`worldline record mcp` with servers that a user names."""

import json
import sys
from pathlib import Path

import pytest
from program import worldline

from worldline import read_trajectories
from worldline.errors import ConfigError
from worldline.record.mcp.named import named_command

SCRIPT = Path(__file__).parents[1] / "record" / "mcp" / "servers" / "misbehaving.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "mcp.world.yaml"
FILES = """
import json, pathlib, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "files", "version": "2"}}
    if m["method"] == "tools/list":
        r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("append", "show")]}
    if m["method"] == "tools/call":
        place = pathlib.Path("notes.txt")
        if m["params"]["name"] == "append":
            place.write_text(place.read_text() + "more\\n")
        r = {"content": [{"type": "text", "text": place.read_text()}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def run(home, *words):
    return worldline("record", "mcp", *words, "--out", home / "out.jsonl", home=home)


def calls(path, *actions):
    path.write_text("".join(json.dumps({"name": name, "arguments": {}}) + "\n" for name in actions))
    return path


def test_a_server_is_recorded_by_a_script(tmp_path):
    script = calls(tmp_path / "calls.jsonl", "count", "count", "go")
    done = run(tmp_path, "--server", f"python3 {SCRIPT} none", "--script", script, "--json")
    assert done.returncode == 0, done.stderr
    (recorded,) = read_trajectories(tmp_path / "out.jsonl")
    assert [turn.observation.text for turn in recorded.turns] == ["1", "2", "fine"]
    server = recorded.world.initial_state["servers"]["misbehaving"]
    assert server["command"] == ["/usr/bin/python3", str(SCRIPT), "none"]
    assert server["version"] == "misbehaving 0"
    assert [tool.name for tool in recorded.world.tools][:2] == ["count", "go"]


def test_the_files_of_its_directory_are_copied_and_stay_as_they_are(tmp_path):
    (tmp_path / "work").mkdir()
    notes = tmp_path / "work" / "notes.txt"
    notes.write_text("first\n")
    server = tmp_path / "server.py"
    server.write_text(FILES)
    script = calls(tmp_path / "calls.jsonl", "append", "append", "show")
    done = run(tmp_path, "--server", f"python3 {server}", "--cwd", tmp_path / "work", "--script", script)
    assert done.returncode == 0, done.stderr
    (recorded,) = read_trajectories(tmp_path / "out.jsonl")
    assert recorded.turns[-1].observation.text == "first\nmore\nmore\n"
    assert recorded.world.initial_state["files"][str(notes)]["content"] == "first\n"
    assert all(turn.determined for turn in recorded.turns)
    assert notes.read_text() == "first\n"


def test_a_model_decides_what_is_called(tmp_path):
    answers = [
        'I will count.\n{"name": "count", "arguments": {}}',
        "no call",
        '{"name": "go", "arguments": {}}',
        '{"name": "finish", "arguments": {}}',
    ]
    (tmp_path / "model.json").write_text(json.dumps(answers))
    done = run(tmp_path, "--server", f"python3 {SCRIPT} none", "--model", f"scripted:{tmp_path / 'model.json'}")
    assert done.returncode == 0, done.stderr
    (recorded,) = read_trajectories(tmp_path / "out.jsonl")
    assert [(turn.action.name, turn.observation.text) for turn in recorded.turns] == [("count", "1"), ("go", "fine")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--server", "no-such-program-here"], "there is no program no-such-program-here"),
        (["--server", "'"], "the server's command cannot be read"),
        (["--server", ""], "the server's command is empty"),
        (["--server", "python3", "--env", "X"], "--env 'X' is not NAME=VALUE"),
        (["--server-home", "/usr"], "the duckdb server is not installed in /usr"),
        (["--world", EXAMPLE, "--server-home", "/usr"], "server is not installed in /usr"),
        (["--world", EXAMPLE, "--server", "x"], "--server and --world exclude each other"),
        (["--cwd", "/usr"], "--cwd goes with --server"),
        (
            ["--server", f"python3 {SCRIPT} dies-early"],
            "did not answer initialize: Connection closed; it said: no configuration",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, words, said):
    done = run(tmp_path, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_command_brings_what_it_needs(tmp_path):
    python = Path(sys.executable)
    command, mounts = named_command(f"{python} -m something --flag=x", tmp_path)
    assert command == (str(python), "-m", "something", "--flag=x")
    assert python.parents[1] in mounts
    script = tmp_path / "node_modules" / "server" / "index.js"
    script.parent.mkdir(parents=True)
    script.write_text("")
    command, mounts = named_command("python3 node_modules/server/index.js data", tmp_path)
    assert command == ("/usr/bin/python3", str(script), "data")
    assert mounts == (tmp_path,)
    with pytest.raises(ConfigError):
        named_command("", tmp_path)
