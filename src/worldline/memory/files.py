"""A memory directory: its database, its word index, and how rows are packed.

    DIR/transitions.db   SQLite: the truth
    DIR/words/           tantivy: numbered action texts; can be made anew from the database
    DIR/lock             held by the one process that writes

A transition recorded more than once in the same situation with the same answer is one row that counts its votes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zstandard
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from worldline.errors import StorageError
from worldline.types import Action, Observation

__all__ = [
    "APPLICATION_ID",
    "DATABASE",
    "LOCK",
    "SCHEMA",
    "VERSION",
    "WORDS",
    "check_version",
    "guard",
    "pack_action",
    "pack_observation",
    "squeeze",
    "stored_key",
    "told_key",
    "unpack_action",
    "unpack_observation",
]

DATABASE, WORDS, LOCK = "transitions.db", "words", "lock"
APPLICATION_ID = 0x574C4D31
"""Marks a database as one of ours: `WLM1`."""
VERSION = 1

SCHEMA = """
CREATE TABLE trajectories (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, family TEXT NOT NULL,
    turns INTEGER NOT NULL, followed INTEGER NOT NULL
);
CREATE TABLE surroundings (id INTEGER PRIMARY KEY, environment NOT NULL, content TEXT NOT NULL UNIQUE);
CREATE TABLE actions (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, domain TEXT NOT NULL, action BLOB NOT NULL);
CREATE TABLE transitions (
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL, action INTEGER NOT NULL, footprint, surroundings INTEGER NOT NULL,
    answer INTEGER NOT NULL, votes INTEGER NOT NULL, trajectory INTEGER NOT NULL, turn INTEGER NOT NULL,
    shape INTEGER, state, presence TEXT, observation BLOB NOT NULL
);
CREATE UNIQUE INDEX transitions_key ON transitions (key);
CREATE INDEX actions_key ON actions (key);
CREATE INDEX transitions_action ON transitions (action, footprint);
CREATE INDEX transitions_shape ON transitions (shape, presence) WHERE shape IS NOT NULL;
CREATE INDEX transitions_state ON transitions (shape, state) WHERE state IS NOT NULL;
"""

_COMPRESS_FROM = 400
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_LARGEST = 1 << 30


@contextmanager
def guard(folder: Path, what: str) -> Iterator[None]:
    """Turn what the database raises into a StorageError."""
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        raise StorageError(f"{what} memory {folder}: {exc}", hint=_advice(exc)) from exc
    except (ValidationError, ValueError, TypeError, zstandard.ZstdError) as exc:
        raise StorageError(f"{what} memory {folder}: a damaged row: {exc}", hint=_REBUILD) from exc


_REBUILD = "build it anew from its trajectories: worldline memory build"


def _advice(error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return f"it is damaged or no memory: {_REBUILD}"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) or isinstance(error, OSError):
        return "free some space, or make the place writable, and run the same command again: it goes on"
    if code == sqlite3.SQLITE_BUSY:
        return "another process holds it: wait and try again"
    return f"if it is damaged, {_REBUILD}"


def check_version(database: sqlite3.Connection, folder: Path) -> None:
    """Refuse a database that is not a memory of this version.

    Raises:
        StorageError: It is not one.
    """
    mark = database.execute("PRAGMA application_id").fetchone()[0]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if mark != APPLICATION_ID:
        raise StorageError(f"{folder}: {DATABASE} is no memory", hint="choose another directory")
    if version != VERSION:
        raise StorageError(f"{folder}: memory of version {version}, expected {VERSION}", hint=_REBUILD)


def squeeze(data: bytes) -> bytes:
    """Compress long JSON; short JSON stays as it is, and can be told apart because it starts otherwise."""
    return zstandard.ZstdCompressor(level=1).compress(data) if len(data) >= _COMPRESS_FROM else data


def _expand(data: bytes) -> str:
    if data[:4] == _ZSTD_MAGIC:
        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=_LARGEST)
    return data.decode("utf-8", "surrogatepass")


def _dumps(value: Any) -> bytes:
    try:
        return to_json(value)
    except (PydanticSerializationError, UnicodeError):  # halves of surrogate pairs
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def pack_action(action: Action) -> bytes:
    """Write an action as JSON, without the id of its call, which says nothing elsewhere."""
    return _dumps([action.name, action.arguments, action.text])


def unpack_action(data: bytes) -> Action:
    """Undo :func:`pack_action` and :func:`squeeze`."""
    name, arguments, text = json.loads(_expand(data))
    return Action(name=name, arguments=arguments, text=text)


_FIELDS = [(name, field.get_default(call_default_factory=True)) for name, field in Observation.model_fields.items()]


def pack_observation(observation: Observation) -> bytes:
    """Write an observation as JSON; a text that is its streams one after the other is left out."""
    held = observation.__dict__
    found = {name: held[name] for name, default in _FIELDS if held[name] != default}
    if observation.stdout is not None and observation.text == observation.stdout + (observation.stderr or ""):
        found.pop("text", None)
        found["joined"] = True
    if observation.volatile:
        found["volatile"] = [span.model_dump(mode="json") for span in observation.volatile]
    return _dumps(found)


def unpack_observation(data: bytes) -> Observation:
    """Undo :func:`pack_observation` and :func:`squeeze`."""
    found = json.loads(_expand(data))
    if found.pop("joined", False):
        found["text"] = (found.get("stdout") or "") + (found.get("stderr") or "")
    return Observation.model_validate(found)


def stored_key(value: str | None) -> int | str | None:
    """Store a hash of 16 hex digits as the number it is; anything else as it stands."""
    if value is None or len(value) != 16:
        return value
    try:
        number = int(value, 16)
    except ValueError:
        return value
    if f"{number:016x}" != value:
        return value
    return number - (1 << 64) if number >= 1 << 63 else number


def told_key(value: int | str | None) -> str | None:
    """Undo :func:`stored_key`."""
    return f"{value % (1 << 64):016x}" if isinstance(value, int) else value
