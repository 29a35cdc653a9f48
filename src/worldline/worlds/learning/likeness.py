"""Whether a tool is better guessed by its last answer or by the recorded call most like the one asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from worldline.kernels.tools.collections.nearest import Told, nearest
from worldline.kernels.tools.collections.refused import refused_again
from worldline.worlds.learning.traces import TracedCall

__all__ = ["guessed_by_likeness"]

_LEAST = 4
"""Calls that a way of guessing is judged by."""
_MARGIN = 0.04
"""Share of the calls by which it must be better."""
_MOST = 400
"""Calls of a tool that are looked at."""


def guessed_by_likeness(sessions: Sequence[Sequence[TracedCall]]) -> frozenset[str]:
    """Return the tools whose answers the most similar call tells more often than the last one.

    Each task is guessed from the others, and from what its session showed before.
    """
    calls: dict[str, list[TracedCall]] = defaultdict(list)
    for session in sessions:
        for call in session:
            calls[call.tool].append(call)
    return frozenset(tool for tool, made in calls.items() if _better(made[:_MOST]))


def _better(calls: Sequence[TracedCall]) -> bool:
    n = last = alike = last_sign = alike_sign = 0
    for number, call in enumerate(calls):
        earlier = [_told(c) for c in reversed(calls[:number]) if c.session == call.session]
        others = [_told(c) for c in calls if c.family != call.family]
        if any(told.arguments == call.arguments for told in [*earlier, *others]):
            continue  # what was recorded needs no guess
        n += 1
        usual = next((told for told in others if not told.error), None)
        said = _last(earlier, call) or usual
        near = nearest([*earlier, *others], call.arguments)
        last += _right(said, call)
        alike += _right(near, call)
        last_sign += said is not None and said.error == call.error
        alike_sign += near is not None and near.error == call.error
    return n >= _LEAST and alike > last + _MARGIN * n and alike_sign >= last_sign


def _last(earlier: Sequence[Told], call: TracedCall) -> Told | None:
    if not earlier:
        return None
    told = earlier[0]
    text = refused_again(told.text, told.arguments, call.arguments) if told.error else told.text
    return None if text is None else Told(text, told.error, call.arguments)


def _right(said: Told | None, call: TracedCall) -> bool:
    return said is not None and said.text == call.text and said.error == call.error


def _told(call: TracedCall) -> Told:
    return Told(call.text, call.error, call.arguments)
