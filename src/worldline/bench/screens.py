"""Screens of full-screen programs: which turns lie how deep in an editor or pager, and how many of them are exact.

That a program has the terminal is read off the recording: a command line that starts it was entered, and the screen
does not end with a prompt until the program is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worldline.bench.metrics import Interval, TurnScore, clustered_interval
from worldline.domains.terminal.keystrokes import typed
from worldline.domains.terminal.state import TerminalState
from worldline.types import Trajectory

__all__ = ["ScreensRow", "depths", "screens_rows"]

_STARTS = re.compile(r"(?:^|[\s;&|/])(nano|vim?|view|less|more|pager)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class ScreensRow:
    """The turns in one program, or in any."""

    program: str
    n: int
    exact: float | None
    """Share of exact screens, 0..1; None where there is no turn."""
    interval: Interval | None
    """Of 95 %, resampling whole task families; None below two of them."""


def depths(trajectory: Trajectory) -> dict[int, tuple[str, int]]:
    """The program of each turn that begins in one, and how many turns ago it was started (from 1)."""
    world = TerminalState.model_validate(trajectory.world.initial_state)
    prompt = re.compile(rf"{re.escape(world.user)}@{re.escape(world.hostname)}:\S*[$#](?: |$)")
    found: dict[int, tuple[str, int]] = {}
    inside, depth = "", 0
    for number, turn in enumerate(trajectory.turns):
        if inside:
            depth += 1
            found[number] = (inside, depth)
        rows = turn.observation.text.split("\n")
        entered = "".join(entry.keys for entry in typed(turn.action) or ())
        if prompt.match(rows[-1]):
            inside, depth = "", 0
        elif not inside and "\r" in entered:
            started = _STARTS.findall("\r".join(entered.split("\r")[:-1]))
            inside, depth = (started[-1] if started else ""), 0
    return found


def screens_rows(
    trajectories: Iterable[Trajectory], scores: Sequence[TurnScore], after: int = 5, seed: int = 0
) -> list[ScreensRow]:
    """Count exact screens that lie deep in a program, for each program and for all of them.

    Args:
        trajectories: Recorded sessions of keystrokes.
        scores: Of an engine on them, teacher-forced.
        after: Turns that the program must have had before.
        seed: Of the bootstrap.
    """
    inside = {
        (trajectory.id, number): program
        for trajectory in trajectories
        for number, (program, depth) in depths(trajectory).items()
        if depth >= after
    }
    chosen: dict[str, list[TurnScore]] = {"any": []}
    for score in scores:
        program = inside.get((score.trajectory, score.turn))
        if program is not None:
            chosen["any"].append(score)
            chosen.setdefault(program, []).append(score)
    return [_row(name, chosen[name], seed) for name in sorted(chosen, key=lambda name: (name == "any", name))]


def _row(program: str, scores: Sequence[TurnScore], seed: int) -> ScreensRow:
    exact = sum(score.exact for score in scores) / len(scores) if scores else None
    return ScreensRow(program, len(scores), exact, clustered_interval(scores, seed))
