"""Importing folders: what is recognised and left out, bad files, links, resuming, and the file that is written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from goldens import DATA

from worldline.errors import ConfigError, FormatError
from worldline.formats import Importer, ResumableWriter, read_trajectories
from worldline.types import Trajectory

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    for source in ("harbor", "tau2", "sharegpt"):
        shutil.copytree(DATA / source, folder / source)
    (folder / "deep" / "er").mkdir(parents=True)
    shutil.copy(GOLDEN / "atif-calls.json", folder / "deep" / "er" / "no-ending")
    return folder


def names(read: Importer, root: Path) -> list[tuple[str, str]]:
    return [(entry.name.removeprefix(f"{root}/"), entry.format) for entry in read.entries]


def test_files_and_folders_are_recognised(runs: Path) -> None:
    read = Importer([runs])
    found = list(read.read_all())
    assert sorted(names(read, runs)) == [
        ("deep/er/no-ending", "atif"),
        ("harbor/failed__early", "harbor"),
        ("harbor/hello__abc", "harbor"),
        ("harbor/hello__nolog", "harbor"),
        ("harbor/steps__two", "harbor"),
        ("sharegpt/damaged.jsonl", "sharegpt"),
        ("sharegpt/factory-messages.jsonl", "sharegpt"),
        ("sharegpt/list.json", "sharegpt"),
        ("sharegpt/rows.jsonl", "sharegpt"),
        ("tau2/damaged.json", "tau2"),
        ("tau2/results.json", "tau2"),
        ("tau2/run", "tau2"),
        ("tau2/single-simulation.json", "tau2"),
    ]
    assert all(entry.why for entry in read.entries)
    assert len(found) == sum(entry.trajectories for entry in read.entries)
    assert sum(len(item.turns) for item in found) == sum(entry.turns for entry in read.entries)
    damaged = next(entry for entry in read.entries if entry.name.endswith("sharegpt/damaged.jsonl"))
    assert (damaged.trajectories, damaged.skipped) == (1, 4)
    assert damaged.reasons.total() == 4
    assert damaged.examples[0].startswith(damaged.name)


def test_what_is_left_out_and_why(runs: Path) -> None:
    (runs / "empty").touch()
    (runs / "notes.txt").write_text("hello", "utf-8")
    (runs / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (runs / "node_modules").mkdir()
    (runs / "node_modules" / "x.json").write_bytes((GOLDEN / "atif-calls.json").read_bytes())
    (runs / "loop").symlink_to(".")
    (runs / "out").symlink_to("/etc/passwd")
    (runs / "gone").symlink_to("nowhere")
    os.mkfifo(runs / "pipe")
    (runs / os.fsdecode(b"\xff")).mkdir()
    (runs / os.fsdecode(b"\xff") / "bad").write_text("x", "utf-8")
    read = Importer([runs])
    list(read.read_all())
    why = {out.name.removeprefix(f"{runs}/"): out.why for out in read.left_out}
    assert why.pop("empty") == "the file is empty"
    assert "not JSON" in why.pop("notes.txt")
    assert "cut off" in why.pop("cut.gz")
    assert why.pop("node_modules") == "a folder of tools, not looked into"
    assert why.pop("loop") == "a link, not followed: to ."
    assert why.pop("out") == "a link, not followed: to /etc/passwd"
    assert why.pop("gone") == "a link, not followed: to nowhere"
    assert why.pop("pipe") == "no regular file"
    assert "not JSON" in why.pop("\ufffd/bad")
    assert not why


def test_files_that_cannot_be_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the refusal is made here."""
    target = runs / "sharegpt" / "rows.jsonl"
    plain = Path.open

    def refuse(path: Path, *arguments: object, **options: object) -> object:
        if path == target:
            raise PermissionError(13, "Permission denied")
        return plain(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    read = Importer([runs])
    assert list(read.read_all())
    (out,) = [out for out in read.left_out if out.name == str(target)]
    assert out.why == "permission denied"


def test_a_named_file_that_is_wrong_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("hello", "utf-8")
    with pytest.raises(FormatError, match="not JSON"):
        list(Importer([path]).read_all())
    with pytest.raises(ConfigError):
        Importer([path], format="nosuch")


def test_strict_stops_at_the_first_bad_record(runs: Path) -> None:
    with pytest.raises(FormatError, match=r"messages|trajectory|JSON"):
        list(Importer([runs], strict=True).read_all())


def test_a_file_named_twice_is_read_once(runs: Path) -> None:
    assert len(Importer([runs, runs / "sharegpt", runs / "sharegpt" / "rows.jsonl"]).units()) == len(
        Importer([runs]).units()
    )


def test_secrets_are_masked_and_counted(tmp_path: Path) -> None:
    token = "ghp_" + "Ab1" * 12
    path = tmp_path / "runs" / "a.jsonl"
    path.parent.mkdir()
    path.write_text(f'{{"messages":[{{"role":"user","content":"use {token}"}}]}}\n', "utf-8")
    read = Importer([path.parent], mask=True)
    (found,) = read.read_all()
    assert token not in found.model_dump_json()
    assert (dict(read.entries[0].secrets), read.entries[0].masked) == ({"github_token": 1}, 1)


def written(read: Importer, out: Path, stop_after: int | None = None) -> tuple[int, list[Trajectory]]:
    """Write everything; stop with an interrupt after some units."""
    seen: list[Trajectory] = []
    units = 0

    def advance() -> None:
        nonlocal units
        units += 1
        if units == stop_after:
            raise KeyboardInterrupt

    return read.write(read.units(), out, advance=advance, watch=seen.append), seen


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.zst"])
def test_a_stopped_import_goes_on(name: str, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldline.formats.resuming._SYNC_SECONDS", -1.0)
    whole = Importer([runs])
    _, expected = written(whole, tmp_path / f"whole-{name}")
    out = tmp_path / name
    with pytest.raises(KeyboardInterrupt):
        written(Importer([runs]), out, stop_after=5)
    assert not out.exists(), "there whole or not at all"
    again = Importer([runs])
    resumed, seen = written(again, out)
    assert resumed == 5
    assert seen == expected
    assert list(read_trajectories(out)) == expected
    assert [entry.as_record() for entry in again.entries] == [entry.as_record() for entry in whole.entries]
    assert again.left_out == whole.left_out
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_torn_part_is_cut_off(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldline.formats.resuming._SYNC_SECONDS", -1.0)
    out = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        written(Importer([runs]), out, stop_after=3)
    part, journal = ResumableWriter.beside(out)
    with part.open("ab") as handle:
        handle.write(b'{"torn')
    with journal.open("ab") as handle:
        handle.write(b'{"units": {"x')
    resumed, seen = written(Importer([runs]), out)
    assert resumed == 3
    assert list(read_trajectories(out)) == seen


def test_another_plan_starts_anew(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldline.formats.resuming._SYNC_SECONDS", -1.0)
    out = tmp_path / "out.jsonl"
    with pytest.raises(KeyboardInterrupt):
        written(Importer([runs]), out, stop_after=3)
    assert written(Importer([runs], mask=True), out)[0] == 0
    with pytest.raises(KeyboardInterrupt):
        written(Importer([runs]), out, stop_after=3)
    (runs / "deep" / "new.json").write_bytes((GOLDEN / "atif-calls.json").read_bytes())
    assert written(Importer([runs]), out)[0] == 0


def test_two_imports_into_one_file(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    first = ResumableWriter(out, {})
    with pytest.raises(ConfigError, match="another run is writing"):
        ResumableWriter(out, {})
    first.abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_nothing_recognised_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "notes").write_text("hello", "utf-8")
    assert written(Importer([folder]), tmp_path / "out.jsonl")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_the_output_is_not_read_where_it_lies_in_the_folder(runs: Path) -> None:
    out = runs / "all.jsonl"

    def count() -> int:
        read = Importer([runs])
        target = out.resolve()
        units = read.units(without=(target, *ResumableWriter.beside(target)))
        seen: list[Trajectory] = []
        read.write(units, out, advance=lambda: None, watch=seen.append)
        return len(seen)

    assert count() == count()
