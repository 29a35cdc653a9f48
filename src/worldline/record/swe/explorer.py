"""Who works on a repository while a session is recorded: localises, edits, tests, commits, and errs on the way."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from worldline.domains.swe import SweState
from worldline.record.swe.calls import Calls
from worldline.record.swe.mistakes import mistake
from worldline.record.swe.sources import Sources
from worldline.record.swe.work import WORK, Worker
from worldline.types import Action, Turn, WorldSpec

__all__ = ["SweExplorer"]

_MISTAKES = 0.16


class SweExplorer:
    """Works on a world's task in steps, each of which may look at what reality answered to the one before.

    Args:
        world: The world; its `extra` says of what kind its task is and, for a fix, what the solution is.
        seed: Decides everything that is left open.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        self.dice = dice = random.Random(seed)
        state = SweState.model_validate(world.initial_state)
        self.sources = Sources.of(state, dice)
        self.calls = Calls(state.family == "editor", state.cwd)
        kind = str(world.extra.get("kind", "survey"))
        self.worker = Worker(self.calls, self.sources, dice, dict(world.extra))
        self._steps: Iterator[Action] = WORK.get(kind, WORK["survey"])(self.worker)
        self._queue: list[Action] = []
        self._mistakes = _MISTAKES * dice.uniform(0.6, 1.6)

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Return the next action after what reality answered so far; None ends the session."""
        if turns:
            self._learn(turns[-1])
        if self._queue:
            return self._queue.pop(0)
        if turns and self.dice.random() < self._mistakes:
            self._queue = mistake(self.calls, self.sources, self.dice)
            return self._queue.pop(0)
        return next(self._steps, None)

    def _learn(self, turn: Turn) -> None:
        """Believe what was written."""
        self.worker.failed = bool(turn.observation.is_error)
        self.worker.seen = turn.observation.text
        path = turn.action.arguments.get("file_path")
        if turn.observation.is_error or not isinstance(path, str):
            return
        name = path.removeprefix(self.calls.root + "/")
        content, old = turn.action.arguments.get("content"), turn.action.arguments.get("old_string")
        if isinstance(content, str):
            self.sources.note(name, content)
        elif isinstance(old, str) and re.match(r"[Ee]dit$", turn.action.name):
            text, new = self.sources.texts.get(name, ""), str(turn.action.arguments.get("new_string"))
            self.sources.note(name, text.replace(old, new) if old else new)
