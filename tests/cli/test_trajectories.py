"""`worldline import`, `export` and `inspect`, as separate programs on real files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from worldline.formats import read_trajectories, write_trajectories
from worldline.types import Action, Observation, Source, Trajectory, Turn, VolatileSpan, WorldSpec

GOLDEN = Path(__file__).parents[1] / "formats" / "golden"
TOKEN = "ghp_" + "Ab1" * 12


def run(*arguments: object, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "worldline", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert not check or done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def record(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def session(source: Source = Source.OBSERVED, text: str = "12:00\n") -> Trajectory:
    observation = Observation.from_streams(text.encode(), b"warn\x1b[2J\n", 3).model_copy(
        update={"volatile": (VolatileSpan(field="stdout", start=0, end=5, pattern=r"\d\d:\d\d"),)}
    )
    turn = Turn(
        action=Action(name="bash", arguments={"command": "date"}),
        observation=observation,
        determined=False,
        thought="When?",
    )
    world = WorldSpec(domain="terminal", name="clock", task="Tell the time.", initial_state={"files": {"/a": "x"}})
    origin = {"origins": ["computed"]} if source is Source.SIMULATED else {}
    return Trajectory(source=source, world=world, turns=(turn,), family="clocks", origin=origin)


@pytest.mark.parametrize("name", ["atif-calls.json", "openai-conversations.jsonl", "mixed.steps.jsonl", "tau.json"])
def test_import_says_what_it_recognised(name: str, tmp_path: Path) -> None:
    done = run("import", GOLDEN / name, "--out", "out.jsonl.zst", cwd=tmp_path)
    expected = list(read_trajectories(GOLDEN / name))
    assert list(read_trajectories(tmp_path / "out.jsonl.zst")) == expected
    assert f"{name}: " in done.stdout
    assert f"wrote {len(expected)} trajectories to out.jsonl.zst" in done.stdout
    assert done.stderr == ""


def test_import_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "readme.txt").write_text("hello", "utf-8")
    (folder / "a.json").write_bytes((GOLDEN / "atif-calls.json").read_bytes())
    (folder / "sub").mkdir()
    (folder / "sub" / "b.jsonl").write_bytes((GOLDEN / "mixed.steps.jsonl").read_bytes())
    result = record(run("import", "runs", "--json", cwd=tmp_path))
    assert result["out"] == "runs.worldline.jsonl"
    assert [(Path(item["path"]).name, item["format"]) for item in result["files"]] == [
        ("a.json", "atif"),
        ("b.jsonl", "steps"),
    ]
    assert [Path(item["path"]).name for item in result["ignored"]] == ["readme.txt"]
    assert result["written"] == result["statistics"]["trajectories"] == 4
    again = run("import", "runs", cwd=tmp_path, check=False)
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_import_masks_secrets(tmp_path: Path) -> None:
    write_trajectories(tmp_path / "in.jsonl", [session(text=f"{TOKEN}\n"), session()])
    done = run("import", "in.jsonl", "--out", "masked.jsonl", cwd=tmp_path)
    assert "masked secrets in 1 trajectories: github_token 1" in done.stdout
    assert TOKEN not in (tmp_path / "masked.jsonl").read_text("utf-8")
    run("import", "in.jsonl", "--out", "kept.jsonl", "--keep-secrets", cwd=tmp_path)
    assert (tmp_path / "kept.jsonl").read_bytes() == (tmp_path / "in.jsonl").read_bytes()


def test_import_marks_simulations(tmp_path: Path) -> None:
    run("import", GOLDEN / "mixed.steps.jsonl", "--simulated", "--out", "out.jsonl", cwd=tmp_path)
    assert {item.source for item in read_trajectories(tmp_path / "out.jsonl")} == {Source.SIMULATED}
    for name in ("openai", "atif"):
        run("export", name, "out.jsonl", "--out", "foreign.jsonl", cwd=tmp_path)
        assert {item.source for item in read_trajectories(tmp_path / "foreign.jsonl")} == {Source.SIMULATED}


def test_torn_file(tmp_path: Path) -> None:
    write_trajectories(tmp_path / "in.jsonl", [session(), session()])
    data = (tmp_path / "in.jsonl").read_bytes()
    (tmp_path / "in.jsonl").write_bytes(data[:-30])
    done = run("import", "in.jsonl", "--out", "out.jsonl", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "in.jsonl:2: " in done.stderr
    assert "torn" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
    result = record(run("import", "in.jsonl", "--out", "out.jsonl", "--skip-bad", "--json", cwd=tmp_path))
    assert (result["written"], result["skipped"]) == (1, 1)
    assert sum(result["skipped_reasons"].values()) == 1
    assert "left out 1 bad records" in run("inspect", "in.jsonl", "--skip-bad", cwd=tmp_path).stdout


def test_export_comes_out_as_it_went_in(tmp_path: Path) -> None:
    run("import", GOLDEN / "atif-calls.json", "--out", "own.jsonl", cwd=tmp_path)
    done = run("export", "atif", "own.jsonl", cwd=tmp_path)
    assert "wrote 1 trajectories to own.atif.jsonl" in done.stdout
    assert json.loads((tmp_path / "own.atif.jsonl").read_text("utf-8")) == json.loads(
        (GOLDEN / "atif-calls.json").read_text("utf-8")
    )
    printed = run("export", "openai", "own.jsonl", "--out", "-", cwd=tmp_path)
    assert json.loads(printed.stdout)["messages"][0]["role"] == "user"
    assert "wrote 1 trajectories to -" in printed.stderr


@pytest.mark.parametrize(("name", "words"), [("steps", "can only be read"), ("nosuch", "unknown format")])
def test_export_to_what_cannot_be_written(name: str, words: str, tmp_path: Path) -> None:
    done = run("export", name, GOLDEN / "tau.json", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert "hint: " in done.stderr


def test_inspect_counts(tmp_path: Path) -> None:
    write_trajectories(tmp_path / "t.jsonl", [session(), session(Source.SIMULATED)])
    counts = record(run("inspect", "t.jsonl", "--json", cwd=tmp_path))["statistics"]
    assert counts["domains"] == {"terminal": 2}
    assert counts["sources"] == {"observed": 1, "simulated": 1}
    assert counts["origins"] == {"recorded": 1, "computed": 1}
    assert counts["families"] == {"clocks": 2}
    assert (counts["turns"], counts["errors"], counts["undetermined"], counts["volatile"]) == (2, 2, 2, 2)
    assert counts["tokens_estimated"] == (counts["characters"]["actions"] + counts["characters"]["observations"]) // 4
    table = run("inspect", "t.jsonl", cwd=tmp_path).stdout
    for words in ("observed 1, simulated 1", "recorded 1, computed 1", "estimate: characters / 4", "clocks 2"):
        assert words in table
    assert record(run("inspect", "t.jsonl", "--limit", 1, "--json", cwd=tmp_path))["statistics"]["trajectories"] == 1


def test_inspect_shows_one(tmp_path: Path) -> None:
    items = [session(), session(Source.SIMULATED, "13:00\n")]
    write_trajectories(tmp_path / "t.jsonl", items)
    shown = run("inspect", "t.jsonl", "--index", 1, cwd=tmp_path).stdout
    for words in (
        "Tell the time.",
        "$ date",
        "13:00",
        "exit 3",
        "1 volatile",
        "not determined",
        "When?",
        "origin computed",
    ):
        assert words in shown
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown
    plain = run("inspect", "t.jsonl", "--id", items[0].id[:8], "--json", cwd=tmp_path).stdout
    assert Trajectory.model_validate_json(plain) == items[0]
    missing = run("inspect", "t.jsonl", "--index", 2, cwd=tmp_path, check=False)
    assert (missing.returncode, "there are 2" in missing.stderr) == (2, True)


def test_inspect_checks_a_world_file(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "notes.world.yaml"
    shown = run("inspect", example, cwd=tmp_path).stdout
    for words in ("world terminal notes", "/home/user/todo.md", "hostname box", "verifier: yes"):
        assert words in shown
    assert record(run("inspect", example, "--json", cwd=tmp_path))["name"] == "notes"
    (tmp_path / "w.yaml").write_text("domain: terminal\ntsk: x\n", "utf-8")
    done = run("inspect", "w.yaml", cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.startswith("error: w.yaml:2: tsk: unknown key\n  hint: did you mean")) == (
        2,
        True,
    )


def test_inspect_of_no_trajectories(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = run("inspect", "empty.jsonl", cwd=tmp_path, check=False)
    assert (done.returncode, "the file is empty" in done.stderr) == (2, True)
    done = run("inspect", ".", cwd=tmp_path, check=False)
    assert (done.returncode, "no file in the folder" in done.stderr) == (2, True)


def test_closed_pipe_is_quiet(tmp_path: Path) -> None:
    write_trajectories(tmp_path / "t.jsonl", [session(text=f"{number}\n" * 2000) for number in range(200)])
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m worldline export openai t.jsonl --out - | head -c 10"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == '{"messages'
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["openai", "atif", "worldline"])
def test_full_disk_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    """A limit on the file size stands for the full disk."""
    write_trajectories(tmp_path / "t.jsonl", [session(text="x" * 5000)] * 50)
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"trap '' XFSZ; ulimit -f 64; '{sys.executable}' -m worldline export {name} t.jsonl --out o.jsonl",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: writing o.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
