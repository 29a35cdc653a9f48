"""`worldline bench real`: the fidelity table of any engine on anybody's trajectories, killed and resumed."""

import json
import random
import subprocess
import time
from pathlib import Path

import pytest
from chat_server import ChatServer, Reply, chat
from program import PROGRAM, environment, worldline

from worldline import read_trajectories

pytestmark = pytest.mark.sandbox

KEYS = {
    "engine", "model", "domain", "split", "n", "exact", "exact_ci", "exact_session_determined", "n_session_determined",
    "error_agreement", "rouge_l", "abstained", "exact_at_coverage", "auroc", "seconds_per_1000",
}  # fmt: skip
TURNS = 22


def bench(home: Path, *options: str | Path, **more) -> subprocess.CompletedProcess[str]:
    return worldline("bench", "real", *options, home=home, timeout=120, **more)


def rows(home: Path, *options: str | Path) -> list[dict]:
    done = bench(home, *options, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def timeless(row: dict) -> dict:
    return {key: value for key, value in row.items() if key != "seconds_per_1000"}


def test_rows_have_the_promised_keys(tmp_path: Path, recorded: Path):
    found = rows(tmp_path, "--data", recorded)
    assert [row["engine"] for row in found] == ["most-frequent", "nearest", "bare-shell", "grounded"]
    for row in found:
        assert set(row) >= KEYS
        assert row["n"] == TURNS and row["domain"] == "terminal" and row["split"] == "small.jsonl"
        assert 0 <= row["exact"] <= 1 and row["exact_ci"][0] <= row["exact"] <= row["exact_ci"][1]
        assert set(row["exact_at_coverage"]) == {"0.5", "0.7", "0.9"}
        assert row["failures"] == 0 and row["seconds_per_1000"] > 0
    grounded = found[-1]
    assert grounded["exact"] > max(row["exact"] for row in found[:2]) and grounded["exact"] >= 0.6


def test_the_table_for_people(tmp_path: Path, recorded: Path):
    done = bench(tmp_path, "--data", recorded, "--engine", "kernel", "--engine", "recall", "--failures")
    assert "22 turns in 6 sessions" in done.stdout and "seed 0" in done.stdout
    for word in (
        "kernel",
        "recall",
        "exact",
        "95% CI",
        "determined",
        "ROUGE-L",
        "abstained",
        "@50%",
        "AUROC",
        "s/1000",
    ):
        assert word in done.stdout
    assert "wrong answers by program" in done.stdout


def test_limit_world_network_and_ceiling(tmp_path: Path, recorded: Path):
    (row,) = rows(tmp_path, "--data", recorded, "--engine", "kernel", "--limit", "2")
    assert row["n"] == 8
    (row,) = rows(tmp_path, "--data", recorded, "--engine", "kernel", "--offline-only")
    assert row["n"] == TURNS - 2
    assert "1 left out (network)" in bench(tmp_path, "--data", recorded, "--engine", "kernel", "--offline-only").stdout
    (real,) = rows(tmp_path, "--data", recorded, "--engine", "kernel", "--ceiling")[1:]
    assert (real["engine"], real["exact"]) == ("real", 1.0)
    world = tmp_path / "w.yaml"
    world.write_text("domain: terminal\ninitial_state: {hostname: elsewhere}\n")
    (here,) = rows(tmp_path, "--data", recorded, "--engine", "kernel")
    (there,) = rows(tmp_path, "--data", recorded, "--engine", "kernel", "--world", world)
    assert there["exact"] < here["exact"]


def test_steps_of_another_agent(tmp_path: Path):
    told = [
        ("echo hi; echo oops >&2", "hi\noops\n"),
        ("seq 2", "1\n2\n"),
        ("cat nope", "cat: nope: No such file or directory\n"),
    ]
    lines = [
        {
            "action": {"kind": "tool_call", "name": "bash", "arguments": {"command": command}, "content": None},
            "observation": {"content": text, "is_error": text.startswith("cat:"), "reward": None, "metadata": {}},
            "state_before": {"structured": {}, "scratchpad": ""},
            "task": "look around",
            "raw_span_ids": [],
        }
        for command, text in told
    ]
    path = tmp_path / "run.steps.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = rows(tmp_path, "--data", path, "--engine", "kernel")
    assert row["n"] == 3 and row["exact"] == 1.0 and row["error_agreement"] == 1.0
    assert row["n_session_determined"] == 0 and row["exact_session_determined"] is None


@pytest.mark.parametrize("form", ["atif", "openai", "worldline"])
def test_any_format_gives_the_same_table(tmp_path: Path, recorded: Path, form: str):
    out = tmp_path / f"x.{form}.jsonl.zst"
    worldline("export", form, recorded, "--out", out, home=tmp_path)
    (row,) = rows(tmp_path, "--data", out, "--engine", "kernel")
    (own,) = rows(tmp_path, "--data", recorded, "--engine", "kernel")
    assert row["n"] == own["n"] and row["exact"] == pytest.approx(own["exact"], abs=0.15)


def test_bad_records_name_their_line_or_are_left_out(tmp_path: Path, recorded: Path):
    lines = recorded.read_text().split("\n")
    torn = tmp_path / "torn.jsonl"
    torn.write_text("\n".join([lines[0], lines[1][:200], lines[2], ""]))
    done = bench(tmp_path, "--data", torn, "--engine", "kernel", "--json", "-")
    assert done.returncode == 2 and done.stdout == "" and "torn.jsonl:2:" in done.stderr
    (row,) = rows(tmp_path, "--data", torn, "--engine", "kernel", "--skip-bad")
    assert row["n"] == 8
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert bench(tmp_path, "--data", empty, "--engine", "kernel").returncode == 2
    simulated = tmp_path / "simulated.jsonl"
    simulated.write_text(lines[0].replace('"observed"', '"simulated"', 1) + "\n")
    done = bench(tmp_path, "--data", simulated, "--engine", "kernel")
    assert done.returncode == 2 and "simulated" in done.stderr


def test_unknown_names_are_told_before_anything_runs(tmp_path: Path, recorded: Path):
    done = bench(tmp_path, "--data", recorded, "--engine", "nope")
    assert done.returncode == 2 and "known: bare-shell" in done.stderr
    done = bench(tmp_path, "--data", recorded, "--engine", "kernel", "--engine", "model", "--json", tmp_path / "r.json")
    assert done.returncode == 2 and "--model URL#NAME" in done.stderr
    assert not list(tmp_path.glob("r.json*"))


def test_a_model_is_measured_and_an_outage_is_not_kept(tmp_path: Path, recorded: Path, serve):
    answer = chat("<predicted_observation>\none\n[exit code: 0]\n</predicted_observation>")
    out = tmp_path / "rows.json"
    down = tmp_path / "models.yaml"
    down.write_text(json.dumps({"models": {"m": {"base_url": "http://127.0.0.1:1", "model": "m", "retries": 0}}}))
    options = ("--data", recorded, "--limit", "2", "--engine", "model", "--model", "m", "--json", out)
    assert "failed" in bench(tmp_path, *options).stdout
    (row,) = json.loads(out.read_text())
    assert (row["model"], row["failures"], row["exact"]) == ("m", 8, 0.0)
    server: ChatServer = serve(Reply(answer))
    down.write_text(json.dumps({"models": {"m": {"base_url": server.url, "model": "m", "retries": 0}}}))
    bench(tmp_path, *options)
    (row,) = json.loads(out.read_text())
    assert (row["failures"], row["exact"]) == (0, 1 / 8) and len(server.requests) == 8
    assert "cat a.txt" in json.dumps(server.requests[1].body["messages"])
    bench(tmp_path, *options)
    assert len(server.requests) == 8


def kill_and_resume(home: Path, data: Path, kills: int, seed: int) -> None:
    options = ["--data", str(data), "--engine", "bare-shell", "--engine", "grounded", "--engine", "kernel"]
    expected = [timeless(row) for row in rows(home, *options)]
    out, dice = home / "killed.json", random.Random(seed)
    finished: list[int] = []
    for _ in range(kills):
        process = subprocess.Popen(
            [PROGRAM, "bench", "real", *options, "--json", str(out)],
            cwd=home, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            process.wait(dice.uniform(0.8, 3.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        journals = sorted(home.glob("killed.json.*.journal"))
        finished.append(sum(path.read_bytes().count(b"\n") for path in journals))
    assert finished == sorted(finished)  # nothing that was finished is lost
    done = bench(home, *options, "--json", out)
    assert done.returncode == 0, done.stderr
    first = out.read_text()
    assert [timeless(row) for row in json.loads(first)] == expected
    for path in home.glob("killed.json.*.journal"):
        names = [json.loads(line).get("trajectory") for line in path.read_text().splitlines()[1:]]
        assert sorted(names) == sorted(t.id for t in read_trajectories(data))
    bench(home, *options, "--json", out)
    assert out.read_text() == first  # all of it comes from the journals, times included


def test_killed_four_times(tmp_path: Path, recorded: Path):
    kill_and_resume(tmp_path, recorded, 4, seed=1)


@pytest.mark.full
def test_killed_twenty_times(tmp_path: Path, recorded: Path):
    kill_and_resume(tmp_path, recorded, 20, seed=2)


@pytest.mark.full
def test_the_shipped_dev_split_runs(tmp_path: Path):
    began = time.monotonic()
    (row,) = rows(tmp_path, "--split", "dev", "--engine", "grounded", "--limit", "20")
    assert row["split"] == "dev" and row["n"] >= 60 and time.monotonic() - began < 60
