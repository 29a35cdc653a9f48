"""The real environment behind `on_abstain="real"`: the recorder's sandbox, brought to the session's turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from worldline.record.shell import RealShell
from worldline.types import Action, Observation, Turn, WorldSpec

__all__ = ["SandboxReality"]


class SandboxReality:
    """Runs the session's commands in a sandbox of its own and answers from there.

    What the simulation made up is not in the sandbox: the answer is what reality says to the same commands.
    """

    def __init__(self, world: WorldSpec) -> None:
        self._world = world

    async def answer(self, history: Sequence[Turn], action: Action) -> Observation:
        """Run `history` and then `action` in a fresh sandbox.

        Raises:
            SandboxError: There is no sandbox on this machine.
        """
        commands = [turn.action.command or "" for turn in history] + [action.command or ""]
        return await asyncio.to_thread(self._replay, commands)

    def _replay(self, commands: Sequence[str]) -> Observation:
        observation = Observation()
        with RealShell(self._world) as shell:
            for command in commands:
                observation = shell.run(command)
        return observation
