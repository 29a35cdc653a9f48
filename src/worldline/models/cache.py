"""A content-addressed cache of model answers: the same question is paid for once."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from worldline.errors import StorageError, boundary
from worldline.models.base import ChatModel, Message, ModelAnswer, Sampling
from worldline.types import JsonDict, Usage, content_id

__all__ = ["CachedModel", "ResponseCache", "cache_key"]

_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
_HINT = "another place can be chosen, or the cache left out; a damaged cache file may be deleted"


def cache_key(identity: JsonDict, messages: Sequence[Message], sampling: Sampling | None) -> str:
    """SHA-256 over the model's identity, the conversation and the sampling. No key or header goes in."""
    asked = asdict(sampling or Sampling())
    return content_id({"model": identity, "messages": list(messages), "sampling": asked}, length=64)


class ResponseCache:
    """Answers by key in an SQLite file, shared by any number of processes.

    An answer that was stored survives the death of the process; one that was being stored is absent, never torn.

    Args:
        path: The file; made, with its folder, where it does not exist.

    Raises:
        StorageError: It cannot be opened or is no such cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with boundary(StorageError, f"opening the answer cache {path}", OSError, sqlite3.Error):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Autocommit: each answer is one transaction. The connection may move between threads, not be shared.
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.execute(_SCHEMA)
            except sqlite3.Error as exc:
                self._db.close()
                raise StorageError(f"opening the answer cache {path}: {exc}", hint=_HINT) from exc

    def get(self, key: str) -> ModelAnswer | None:
        """Return the answer stored under `key`, marked as cached and free of charge, or None.

        Raises:
            StorageError: The file cannot be read.
        """
        began = time.perf_counter()
        with boundary(StorageError, f"reading the answer cache {self.path}", OSError, sqlite3.Error):
            row = self._db.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        stored = json.loads(row[0])
        paid = Usage(**stored.pop("usage"))
        usage = paid.model_copy(update={"latency_s": time.perf_counter() - began, "cost_usd": 0.0})
        return ModelAnswer(**stored, usage=usage, cached=True)

    def put(self, key: str, answer: ModelAnswer) -> None:
        """Store an answer; when this returns, it is safe from a kill of the process.

        Raises:
            StorageError: The disk is full or read-only.
        """
        value = {
            "content": answer.content,
            "reasoning": answer.reasoning,
            "finish_reason": answer.finish_reason,
            "usage": answer.usage.model_dump(mode="json"),
            "model": answer.model,
            "raw": answer.raw,
        }
        with boundary(StorageError, f"writing the answer cache {self.path}", OSError, sqlite3.Error):
            self._db.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(value, ensure_ascii=False))
            )

    def __len__(self) -> int:
        with boundary(StorageError, f"reading the answer cache {self.path}", OSError, sqlite3.Error):
            return int(self._db.execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class CachedModel:
    """A chat model that asks another one only what it has not been asked before.

    Only usable answers are stored, never errors. Sampling with a temperature gives the same answer again too: vary
    `seed` to get several.

    Args:
        inner: The model that answers.
        path: The cache file.

    Raises:
        StorageError: The cache file cannot be opened.
    """

    def __init__(self, inner: ChatModel, path: Path) -> None:
        self.inner = inner
        self.name = inner.name
        self.cache = ResponseCache(path)

    def __repr__(self) -> str:
        return f"CachedModel({self.inner!r}, {str(self.cache.path)!r})"

    @property
    def context_length(self) -> int | None:
        """Tokens the inner model can take, if known."""
        return getattr(self.inner, "context_length", None)

    def effective_sampling(self, sampling: Sampling | None) -> Sampling | None:
        """The sampling a call will be made with, as far as the inner model tells."""
        effective = getattr(self.inner, "effective_sampling", None)
        return effective(sampling) if effective is not None else sampling

    async def complete(self, messages: Sequence[Message], sampling: Sampling | None = None) -> ModelAnswer:
        """Answer from the cache, or ask and store.

        Raises:
            ModelError: As the inner model does.
            StorageError: The cache cannot be read or written.
        """
        key = self._key(messages, sampling)
        found = self.cache.get(key)
        if found is not None:
            return found
        answer = await self.inner.complete(messages, sampling)
        self.cache.put(key, answer)
        return answer

    async def aclose(self) -> None:
        """Close the cache and the inner model."""
        self.cache.close()
        await self.inner.aclose()

    def _key(self, messages: Sequence[Message], sampling: Sampling | None) -> str:
        identity = getattr(self.inner, "cache_identity", None) or {"name": self.inner.name}
        return cache_key(identity, messages, self.effective_sampling(sampling))
