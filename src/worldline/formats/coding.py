"""What the logs of coding agents have in common: their worlds, and marks of turns left in their records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from worldline.formats.jsontext import Scrubbed, raw_of, scrub, verbatim
from worldline.formats.skeleton import merged_text, parts_text, world_of
from worldline.types import JsonDict, Observation, ToolSpec, Turn, WorldSpec

__all__ = [
    "NOTE_LIMIT",
    "coding_world",
    "nested_deeply",
    "other_parts",
    "result_observation",
    "text_from",
    "text_or_none",
]

NOTE_LIMIT = 200
"""Trajectories of side lines (branches, sub-agents) taken from one session at most."""

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code:? (-?\d{1,6})(?:\n|\Z)")


_DEPTH = 200
"""How deep a record may be nested; pydantic takes 255 levels, and a trajectory adds some of its own."""


def nested_deeply(value: Any) -> bool:
    """Whether a JSON value is nested too deeply to be part of a trajectory."""
    level = [value]
    for _ in range(_DEPTH):
        lists = [item for item in level if isinstance(item, list)]
        level = [inner for item in level if isinstance(item, dict) for inner in item.values()]
        level += [inner for item in lists for inner in item]
        if not level:
            return False
    return True


def coding_world(turns: Sequence[Turn], *, task: str, tools: Sequence[ToolSpec] = (), cwd: Any = None) -> WorldSpec:
    """Build the world of a coding agent's turns: a terminal where every action is a shell command, otherwise `swe`.

    Args:
        turns: What happened.
        task: What the agent was asked to do.
        tools: The tools it was offered.
        cwd: Where it worked; noted if it is an absolute path.
    """
    world = world_of(turns, task=task, tools=tools)
    update: JsonDict = {} if world.domain == "terminal" else {"domain": "swe"}
    if isinstance(cwd, str) and cwd.startswith("/"):
        update["initial_state"] = {"cwd": cwd, **world.initial_state}
    return world.model_copy(update=update)


def result_observation(
    content: Any, *, is_error: bool | None = None, data: Any = None, command: bool = False
) -> tuple[Observation, JsonDict]:
    """Build the observation of a tool result, and what it leaves for the turn's `extra`.

    Args:
        content: A text, or content parts whose texts are joined.
        is_error: Whether the source called it an error.
        data: The structured view of the same result.
        command: Whether it is the result of a shell command: `Exit code N` before its output is its exit code.
    """
    text = parts_text(content)
    fields: JsonDict = {"is_error": is_error, "data": data}
    extra: JsonDict = {}
    if command and (match := _EXIT_CODE.match(text)) is not None:
        extra["wrapper"], text = match.group(), text_from(text, match.end())
        fields["exit_code"] = int(match.group(1))
        fields["is_error"] = fields["exit_code"] != 0 if is_error is None else is_error
    return merged_text(text).model_copy(update=fields), extra


def text_from(text: str, start: int) -> str:
    """Return `text` from `start` on, with the exact value of lone surrogates in it."""
    if not isinstance(text, Scrubbed):
        return text[start:]
    rest: str = scrub(verbatim(text, raw_of(text))[start:])
    return rest


def other_parts(content: Any) -> list[Any]:
    """Return the content parts that are not text (images, references)."""
    if not isinstance(content, list):
        return [] if isinstance(content, str) or content is None else [content]
    return [part for part in content if not parts_text([part])]


def text_or_none(value: Any) -> str | None:
    """Return a plain copy of `value` if it is text with something in it."""
    return str(value) if isinstance(value, str) and value else None
