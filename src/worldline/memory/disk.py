"""A memory directory, read: opened read-only by any number of processes, also while another one adds to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from worldline.errors import StorageError
from worldline.memory import files
from worldline.memory.store import SHAPED_LIMIT, Answer
from worldline.memory.transition import Transition, short_hash
from worldline.memory.words import WordIndex
from worldline.types import Observation

__all__ = ["DiskStore", "connect"]

_CACHE_KIB = 64 * 1024
_ANSWERS_LIMIT = 500
"""How many answers to one action are looked at: what was recorded oftener than that is voted on by the first."""
_ROW = (
    "SELECT t.turn, t.footprint, t.state, t.presence, t.observation, a.action, a.domain, s.environment, s.content,"
    " j.name, j.family FROM transitions t JOIN actions a ON a.id = t.action"
    " JOIN surroundings s ON s.id = t.surroundings"
    " JOIN trajectories j ON j.id = t.trajectory WHERE "
)


class DiskStore:
    """The transitions of a memory directory.

    Args:
        folder: The directory.

    Raises:
        StorageError: There is no memory, it is damaged, or of another version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / files.DATABASE).is_file():
            raise StorageError(f"{folder}: no memory directory", hint="make one with `worldline memory build`")
        with files.guard(folder, "opening"):
            self._db = connect(folder / files.DATABASE)
            files.check_version(self._db, folder)
            self._db.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self._words: WordIndex | None = None

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def __len__(self) -> int:
        return int(self._all("SELECT coalesce(sum(turns), 0) FROM trajectories")[0][0])

    def add(self, transition: Transition) -> None:
        """Refuse: a directory that was opened is read-only."""
        raise StorageError(f"memory {self.folder} is open read-only", hint="add to it with `worldline memory add`")

    def knows(self, domain: str, text: str) -> bool:
        """Whether the action is recorded."""
        return bool(self._all("SELECT 1 FROM actions WHERE key = ? LIMIT 1", short_hash(domain, text)))

    def answers(self, domain: str, text: str, footprint: str | None = None) -> list[Answer]:
        """Return the answers to an action."""
        query = (
            "SELECT t.id, t.answer, s.environment, t.votes FROM transitions t"
            " JOIN surroundings s ON s.id = t.surroundings"
            " WHERE t.action IN (SELECT id FROM actions WHERE key = ?)"
        )
        key = short_hash(domain, text)
        # Within one action and footprint the index is in order of recording, so the limit needs no sorting.
        if footprint is not None:
            query += " AND t.footprint = ?"
            rows = self._all(f"{query} LIMIT {_ANSWERS_LIMIT}", key, files.stored_key(footprint))
        else:
            rows = self._all(f"{query} LIMIT {_ANSWERS_LIMIT}", key)
        return [Answer(r[0], r[1], files.told_key(r[2]) or "", r[3]) for r in sorted(rows)]

    def get(self, place: int) -> Transition:
        """Return the transition at a place."""
        return self._transitions("t.id = ?", place)[0]

    def in_state(self, domain: str, shape: str, state: str) -> list[Transition]:
        """Return transitions of a shape that read the same, names aside."""
        where = "t.shape = ? AND t.state IS NOT NULL AND t.state = ?"
        return self._transitions(f"{where} LIMIT {SHAPED_LIMIT}", short_hash(domain, shape), files.stored_key(state))

    def shaped(self, domain: str, shape: str, presence: str | None, *, others: bool = False) -> list[Transition]:
        """Return transitions of a shape and a presence."""
        key = short_hash(domain, shape)
        if others:
            return self._transitions(f"t.shape = ? LIMIT {SHAPED_LIMIT}", key)
        return self._transitions(f"t.shape = ? AND t.presence IS ? LIMIT {SHAPED_LIMIT}", key, presence)

    def nearest(self, domain: str, text: str, k: int) -> list[Transition]:
        """Return the transitions of the actions nearest by words; one per distinct action, unless too few are."""
        if self._words is None:
            self._words = WordIndex(self.folder / files.WORDS)
        found = self._words.search(domain, text, k)
        return [t for number in found for t in self._transitions("t.action = ? LIMIT 1", number)]

    def most_frequent(self, domain: str) -> Observation | None:
        """Return the answer recorded most often in a domain; reads the whole database."""
        rows = self._all(
            "SELECT min(t.id) FROM transitions t JOIN actions a ON a.id = t.action WHERE a.domain = ?"
            " GROUP BY t.answer ORDER BY sum(t.votes) DESC, t.answer DESC LIMIT 1",
            domain,
        )
        return self.get(rows[0][0]).observation if rows else None

    def _transitions(self, where: str, *values: object) -> list[Transition]:
        with files.guard(self.folder, "reading"):
            return [_transition(row) for row in self._db.execute(_ROW + where, values)]

    def _all(self, query: str, *values: object) -> list[tuple[int, int, int | str, int]]:
        with files.guard(self.folder, "reading"):
            return self._db.execute(query, values).fetchall()


def connect(path: Path) -> sqlite3.Connection:
    """Open read-only; a place where not even the lock files of readers can be made is taken as unchanging."""
    plain = f"file:{quote(str(path.absolute()))}?mode=ro"
    for address in (plain, f"{plain}&immutable=1"):
        database = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30, check_same_thread=False)
        try:
            database.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.OperationalError as error:
            database.close()
            code = error.sqlite_errorcode & 0xFF
            written = path.with_name(path.name + "-wal").exists()
            if address != plain or written or code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
        else:
            return database
    raise AssertionError("unreachable")


def _transition(row: Sequence[object]) -> Transition:
    turn, footprint, state, presence, observation, action, domain, environment, content, name, family = row
    return Transition(
        id=f"{name}:{turn}",
        action=files.unpack_action(action),  # type: ignore[arg-type]
        observation=files.unpack_observation(observation),  # type: ignore[arg-type]
        domain=str(domain),
        environment=files.told_key(environment) or "",  # type: ignore[arg-type]
        footprint=files.told_key(footprint),  # type: ignore[arg-type]
        family=str(family),
        state=files.told_key(state),  # type: ignore[arg-type]
        presence=None if presence is None else str(presence),
        values=json.loads(str(content))[1],
    )
