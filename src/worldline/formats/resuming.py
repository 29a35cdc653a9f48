"""Writing the result of a long import: there whole or not at all, and a killed run goes on where it stopped.

Beside the target lie a part and a journal, whose lines name the units that are whole in the part up to some place. A
run with the same plan cuts off what follows that place and leaves out the units that the journal names.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from worldline.errors import ConfigError, StorageError, boundary
from worldline.formats.catalog import writable_format
from worldline.formats.reading import read_trajectories
from worldline.types import JsonDict, Trajectory, canonical_json

__all__ = ["ResumableWriter"]

_SYNC_SECONDS = 1.0
"""How much work a kill may cost."""
_LEVEL = 12


class ResumableWriter:
    """Writes trajectories in the `worldline` format, unit by unit.

    Args:
        path: The file; a name that ends in `.zst` is compressed.
        plan: What makes the result what it is (options and versions, JSON); another plan starts anew.

    Raises:
        ConfigError: Another run is writing the same file.
        StorageError: The part or the journal cannot be opened.
    """

    def __init__(self, path: str | Path, plan: JsonDict) -> None:
        self.path = Path(path).resolve()  # a link stays a link
        self.done: dict[str, JsonDict] = {}
        """What was noted for each unit that an earlier run finished."""
        self.count = 0
        """Trajectories in the file so far."""
        self._part, self._journal = self.beside(self.path)
        self._layout = writable_format("worldline")
        self._pending: dict[str, JsonDict] = {}
        self._kept = False
        with boundary(StorageError, f"opening {self._journal}", OSError):
            self._notes = self._journal.open("a+b")
        with ExitStack() as undo:
            undo.callback(self._notes.close)
            self._open(plan)
            undo.pop_all()
        self._synced = time.monotonic()

    @staticmethod
    def beside(path: Path) -> tuple[Path, Path]:
        """Return where the part and the journal for a resolved path are."""
        return path.with_name(f".{path.name}.part"), path.with_name(f".{path.name}.journal")

    def _open(self, plan: JsonDict) -> None:
        with boundary(StorageError, f"opening {self._part}", OSError):
            try:
                fcntl.flock(self._notes, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(f"another run is writing {self.path}", hint="name another file with --out") from None
            self._handle = self._part.open("a+b")
            end = self._load(canonical_json(plan))
            self._handle.truncate(end)
            self._handle.seek(0, os.SEEK_END)
            self._out = self._opened()

    def _load(self, plan: str) -> int:
        """Take over the journal of a run with the same plan; return where its last whole unit ends in the part."""
        self._notes.seek(0)
        notes = list(_whole_notes(self._notes))
        size = self._handle.seek(0, os.SEEK_END)
        end = 0
        if notes and notes[0].get("plan") == plan:
            for note in notes[1:]:
                if note["end"] > size:
                    break
                self.done.update(note["units"])
                self.count, end = note["count"], note["end"]
        self._kept = bool(self.done)
        self._notes.truncate(0)
        self._note({"plan": plan})
        if self.done:
            self._note({"units": self.done, "count": self.count, "end": end})
        return end

    def _note(self, note: JsonDict) -> None:
        self._notes.write(json.dumps(note).encode("ascii") + b"\n")
        self._notes.flush()
        os.fsync(self._notes.fileno())

    def _opened(self) -> BinaryIO:
        if self.path.suffix != ".zst":
            return self._handle
        return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(self._handle, closefd=False)

    def recorded(self) -> Iterator[Trajectory]:
        """Yield what earlier runs wrote."""
        if self.count:
            yield from read_trajectories(self._part, format="worldline")

    def write(self, trajectory: Trajectory) -> None:
        """Write a trajectory of the present unit.

        Raises:
            StorageError: The disk is full or otherwise unwilling.
            FormatError: The trajectory does not fit the format.
        """
        data = self._layout.line(trajectory).encode("utf-8") + b"\n"
        with boundary(StorageError, f"writing {self._part}", OSError):
            self._out.write(data)
        self.count += 1

    def finish(self, unit: str, record: JsonDict) -> None:
        """Note that a unit is whole.

        Args:
            unit: Its key.
            record: What :attr:`done` shall say of it (JSON).
        """
        self._pending[unit] = record
        if time.monotonic() - self._synced > _SYNC_SECONDS:
            self._sync()

    def _sync(self) -> None:
        with boundary(StorageError, f"writing {self._part}", OSError):
            if self._out is not self._handle:
                self._out.close()
                self._out = self._opened()
            self._handle.flush()
            os.fsync(self._handle.fileno())
            end = self._handle.seek(0, os.SEEK_END)
            self._note({"units": self._pending, "count": self.count, "end": end})
        self._kept = True
        self._pending.clear()
        self._synced = time.monotonic()

    def commit(self) -> None:
        """Put the file in its place and remove the journal.

        Raises:
            StorageError: The disk is full or otherwise unwilling.
        """
        if self._out is not self._handle:
            self._out.close()
        with boundary(StorageError, f"writing {self.path}", OSError):
            self._handle.flush()
            os.fsync(self._handle.fileno())
            self._handle.close()
            self._part.replace(self.path)
            self._journal.unlink(missing_ok=True)
            self._notes.close()

    def abandon(self) -> None:
        """Stop: what is whole stays for the next run, or nothing where no unit is."""
        with boundary(StorageError, f"closing {self._part}", OSError):
            try:
                self._handle.close()
            finally:
                if not self._kept:
                    self._part.unlink(missing_ok=True)
                    self._journal.unlink(missing_ok=True)
                self._notes.close()


def _whole_notes(handle: io.BufferedRandom) -> Iterator[Any]:
    for line in handle:
        try:
            yield json.loads(line)
        except ValueError:
            return
