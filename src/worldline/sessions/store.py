"""The event log: an SQLite database from which alone every session can be rebuilt.

A session's events are numbered from 1. A `turn` event adds a turn; a `rewind` event goes back to a number of
turns, so that nothing is ever deleted. A fork points at its parent and the parent's number of events at that
moment. Snapshots of engine state are a disposable cache.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldline.errors import SessionError, StorageError
from worldline.types import JsonDict, Prediction, Turn, WorldSpec

__all__ = ["EventStore", "SessionRecord", "SettledTurn"]

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, parent TEXT, parent_events INTEGER NOT NULL DEFAULT 0, parent_turns INTEGER NOT NULL DEFAULT 0,
    world TEXT NOT NULL, engine TEXT NOT NULL, options TEXT NOT NULL, created TEXT NOT NULL DEFAULT (datetime('now'))
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    session TEXT NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, turns INTEGER NOT NULL,
    turn TEXT, prediction TEXT, PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshots (
    session TEXT NOT NULL, events INTEGER NOT NULL, turns INTEGER NOT NULL, state BLOB NOT NULL,
    PRIMARY KEY (session, events)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What is stored about a session beside its events."""

    id: str
    world: WorldSpec
    engine: str
    options: JsonDict
    parent: str | None = None
    parent_events: int = 0
    parent_turns: int = 0


@dataclass(frozen=True, slots=True)
class SettledTurn:
    """A turn in the log, and what the engine predicted for it (None for a turn observed in reality)."""

    turn: Turn
    prediction: Prediction | None


class EventStore:
    """Sessions and their events in one SQLite file.

    Args:
        path: Database file, made if missing; None keeps everything in memory.

    Raises:
        StorageError: The file cannot be opened, or is not an event log of this version.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path)
        with self._guard("opening the event log"):
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path or ":memory:", isolation_level=None, timeout=30)
            # WAL with synchronous=NORMAL survives the death of the process; only a power cut may lose the last turns.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _SCHEMA_VERSION):
                raise StorageError(f"{self.path}: event log of version {version}", hint=f"expected {_SCHEMA_VERSION}")
            if version == 0:
                self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={_SCHEMA_VERSION}; COMMIT;")

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def create(
        self,
        world: WorldSpec,
        engine: str,
        options: JsonDict,
        *,
        session_id: str | None = None,
        parent: tuple[str, int, int] | None = None,
    ) -> SessionRecord:
        """Add a session; `parent` is `(id, events, turns)` of what it forks from.

        Raises:
            SessionError: There is a session of that id already.
        """
        parent_id, events, turns = parent or (None, 0, 0)
        record = SessionRecord(session_id or uuid.uuid4().hex[:12], world, engine, options, parent_id, events, turns)
        # A fork's world is its parent's; writing it again would make forking as slow as the world is large.
        written = "" if parent else _world_json(world)
        with self._guard("adding a session"):
            self._db.execute(
                "INSERT INTO sessions (id, parent, parent_events, parent_turns, world, engine, options)"
                " VALUES (?,?,?,?,?,?,?)",
                (record.id, parent_id, events, turns, written, engine, json.dumps(options)),
            )
        return record

    def get(self, session: str) -> SessionRecord:
        """Return a session's record.

        Raises:
            SessionError: There is no such session; the hint lists recent ones.
        """
        with self._guard("reading a session"):
            row = self._db.execute(
                "SELECT id, world, engine, options, parent, parent_events, parent_turns FROM sessions WHERE id=?",
                (session,),
            ).fetchone()
        if row is None:
            recent = ", ".join(self.ids()[:5]) or "none"
            raise SessionError(f"there is no session {session!r}", hint=f"most recent: {recent}")
        world = WorldSpec.model_validate_json(row[1]) if row[1] else self.get(row[4]).world
        return SessionRecord(row[0], world, row[2], json.loads(row[3]), *row[4:])

    def ids(self) -> list[str]:
        """Return the ids of all sessions, newest first."""
        with self._guard("listing sessions"):
            return [row[0] for row in self._db.execute("SELECT id FROM sessions ORDER BY created DESC, id")]

    def append(self, session: str, number: int, turns: int, settled: SettledTurn) -> None:
        """Commit a turn as event `number`, after which the session has `turns` turns."""
        prediction = settled.prediction
        self._insert(
            (
                session,
                number,
                "turn",
                turns,
                settled.turn.model_dump_json(exclude_defaults=True),
                None
                if prediction is None
                else prediction.model_dump_json(exclude_defaults=True, exclude={"observation"}),
            )
        )

    def append_rewind(self, session: str, number: int, turns: int) -> None:
        """Commit that the session goes back to its first `turns` turns."""
        self._insert((session, number, "rewind", turns, None, None))

    def events(self, session: str) -> int:
        """Return the number of the session's last event, 0 if it has none."""
        with self._guard("reading events"):
            row = self._db.execute("SELECT max(number) FROM events WHERE session=?", (session,)).fetchone()
        return int(row[0] or 0)

    def turns(self, session: str, upto: int | None = None) -> list[SettledTurn]:
        """Return the turns that stand after the session's first `upto` events (None: all), with its parents'."""
        record = self.get(session)
        standing = self.turns(record.parent, record.parent_events) if record.parent is not None else []
        for kind, turns, turn, prediction in self._rows(session, upto):
            if kind == "rewind":
                del standing[turns:]
                continue
            settled = Turn.model_validate_json(turn)
            standing.append(SettledTurn(settled, None if prediction is None else _prediction(prediction, settled)))
        return standing

    def save_snapshot(self, session: str, events: int, turns: int, state: bytes) -> None:
        """Cache the engine state after `events` events, replacing the session's older one."""
        with self._guard("saving a snapshot"):
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM snapshots WHERE session=?", (session,))
            self._db.execute("INSERT INTO snapshots VALUES (?,?,?,?)", (session, events, turns, state))
            self._db.execute("COMMIT")

    def snapshot(self, session: str) -> tuple[int, int, bytes] | None:
        """Return the cached `(events, turns, state)` of a session, if there is one."""
        with self._guard("reading a snapshot"):
            row = self._db.execute("SELECT events, turns, state FROM snapshots WHERE session=?", (session,)).fetchone()
        return None if row is None else (row[0], row[1], row[2])

    def _rows(self, session: str, upto: int | None) -> Iterator[tuple[Literal["turn", "rewind"], int, str, str | None]]:
        with self._guard("reading events"):
            yield from self._db.execute(
                "SELECT kind, turns, turn, prediction FROM events WHERE session=? AND number<=? ORDER BY number",
                (session, 2**62 if upto is None else upto),
            )

    def _insert(self, values: tuple[str, int, str, int, str | None, str | None]) -> None:
        with self._guard("committing to the event log"):
            self._db.execute("INSERT INTO events VALUES (?,?,?,?,?,?)", values)

    @contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as exc:
            raise SessionError(
                f"{what}: that is in the log already",
                hint="another process may be writing to the same session: fork it instead",
            ) from exc
        except (sqlite3.Error, OSError) as exc:
            raise StorageError(
                f"{what}: {exc} ({self.path or 'in memory'})",
                hint=_advice(exc),
            ) from exc


def _advice(error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return "the file is damaged or no event log: choose another with --store"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return "free some space or choose another file with --store; acknowledged turns are safe"
    if code == sqlite3.SQLITE_BUSY:
        return "another process holds the event log: wait for it or choose another file with --store"
    return "choose another file with --store, or make this place writable; acknowledged turns are safe"


def _world_json(world: WorldSpec) -> str:
    return world.model_dump_json(exclude_defaults=True)


def _prediction(text: str, turn: Turn) -> Prediction:
    """Read a stored prediction; its observation is the turn's, so it is stored only once."""
    return Prediction.model_validate({**json.loads(text), "observation": turn.observation})
