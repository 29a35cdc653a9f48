"""Recorded calls as the learner sees them: arguments, the answer as text and as data, and whether it is an error."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.domains.tools.collections import JsonStyle
from worldline.types import JsonDict, Observation, Trajectory

__all__ = ["NOT_JSON", "TracedCall", "best_style", "is_error", "traced"]

NOT_JSON = object()
"""Value of an answer that is no JSON object or list."""

_ERROR = re.compile(
    r"\s*(?:\{\s*\"error\"|(?:\w+ )?[Ee]rror\b|Traceback \(most recent call last\)|\d+ validation error)"
)
"""How an answer begins that is an error where the source does not say."""

_STYLES = tuple(
    JsonStyle(indent=indent, compact=compact, ascii=escaped, sort_keys=ordered)
    for ordered in (False, True)
    for indent in (None, 2, 4, 1)
    for compact in ((False, True) if indent is None else (False,))
    for escaped in (True, False)
)
_STYLE_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One recorded call."""

    session: int
    """Number of its trajectory."""
    position: int
    family: str
    tool: str
    arguments: JsonDict
    text: str
    value: Any
    """The answer as data, or NOT_JSON."""
    error: bool


def is_error(observation: Observation) -> bool:
    """Whether an answer is an error: what the source says, otherwise what its first word says."""
    if observation.is_error is not None:
        return observation.is_error
    return _ERROR.match(observation.text) is not None


def traced(trajectories: Iterable[Trajectory]) -> list[list[TracedCall]]:
    """Read the tool calls of trajectories, one list for each."""
    sessions = []
    for number, trajectory in enumerate(trajectories):
        calls = []
        for position, turn in enumerate(trajectory.turns):
            seen = turn.observation
            calls.append(
                TracedCall(
                    session=number,
                    position=position,
                    family=trajectory.family or trajectory.id,
                    tool=turn.action.name,
                    arguments=turn.action.arguments,
                    text=seen.text,
                    value=_value(seen.text),
                    error=is_error(seen),
                )
            )
        sessions.append(calls)
    return sessions


def _value(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return NOT_JSON
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return NOT_JSON


def _finite(written: str) -> float:
    """Read a number; an answer with NaN or an endless one is no JSON, and is taken as the text that it is."""
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written} is no JSON number")
    return number


def best_style(calls: Sequence[TracedCall]) -> JsonStyle | None:
    """Return the way of writing JSON that gives most of the answers byte by byte; None where none gives half of them.

    Args:
        calls: Calls whose answers are JSON.
    """
    from worldline.kernels.tools.collections.server import style_text

    if not calls:
        return None
    samples = calls[:: max(1, len(calls) // _STYLE_SAMPLES)][:_STYLE_SAMPLES]
    best: tuple[int, JsonStyle] | None = None
    for style in _STYLES:
        hits = sum(style_text(call.value, style) == call.text for call in samples)
        if best is None or hits > best[0]:
            best = hits, style
        if hits == len(samples):
            break
    return best[1] if best is not None and 2 * best[0] >= len(samples) else None
