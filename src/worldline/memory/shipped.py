"""The memory that ships with the package: the train split of our own recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from typing import Any

from worldline.formats import read_trajectories
from worldline.memory.index import Memory, recorded_transitions
from worldline.memory.transition import Transition
from worldline.recordings import paths as recording_paths
from worldline.types import Trajectory

__all__ = ["footings_text", "shipped_footings", "shipped_memory", "shipped_memory_without"]


@cache
def shipped_memory(domain: str) -> Memory:
    """Return the memory of a domain's recorded train splits, of all dialects; an empty one where nothing is recorded.

    The footprints that recall compares are precomputed by `worldline calibrate`; without them every recorded
    answer is only evidence.
    """
    return Memory(_transitions(domain))


def shipped_memory_without(trajectory: Trajectory) -> Memory:
    """Return the shipped memory as it is for a session of a task that was never recorded.

    Left out is everything recorded in the trajectory's own task family, and in that of a shipped trajectory with the
    same id, whatever family the given one names.
    """
    domain = trajectory.world.domain
    families = {trajectory.family, _families(domain).get(trajectory.id, "")} & set(_families(domain).values())
    return _without(domain, frozenset(families)) if families else shipped_memory(domain)


def shipped_footings(domain: str) -> dict[str, list[Any]]:
    """Return what the turns of a domain's train split stood on, by trajectory id, as `follow` told it."""
    file = resources.files("worldline.memory").joinpath("footprints", f"{domain}.json")
    found: dict[str, list[Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


def footings_text(footings: Mapping[str, Sequence[Any]]) -> str:
    """Write footings as :func:`shipped_footings` reads them, a trajectory a line."""
    lines = (f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in footings.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


@cache
def _transitions(domain: str) -> tuple[Transition, ...]:
    recorded = chain.from_iterable(read_trajectories(path) for path in recording_paths(domain, "train"))
    return tuple(recorded_transitions(recorded, known_footprints=shipped_footings(domain)))


@cache
def _families(domain: str) -> dict[str, str]:
    """Family by trajectory id."""
    return {transition.id.rpartition(":")[0]: transition.family for transition in _transitions(domain)}


@lru_cache(maxsize=2)
def _without(domain: str, families: frozenset[str]) -> Memory:
    return Memory(transition for transition in _transitions(domain) if transition.family not in families)
