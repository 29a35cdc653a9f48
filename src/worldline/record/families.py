"""What both kinds of recorded data sets share: their family files, and what stands beside the recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Protocol, TypeVar

from worldline.formats import read_trajectories
from worldline.recordings import SPLITS
from worldline.types import JsonDict, Trajectory

__all__ = ["freeze", "load_families"]


class _Named(Protocol):
    name: str


F = TypeVar("F", bound=_Named)


def load_families(package: str, suffix: str, parse: Callable[[str, str], Iterable[F]]) -> tuple[F, ...]:
    """Read all family files in a package's `resources`, by name.

    Args:
        package: The package.
        suffix: How the files' names end.
        parse: Reads the text of a file, given its name for messages.

    Raises:
        ValueError: Two families have one name.
    """
    found: list[F] = []
    for entry in sorted((files(package) / "resources").iterdir(), key=lambda item: item.name):
        if entry.name.endswith(suffix):
            found += parse(entry.read_text(encoding="utf-8"), entry.name)
    names = [family.name for family in found]
    if len(set(names)) != len(names):
        raise ValueError(f"family named twice: {sorted(name for name in names if names.count(name) > 1)}")
    return tuple(sorted(found, key=lambda family: family.name))


def freeze(
    out: Path, facts: JsonDict, split_of: dict[str, str], card: Callable[[dict[str, Sequence[Trajectory]]], str]
) -> None:
    """Write down what a data set holds: SPLITS.json with the files' hashes and every family's split, and the card.

    Args:
        out: Folder with one file for each split.
        facts: Name, version, seed and the like.
        split_of: The split of each family.
        card: Writes the data card.
    """
    digests = {
        name: "sha256:" + hashlib.sha256((out / name).read_bytes()).hexdigest()
        for name in (f"{split}.jsonl.zst" for split in SPLITS)
    }
    record = {**facts, "files": digests, "families": dict(sorted(split_of.items()))}
    (out / "SPLITS.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    sets: dict[str, Sequence[Trajectory]] = {
        split: list(read_trajectories(out / f"{split}.jsonl.zst")) for split in SPLITS
    }
    (out / "README.md").write_text(card(sets), encoding="utf-8")
