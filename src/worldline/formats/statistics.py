"""What a set of trajectories holds, counted as they stream by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from worldline.types import JsonDict, Source, Trajectory, Turn, canonical_json

__all__ = ["Statistics", "is_error", "turn_origins"]

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb behind the token estimate; no tokenizer is run."""


def turn_origins(trajectory: Trajectory) -> list[str]:
    """Return for each turn where its observation came from.

    For reality that is `recorded`; for a simulation what `origin["origins"]` of the trajectory says, and
    `(not said)` where it says nothing.
    """
    said = trajectory.origin.get("origins")
    if isinstance(said, list) and len(said) == len(trajectory.turns):
        return [str(origin) for origin in said]
    unknown = "recorded" if trajectory.source == Source.OBSERVED else "(not said)"
    return [unknown] * len(trajectory.turns)


def is_error(turn: Turn) -> bool:
    """Whether a turn's observation is an error, as far as the trajectory tells."""
    observation = turn.observation
    return bool(observation.is_error) or bool(observation.exit_code)


@dataclass(slots=True)
class Statistics:
    """Running counts over trajectories."""

    trajectories: int = 0
    turns: int = 0
    errors: int = 0
    determined: int = 0
    """Turns whose answer follows from the world and the session."""
    undetermined: int = 0
    volatile: int = 0
    """Turns with a stretch that differs from recording to recording."""
    action_characters: int = 0
    observation_characters: int = 0
    longest: int = 0
    """Turns of the longest trajectory."""
    domains: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    """Turns by where the observation came from: `recorded`, or an origin of a simulation."""
    families: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)

    def add(self, trajectory: Trajectory) -> None:
        """Count one trajectory."""
        self.trajectories += 1
        self.turns += len(trajectory.turns)
        self.longest = max(self.longest, len(trajectory.turns))
        self.domains[trajectory.world.domain] += 1
        self.sources[trajectory.source.value] += 1
        self.families[trajectory.family or "(none)"] += 1
        self.origins.update(turn_origins(trajectory))
        for turn in trajectory.turns:
            self.errors += is_error(turn)
            self.determined += turn.determined is True
            self.undetermined += turn.determined is False
            self.volatile += bool(turn.observation.volatile)
            self.action_characters += len(turn.action.text or canonical_json(turn.action.arguments))
            self.observation_characters += len(turn.observation.text)
            self.tools[turn.action.name or "(text)"] += 1

    def watch(self, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """Yield the trajectories on, counting each."""
        for trajectory in trajectories:
            self.add(trajectory)
            yield trajectory

    @property
    def tokens(self) -> int:
        """Estimate of the tokens in actions and observations."""
        return (self.action_characters + self.observation_characters) // CHARACTERS_PER_TOKEN

    def as_record(self) -> JsonDict:
        """Return the counts as plain data."""
        return {
            "trajectories": self.trajectories,
            "turns": self.turns,
            "longest": self.longest,
            "errors": self.errors,
            "determined": self.determined,
            "undetermined": self.undetermined,
            "volatile": self.volatile,
            "tokens_estimated": self.tokens,
            "characters": {"actions": self.action_characters, "observations": self.observation_characters},
            "domains": dict(self.domains.most_common()),
            "sources": dict(self.sources.most_common()),
            "origins": dict(self.origins.most_common()),
            "families": dict(self.families.most_common()),
            "tools": dict(self.tools.most_common()),
        }
