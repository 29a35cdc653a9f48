"""Who acts while a session with servers is recorded: moves of a few calls that build on one another."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.mcp.state import McpState
from worldline.record.mcp.explore.seen import Seen
from worldline.record.mcp.themes import Theme
from worldline.types import Action, ToolSpec, Turn

__all__ = ["Move", "Player", "Scene", "Weighted"]

Move = Generator[Action, Turn, None]
"""A chain of calls: yields each and is sent what reality answered."""

Weighted = tuple[float, Callable[[], Move]]


@dataclass(slots=True)
class Scene:
    """What a player knows of the server it acts on."""

    state: McpState
    server: str
    """Name of the server in the world."""
    tools: Mapping[str, ToolSpec]
    """By the server's own names."""
    theme: Theme
    random: random.Random
    seen: Seen = field(default_factory=Seen)
    """What results and calls showed."""

    def call(self, tool: str, /, **arguments: Any) -> Action:
        """A call of a tool of the server."""
        return self.call_with(tool, arguments)

    def call_with(self, tool: str, arguments: Mapping[str, Any]) -> Action:
        """A call with arguments whose names may be anything."""
        return Action(name=self.state.full_name(self.server, tool), arguments=dict(arguments))

    def pick(self, values: Sequence[Any]) -> Any:
        """One of them."""
        return self.random.choice(values)

    def some(self, values: Sequence[Any], most: int) -> list[Any]:
        """One to `most` of them."""
        return self.random.sample(list(values), min(len(values), self.random.randint(1, most)))

    def chance(self, share: float) -> bool:
        """True in that share of the cases."""
        return self.random.random() < share


class Player:
    """Knows what is worth trying on one kind of server."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def moves(self) -> Sequence[Weighted]:
        """What can be done now, with weights."""
        raise NotImplementedError
