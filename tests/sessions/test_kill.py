"""A session whose process is killed at any moment goes on with nothing lost and nothing doubled."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = [f"echo {number} >> log; tail -n 1 log" for number in range(60)]


def play(actions: Path, store: Path) -> list[str]:
    return [
        sys.executable, "-m", "worldline", "play", "terminal", "--engine", "kernel",
        "--actions", str(actions), "--json", "--session", "s", "--store", str(store),
    ]  # fmt: skip


def test_kill_and_resume(tmp_path: Path):
    actions, store = tmp_path / "actions.jsonl", tmp_path / "log.db"
    actions.write_text("".join(json.dumps({"command": c}) + "\n" for c in COMMANDS))
    random.seed(7)
    acknowledged: list[dict] = []
    for _ in range(20):
        process = subprocess.Popen(play(actions, store), stdout=subprocess.PIPE, text=True)
        time.sleep(random.uniform(0.3, 1.2))
        process.kill()
        out, _ = process.communicate()
        acknowledged += [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
    done = subprocess.run(play(actions, store), stdout=subprocess.PIPE, text=True, check=True)
    acknowledged += [json.loads(line) for line in done.stdout.splitlines()]
    turns = [record["turn"] for record in acknowledged]
    assert turns == sorted(set(turns))
    for record in acknowledged:
        assert record["stdout"] == f"{record['turn'] - 1}\n"
    from worldline.sessions import EventStore

    log = EventStore(store)
    assert [settled.turn.observation.text for settled in log.turns("s")] == [f"{n}\n" for n in range(60)]
