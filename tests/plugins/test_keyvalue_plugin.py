"""A package of a third party is installed, found and used, through the command line as a user would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[2] / "examples" / "keyvalue-plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plug-in, installed by pip into a folder of its own."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    build = ["--no-deps", "--no-build-isolation", "--no-index", "--target", target, PLUGIN]
    done = subprocess.run([*pip, *build], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return target


def worldline(site: Path, *arguments: str | Path, typed: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "worldline", *map(str, arguments)],
        input=typed, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(site)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def played(site: Path, tmp_path: Path, commands: list[str], *options: str | Path) -> list[dict]:
    typed = "".join(json.dumps(command) + "\n" for command in commands)
    options = ("--store", tmp_path / "log.db", "--actions", "-", "--json", *options)
    return [json.loads(line) for line in worldline(site, "play", "keyvalue", *options, typed=typed).splitlines()]


def test_a_plugged_in_world_is_played_by_its_kernel(installed, tmp_path):
    commands = ["GET stock:apple", "INCR stock:apple", "GET nowhere", "SET a 'b c'", "GET a", "FLY"]
    turns = played(installed, tmp_path, commands, "--world", PLUGIN / "shop.world.yaml")
    assert [turn["observation"] for turn in turns] == [
        '"12"', "(integer) 13", "(nil)", "OK", '"b c"', "(error) ERR unknown command 'FLY'",
    ]  # fmt: skip
    assert {turn["origin"] for turn in turns} == {"computed"}


def test_the_kernel_abstains_where_its_world_is_open(installed, tmp_path):
    (turn,) = played(installed, tmp_path, ["GET nowhere"])
    assert turn["abstained"]


def test_a_model_answers_what_the_kernel_cannot_and_becomes_state(installed, tmp_path):
    script = tmp_path / "answers.yaml"
    script.write_text(json.dumps(['<predicted_observation>\n"7"\n</predicted_observation>']), encoding="utf-8")
    turns = played(installed, tmp_path, ["GET visits", "INCR visits"], "--model", f"scripted:{script}")
    assert [turn["observation"] for turn in turns] == ['"7"', "(integer) 8"]
    assert [turn["origin"] for turn in turns] == ["generated", "computed"]


def test_a_plugged_in_engine_lags_behind(installed, tmp_path):
    commands = ["SET a 1", "SET a 2", "SET a 3", "GET a"]
    turns = played(installed, tmp_path, commands, "--engine", "replica")
    assert turns[-1]["observation"] == '"1"'


def test_a_plugged_in_format_is_recognised_and_measured(installed, tmp_path):
    out = tmp_path / "shop.jsonl"
    worldline(installed, "import", PLUGIN / "shop.transcript.jsonl", "--out", out)
    first = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert first["world"]["domain"] == "keyvalue"
    assert first["extra"]["shop"] == "east"
    result = tmp_path / "row.json"
    worldline(
        installed, "bench", "real", "--domain", "keyvalue", "--data", out, "--engine", "grounded", "--json", result
    )
    (row,) = json.loads(result.read_text(encoding="utf-8"))
    assert row["n"] == 13
    assert row["exact"] == pytest.approx(12 / 13)
    assert row["exact_answered"] == 1.0


def test_without_the_package_the_domain_is_unknown(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "worldline", "play", "keyvalue", "--store", tmp_path / "log.db"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0
    assert "keyvalue" in done.stderr
