"""Writing trajectories: whole files atomically, or record by record with a promise after each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import zstandard

from worldline.errors import StorageError, boundary
from worldline.formats.base import WritableFormat
from worldline.formats.catalog import writable_format
from worldline.types import Trajectory

__all__ = ["TrajectoryWriter", "write_trajectories"]

_LEVEL = 12
"""Compression level of whole files: written once, read often."""


def write_trajectories(path: str | Path, trajectories: Iterable[Trajectory], *, format: str = "worldline") -> int:
    """Write a file that is there either whole or not at all.

    Args:
        path: The file; a name that ends in `.zst` is compressed.
        trajectories: What to write; taken one by one.
        format: Name of a format that can be written.

    Returns:
        How many were written.

    Raises:
        StorageError: The disk is full, read-only or otherwise unwilling.
        FormatError: A trajectory does not fit the format.
        ConfigError: The format is unknown or can only be read.
    """
    target = Path(path)
    layout = writable_format(format)
    with boundary(StorageError, f"writing {target}", OSError):
        if target.exists() and not target.is_file():  # a pipe or device: nothing to replace
            with target.open("wb") as handle:
                return _fill(handle, trajectories, layout, packed=target.suffix == ".zst")
        target = target.resolve()  # a link stays a link
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(number, "wb") as handle:
                count = _fill(handle, trajectories, layout, packed=target.suffix == ".zst")
                os.fsync(handle.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    return count


def _fill(handle: BinaryIO, trajectories: Iterable[Trajectory], layout: WritableFormat, *, packed: bool) -> int:
    """Write all trajectories and flush; return how many there were."""
    out = _compressed(handle) if packed else handle
    count = 0
    for trajectory in trajectories:
        out.write(layout.line(trajectory).encode("utf-8", "surrogatepass") + b"\n")
        count += 1
    if packed:
        out.close()
    handle.flush()
    return count


def _compressed(raw: BinaryIO) -> BinaryIO:
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(raw, closefd=False)


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


class TrajectoryWriter:
    """Appends trajectories to a file; each is on the disk when :meth:`write` returns.

    A line torn by a kill is cut off when the file is opened again. With a name that ends in `.zst` each
    trajectory is a zstd frame of its own, so a torn frame can be cut off in the same way.

    Args:
        path: The file, made where it is missing.
        format: Name of a format that can be written.
        sync: Whether to fsync after each trajectory.

    Raises:
        StorageError: The file cannot be opened for writing.
        ConfigError: The format is unknown or can only be read.
    """

    def __init__(self, path: str | Path, *, format: str = "worldline", sync: bool = True) -> None:
        self.path = Path(path)
        self.count = 0
        """Trajectories written by this writer."""
        self._layout = writable_format(format)
        self._sync = sync
        self._packed = self.path.suffix == ".zst"
        with boundary(StorageError, f"opening {self.path}", OSError):
            self._handle = self.path.open("ab+", buffering=0)
            end = _whole_frames(self._handle) if self._packed else _whole_lines(self._handle)
            if end != self._handle.seek(0, os.SEEK_END):
                self._handle.truncate(end)
            self._end = end

    def write(self, trajectory: Trajectory) -> None:
        """Append one trajectory.

        Raises:
            StorageError: It could not be written; the file then ends after the one before.
            FormatError: It does not fit the format.
        """
        data = self._layout.line(trajectory).encode("utf-8", "surrogatepass") + b"\n"
        if self._packed:
            data = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)
        with boundary(StorageError, f"writing {self.path}", OSError):
            try:
                view = memoryview(data)
                while view:
                    view = view[self._handle.write(view) :]
                if self._sync:
                    os.fsync(self._handle.fileno())
            except OSError:
                with suppress(OSError):
                    self._handle.truncate(self._end)
                raise
        self._end += len(data)
        self.count += 1

    def close(self) -> None:
        """Close the file."""
        with boundary(StorageError, f"closing {self.path}", OSError):
            self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _whole_lines(handle: BinaryIO) -> int:
    """Return where the last complete line ends."""
    position = handle.seek(0, os.SEEK_END)
    while position > 0:
        step = min(position, 1 << 16)
        handle.seek(position - step)
        found = handle.read(step).rfind(b"\n")
        if found >= 0:
            return position - step + found + 1
        position -= step
    return 0


def _whole_frames(handle: BinaryIO) -> int:
    """Return where the last complete zstd frame ends."""
    handle.seek(0)
    end = taken = 0
    frame = None
    while data := handle.read(1 << 11):
        while data:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                frame.decompress(data)
            except zstandard.ZstdError:
                return end
            taken += len(data)
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, None
                taken -= len(data)
                end = taken
    return end
