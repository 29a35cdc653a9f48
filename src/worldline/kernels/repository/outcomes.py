"""Outcomes of test runs that the session has seen: true again while no file has changed."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.types import content_id

__all__ = ["Outcome", "key"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a test run said."""

    command: str
    output: str
    status: int


def key(command: str, place: str, tree: str) -> str:
    """What an outcome is found by: command, place and a hash of all files; empty where some are not known."""
    return content_id([command, place, tree]) if tree != "unknown" else ""
