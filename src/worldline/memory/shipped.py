"""The memory that ships with the package: the train split of our own recordings."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from worldline.errors import ConfigError
from worldline.formats import read_trajectories
from worldline.memory.index import Memory
from worldline.recordings import path as recording_path

__all__ = ["shipped_footings", "shipped_memory"]


@cache
def shipped_memory(domain: str) -> Memory:
    """Return the memory of a domain's recorded train split; an empty one where nothing is recorded.

    The footprints that recall compares are precomputed by `worldline calibrate`; without them every recorded
    answer is only evidence.
    """
    try:
        path = recording_path(domain, "train")
    except ConfigError:
        return Memory()
    return Memory.from_trajectories(read_trajectories(path), known_footprints=shipped_footings(domain))


def shipped_footings(domain: str) -> dict[str, list[Any]]:
    """Return what the turns of a domain's train split stood on, by trajectory id, as `follow` told it."""
    file = resources.files("worldline.memory").joinpath("footprints", f"{domain}.json")
    found: dict[str, list[Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found
