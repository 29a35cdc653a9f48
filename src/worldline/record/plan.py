"""What is to be recorded: a world and the commands of one session, each with its source."""

from __future__ import annotations

from worldline.types import Frozen, WorldSpec, content_id

__all__ = ["PlannedCommand", "SessionPlan"]


class PlannedCommand(Frozen):
    """A command line and where it was taken from."""

    command: str
    source: str = "own"
    """`own`, `cheat:SHEET`, `man:PAGE` or `completion:PROGRAM`."""


class SessionPlan(Frozen):
    """One session to record."""

    family: str
    """Task family, the unit of splitting; no family and no command line stands in two splits."""
    world: WorldSpec
    commands: tuple[PlannedCommand, ...]

    @property
    def id(self) -> str:
        """Content hash of the plan."""
        return content_id(self.model_dump(mode="json", exclude_defaults=True))
