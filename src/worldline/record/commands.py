"""The terminal as a real environment, and an agent that takes recorded commands: what the tool worlds have, too."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from worldline.formats import read_trajectories
from worldline.record.entered import Entered
from worldline.record.sandbox import Surroundings
from worldline.record.shell import RealShell
from worldline.record.terminal import RealTerminal
from worldline.recordings import SPLITS, path
from worldline.types import Action, Observation, Turn, WorldSpec, content_id

__all__ = ["CommandExplorer", "TerminalEnvironment", "environment", "explorer"]


class TerminalEnvironment(Entered):
    """A real shell, or a real terminal where the world has a screen.

    Args:
        world: A world of the terminal domain.
        surroundings: What the world does not declare.
    """

    def __init__(self, world: WorldSpec, surroundings: Surroundings) -> None:
        typed = world.initial_state.get("screen") is not None
        self._real: RealShell | RealTerminal = (RealTerminal if typed else RealShell)(world, surroundings=surroundings)

    @property
    def ended(self) -> bool:
        """The shell is gone."""
        return self._real.ended

    def start(self) -> None:
        """Build the sandbox.

        Raises:
            SandboxError: It cannot be built here.
        """
        self._real.start()

    def step(self, action: Action) -> Observation:
        """Run a command, or type keys."""
        if isinstance(self._real, RealTerminal):
            return self._real.act(action)
        return self._real.run(action.command or "")

    def versions(self) -> dict[str, str]:
        """Versions of the programs that answer most commands."""
        from worldline.record.recording import program_versions

        return program_versions(None)

    def close(self) -> None:
        """End the sandbox."""
        self._real.close()


class CommandExplorer:
    """Takes the commands that were recorded in the world's task family, in another order.

    Args:
        world: A recorded world; any other gets no command.
        seed: Of the order.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        self._left = list(_recorded().get(_key(world), ()))
        random.Random(seed).shuffle(self._left)

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Return the next command."""
        return self._left.pop() if self._left else None


def _key(world: WorldSpec) -> str:
    return content_id(world.model_dump(mode="json"))


@lru_cache(maxsize=1)
def _recorded() -> dict[str, tuple[Action, ...]]:
    """The commands of each recorded world's family."""
    families: dict[str, dict[str, Action]] = {}
    worlds: dict[str, str] = {}
    for split in SPLITS:
        for trajectory in read_trajectories(path("terminal", split)):
            actions = families.setdefault(trajectory.family, {})
            actions.update({turn.action.render(): turn.action for turn in trajectory.turns})
            worlds[_key(trajectory.world)] = trajectory.family
    return {key: tuple(families[family].values()) for key, family in worlds.items()}


def environment(world: WorldSpec, surroundings: Surroundings) -> TerminalEnvironment:
    """Build the environment of a world."""
    return TerminalEnvironment(world, surroundings)


def explorer(world: WorldSpec, seed: int) -> CommandExplorer:
    """Build the agent of a world."""
    return CommandExplorer(world, seed)
