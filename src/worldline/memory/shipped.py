"""The memory that ships with the package: the train split of our own recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import chain
from typing import Any

from worldline.formats import read_trajectories
from worldline.memory.index import Memory
from worldline.recordings import paths as recording_paths

__all__ = ["footings_text", "shipped_footings", "shipped_memory"]


@cache
def shipped_memory(domain: str) -> Memory:
    """Return the memory of a domain's recorded train splits, of all dialects; an empty one where nothing is recorded.

    The footprints that recall compares are precomputed by `worldline calibrate`; without them every recorded
    answer is only evidence.
    """
    recorded = chain.from_iterable(read_trajectories(path) for path in recording_paths(domain, "train"))
    return Memory.from_trajectories(recorded, known_footprints=shipped_footings(domain))


def shipped_footings(domain: str) -> dict[str, list[Any]]:
    """Return what the turns of a domain's train split stood on, by trajectory id, as `follow` told it."""
    file = resources.files("worldline.memory").joinpath("footprints", f"{domain}.json")
    found: dict[str, list[Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def footings_text(footings: Mapping[str, Sequence[Any]]) -> str:
    """Write footings as :func:`shipped_footings` reads them, a trajectory a line."""
    lines = (f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in footings.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"
