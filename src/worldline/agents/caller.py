"""A minimal tool-calling agent: a chat model sees the task, the tools and what happened, and names the next call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from worldline.domains import get_domain
from worldline.domains.templating import fenced, shortened
from worldline.errors import ActionError
from worldline.models.base import ChatModel, Message, Sampling
from worldline.types import Action, Turn, WorldSpec

__all__ = ["FINISH", "ModelAgent"]

FINISH = "finish"
"""Name of the call that ends a session."""

_TRIES = 3
"""Answers without a call, one after the other, before the agent is taken to be done."""


class ModelAgent:
    """Chooses the next action by a language model; satisfies :class:`worldline.record.environment.Explorer`.

    Args:
        world: Its task and tools are shown; of a world without tools those of its domain.
        model: Who chooses.
        sampling: How it is sampled.
    """

    def __init__(self, world: WorldSpec, model: ChatModel, sampling: Sampling | None = None) -> None:
        self._domain = get_domain(world.domain)
        self._model = model
        self._sampling = sampling
        tools = world.tools or getattr(self._domain, "default_tools", ())
        environment = Environment(
            loader=PackageLoader("worldline.agents", "prompts"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        values = {"task": world.task.strip(), "tools": [tool.model_dump() for tool in tools], "finish": FINISH}
        self._system = environment.get_template("agent.j2").render(values)
        self._runner = asyncio.Runner()

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Ask for the next action after what was answered so far; None ends the session.

        Raises:
            ModelError: The model gave no answer.
        """
        chat = self._chat(turns)
        for _ in range(_TRIES):
            answer = self._runner.run(self._model.complete(chat, self._sampling))
            try:
                return self._read(answer.content)
            except ActionError as exc:
                chat.append(Message(role="assistant", content=answer.content))
                chat.append(
                    Message(role="user", content=f"That is no call: {exc.message}. Answer with one JSON object.")
                )
        return None

    def close(self) -> None:
        """Free the model's connections."""
        self._runner.run(self._model.aclose())
        self._runner.close()

    def _chat(self, turns: Sequence[Turn]) -> list[Message]:
        chat = [Message(role="system", content=self._system), Message(role="user", content="Make the first call.")]
        for turn in turns:
            call = {"name": turn.action.name, "arguments": turn.action.arguments}
            chat.append(Message(role="assistant", content=json.dumps(call, ensure_ascii=False)))
            shown = fenced(shortened(turn.observation.text))
            chat.append(Message(role="user", content=f"It returned:\n{shown}"))
        return chat

    def _read(self, text: str) -> Action | None:
        value = _last_object(text)
        if value is None:
            raise ActionError("there is no JSON object in it")
        if value.get("name") == FINISH:
            return None
        return self._domain.parse_action(value)


def _last_object(text: str) -> dict[str, Any] | None:
    """The last JSON object in a text that is not part of another one."""
    decoder, position, found = json.JSONDecoder(), 0, None
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        found = value
    return found
