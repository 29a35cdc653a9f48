"""Whether a session of a search world reads the notes that it took."""

from __future__ import annotations

from worldline.record.written import Use, lines, reads_written, texts
from worldline.types import Action, Trajectory

__all__ = ["reads_back"]

_WRITES = ("add", "update", "remove", "remove_all")
_ALL = "\0"
"""Stands for the notes as a whole."""


def reads_back(trajectory: Trajectory) -> bool:
    """Whether notes are retrieved that the session added, changed or removed before."""
    return reads_written(trajectory, _use, "\n".join(texts(trajectory.world.initial_state)))


def _use(action: Action) -> Use | None:
    if action.name != "dict_memory":
        return None
    items = action.arguments.get("items")
    named = [*items] if isinstance(items, dict) else []
    operation = action.arguments.get("operation")
    records = frozenset(texts([*named, action.arguments.get("keys")]))
    if operation in _WRITES:
        return Use(True, records=records | {_ALL}, texts=lines(items))
    return Use(False, records=records | {_ALL} if operation == "retrieve_all" else records)
