"""The folder of an evaluation run: what was asked for, and append-only files of what came back.

A record is one line of JSON, written by one call of the operating system, so that a process that is killed loses no
record that was appended, at most a torn last line. Records are made safe against a loss of power in batches.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, TypeVar

import pydantic

from worldline.bench.agentworld.records import EvalRow, Generation, Judgement
from worldline.bench.agentworld.rows import RowIndex, RowRef
from worldline.errors import ConfigError, StorageError, boundary
from worldline.types import JsonDict

__all__ = ["RecordFile", "RunFolder", "RunWriter", "read_records", "settled"]

Record = Generation | Judgement
R = TypeVar("R", Generation, Judgement)

_SYNC_RECORDS = 64
_SYNC_SECONDS = 2.0


def settled(record: Record) -> bool:
    """Whether nothing would be gained by asking again: an answer, or a failure that another run would meet too."""
    return record.outcome != "error" or not (record.error or {}).get("transient", False)


class RecordFile(Generic[R]):
    """Records of one kind, by key; the last one of a key counts.

    Only keys and places are held in memory. One process writes at a time (see :class:`RunWriter`).

    Args:
        path: The file, made if missing. A torn last line is dropped.
        kind: What the records are.

    Raises:
        StorageError: It cannot be opened, or a line that is not the last one is damaged.
    """

    def __init__(self, path: Path, kind: type[R]) -> None:
        self.path = path
        self._kind: type[R] = kind
        self._places: dict[str, tuple[int, int]] = {}
        self._settled: set[str] = set()
        self._unsynced = 0
        self._synced_at = time.monotonic()
        with boundary(StorageError, f"opening {path}", OSError):
            # Without a buffer, what was appended is with the operating system when `append` returns.
            self._file: IO[bytes] = path.open("a+b", buffering=0)
        with ExitStack() as undo:
            undo.callback(self._file.close)
            self._end = self._load()
            undo.pop_all()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def is_settled(self, key: str) -> bool:
        """Whether there is a record of this key that no further run can better."""
        return key in self._settled

    def reopen(self, wanted: Callable[[R], bool]) -> int:
        """Let records be superseded though they are settled.

        Args:
            wanted: Which ones.

        Returns:
            How many.
        """
        keys = {record.key for record in self if self.is_settled(record.key) and wanted(record)}
        self._settled -= keys
        return len(keys)

    def get(self, key: str) -> R | None:
        """Return the record of a key, read from the file.

        Raises:
            StorageError: The file cannot be read.
        """
        place = self._places.get(key)
        if place is None:
            return None
        with boundary(StorageError, f"reading {self.path}", OSError, ValueError):
            record: R = self._kind.model_validate_json(os.pread(self._file.fileno(), place[1], place[0]))
            return record

    def __iter__(self) -> Iterator[R]:
        for key in tuple(self._places):
            record = self.get(key)
            assert record is not None
            yield record

    def append(self, record: R) -> bool:
        """Append a record; it survives a kill of the process when this returns.

        Returns:
            Whether it was appended: a key that is settled gets no second record.

        Raises:
            StorageError: The disk is full or read-only; nothing of the record is left in the file.
        """
        if self.is_settled(record.key):
            return False
        data = record.model_dump_json(exclude_defaults=True).encode("utf-8") + b"\n"
        with boundary(StorageError, f"writing {self.path}"):
            self._write(data)
            self._note(record, self._end, len(data))
            self._end += len(data)
            self._unsynced += 1
            if self._unsynced >= _SYNC_RECORDS or time.monotonic() - self._synced_at >= _SYNC_SECONDS:
                self.sync()
        return True

    def sync(self) -> None:
        """Make what was appended safe against a loss of power.

        Raises:
            StorageError: The disk refuses.
        """
        if self._unsynced:
            with boundary(StorageError, f"writing {self.path}", OSError):
                os.fdatasync(self._file.fileno())
        self._unsynced, self._synced_at = 0, time.monotonic()

    def close(self) -> None:
        """Sync and close."""
        try:
            self.sync()
        finally:
            self._file.close()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise

    def _note(self, record: R, offset: int, length: int) -> None:
        self._places[record.key] = (offset, length)
        self._settled.discard(record.key)
        if settled(record):
            self._settled.add(record.key)

    def _load(self) -> int:
        with boundary(StorageError, f"reading {self.path}", OSError):
            self._file.seek(0)
            end = 0
            with os.fdopen(os.dup(self._file.fileno()), "rb") as reader:
                for number, line in enumerate(reader, 1):
                    record = _parsed(self._kind, line, self.path, number)
                    if record is None:
                        break
                    if not line.endswith(b"\n"):  # only the newline is missing
                        self._file.write(b"\n")
                        line += b"\n"
                    self._note(record, end, len(line))
                    end += len(line)
            self._file.truncate(end)
        return end


def _parsed(kind: type[R], line: bytes, path: Path, number: int) -> R | None:
    """Read a line; None if it is torn, which only the last one can be."""
    try:
        return kind.model_validate_json(line)
    except pydantic.ValidationError as exc:
        if not line.endswith(b"\n"):
            return None
        raise StorageError(
            f"{path}:{number} is damaged", hint="delete the line: what it held will be asked again"
        ) from exc


def read_records(path: Path, kind: type[R]) -> Iterator[R]:
    """Read the records of a file that another process may be writing; of a key, the one that counts.

    Raises:
        StorageError: The file cannot be read or is damaged.
    """
    if not path.exists():
        return
    last = {record.key: offset for record, offset in _scan(path, kind)}
    for record, offset in _scan(path, kind):
        if last.get(record.key) == offset:
            yield record


def _scan(path: Path, kind: type[R]) -> Iterator[tuple[R, int]]:
    offset = 0
    with boundary(StorageError, f"reading {path}", OSError), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            record = _parsed(kind, line, path, number)
            if record is None:
                return
            yield record, offset
            offset += len(line)


class RunFolder:
    """A run's folder, for reading: while a run writes to it, too.

    `run.json` holds the settings, `rows.jsonl` the selected rows (:class:`RowRef`, no texts).

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._refs: dict[str, RowRef] | None = None

    @property
    def settings(self) -> JsonDict:
        """What `run.json` says.

        Raises:
            ConfigError: There is no run here, or it cannot be read.
        """
        file = self.path / "run.json"
        if not file.exists():
            raise ConfigError(f"{self.path} holds no evaluation run", hint="worldline bench agentworld run --out DIR")
        with boundary(ConfigError, f"reading {file}", OSError, ValueError):
            value: JsonDict = json.loads(file.read_text(encoding="utf-8"))
        return value

    def refs(self) -> dict[str, RowRef]:
        """The selected rows by key, in the order of the run.

        Raises:
            ConfigError: The list of rows cannot be read.
        """
        if self._refs is None:
            file = self.path / "rows.jsonl"
            with boundary(ConfigError, f"reading {file}", OSError, ValueError), file.open(encoding="utf-8") as lines:
                found = [RowRef.model_validate_json(line) for line in lines]
            self._refs = {ref.key: ref for ref in found}
        return self._refs

    def row(self, key: str) -> EvalRow:
        """Read a row's texts from the data.

        Raises:
            FormatError: The data is gone or has changed.
        """
        return RowIndex(Path(self.settings["data"]), ()).read(self.refs()[key])

    def generations(self) -> Iterator[Generation]:
        """The generations, one for each key."""
        return read_records(self.path / "generations.jsonl", Generation)

    def judgements(self) -> Iterator[Judgement]:
        """The judgements, one for each key."""
        return read_records(self.path / "judgements.jsonl", Judgement)


class RunWriter:
    """A run's folder, held by one process.

    Args:
        path: The folder; made if missing.

    Raises:
        StorageError: Another process holds it, it cannot be written, or a file in it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder(path)
        with boundary(StorageError, f"opening the run {path}", OSError):
            path.mkdir(parents=True, exist_ok=True)
            lock = (path / ".lock").open("ab")
        with ExitStack() as opened:
            # The operating system lets go of the lock, also where the process was killed.
            self._lock = opened.enter_context(lock)
            self._take_lock(path)
            self.generations = RecordFile(path / "generations.jsonl", Generation)
            opened.callback(self.generations.close)
            self.judgements = RecordFile(path / "judgements.jsonl", Judgement)
            opened.callback(self.judgements.close)
            self._opened = opened.pop_all()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Sync, close and let go of the folder."""
        self._opened.close()

    def put_settings(self, settings: JsonDict) -> None:
        """Write `run.json`, whole or not at all."""
        self._replace("run.json", json.dumps(settings, ensure_ascii=False, indent=2) + "\n")

    def put_rows(self, refs: Iterable[RowRef]) -> None:
        """Write the list of selected rows, whole or not at all."""
        self._replace("rows.jsonl", "".join(ref.model_dump_json() + "\n" for ref in refs))
        self.folder = RunFolder(self.folder.path)

    def _replace(self, name: str, text: str) -> None:
        path = self.folder.path / name
        with boundary(StorageError, f"writing {path}", OSError):
            partial = path.with_name(f"{name}.tmp")
            with partial.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)

    def _take_lock(self, path: Path) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StorageError(f"the run {path} cannot be locked: {exc}") from exc
            raise StorageError(
                f"another process is writing the run {path}", hint="wait for it, or choose another --out"
            ) from exc
