"""The action grammar of a terminal: one shell command per turn, in the shapes agents and APIs write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.domains.calls import is_unicode, kind_of, read_call
from worldline.domains.terminal.keystrokes import KEYSTROKES_TOOL, keystroke_action
from worldline.errors import ActionError
from worldline.types import Action, JsonDict

__all__ = ["DEFAULT_TOOL", "parse_action"]

DEFAULT_TOOL = "bash"
"""Tool name of an action that names none."""

_EXPECTED = (
    'expected {"command": "..."}, a command as text, or a tool call {"name": ..., "arguments": {"command": ...}}'
)


def parse_action(value: Any) -> Action:
    """Read a terminal action as a user or an agent writes it.

    Accepted are an :class:`Action`, `{"command": ...}`, a bare string, a tool call `{"name", "arguments"}`
    (arguments as an object or as JSON text), an OpenAI call `{"id", "type", "function": {...}}` and a tool-use
    block `{"id", "name", "input"}`. Other arguments beside `command` are kept. A list, or an object with `keystrokes`,
    is an action of the keystroke dialect (see :mod:`worldline.domains.terminal.keystrokes`).

    Raises:
        ActionError: It fits none of these, or the command is empty, holds NUL or is not valid Unicode.
    """
    if isinstance(value, Action):
        value = value.model_dump(exclude_defaults=True)
    if isinstance(value, str):
        return _action(DEFAULT_TOOL, {"command": value}, None)
    if isinstance(value, list):
        return keystroke_action(value)
    if not isinstance(value, Mapping):
        raise _refusal(f"an action cannot be {kind_of(value)}")
    return _from_mapping(value)


def _from_mapping(value: Mapping[Any, Any]) -> Action:
    call = read_call(value, _EXPECTED)
    if call is not None:
        return _action(call.name or DEFAULT_TOOL, call.arguments, call.call_id)
    if "command" in value:
        return _action(DEFAULT_TOOL, dict(value), None)
    if KEYSTROKES_TOOL in value:
        return keystroke_action(dict(value))
    if isinstance(value.get("text"), str):
        return _action(value.get("name") or DEFAULT_TOOL, {"command": value["text"]}, value.get("call_id"))
    keys = ", ".join(repr(str(key)) for key in list(value)[:5]) or "none"
    raise _refusal(f"an action without a command (keys: {keys})")


def _action(name: str, arguments: JsonDict, call_id: Any) -> Action:
    if KEYSTROKES_TOOL in arguments and "command" not in arguments:
        entries = arguments[KEYSTROKES_TOOL]
        return keystroke_action(
            entries if isinstance(entries, list) else arguments, call_id if isinstance(call_id, str) else None
        )
    if "command" not in arguments:
        raise _refusal("the call has no argument 'command'")
    command = arguments["command"]
    if not isinstance(command, str):
        raise _refusal(f"the command is {kind_of(command)}, not text")
    if not command.strip():
        raise _refusal("the command is empty")
    if "\0" in command:
        raise _refusal("the command holds a NUL character, which no shell can be given")
    if not is_unicode(command):
        raise _refusal("the command holds a lone surrogate, which is not valid Unicode")
    return Action(name=name, arguments=arguments, call_id=call_id if isinstance(call_id, str) else None)


def _refusal(what: str) -> ActionError:
    return ActionError(what, hint=_EXPECTED)
