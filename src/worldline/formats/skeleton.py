"""Keeping a foreign record's layout beside the turns taken out of it, so that it can be written back exactly.

A chat-like record holds calls and results in places of its own. The readers take out what becomes turns and
leave the rest, with marks that say which turn stood where. The writers put the turns back. Where turns were
added, dropped or reordered since, the marks no longer fit and a new layout is made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from worldline.formats.jsontext import raw_of, verbatim
from worldline.types import JsonDict, Observation, ToolSpec, Turn, WorldSpec

__all__ = [
    "batch_note",
    "fits",
    "mapping_of",
    "merged_text",
    "number_of",
    "parts_text",
    "plain_json",
    "result_text",
    "shell_like",
    "tool_definition",
    "tool_specs",
    "world_of",
]

SHELL_NAMES = frozenset(
    {"bash", "sh", "shell", "terminal", "execute_bash", "run_shell", "run_command", "run_terminal_cmd", "Bash"}
)


def shell_like(name: str, arguments: JsonDict) -> bool:
    """Whether a tool call is a shell command: a known name, and `command` its argument."""
    return name in SHELL_NAMES and isinstance(arguments.get("command"), str)


def world_of(
    turns: Sequence[Turn], *, task: str, tools: Sequence[ToolSpec] = (), shell: JsonDict | None = None
) -> WorldSpec:
    """Build the world of imported turns: a terminal where every action is a shell command, otherwise `mcp`.

    Args:
        turns: What happened.
        task: What the agent was asked to do.
        tools: The tools it was offered.
        shell: What is known about the shell; by default only that its streams come merged.
    """
    terminal = bool(turns) and all(shell_like(turn.action.name, turn.action.arguments) for turn in turns)
    state: JsonDict = {}
    if terminal:
        merged = all(turn.observation.merged for turn in turns)
        state = {"shell": shell if shell is not None else ({"merged": True} if merged else {})}
    return WorldSpec(
        domain="terminal" if terminal else "mcp",
        task=task,
        tools=tuple(tools),
        initial_state={key: value for key, value in state.items() if value},
    )


def tool_specs(definitions: Any) -> list[ToolSpec]:
    """Read OpenAI function definitions; what has no place in a ToolSpec is left to the caller's layout."""
    found = []
    for definition in definitions if isinstance(definitions, list) else ():
        function = definition.get("function", definition) if isinstance(definition, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        fields: dict[str, Any] = {"name": str(function["name"])}
        if isinstance(function.get("description"), str):
            fields["description"] = str(function["description"])
        if isinstance(function.get("parameters"), dict):
            fields["parameters"] = function["parameters"]
        found.append(ToolSpec(**fields))
    return found


def tool_definition(tool: ToolSpec) -> JsonDict:
    """Lay out a tool as an OpenAI function definition."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def mapping_of(value: Any) -> JsonDict:
    """Return `value` if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def number_of(value: Any) -> float | None:
    """Return `value` if it is a number that a float can hold, otherwise None; true and false are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def parts_text(content: Any) -> str:
    """Join the text of content parts; a plain string is itself, anything else is empty."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


def merged_text(content: Any) -> Observation:
    """Build the observation of a tool result that is one text."""
    text = parts_text(content)
    raw = raw_of(text)
    return Observation(text=str(text), raw=None if raw is None else {"text": raw})


def result_text(observation: Observation) -> str:
    """Return the text to write back for an observation, with lone surrogates where it came with some."""
    raw = observation.raw or {}
    if "text" in raw or observation.stdout is None:
        return verbatim(observation.text, raw.get("text"))
    if not raw:
        return observation.text
    return verbatim(observation.stdout, raw.get("stdout")) + verbatim(observation.stderr or "", raw.get("stderr"))


def batch_note(index: int, size: int) -> JsonDict:
    """Return the `extra` entry of a turn whose call was one of several made at once."""
    return {"batch": {"index": index, "size": size}} if size > 1 else {}


def fits(marks: Iterable[int], turns: Sequence[Turn]) -> bool:
    """Whether a layout's marks name every turn exactly once, in order."""
    return list(marks) == list(range(len(turns)))


def plain_json(value: Any) -> str:
    """Serialise for output: compact, non-ASCII kept, lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text
