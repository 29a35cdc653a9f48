"""Worldline: a language world model for agents.

    world = World.load("world.yaml")
    async with world.session(engine="grounded") as session:
        result = await session.step({"command": "ls"})

The names below are the public API; everything else may move between versions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Action": "worldline.types",
    "EventStore": "worldline.sessions",
    "Memory": "worldline.memory",
    "Observation": "worldline.types",
    "Origin": "worldline.types",
    "Prediction": "worldline.types",
    "Session": "worldline.sessions",
    "Span": "worldline.types",
    "StepResult": "worldline.sessions",
    "SyncSession": "worldline.sessions",
    "Trajectory": "worldline.types",
    "Turn": "worldline.types",
    "World": "worldline.worlds",
    "WorldSpec": "worldline.types",
    "WorldlineError": "worldline.errors",
    "read_trajectories": "worldline.formats",
    "write_trajectories": "worldline.formats",
}

if TYPE_CHECKING:
    from worldline.errors import WorldlineError
    from worldline.formats import read_trajectories, write_trajectories
    from worldline.memory import Memory
    from worldline.sessions import EventStore, Session, StepResult, SyncSession
    from worldline.types import Action, Observation, Origin, Prediction, Span, Trajectory, Turn, WorldSpec
    from worldline.worlds import World

__all__ = [
    "Action",
    "EventStore",
    "Memory",
    "Observation",
    "Origin",
    "Prediction",
    "Session",
    "Span",
    "StepResult",
    "SyncSession",
    "Trajectory",
    "Turn",
    "World",
    "WorldSpec",
    "WorldlineError",
    "read_trajectories",
    "write_trajectories",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import worldline` costs nothing."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
