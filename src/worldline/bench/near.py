"""Measuring near matches: how often a re-grounded answer is exactly right, with the asked task family left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.domains import get_domain
from worldline.memory import Memory
from worldline.memory.transition import Footing, as_footing, session_values, transitions_of
from worldline.types import Trajectory

__all__ = ["NearAnswer", "leave_one_family_out", "near_answers"]


@dataclass(frozen=True, slots=True)
class NearAnswer:
    """One re-grounded answer, compared with reality."""

    trajectory: str
    turn: int
    trust_class: str
    exact: bool


def near_answers(trajectory: Trajectory, footings: Sequence[Footing], memory: Memory) -> Iterator[NearAnswer]:
    """Yield what near matches would have answered to the turns of a recorded trajectory that is not in `memory`."""
    domain = trajectory.world.domain
    compare = get_domain(domain).compare
    start = session_values(trajectory.world)
    unmoved = {key: value for key, value in start.items() if key != "cwd"}
    here = ""
    for number, (turn, stands) in enumerate(zip(trajectory.turns, footings, strict=True)):
        values = {**unmoved, "cwd": stands.cwd} if stands.cwd else unmoved
        hit = memory.near(domain, turn.action, values, stands, here)
        if hit is not None:
            exact = compare(hit.observation, turn.observation).exact
            yield NearAnswer(trajectory.id, number, hit.trust_class, exact)
        here += turn.action.render() + turn.observation.text


def leave_one_family_out(
    trajectories: Sequence[Trajectory],
    footings: Mapping[str, Sequence[Any]],
    on_done: Callable[[str], Any] | None = None,
) -> Iterator[NearAnswer]:
    """Yield the near answers to every trajectory from those of all other families.

    Args:
        trajectories: Recorded trajectories.
        footings: What their turns stood on, by trajectory id.
        on_done: Called with each family that is done.
    """
    told = {t.id: [as_footing(value) for value in footings[t.id]] for t in trajectories}
    kept = [(t.family, transitions_of(t, told[t.id])) for t in trajectories]
    for family in sorted({t.family for t in trajectories}):
        memory = Memory(transition for name, found in kept if name != family for transition in found)
        for trajectory in trajectories:
            if trajectory.family == family:
                yield from near_answers(trajectory, told[trajectory.id], memory)
        if on_done is not None:
            on_done(family)
