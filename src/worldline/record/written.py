"""Whether a session reads what it wrote before: counted for the data cards, from what each domain's calls write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from worldline.types import Action, Trajectory

__all__ = ["Use", "lines", "reads_written", "texts"]

_SHORTEST = 4
"""Characters of a line that is told from chance."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a call does to something that lasts."""

    writes: bool
    place: str = ""
    """What it is about: a server, say. Only what is written in a place is read in it."""
    records: frozenset[str] = frozenset()
    """Names of the records that it changes or, where it only reads, asks for."""
    texts: frozenset[str] = frozenset()
    """Lines that it brings in."""


def reads_written(trajectory: Trajectory, use: Callable[[Action], Use | None], declared: str) -> bool:
    """Whether a later call, that writes nothing, reads what an earlier one wrote; both succeed.

    That is so where it asks for a record that was changed, or where its answer shows a line that was brought in and
    stood neither in the world nor in an answer before.

    Args:
        trajectory: A session.
        use: What a call does; None where nothing lasts of it.
        declared: All texts that the world starts with.
    """
    records: set[tuple[str, str]] = set()
    brought: set[tuple[str, str]] = set()
    seen = [declared]
    for turn in trajectory.turns:
        told, text = use(turn.action), turn.observation.text
        if told is not None and not turn.observation.is_error:
            mine = {(told.place, name) for name in told.records}
            if told.writes:
                fresh = [line for line in told.texts if not any(line in before for before in seen)]
                brought |= {(told.place, line) for line in fresh}
                records |= mine
            elif mine & records or any(place == told.place and line in text for place, line in brought):
                return True
        seen.append(text)
    return False


def lines(*values: Any) -> frozenset[str]:
    """The lines of all texts in JSON values that are long enough to be told from chance."""
    found = (line.strip() for text in texts(values) for line in text.splitlines())
    return frozenset(line for line in found if len(line) >= _SHORTEST)


def texts(value: Any) -> Iterable[str]:
    """All texts in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from texts(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from texts(inner)
