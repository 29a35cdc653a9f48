"""Evidence for a model: recorded transitions of other actions, told with the asking session's own values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from worldline.memory.reground import align
from worldline.memory.shape import shape_of
from worldline.memory.transition import Transition
from worldline.types import Action, Turn

__all__ = ["session_text", "told_here"]

_SESSION_CHARACTERS = 200_000


def session_text(history: Sequence[Turn]) -> str:
    """Return what the asking session has shown so far, the last of it where it is long."""
    return "".join(turn.action.render() + turn.observation.text for turn in history)[-_SESSION_CHARACTERS:]


def told_here(transition: Transition, action: Action, values: Mapping[str, str]) -> Transition:
    """Re-ground a transition whose action has the shape of the asked one; return any other as it is.

    Args:
        transition: A recorded transition.
        action: What was done now.
        values: The asking session's own values.
    """
    asked, recorded = shape_of(action), shape_of(transition.action)
    if not asked.key or asked.key != recorded.key:
        return transition
    observation = align(recorded, asked, transition.values, values).observation(transition.observation)
    return transition if observation is None else replace(transition, action=action, observation=observation)
