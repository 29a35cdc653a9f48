"""The journal of a benchmark run: finished sessions, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Generic, TypeVar

from worldline.errors import StorageError, boundary
from worldline.types import Frozen

__all__ = ["Journal"]


Score = TypeVar("Score", bound=Frozen)


class Journal(Generic[Score]):
    """Scores by trajectory, appended line by line to a file that begins with the run's fingerprint.

    Args:
        path: The file; made if missing. A file of another run (another fingerprint) is started anew; a torn last
            line is dropped.
        fingerprint: Hash of everything the scores depend on.
        kind: What a score is.

    Raises:
        StorageError: The file cannot be written.
    """

    def __init__(self, path: Path, fingerprint: str, kind: type[Score]) -> None:
        self._path = path
        self._kind = kind
        self._done: dict[str, list[Score]] = {}
        with boundary(StorageError, f"opening {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = self._read(fingerprint)
            # Without a buffer, what a full disk refused is not tried again when the file is closed.
            self._file: IO[bytes] = path.open("r+b" if kept else "wb", buffering=0)
            self._file.truncate(kept)
            self._file.seek(kept)
            if not kept:
                self._write(json.dumps({"fingerprint": fingerprint}))

    def __enter__(self) -> Journal[Score]:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._done)

    def get(self, trajectory: str) -> list[Score] | None:
        """Return the scores of a finished trajectory, or None."""
        return self._done.get(trajectory)

    def add(self, trajectory: str, scores: Sequence[Score]) -> None:
        """Keep the scores of a finished trajectory, on disk before this returns."""
        rows = [score.model_dump(mode="json", exclude_defaults=True) for score in scores]
        with boundary(StorageError, f"writing {self._path}"):
            self._write(json.dumps({"trajectory": trajectory, "scores": rows}))
        self._done[trajectory] = list(scores)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: str) -> None:
        begin, rest = self._file.tell(), memoryview(line.encode("utf-8") + b"\n")
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(begin)
            raise

    def _read(self, fingerprint: str) -> int:
        """Read what can be used and return how many bytes of the file that is."""
        if not self._path.exists():
            return 0
        data = self._path.read_bytes()
        kept = 0
        for number, line in enumerate(data.split(b"\n")[:-1]):
            try:
                value = json.loads(line)
                if number == 0 and value.get("fingerprint") != fingerprint:
                    return 0
                if number:
                    self._done[value["trajectory"]] = [self._kind.model_validate(row) for row in value["scores"]]
            except (ValueError, KeyError, AttributeError):
                break
            kept += len(line) + 1
        return kept
