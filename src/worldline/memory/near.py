"""Near matches: the answer to an action never recorded, from recorded actions of the same shape.

Every recorded transition of the shape is re-grounded with the asking session's values; the answers then vote. How
far the recorded situations resemble the asked one is kept apart, because trust differs:

- `state`: everything they read was equal, their own names aside;
- `presence`: what their values name was there or absent alike;
- `words`: nothing is known but the words.

Values that name something differ more harmlessly than others (programs in quotes, patterns, numbers), on which an
answer may depend in any way. So recordings that differ in names alone vote first, and those that differ in other
values, called `free`, only where there are none.

Below `state`, an answer holds only if no concrete value in it (number, path, hash, date) is left unexplained: it is
among the asking session's values, or the same text came out of recordings with different values, which shows that
it belongs to the shape and not to the recorded values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from worldline.memory.mask import foreign_values
from worldline.memory.reground import align
from worldline.memory.shape import Shape, paths_named, shape_of
from worldline.memory.transition import Transition, answer_key
from worldline.types import Action, Observation

__all__ = ["Near", "NearMatch", "best_near"]

NearMatch = Literal["state", "presence", "words"]


@dataclass(frozen=True, slots=True)
class Near:
    """A re-grounded answer."""

    observation: Observation
    transition: Transition
    """The first recorded transition that gave it."""
    match: NearMatch
    votes: int
    """How many recorded transitions of the shape were looked at."""
    agreement: float
    """Share of them that gave this answer."""
    attested: bool
    """It came out of recordings with different values."""
    free: bool
    """Recorded and asked action differ in values that name nothing."""

    @property
    def trust_class(self) -> str:
        """The class its trust is measured by."""
        share = "unanimous" if self.agreement == 1 else "most" if self.agreement >= 0.5 else "some"
        return f"{self.match}{'-free' if self.free else ''} {'attested' if self.attested else 'once'} {share}"


@dataclass(slots=True)
class _Group:
    observation: Observation
    first: Transition
    count: int = 0
    slots: set[tuple[str, ...]] = field(default_factory=set)


def best_near(
    action: Action, found: Sequence[Transition], match: NearMatch, values: Mapping[str, str], here: str = ""
) -> Near | None:
    """Let re-grounded transitions of the action's shape vote.

    Args:
        action: What was done.
        found: Recorded transitions of the same shape.
        match: How their situations resemble the present one.
        values: The asking session's own values.
        here: More text of the asking session whose concrete values are its own.

    Returns:
        The answer with most votes, the one recorded first among equals; None where none may be given.
    """
    asked = shape_of(action)
    own = "\n".join([action.render(), *values.values(), *paths_named(asked, values), here])
    named: list[tuple[Transition, Shape]] = []
    free: list[tuple[Transition, Shape]] = []
    for transition in found:
        shape = shape_of(transition.action)
        if shape.key == asked.key and len(shape.slots) == len(asked.slots):
            (free if _differs_freely(shape, asked, transition.presence) else named).append((transition, shape))
    voters = named or free
    for group in _groups(voters, asked, values):
        attested = len(group.slots) > 1
        if match == "state" or attested or not foreign_values(group.observation.text, own):
            share = group.count / len(voters)
            return Near(group.observation, group.first, match, len(voters), share, attested, free=not named)
    return None


def _groups(voters: Sequence[tuple[Transition, Shape]], asked: Shape, values: Mapping[str, str]) -> list[_Group]:
    """Re-ground and put equal answers together, the most frequent first."""
    groups: dict[int, _Group] = {}
    for transition, shape in voters:
        observation = align(shape, asked, transition.values, values).observation(transition.observation)
        if observation is None:
            continue
        group = groups.setdefault(answer_key(observation), _Group(observation, transition))
        group.count += 1
        group.slots.add(shape.slots)
    return sorted(groups.values(), key=lambda group: -group.count)


def _differs_freely(recorded: Shape, asked: Shape, presence: str | None) -> bool:
    """Whether two actions of one shape differ in a value that names nothing; names are those with a presence."""
    told = presence is not None and len(presence) == len(asked.slots)
    marks = presence if presence is not None and told else "." * len(asked.slots)
    return any(a != b and mark == "." for a, b, mark in zip(recorded.slots, asked.slots, marks, strict=True))
