"""Real environments, those who explore them, and what is to be recorded: one of each per domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Protocol, Self, cast

from worldline.record.plan import ToolPlan
from worldline.record.sandbox import Surroundings
from worldline.registry import Registry
from worldline.types import Action, Observation, Turn, WorldSpec

__all__ = [
    "ENVIRONMENTS",
    "EXPLORERS",
    "PLANS",
    "Environment",
    "Explorer",
    "build_environment",
    "build_explorer",
    "planned",
]

_DOMAINS = ("code", "database", "mcp", "search", "swe")


class Environment(Protocol):
    """A real environment, set up as a world declares it; it runs in a sandbox without network."""

    @property
    def ended(self) -> bool:
        """Whether no further action can be taken."""

    def start(self) -> None:
        """Set the environment up.

        Raises:
            SandboxError: It cannot be set up here; the hint says what is missing.
        """

    def step(self, action: Action) -> Observation:
        """Take an action for real. What goes wrong inside the environment is an observation, not an exception."""

    def versions(self) -> dict[str, str]:
        """Versions of the programs that answer."""

    def close(self) -> None:
        """End everything that was started; may be called at any time."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Explorer(Protocol):
    """Who acts while a session is recorded."""

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Return the next action after what reality answered so far; None ends the session."""


ENVIRONMENTS = Registry(
    "environment",
    "worldline.environments",
    {
        **{name: f"worldline.record.{name}:environment" for name in _DOMAINS},
        "terminal": "worldline.record.commands:environment",
    },
)
"""What builds a real environment, by domain; called with a world and its surroundings."""

EXPLORERS = Registry(
    "explorer",
    "worldline.explorers",
    {
        **{name: f"worldline.record.{name}:explorer" for name in _DOMAINS},
        "terminal": "worldline.record.commands:explorer",
    },
)
"""What builds an explorer, by domain; called with a world and a seed."""

PLANS = Registry("set of plans", "worldline.plans", {name: f"worldline.record.{name}:plans" for name in _DOMAINS})
"""What is to be recorded, by domain; called with a seed."""


def build_environment(world: WorldSpec, surroundings: Surroundings | None = None) -> Environment:
    """Build the real environment of a world; it is not started yet.

    Raises:
        ConfigError: The world's domain has none.
    """
    factory = cast(Callable[[WorldSpec, Surroundings], Environment], ENVIRONMENTS.load(world.domain))
    return factory(world, surroundings or Surroundings())


def build_explorer(world: WorldSpec, seed: int) -> Explorer:
    """Build who explores a world.

    Raises:
        ConfigError: The world's domain has none.
    """
    return cast(Callable[[WorldSpec, int], Explorer], EXPLORERS.load(world.domain))(world, seed)


def planned(domain: str, seed: int) -> Iterable[ToolPlan]:
    """Return the sessions that make up a domain's recordings.

    Raises:
        ConfigError: There are none.
    """
    return cast(Callable[[int], Iterable[ToolPlan]], PLANS.load(domain))(seed)
