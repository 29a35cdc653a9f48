"""Outcomes of test runs that the session has seen: true again while no file has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from worldline.types import content_id

__all__ = ["Outcome", "key", "latest"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test run said."""

    command: str
    output: str
    status: int


def key(command: str, place: str, tree: str) -> str:
    """What an outcome is found by: the command, where it ran, and a hash of all files; never found where unknown."""
    return content_id([command, place, tree]) if tree != "unknown" else ""


def latest(outcomes: Mapping[str, Outcome], command: str) -> Outcome | None:
    """The last outcome of a command, whatever the files were; a guess."""
    return next((one for one in reversed(list(outcomes.values())) if one.command == command), None)
