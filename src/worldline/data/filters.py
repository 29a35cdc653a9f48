"""Which trajectories and turns training sets are made of, and why the others are left out (paper, data collection)."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass

from worldline.types import Trajectory, Turn

__all__ = ["GUI_DOMAINS", "Kept", "drawn_turns", "filtered"]

GUI_DOMAINS = frozenset({"web", "android", "os"})

_CHALLENGE = ("captcha", "verify you are human", "are you a robot")


@dataclass(frozen=True, slots=True)
class Kept:
    """What the filters say of a trajectory."""

    targets: tuple[int, ...]
    """Positions (from 0) of the turns whose observation may be learned; the others stay as history."""
    dropped: dict[int, str]
    """Why each other turn is no target."""
    whole: str | None = None
    """Why the whole trajectory is left out; then there is no target."""


def filtered(trajectory: Trajectory) -> Kept:
    """Say which turns of a trajectory may be learned.

    Left out are trajectories of fewer than two turns, those that call undeclared tools, and in GUI domains those
    without states; of the others, turns that say so themselves (`train` 0: copied, refused, or nothing is known of the
    action), turns with an empty action, the failing parts of a retry (an action, its error, and the same action again
    until it succeeds), and in GUI domains turns that changed nothing, or that show a challenge.
    """
    turns = trajectory.turns
    if len(turns) < 2:
        return Kept((), {}, "fewer than two turns")
    undeclared = _undeclared(trajectory)
    if undeclared:
        return Kept((), {}, f"undeclared tool {undeclared}")
    screen = trajectory.world.domain in GUI_DOMAINS
    if screen and any(turn.state_before is None for turn in turns):
        return Kept((), {}, "a state is missing")
    dropped: dict[int, str] = {}
    for number in range(len(turns)):
        reason = _reason(turns, number, screen=screen)
        if reason is not None:
            dropped[number] = reason
    return Kept(tuple(number for number in range(len(turns)) if number not in dropped), dropped)


def _undeclared(trajectory: Trajectory) -> str | None:
    """The first tool that was called, answered as if it were there, and not declared."""
    declared = {tool.name for tool in trajectory.world.tools}
    if not declared:
        return None
    for turn in trajectory.turns:
        if turn.action.name and turn.action.name not in declared and not turn.observation.is_error:
            return turn.action.name
    return None


def _reason(turns: tuple[Turn, ...], number: int, *, screen: bool) -> str | None:
    turn = turns[number]
    if not turn.train:
        return "not for training"
    if not turn.action.render().strip() or (turn.action.text is not None and not turn.action.text.strip()):
        return "empty action"
    if _is_retried(turns, number):
        return "retried"
    if not screen:
        return None
    if turn.state_before == turn.observation.text:
        return "no change"
    seen = turn.observation.text.lower()
    if any(word in seen for word in _CHALLENGE):
        return "challenge"
    return None


def _is_retried(turns: tuple[Turn, ...], number: int) -> bool:
    """Whether an action failed and was repeated at once until it succeeded: what came between is noise."""
    if not turns[number].observation.is_error:
        return False
    asked = turns[number].action.render()
    for following in turns[number + 1 :]:
        if following.action.render() != asked:
            return False
        if not following.observation.is_error:
            return True
    return False


def drawn_turns(
    kept: Kept, trajectory: Trajectory, seed: int, count: int = 1, among: Collection[int] | None = None
) -> list[int]:
    """Draw the turns of a trajectory that SFT and RL learn from, in their order; fewer where there are not so many.

    Args:
        kept: What the filters said.
        trajectory: Its id makes the draw the same whatever is built beside it.
        seed: Of the draw.
        count: How many. More of them include those drawn when fewer are wanted.
        among: Positions to choose from, where not all targets are wanted.
    """
    choice = [number for number in kept.targets if among is None or number in among]
    chance = random.Random(f"{seed}:{trajectory.id}")
    drawn: list[int] = []
    while choice and len(drawn) < count:
        drawn.append(choice.pop(chance.randrange(len(choice))))
    return sorted(drawn)
