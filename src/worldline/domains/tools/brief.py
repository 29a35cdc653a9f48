"""The brief prompt of tool worlds, for small models: short instructions, a few calls as examples of the form.

Recorded transitions stand in it as turns before the session's own. Of the world it tells the tool that is called, what
of the known state the call is about, and what a simulation would answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldline.domains.answers import CLOSE_TAG, OPEN_TAG, shield, tagged
from worldline.domains.templating import message, render, template_environment
from worldline.types import Action, Turn, WorldSpec

__all__ = ["FOLDER", "messages"]

FOLDER = Path(__file__).parent / "prompts" / "brief"
"""The templates of the brief prompt."""

_CALL, _OBSERVATION = 400, 400
"""Characters shown of an earlier call and of its answer."""
_DESCRIPTION, _STATE, _LEAF, _GUESS = 200, 800, 240, 800
"""Characters shown of the tool's description, of the state and of one value in it, and of the guess."""


def messages(
    world: WorldSpec,
    turns: Sequence[Turn],
    action: Action,
    *,
    description: str,
    notes: Mapping[str, str],
    package: str,
) -> list[dict[str, str]]:
    """Lay out the chat.

    Args:
        world: Its declared state is told where nothing tells the present one.
        turns: Examples, then the last turns of the session.
        action: The call to answer.
        description: What its tool does.
        notes: `state`, the kernel's state as JSON, and `guess`, what it would answer; as far as there are any.
        package: Package whose own templates go behind those of the brief prompt.

    Raises:
        ConfigError: A template cannot be used.
    """
    environment = template_environment((package, "worldline.domains.tools", "worldline.domains"), FOLDER)
    chat = [message("system", render(environment, "system.j2", {}))]
    for turn in turns:
        chat.append(message("user", _cut(turn.action.render(), _CALL)))
        shown = _cut(shield(turn.observation.text), _OBSERVATION)
        chat.append(message("assistant", tagged(f"{shown}\n" if shown else "")))
    call = action.render()
    known = notes.get("state", "")
    declared = json.dumps(world.initial_state, ensure_ascii=False) if world.initial_state else ""
    values = {
        "open_tag": OPEN_TAG,
        "close_tag": CLOSE_TAG,
        "tool": action.name,
        "description": _cut(" ".join(description.split()), _DESCRIPTION),
        "state": _concerning(call, known or declared, _STATE),
        "known": bool(known),
        "guess": _cut(notes.get("guess", ""), _GUESS),
        "call": call,
    }
    chat.append(message("user", render(environment, "suffix.j2", values)))
    return chat


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n..."


def _concerning(call: str, state: str, room: int) -> str:
    """What of a state, given as JSON, fits into so many characters: the values that share most words with a call."""
    if len(state) <= room:
        return state
    words = set(_words(call))
    leaves = [_cut(f"{place}: {value}", _LEAF) for place, value in _leaves(json.loads(state), "")]
    shared = [len(words & set(_words(leaf))) for leaf in leaves]
    kept: set[int] = set()
    for number in sorted(range(len(leaves)), key=lambda number: -shared[number]):
        if len(leaves[number]) < room:
            kept.add(number)
            room -= len(leaves[number]) + 1
    return "\n".join(leaf for number, leaf in enumerate(leaves) if number in kept)


def _words(text: str) -> list[str]:
    return re.findall(r"\w{3,}", text.lower())


def _leaves(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Flatten JSON to its plain values; short lists of them count as one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{number}]")
    else:
        yield place, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
