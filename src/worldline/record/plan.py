"""What is to be recorded: a world and the commands of one session, each with its source."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from worldline.types import Action, Frozen, JsonDict, WorldSpec, content_id

__all__ = ["KeystrokePlan", "PlannedCommand", "PlannedKeys", "SessionPlan", "ToolPlan"]


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


class PlannedKeys(Frozen):
    """One action of the keystroke dialect."""

    keys: tuple[JsonDict, ...]
    """Its entries: `{"keystrokes": TEXT, "duration": SECONDS}`."""
    source: str = "own"
    at_shell: bool = False
    """It is a line for the shell."""


class KeystrokePlan(Frozen):
    """One session at a screen to record."""

    family: str
    world: WorldSpec
    turns: tuple[PlannedKeys, ...]
    emulation: Literal["pyte", "tmux"] = "pyte"
    """Which terminal rebuilds the screen; tmux for full-screen programs."""

    @property
    def id(self) -> str:
        """Content hash of the plan."""
        return content_id(self.model_dump(mode="json", exclude_defaults=True))


class ToolPlan(Frozen):
    """One session of a tool world to record."""

    family: str
    world: WorldSpec
    seed: int = 0
    """Seed of the explorer."""
    turns: int = Field(default=10, ge=1)
    """Most turns that the explorer takes."""
    actions: tuple[Action, ...] = ()
    """Scripted actions; without any, the domain's explorer acts."""
    split: Literal["train", "dev", "test"] | None = None
    """Where its family stands; None: that is drawn (see :func:`worldline.record.card.split_plans`)."""

    @property
    def id(self) -> str:
        """Content hash of the plan."""
        return content_id(self.model_dump(mode="json", exclude_defaults=True))
