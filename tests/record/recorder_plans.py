"""Worlds and plans for the recorder's tests."""

from typing import Any

from worldline.record.plan import PlannedCommand, SessionPlan
from worldline.types import WorldSpec


def world(**state: Any) -> WorldSpec:
    return WorldSpec(domain="terminal", initial_state=state)


def plan(*commands: str, family: str = "tests", **state: Any) -> SessionPlan:
    entries = tuple(PlannedCommand(command=command) for command in commands)
    return SessionPlan(family=family, world=world(**state), commands=entries)
