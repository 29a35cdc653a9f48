"""An explorer that asks a chat model what to do next: the same for every domain whose agents call tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack

from worldline.domains import get_domain
from worldline.errors import InputError
from worldline.models.base import ChatModel, Message
from worldline.record.environment import build_environment
from worldline.types import Action, Turn, WorldSpec

__all__ = ["ModelExplorer", "explored_by_model"]

_TASK = (
    "You try out an environment by calling its tools, so that others can learn how it behaves. Look around, change "
    "things, check what you changed, and now and then make a call that must fail. Answer each time with one call and "
    'nothing else: {"name": TOOL, "arguments": {...}}. Answer DONE when nothing is left to try.'
)
_MOST_SHOWN = 4000
"""Characters of an observation that the model sees."""
_TRIES = 2


class ModelExplorer:
    """Asks a model for each action.

    Args:
        world: With the tools that it offers.
        model: Any chat model.
    """

    def __init__(self, world: WorldSpec, model: ChatModel) -> None:
        self._domain = get_domain(world.domain)
        self._model = model
        tools = [tool.model_dump(mode="json") for tool in world.tools]
        task = f"\n\nYour task: {world.task}" if world.task else ""
        self._system = f"{_TASK}{task}\n\nTools:\n{json.dumps(tools, ensure_ascii=False)}"

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Ask for the next call; None where the model is done or twice gave no call.

        Raises:
            ModelError: The model does not answer.
        """
        chat = [Message(role="system", content=self._system), Message(role="user", content="Begin.")]
        for turn in turns:
            call = {"name": turn.action.name, "arguments": turn.action.arguments}
            chat.append(Message(role="assistant", content=json.dumps(call, ensure_ascii=False)))
            chat.append(Message(role="user", content=turn.observation.text[:_MOST_SHOWN] or "(nothing)"))
        for _ in range(_TRIES):
            answer = asyncio.run(self._ask(chat))
            if answer.strip().rstrip(".") == "DONE":
                return None
            try:
                return self._domain.parse_action(_call_in(answer))
            except InputError as exc:
                chat.append(Message(role="assistant", content=answer))
                chat.append(Message(role="user", content=f"That is no call: {exc}"))
        return None

    async def _ask(self, chat: list[Message]) -> str:
        try:
            return (await self._model.complete(chat)).content
        finally:
            await self._model.aclose()


def _call_in(answer: str) -> str:
    start, end = answer.find("{"), answer.rfind("}")
    return answer[start : end + 1] if 0 <= start < end else answer


def explored_by_model(world: WorldSpec, model: ChatModel, most: int) -> tuple[Action, ...]:
    """Let a model act in the real environment of a world; return what it did, to be recorded as a script.

    Raises:
        ModelError: The model does not answer.
        SandboxError: The environment cannot be set up.
    """
    explorer, turns = ModelExplorer(world, model), list[Turn]()
    with ExitStack() as stack:
        environment = stack.enter_context(build_environment(world))
        while len(turns) < most and not environment.ended:
            action = explorer.next(turns)
            if action is None:
                break
            turns.append(Turn(action=action, observation=environment.step(action)))
    return tuple(turn.action for turn in turns)
