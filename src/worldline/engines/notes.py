"""What a model is told about a turn beside the history: a guess, recorded transitions, the kernel's state."""

from __future__ import annotations

import json
from collections.abc import Sequence

from worldline.kernels.base import Kernel
from worldline.memory import Transition, mask_foreign
from worldline.types import Action

__all__ = ["notes_budget", "notes_on"]

_SHARE = 0.03
"""Share of the prompt that notes may take: they change from turn to turn, so what they take cannot be reused."""
_LEAST, _MOST = 1200, 8000
"""Bounds of that, in characters."""
_ONE_TRANSITION = 800


def notes_budget(prompt: int) -> int:
    """How many characters the notes may have together, for a prompt of so many characters before them."""
    return round(min(max(_SHARE * prompt, _LEAST), _MOST))


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
    if guess:
        notes["guess"] = guess[: budget // 2]
        budget -= len(notes["guess"])
    if evidence:
        here = action.render() + session
        notes["evidence"] = _evidence(evidence, here, budget // 2 if kernel is not None else budget)
        budget -= len(notes["evidence"])
    if kernel is not None:
        notes["state"] = json.dumps(kernel.describe(), ensure_ascii=False)[:budget]
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
