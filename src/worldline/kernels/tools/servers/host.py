"""The machine that the servers of a world run on: its files, its clock, its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from worldline.kernels.tools.servers.tree import Tree
from worldline.types import JsonDict

__all__ = ["Host"]

_END = datetime(9999, 1, 1, tzinfo=UTC)
"""No clock runs further: dates of all time zones can still be written."""


@dataclass(slots=True)
class Host:
    """What servers share. A fork shares the files until one side writes."""

    tree: Tree
    clock: datetime
    declared_clock: bool = True
    """Whether the world says what time it is; otherwise it may be another day in reality."""
    env: Mapping[str, str] = field(default_factory=dict)
    home: str = "/home/user"

    def fork(self) -> Host:
        """Return an independent copy."""
        return Host(self.tree.fork(), self.clock, self.declared_clock, self.env, self.home)

    def wait(self, seconds: float) -> None:
        """Let time pass, until the calendar ends at most."""
        left = (_END - self.clock).total_seconds()
        self.clock += timedelta(seconds=max(min(seconds, 1e9, left), 0.0))

    def dump(self) -> JsonDict:
        """Return what can change as JSON data."""
        return {"clock": self.clock.astimezone(UTC).isoformat(), "tree": self.tree.dump()}

    def load(self, data: JsonDict) -> None:
        """Take up what `dump` returned.

        Raises:
            KeyError, TypeError, ValueError: `data` is damaged.
        """
        self.clock = datetime.fromisoformat(data["clock"])
        self.tree = Tree.load(data["tree"])
