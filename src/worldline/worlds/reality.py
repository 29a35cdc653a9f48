"""The real environment behind `on_abstain="real"`: the recorder's sandbox, brought to the session's turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from worldline.record.environment import build_environment
from worldline.types import Action, Observation, Turn, WorldSpec

__all__ = ["SandboxReality"]


class SandboxReality:
    """Takes the session's actions in a sandbox of its own and answers from there.

    What the simulation made up is not in the sandbox: the answer is what reality says to the same actions.
    """

    def __init__(self, world: WorldSpec) -> None:
        self._world = world

    async def answer(self, history: Sequence[Turn], action: Action) -> Observation:
        """Run `history` and then `action` in a fresh sandbox.

        Raises:
            SandboxError: There is no sandbox on this machine.
        """
        return await asyncio.to_thread(self._replay, [*(turn.action for turn in history), action])

    def _replay(self, actions: Sequence[Action]) -> Observation:
        observation = Observation()
        with build_environment(self._world) as environment:
            for action in actions:
                observation = environment.step(action)
        return observation
