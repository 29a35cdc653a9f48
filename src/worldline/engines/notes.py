"""What a model is told about a turn beside the history: a guess, recorded transitions, the kernel's state."""

from __future__ import annotations

import json
from collections.abc import Sequence

from worldline.kernels.base import Kernel
from worldline.memory import Transition, mask_foreign
from worldline.types import Action

__all__ = ["notes_budget", "notes_on", "notes_tokens"]

_LEAST, _MOST = 150, 8000
"""Bounds of what notes may hold together, in characters."""
_CHARACTERS_PER_TOKEN = 4
"""More than text has as a rule, so that a prompt's length in characters is not taken for too short."""
_ONE_TRANSITION = 800
_AROUND = 60
"""Characters of a note's heading and fences."""
_WORTH = {"guess": 20, "evidence": 60, "state": 300}
"""Least room in which a note tells anything."""


def notes_budget(prompt: int, share: float) -> int:
    """How many characters the notes may have together.

    They change from turn to turn, so that what they take of a prompt cannot be reused by a server's prefix cache.

    Args:
        prompt: Characters of the prompt before them.
        share: How many notes may have for each of these.
    """
    return round(min(max(share * prompt, _LEAST), _MOST)) if share else 0


def notes_tokens(context: int, share: float) -> int:
    """Tokens that the notes can take at most in a context of so many tokens, the same for all turns of a session."""
    characters = notes_budget(context * _CHARACTERS_PER_TOKEN, share)
    return -(-characters // 3)


def notes_on(
    action: Action,
    *,
    budget: int,
    kernel: Kernel | None = None,
    guess: str = "",
    evidence: Sequence[Transition] = (),
    session: str = "",
) -> dict[str, str]:
    """Gather the notes of one turn, the most telling first.

    Args:
        action: The action to answer.
        budget: Characters that the notes may have together.
        kernel: Its state is told in what room is left.
        guess: What the other sources would answer; at most half of the room.
        evidence: Recorded transitions, nearest first, as many as half of the room (all of it without a kernel) holds.
        session: Actions and observations so far, whose values the evidence may show.
    """
    notes: dict[str, str] = {}

    def add(key: str, text: str, room: int) -> None:
        nonlocal budget
        if text and room - _AROUND >= _WORTH[key]:
            notes[key] = text[: room - _AROUND]
            budget -= len(notes[key]) + _AROUND

    add("guess", guess, budget // 2)
    if evidence:
        room = budget // 2 if kernel is not None and budget // 2 >= _WORTH["state"] else budget
        add("evidence", _evidence(evidence, action.render() + session, room - _AROUND), room)
    if kernel is not None and budget - _AROUND >= _WORTH["state"]:
        add("state", json.dumps(kernel.describe(), ensure_ascii=False), budget)
    return notes


def _evidence(transitions: Sequence[Transition], here: str, budget: int) -> str:
    shown: list[str] = []
    for transition in transitions:
        text = _transition_text(transition, here)
        if shown and len(text) > budget:
            break  # a piece of a further one tells nothing
        shown.append(text[: min(_ONE_TRANSITION, budget)])
        budget -= len(shown[-1])
    return "\n\n".join(shown)


def _transition_text(transition: Transition, here: str) -> str:
    observation = transition.observation
    text = mask_foreign(observation.text, here)
    end = "\n" if text and not text.endswith("\n") else ""
    status = f"{end}[exit code: {observation.exit_code}]" if observation.exit_code is not None else ""
    return f"$ {transition.action.render()}\n{text}{status}"
