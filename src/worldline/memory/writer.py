"""A memory directory, written: trajectories are added in atomic batches, each once, by one process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError

from worldline.errors import ConfigError, StorageError, boundary
from worldline.kernels.base import Kernel
from worldline.memory import files
from worldline.memory.admit import admit
from worldline.memory.shape import shape_of
from worldline.memory.transition import Footing, Transition, answer_key, follow, short_hash, transitions_of
from worldline.memory.words import WordIndex
from worldline.types import Source, Trajectory, WorldSpec, canonical_json

__all__ = ["MemoryWriter"]

_BATCH = 20_000
"""Transitions in one commit ..."""
_BATCH_BYTES = 64 << 20
"""... or so many bytes of observations."""
_CACHE_KIB = 192 * 1024
_CHUNK = 500
_REPAIR_CHUNK = 10_000
_LONGEST_SHAPED = 8000
"""Observations longer than this, in bytes, are not re-grounded."""


class _Pending(NamedTuple):
    key: int
    domain: str
    text: str
    action: bytes
    footprint: int | str | None
    surroundings: str
    answer: int
    trajectory: int
    turn: int
    shape: int | None
    state: int | str | None
    presence: str | None
    observation: bytes


class MemoryWriter:
    """Adds trajectories to a memory directory.

    A trajectory is told by a hash of its content, so adding one again does nothing. What was committed survives the
    death of the process; running the same additions again goes on behind it. Memory built in several runs is the
    same as one built at once.

    Args:
        folder: The directory; made where it is missing.
        kernel_for: Builds the kernel that tells what recorded actions read. Without one, recorded answers are
            recalled by state only where their footings are given.
        batch: Transitions in one commit.

    Raises:
        StorageError: The directory cannot be written, is damaged, of another version, or another process writes to it.
    """

    def __init__(
        self, folder: str | Path, kernel_for: Callable[[WorldSpec], Kernel] | None = None, *, batch: int = _BATCH
    ) -> None:
        self.folder = Path(folder)
        self._kernel_for = kernel_for
        self._batch = batch
        self._pending: list[_Pending] = []
        self._bytes = 0
        self._new: dict[str, tuple[int, str, str, int, int]] = {}
        self._surroundings: dict[str, int] = {}
        with boundary(StorageError, f"opening memory {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / files.LOCK).open("a")
        try:
            self._take_lock()
            with files.guard(self.folder, "opening"):
                self._db = self._open_database()
            self._words = self._open_words()
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> MemoryWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.flush()
        self.close()

    def add(self, trajectory: Trajectory, footings: Sequence[Footing] | None = None) -> bool:
        """Add a trajectory; it is durable after the batch it belongs to, at the latest after :meth:`flush`.

        Args:
            trajectory: An observed trajectory.
            footings: What its turns stood on, where that was told earlier; spares the kernel.

        Returns:
            False where it is in the memory already.

        Raises:
            EvaluationOnlyError: It is marked as evaluation data.
            ConfigError: It is simulated.
            StorageError: The batch cannot be written; what was committed before is safe.
        """
        admit(trajectory)
        if trajectory.source is not Source.OBSERVED:
            raise ConfigError(
                f"trajectory {trajectory.id} is simulated", hint="memory holds recorded reality: leave it out"
            )
        key = _content_key(trajectory)
        if key in self._new or self._holds(key):
            return False
        if footings is None:
            footings = follow(trajectory, self._kernel_for)
        number = self._next_trajectory
        self._next_trajectory += 1
        followed = sum(stood.footprint is not None for stood in footings)
        self._new[key] = (number, trajectory.id, trajectory.family, len(trajectory.turns), followed)
        for turn, transition in enumerate(transitions_of(trajectory, footings)):
            pending = _pend(transition, number, turn)
            self._pending.append(pending)
            self._bytes += len(pending.observation)
        if len(self._pending) >= self._batch or self._bytes >= _BATCH_BYTES:
            self.flush()
        return True

    def flush(self) -> None:
        """Commit what was added: all of it or nothing.

        Raises:
            StorageError: It cannot be written.
        """
        if not self._new:
            return
        with files.guard(self.folder, "writing"), self._transaction():
            self._db.executemany(
                "INSERT INTO trajectories (key, id, name, family, turns, followed) VALUES (?,?,?,?,?,?)",
                [(key, *row) for key, row in self._new.items()],
            )
            actions, texts = self._write_actions()
            self._write_transitions(actions)
        self._pending, self._bytes, self._new = [], 0, {}
        for domain, numbered in texts.items():
            self._words.add(domain, numbered)
        self._words.commit()

    def close(self) -> None:
        """Let go of the directory; what was added since the last batch is dropped."""
        try:
            self._words.close()
            self._db.close()
        finally:
            self._lock.close()

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise StorageError(
                f"memory {self.folder}: another process writes to it", hint="wait until it has finished"
            ) from exc

    def _open_database(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.folder / files.DATABASE, isolation_level=None, timeout=30)
        fresh = not database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        if fresh:
            marks = f"PRAGMA application_id={files.APPLICATION_ID}; PRAGMA user_version={files.VERSION};"
            database.executescript(f"PRAGMA journal_mode=WAL; BEGIN; {files.SCHEMA} {marks} COMMIT;")
        files.check_version(database, self.folder)
        # WAL with synchronous=NORMAL survives the death of the process; only a power cut may lose the last batches.
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", f"cache_size=-{_CACHE_KIB}", "temp_store=MEMORY"):
            database.execute(f"PRAGMA {pragma}")
        self._next_trajectory = _next(database, "trajectories")
        self._next_action = _next(database, "actions")
        self._next_transition = _next(database, "transitions")
        return database

    def _open_words(self) -> WordIndex:
        """Open the word index, and bring it up to the database: a process may have died between the two commits."""
        folder = self.folder / files.WORDS
        last = self._next_action - 1
        try:
            words = WordIndex(folder, create=True)
        except StorageError:
            words = None
        if words is None or len(words) > last:
            shutil.rmtree(folder, ignore_errors=True)
            words = WordIndex(folder, create=True)
        for start in range(len(words) + 1, last + 1, _REPAIR_CHUNK):
            query = "SELECT id, domain, action FROM actions WHERE id BETWEEN ? AND ? ORDER BY id"
            with files.guard(self.folder, "reading"):
                rows = self._db.execute(query, (start, min(start + _REPAIR_CHUNK - 1, last))).fetchall()
                texts = [(number, domain, files.unpack_action(action).render()) for number, domain, action in rows]
            for number, domain, text in texts:
                words.add(domain, [(number, text)])
        words.commit()
        return words

    def _holds(self, key: str) -> bool:
        with files.guard(self.folder, "reading"):
            return self._db.execute("SELECT 1 FROM trajectories WHERE key = ?", (key,)).fetchone() is not None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _write_actions(self) -> tuple[dict[tuple[str, bytes], int], dict[str, list[tuple[int, str]]]]:
        """Insert the batch's new actions; return the numbers of all its actions, and the new ones' texts."""
        keys = {(p.domain, p.action): short_hash(p.domain, p.text) for p in self._pending}
        known: dict[tuple[str, bytes], int] = {}
        for number, domain, action in self._select("id, domain, action FROM actions", sorted(set(keys.values()))):
            known[domain, files.pack_action(files.unpack_action(action))] = number
        rows: list[tuple[int, int, str, bytes]] = []
        texts: dict[str, list[tuple[int, str]]] = {}
        for pending in self._pending:
            key = (pending.domain, pending.action)
            if key not in known:
                known[key] = self._next_action + len(rows)
                rows.append((known[key], keys[key], pending.domain, files.squeeze(pending.action)))
                texts.setdefault(pending.domain, []).append((known[key], pending.text))
        self._db.executemany("INSERT INTO actions VALUES (?,?,?,?)", rows)
        self._next_action += len(rows)
        return known, texts

    def _write_transitions(self, actions: dict[tuple[str, bytes], int]) -> None:
        votes: dict[int, int] = {}
        for pending in self._pending:
            votes[pending.key] = votes.get(pending.key, 0) + 1
        known = {key for (key,) in self._select("key FROM transitions", sorted(votes))}
        again = [(votes[key], key) for key in known]
        self._db.executemany("UPDATE transitions SET votes = votes + ? WHERE key = ?", again)
        number, rows = self._next_transition, []
        for p in self._pending:
            if p.key in known:
                continue
            known.add(p.key)
            found = (actions[p.domain, p.action], p.footprint, self._place(p), p.answer, votes[p.key])
            where = (p.trajectory, p.turn, p.shape, p.state, p.presence, files.squeeze(p.observation))
            rows.append((number, p.key, *found, *where))
            number += 1
        self._db.executemany(f"INSERT INTO transitions VALUES ({','.join('?' * 13)})", rows)
        self._next_transition = number

    def _place(self, pending: _Pending) -> int:
        content = pending.surroundings
        if content not in self._surroundings:
            found = self._db.execute("SELECT id FROM surroundings WHERE content = ?", (content,)).fetchone()
            if found is None:
                values = (files.stored_key(json.loads(content)[0]), content)
                cursor = self._db.execute("INSERT INTO surroundings (environment, content) VALUES (?,?)", values)
                found = (cursor.lastrowid,)
            if len(self._surroundings) > 100_000:
                self._surroundings.clear()
            self._surroundings[content] = found[0]
        return self._surroundings[content]

    def _select(self, what: str, keys: Sequence[int]) -> Iterator[Any]:
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            yield from self._db.execute(f"SELECT {what} WHERE key IN ({','.join('?' * len(chunk))})", chunk)


def _next(database: sqlite3.Connection, table: str) -> int:
    return int(database.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}").fetchone()[0])


def _content_key(trajectory: Trajectory) -> str:
    """Hash what happened, whatever id the file gave to it."""
    try:
        data = trajectory.model_dump_json(include={"world", "turns"}, exclude_defaults=True).encode()
    except (PydanticSerializationError, UnicodeError):  # halves of surrogate pairs
        parts = trajectory.model_dump(include={"world", "turns"}, exclude_defaults=True)
        data = canonical_json(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]


def _pend(transition: Transition, trajectory: int, turn: int) -> _Pending:
    action, observation = files.pack_action(transition.action), files.pack_observation(transition.observation)
    surroundings = _surroundings(transition.environment, tuple(transition.values.items()))
    told = f"{surroundings}/{transition.footprint!r}/{transition.state!r}/{transition.presence!r}/{len(action)}/"
    identity = hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8)
    identity.update(transition.domain.encode() + b"\0" + action + b"\0" + observation)
    text = transition.action.render()
    shape = shape_of(transition.action)
    shaped = shape.key != "" and len(observation) <= _LONGEST_SHAPED and _plain(transition)
    return _Pending(
        key=int.from_bytes(identity.digest(), "big", signed=True),
        domain=transition.domain,
        text=text,
        action=action,
        footprint=files.stored_key(transition.footprint),
        surroundings=surroundings,
        answer=answer_key(transition.observation),
        trajectory=trajectory,
        turn=turn,
        shape=short_hash(transition.domain, shape.key) if shaped else None,
        state=files.stored_key(transition.state) if shaped else None,
        presence=transition.presence,
        observation=observation,
    )


@lru_cache(maxsize=1024)
def _surroundings(environment: str, values: tuple[tuple[str, str], ...]) -> str:
    return json.dumps([environment, dict(sorted(values))])


def _plain(transition: Transition) -> bool:
    observation = transition.observation
    return not (observation.volatile or observation.truncated or observation.raw is not None)
