"""Golden files: `data/FORMAT/NAME` read as `expected/FORMAT/NAME.jsonl` says."""

from __future__ import annotations

import os
from pathlib import Path

from worldline.formats import SkippedRecord, get_format, read_trajectories, write_trajectories
from worldline.formats.folder import InputFolder
from worldline.types import Source, Trajectory

DATA = Path(__file__).parent / "data"
EXPECTED = Path(__file__).parent / "expected"


def golden_files(format: str) -> list[Path]:
    return sorted(path for path in (DATA / format).iterdir() if path.is_file())


def read_golden(path: Path) -> tuple[list[Trajectory], list[SkippedRecord]]:
    """Return what a golden file or folder holds, and the notices."""
    skipped: list[SkippedRecord] = []
    if path.is_file():
        found = read_trajectories(path, format=path.parent.name, skip_bad=True, on_skip=skipped.append)
        return list(found), skipped
    layout = get_format(path.parent.name)
    items = list(layout.read_folder(InputFolder(path), Source.OBSERVED))  # type: ignore[attr-defined]
    skipped = [item for item in items if isinstance(item, SkippedRecord)]
    return [item for item in items if isinstance(item, Trajectory)], skipped


def check_golden(path: Path, tmp_path: Path) -> None:
    """Compare with the expected file, to the byte; `WORLDLINE_REGENERATE=1` writes it."""
    expected = EXPECTED / path.parent.name / f"{path.name}.jsonl"
    trajectories, _ = read_golden(path)
    if os.environ.get("WORLDLINE_REGENERATE"):
        expected.parent.mkdir(parents=True, exist_ok=True)
        write_trajectories(expected, trajectories)
    out = tmp_path / "out.jsonl"
    write_trajectories(out, trajectories)
    assert out.read_bytes() == expected.read_bytes()
    assert not trajectories or list(read_trajectories(expected)) == trajectories
