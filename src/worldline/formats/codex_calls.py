"""Calls and outputs of Codex's tools, as actions and observations."""

from __future__ import annotations

import re
import shlex
from typing import Any

from worldline.formats.coding import nested_deeply, other_parts, text_from
from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.skeleton import merged_text, parts_text
from worldline.types import Action, JsonDict, Observation

__all__ = ["CALLS", "OUTPUTS", "call_action", "call_observation", "call_of"]

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
"""Items that are a call with an output of its own."""
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})

_SHELLS = frozenset({"shell", "shell_command", "container.exec", "exec_command", "local_shell"})
_INTERPRETERS = frozenset({"bash", "sh", "zsh", "dash"})
_KNOWN = frozenset({"type", "name", "arguments", "call_id", "input", "output", "action", "id"})
_HEADER = re.compile(
    r"(?:(?:Chunk ID|Exit code|Wall time|Total output lines|Original token count): [^\n]{0,80}\n"
    r"|Process exited with code -?\d{1,10}\n|Process running with session ID \d{1,18}\n){1,7}Output:\n?"
)
_FACTS = (
    ("exit_code", re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,10})$", re.MULTILINE)),
    ("wall_time", re.compile(r"^Wall time: (\d{1,9}(?:\.\d{1,9})?)", re.MULTILINE)),
    ("session_id", re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)),
    ("chunk_id", re.compile(r"^Chunk ID: (.+)$", re.MULTILINE)),
    ("total_lines", re.compile(r"^Total output lines: (\d{1,12})$", re.MULTILINE)),
    ("tokens", re.compile(r"^Original token count: (\d{1,12})$", re.MULTILINE)),
)
_CUT = re.compile(
    r"…\d{1,12} (?:tokens|chars) truncated…|\[\.\.\. omitted \d{1,12} of \d{1,12} lines \.\.\.\]"
    r"|\AWarning: truncated output |\ATotal output lines: \d"
)


def call_of(payload: JsonDict) -> str:
    """Return what a call and its output have in common."""
    value = payload.get("call_id", payload.get("id"))
    return value if isinstance(value, str) else ""


def call_action(payload: JsonDict) -> tuple[Action, JsonDict]:
    """Return the action of a call and what it leaves for the turn's `extra`."""
    extra: JsonDict = {key: value for key, value in payload.items() if key not in _KNOWN}
    name, given = payload.get("name"), payload.get("arguments")
    name = str(name) if isinstance(name, str) else str(payload["type"]).removesuffix("_call")
    if payload["type"] == "custom_tool_call":
        given = payload.get("input")
    elif payload["type"] == "local_shell_call":
        given = payload.get("action")
    arguments, text = _arguments(given)
    if text is not None and payload["type"] == "function_call":
        extra["bad_arguments"] = True
    elif name in _SHELLS and (shell := _shell(arguments)) is not None:
        arguments, kept = shell
        extra |= {**kept, **({"tool": name} if name != "shell" else {})}
        name = "shell"
    return Action(name=name, arguments=arguments, text=text, call_id=call_of(payload) or None), extra


def _arguments(given: Any) -> tuple[JsonDict, str | None]:
    """Return arguments that are an object, or their text where they are not."""
    if isinstance(given, dict):
        return given, None
    if not isinstance(given, str):
        return {}, None
    try:
        value = load_json(given)
    except JsonTextError:
        return {}, str(given)
    return (value, None) if isinstance(value, dict) and not nested_deeply(value) else ({}, str(given))


def _shell(arguments: JsonDict) -> tuple[JsonDict, JsonDict] | None:
    """Return a shell call's arguments with `command` as text, and what the command was before."""
    key = "command" if "command" in arguments else "cmd"
    command = arguments.get(key)
    rest = {name: value for name, value in arguments.items() if name != key}
    if isinstance(command, str):
        return {"command": command, **rest}, {}
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        return None
    words = [str(word) for word in command]
    if len(words) == 3 and words[0].rpartition("/")[2] in _INTERPRETERS and words[1] in ("-lc", "-c"):
        return {"command": words[2], **rest}, {"argv": words[:2]}
    return {"command": shlex.join(words), **rest}, {"argv": words}


def call_observation(payload: JsonDict) -> tuple[Observation, JsonDict]:
    """Return the observation of an output and what it leaves for the turn's `extra`."""
    output = payload.get("output")
    extra: JsonDict = {f"output.{key}": value for key, value in payload.items() if key not in _KNOWN}
    if isinstance(output, dict):
        # How versions before the plain text wrote failures.
        extra |= {"output": {key: value for key, value in output.items() if key not in ("content", "success")}}
        success = output.get("success")
        observation, more = _unwrapped(output.get("content"))
        if observation.is_error is None and isinstance(success, bool):
            observation = observation.model_copy(update={"is_error": not success})
        return observation, {key: value for key, value in {**extra, **more}.items() if value}
    observation, more = _unwrapped(output)
    if others := other_parts(output):
        more["parts"] = others
    return observation, {**extra, **more}


def _unwrapped(output: Any) -> tuple[Observation, JsonDict]:
    text = parts_text(output)
    fields: JsonDict = {}
    extra: JsonDict = {}
    wrapped = _json_wrapper(text)
    if wrapped is not None:
        text, fields["data"] = wrapped["output"], {key: item for key, item in wrapped.items() if key != "output"}
        metadata = wrapped.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    elif (match := _HEADER.match(text)) is not None:
        header = match.group()
        fields["data"] = {name: _number(found.group(1)) for name, rule in _FACTS if (found := rule.search(header))}
        code = fields["data"].get("exit_code")
        extra["wrapper"], text = header, text_from(text, match.end())
    else:
        code = None
    if isinstance(code, int) and not isinstance(code, bool):
        fields |= {"exit_code": code, "is_error": code != 0}
    if _CUT.search(text) or "Total output lines" in extra.get("wrapper", ""):
        fields["truncated"] = True
    return merged_text(text).model_copy(update=fields), extra


def _json_wrapper(text: str) -> JsonDict | None:
    if not text.startswith("{") or '"output"' not in text:
        return None
    try:
        value = load_json(text)
    except JsonTextError:
        return None
    wrapped = isinstance(value, dict) and isinstance(value.get("output"), str) and "metadata" in value
    return value if wrapped and not nested_deeply(value) else None


def _number(text: str) -> int | float | str:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text
