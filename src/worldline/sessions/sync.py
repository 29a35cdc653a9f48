"""A synchronous face of a session, for scripts and notebooks: the asynchronous one runs in a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from worldline.sessions.session import Session, StepResult
from worldline.types import JsonDict, Observation, Trajectory, Turn

__all__ = ["SyncSession"]


class SyncSession(AbstractContextManager["SyncSession"]):
    """The same methods as :class:`Session`, blocking. Made by `World.open()`; use it in a `with` block.

    Args:
        start: Makes the session; called in the thread that owns it.
    """

    def __init__(self, start: Callable[[], Session], portal: BlockingPortal | None = None) -> None:
        self._stack = ExitStack()
        self._portal = portal or self._stack.enter_context(start_blocking_portal())
        try:
            self._session = self._portal.call(start)
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the session and its thread."""
        self._portal.call(self._session.close)
        self._stack.close()

    @property
    def id(self) -> str:
        """Id of the session in its store."""
        return self._session.id

    @property
    def turns(self) -> list[Turn]:
        """The turns that stand."""
        return self._session.turns

    @property
    def done(self) -> bool:
        """Whether the last turn ended the session."""
        return self._session.done

    @property
    def state(self) -> JsonDict:
        """The engine's state, readable."""
        return self._portal.call(lambda: self._session.state)

    def step(self, action: Any) -> StepResult:
        """See :meth:`Session.step`."""
        result: StepResult = self._portal.call(self._session.step, action)
        return result

    def observe(self, action: Any, observation: Observation) -> None:
        """See :meth:`Session.observe`."""
        self._portal.call(self._session.observe, action, observation)

    def fork(self) -> SyncSession:
        """See :meth:`Session.fork`; close the fork before its parent, whose thread it shares."""
        twin = self._portal.call(self._session.fork)
        return SyncSession(lambda: twin, self._portal)

    def rewind(self, turns: int) -> None:
        """See :meth:`Session.rewind`."""
        self._portal.call(self._session.rewind, turns)

    def imagine(self, actions: Sequence[Any]) -> list[StepResult]:
        """See :meth:`Session.imagine`."""
        return self._portal.call(self._session.imagine, actions)

    def trajectory(self) -> Trajectory:
        """See :meth:`Session.trajectory`."""
        return self._session.trajectory()
