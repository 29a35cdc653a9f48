"""A domain of tool calls, answered by text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from worldline.domains import comparing
from worldline.domains.answers import CLOSE_TAG, MARKER, OPEN_TAG, extract_block, shield, tagged, unshield
from worldline.domains.base import Comparison
from worldline.domains.calls import is_unicode, kind_of, read_call
from worldline.domains.templating import (
    fenced,
    message,
    plain_text,
    render,
    shortened,
    template_environment,
    tool_view,
)
from worldline.domains.tools.brief import messages as brief_messages
from worldline.errors import ActionError
from worldline.types import Action, JsonDict, Observation, ToolSpec, Turn, WorldSpec

__all__ = ["ToolDomain"]

_STATE_CAP = 80_000
"""Characters of the initial state that the system message shows."""

_EXPECTED = 'expected a tool call {"name": ..., "arguments": {...}}'

NOTE_HEADINGS = {
    "state": "Known state of the environment",
    "guess": "What a simulation of the environment answers, which may be wrong",
    "evidence": "What the real environment answered to similar calls",
}
"""Headings of the notes an engine may give; any other key becomes its own heading."""


@dataclass(frozen=True)
class ToolDomain:
    """Grammar, prompts and comparison rules of tool calls; satisfies :class:`worldline.domains.base.Domain`.

    The package `worldline.domains.NAME` may hold `prompts/rules.j2`, `prompts/form.j2` or any other template of
    `worldline.domains.tools` in its own words.
    """

    name: str
    state: type[BaseModel]
    """Schema of `initial_state`."""
    package: str
    """Package whose folder `prompts` holds the domain's own templates."""
    default_tools: tuple[ToolSpec, ...] = ()
    """Tools of a world that names none."""
    text_argument: tuple[str, str] | None = None
    """Tool and argument that a bare text stands for (`execute_sql`, `sql`); None: a bare text is refused."""
    error_pattern: str = r"\s*(?:\{\s*\"error\"|(?:MCP )?[Ee]rror\b|Traceback \(most recent call last\))"
    """How a model's answer begins where it is an error. Of a recorded answer the source says so."""
    arguments_as_text: bool = False
    """Whether prompts show the arguments as JSON text inside the JSON call, as public rows of the domain do."""
    again: Callable[[WorldSpec, Sequence[Turn], Turn, Observation], bool | None] | None = None
    """Whether an answer agrees with what the session showed before (see :class:`worldline.domains.base.Rereading`)."""
    prompts: Path | None = None
    """Folder whose templates replace the built-in ones."""
    brief: bool = False
    """Whether models get the brief prompt (see :mod:`worldline.domains.tools.brief`)."""

    def with_prompts(self, prompts: Path) -> ToolDomain:
        """Return the same domain with the templates of a folder in place of the built-in ones; or `brief`."""
        brief = prompts == Path("brief")
        return replace(self, prompts=None if brief else prompts, brief=brief)

    def validate_state(self, state: JsonDict) -> JsonDict:
        """Check a world's `initial_state` and fill in the defaults.

        Raises:
            pydantic.ValidationError: With the location of each wrong key.
        """
        return self.state.model_validate(state).model_dump(mode="json")

    def parse_action(self, value: Any) -> Action:
        """Read a tool call in any of the usual shapes, as an object or as JSON text.

        Raises:
            ActionError: It is none.
        """
        if isinstance(value, Action):
            return self._checked(value)
        if isinstance(value, str):
            return self._from_text(value)
        if not isinstance(value, Mapping):
            raise ActionError(f"an action cannot be {kind_of(value)}", hint=_EXPECTED)
        call = read_call(value, _EXPECTED)
        if call is None and self.text_argument is not None and set(value) == {self.text_argument[1]}:
            return self._checked(Action(name=self.text_argument[0], arguments=dict(value)))
        if call is None or not call.name:
            raise ActionError("the action names no tool", hint=_EXPECTED)
        return self._checked(Action(name=call.name, arguments=call.arguments, call_id=call.call_id))

    def _from_text(self, text: str) -> Action:
        if text.lstrip().startswith("{"):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, Mapping) and ("arguments" in value or "function" in value or "input" in value):
                return self.parse_action(value)
        if self.text_argument is None:
            raise ActionError("a bare text is no tool call", hint=_EXPECTED)
        tool, argument = self.text_argument
        return self._checked(Action(name=tool, arguments={argument: text}))

    def _checked(self, action: Action) -> Action:
        if not action.name:
            raise ActionError("the action names no tool", hint=_EXPECTED)
        if not is_unicode(json.dumps([action.name, action.arguments], ensure_ascii=False)):
            raise ActionError("the call holds a lone surrogate, which is not valid Unicode", hint=_EXPECTED)
        return action

    def compare(self, predicted: Observation, truth: Observation) -> Comparison:
        """Compare a prediction with reality; see :func:`worldline.domains.comparing.compare`."""
        return comparing.compare(predicted, truth)

    def read_again(self, world: WorldSpec, history: Sequence[Turn], turn: Turn, told: Observation) -> bool | None:
        """Whether an answer agrees with what was shown before; None where none was, or the domain has no rule."""
        return None if self.again is None else self.again(world, history, turn, told)

    def messages(
        self,
        world: WorldSpec,
        history: Sequence[Turn],
        action: Action,
        *,
        notes: Mapping[str, str] | None = None,
        first_turn: int = 1,
    ) -> list[dict[str, str]]:
        """Lay out the chat for one prediction (see :class:`worldline.domains.base.Domain`).

        The system message is the world, earlier turns are chat turns that never change, and only the last user
        message holds notes and the instruction: each prompt begins with the one before it. By the brief prompt,
        `history` is told as it is given, examples before the session's last turns.

        Raises:
            ConfigError: A template of the user's is wrong.
        """
        if self.brief:
            tools = {tool["name"]: tool["description"] for tool in self._context(world)["tools"]}
            told = tools.get(action.name, "")
            return brief_messages(world, history, action, description=told, notes=notes or {}, package=self.package)
        environment = template_environment((self.package, "worldline.domains.tools", "worldline.domains"), self.prompts)
        chat = [message("system", render(environment, "system.j2", self._context(world)))]
        for number, turn in enumerate(history, first_turn):
            chat.append(message("user", self._turn_text(number, turn.action)))
            chat.append(message("assistant", f"{MARKER}\n{shortened(_written(turn.observation.text))}"))
        shown = [
            {"heading": NOTE_HEADINGS.get(key, key.replace("_", " ").capitalize()), "text": text}
            for key, text in (notes or {}).items()
            if text
        ]
        tags = {"open_tag": OPEN_TAG, "close_tag": CLOSE_TAG}
        last = self._turn_text(first_turn + len(history), action)
        notes_text = render(environment, "notes.j2", {"notes": shown, **tags})
        chat.append(message("user", f"{last}\n\n{notes_text}{render(environment, 'suffix.j2', tags)}"))
        return chat

    def parse_answer(self, text: str, world: WorldSpec) -> Observation:
        """Read a model's answer (without its reasoning): what stands between its tags, to the byte."""
        body = unshield(extract_block(text)).removesuffix("\n")
        return Observation.from_text(body, is_error=re.match(self.error_pattern, body) is not None)

    def write_answer(self, observation: Observation, world: WorldSpec) -> str:
        """Write an observation as a model's answer, between its tags."""
        return tagged(_written(observation.text))

    def _turn_text(self, number: int, action: Action) -> str:
        return f"### Turn {number}\n**Action:**\n{self._action_text(action)}"

    def _action_text(self, action: Action) -> str:
        arguments: Any = action.arguments
        if self.arguments_as_text:
            arguments = json.dumps(arguments, ensure_ascii=False)
        return fenced(json.dumps({"name": action.name, "arguments": arguments}, ensure_ascii=False), "json")

    def _context(self, world: WorldSpec) -> JsonDict:
        state = self.state.model_validate(world.initial_state).model_dump(mode="json", exclude_defaults=True)
        shown = json.dumps(state, ensure_ascii=False, indent=1) if state else ""
        if len(shown) > _STATE_CAP:
            shown = f"{shown[:_STATE_CAP]}\n[{len(shown) - _STATE_CAP} characters not shown]"
        return {
            "task": world.task.strip(),
            "tools": [tool_view(tool) for tool in world.tools or self.default_tools],
            "state": shown,
            "hidden_state": plain_text(world.hidden_state),
            "demonstrations": [
                {
                    "note": demonstration.note,
                    "turns": [
                        {"action": self._action_text(turn.action), "observation": turn.observation.text}
                        for turn in demonstration.turns
                    ],
                }
                for demonstration in world.demonstrations
            ],
            "instruction": str(world.control.get("instruction") or "").strip(),
            "marker": MARKER,
        }


def _written(text: str) -> str:
    return f"{shield(text)}\n" if text else ""
