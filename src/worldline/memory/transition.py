"""What memory holds: one recorded turn with what its answer depended on, and the keys it is found by."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from worldline.domains import DOMAINS, get_domain
from worldline.errors import ConfigError, KernelError
from worldline.kernels.base import Kernel
from worldline.memory.shape import general_footprint, presence, shape_of
from worldline.types import Action, Observation, Trajectory, WorldSpec, content_id

__all__ = [
    "UNTOLD",
    "Footing",
    "MatchKind",
    "Recall",
    "Transition",
    "answer_key",
    "as_footing",
    "environment_key",
    "follow",
    "footing",
    "footprint_key",
    "session_values",
    "short_hash",
    "transitions_of",
]

MatchKind = Literal["state", "stateless", "action"]
"""How a recall matched: action and state; action, and the action reads no state; action alone."""

_ENVIRONMENT = ("user", "uid", "hostname", "locale", "timezone", "packages", "shell")
_VALUES = ("user", "hostname", "cwd")


class Footing(NamedTuple):
    """What a recorded turn stood on, told by a kernel; stored as a JSON list."""

    footprint: str | None
    """Hash of what the action read (:func:`footprint_key`)."""
    state: str | None = None
    """Hash of the same with the action's own values taken out: equal for other names of equal content."""
    presence: str | None = None
    """Which of the action's values name something that is there (`+`) or absent (`-`), in order."""
    cwd: str | None = None
    """Working directory, where the domain has one."""


UNTOLD = Footing(None)
"""Nothing could be told."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One recorded turn with what its answer depended on."""

    id: str
    """`TRAJECTORY:TURN`."""
    action: Action
    observation: Observation
    domain: str
    environment: str
    """Hash of the declared surroundings that answers depend on (user, host, locale, shell, packages)."""
    footprint: str | None
    """Hash of what the action read; empty string: nothing; None: it could not be told."""
    family: str = ""
    state: str | None = None
    """:attr:`Footing.state`."""
    presence: str | None = None
    """:attr:`Footing.presence`."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The session's own values when it was recorded: `user`, `hostname`, `home`, `cwd`, as far as known."""


@dataclass(frozen=True, slots=True)
class Recall:
    """A recorded answer that applies here."""

    transition: Transition
    kind: MatchKind
    votes: int
    """How many recorded transitions matched."""
    agreement: float
    """Share of them that gave this answer."""


def short_hash(*parts: str) -> int:
    """Hash texts to a signed 64-bit number, the form in which databases index it.

    Two of `n` texts share a number with probability n^2 / 2^65: 3e-8 for a million.
    """
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def environment_key(world: WorldSpec) -> str:
    """Hash the declared surroundings of a world that answers depend on."""
    return content_id({key: world.initial_state.get(key) for key in _ENVIRONMENT})


def footprint_key(footprint: Mapping[str, str] | None) -> str | None:
    """Hash a footprint; the empty string for one that reads nothing, None for an opaque one."""
    if footprint is None or "unknown" in footprint.values():
        return None
    return content_id(dict(footprint)) if footprint else ""


def answer_key(observation: Observation) -> int:
    """Hash what makes two answers the same."""
    streams = "-" if observation.stdout is None else f"+{len(observation.stdout)}"
    raw = "" if observation.raw is None else content_id(observation.raw)
    return short_hash(f"{streams}/{observation.exit_code}/{raw}", observation.text, observation.stdout or "")


def session_values(world: WorldSpec) -> dict[str, str]:
    """Return a world's own values at its start, defaults of its domain filled in."""
    declared = tuple((key, str(world.initial_state[key])) for key in _VALUES if world.initial_state.get(key))
    return dict(_filled_in(world.domain, declared))


@lru_cache(maxsize=1024)
def _filled_in(domain: str, declared: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    values: dict[str, Any] = dict(declared)
    if domain in DOMAINS.names():
        try:
            values = get_domain(domain).validate_state(values)
        except ValidationError:
            values = dict(declared)
    found = {key: values[key] for key in _VALUES if isinstance(values.get(key), str)}
    if "user" in found:
        found["home"] = "/root" if found["user"] == "root" else f"/home/{found['user']}"
        found.setdefault("cwd", found["home"])
    return tuple(found.items())


def footing(kernel: Kernel, action: Action, values: Mapping[str, str]) -> Footing:
    """Tell what an action stands on now.

    Args:
        kernel: State of the session.
        action: What is about to be done.
        values: The session's own values (:func:`session_values`).
    """
    footprint = kernel.footprint(action)
    if footprint is None:
        return UNTOLD
    key = footprint_key(footprint)
    cwd = footprint.get("cwd", values.get("cwd"))
    shape = shape_of(action)
    here = {**values, "cwd": cwd} if cwd else dict(values)
    state = None if key is None else content_id(general_footprint(footprint, shape, here))
    return Footing(key, state, presence(footprint, shape, here), cwd)


def follow(trajectory: Trajectory, kernel_for: Callable[[WorldSpec], Kernel] | None) -> list[Footing]:
    """Return what every turn of a trajectory stood on, by letting a kernel follow it.

    Where there is no kernel for its world, nothing is told.
    """
    try:
        kernel = kernel_for(trajectory.world) if kernel_for is not None else None
    except (ConfigError, KernelError):
        kernel = None
    if kernel is None:
        return [UNTOLD] * len(trajectory.turns)
    values = session_values(trajectory.world)
    try:
        found = []
        for turn in trajectory.turns:
            found.append(footing(kernel, turn.action, values))
            kernel.absorb(turn)
        return found
    finally:
        kernel.close()


def as_footing(value: Footing | Sequence[str | None] | str | None) -> Footing:
    """Read a footing as it is stored: a list, or a footprint's hash alone."""
    if value is None or isinstance(value, str):
        return Footing(value)
    return value if isinstance(value, Footing) else Footing(*value)


def transitions_of(trajectory: Trajectory, footings: Sequence[Footing]) -> list[Transition]:
    """Make the transitions of a trajectory from what its turns stood on."""
    environment = environment_key(trajectory.world)
    start = session_values(trajectory.world)
    # The working directory is known where a kernel told it, and at the very start.
    unmoved = {key: value for key, value in start.items() if key != "cwd"}
    return [
        Transition(
            id=f"{trajectory.id}:{number}",
            action=turn.action,
            observation=turn.observation,
            domain=trajectory.world.domain,
            environment=environment,
            footprint=stood.footprint,
            family=trajectory.family,
            state=stood.state,
            presence=stood.presence,
            values={**unmoved, "cwd": stood.cwd} if stood.cwd else unmoved if number else start,
        )
        for number, (turn, stood) in enumerate(zip(trajectory.turns, footings, strict=True))
    ]
