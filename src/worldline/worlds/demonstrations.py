"""Demonstrations that a world file takes from a trajectory file beside it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from worldline.errors import InputError
from worldline.formats import read_trajectories
from worldline.types import Demonstration

__all__ = ["read_demonstrations"]


def read_demonstrations(folder: Path | None, name: Any, limit: int, note: str = "") -> list[Demonstration]:
    """Read the first trajectories of a file as demonstrations.

    Args:
        folder: The world file's folder; None where the world has no file.
        name: File name relative to `folder`; it may not lead out of it, not by a link either.
        limit: How many trajectories to take.
        note: Put beside each.

    Raises:
        InputError: The name is not acceptable, or the file is wrong.
    """
    if not isinstance(name, str) or not name:
        raise InputError("the name of a trajectory file was expected")
    if folder is None:
        raise InputError("a world without a file of its own cannot take demonstrations from one")
    base = folder.resolve()
    target = (base / name).resolve() if "\0" not in name else base
    if Path(name).is_absolute() or not target.is_relative_to(base) or target == base:
        raise InputError(f"{name!r} leads out of the world file's folder", hint="put the file beside the world file")
    trajectories = read_trajectories(target)
    return [Demonstration(turns=trajectory.turns, note=note) for trajectory in islice(trajectories, limit)]
