"""The zip archive of an Inspect log, read member by member within bounds.

Newer logs compress members with zstd (method 93), which Python's zipfile does not know, so only the list of members
is left to it. A member that was written again (a retried sample) comes in its last form. Where the list at the end of
the file is missing, because the file is cut off, it is made from the headers in front of the members.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import zstandard

from worldline.errors import FormatError, boundary
from worldline.formats.source import InputFile

__all__ = ["LogArchive"]

_MAGIC = b"PK\x03\x04"
_HEADER = struct.Struct("<4sHHHHHIIIHH")
_CHUNK = 1 << 16
# A zstd block of a few bytes can hold 128 KiB, so a small piece of input bounds what one call can return.
_ZSTD_CHUNK = 1 << 11
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_NAME_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class _Member:
    offset: int
    """Of its header in the file."""
    packed: int
    """Bytes it takes in the file."""
    method: int
    check: int | None
    """CRC-32 of its content."""
    encrypted: bool


class LogArchive:
    """A zip file's members by name.

    Args:
        file: The archive.

    Raises:
        FormatError: It cannot be read, or nothing of it is a zip archive.
    """

    def __init__(self, file: InputFile) -> None:
        self.file = file
        self.damage: str | None = None
        """Why the list of members had to be made anew."""
        self._given = 0
        with boundary(FormatError, f"reading {file.path.name}", OSError):
            size = file.path.stat().st_size
        self._bound = max(file.limits.expanded, size * file.limits.ratio)
        self._members = self._listed(size)

    @staticmethod
    def is_zip(file: InputFile) -> bool:
        """Whether a file begins like a zip archive."""
        with boundary(FormatError, f"reading {file.path.name}", OSError), file.path.open("rb") as handle:
            return handle.read(len(_MAGIC)) == _MAGIC

    @property
    def names(self) -> list[str]:
        """Names of the members, in the order they were first written."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """Return a member's content.

        Raises:
            FormatError: It is damaged, packed in an unknown way, or expands beyond the limits.
        """
        member = self._members[name]
        if member.encrypted:
            raise self.file.error(f"the member {name} is encrypted")
        buffer = bytearray()
        what = f"reading {name} of {self.file.path.name}"
        with boundary(FormatError, what, OSError), self.file.path.open("rb") as handle:
            handle.seek(member.offset)
            fields = handle.read(_HEADER.size)
            if len(fields) < _HEADER.size or not fields.startswith(_MAGIC):
                raise self.file.error(f"the header of the member {name} is damaged")
            handle.seek(sum(_HEADER.unpack(fields)[-2:]), 1)
            for piece in _expanded(_pieces(handle, member), member.method, name, self.file):
                buffer += piece
                self._count(len(piece), len(buffer), name)
        if member.check is not None and zlib.crc32(buffer) != member.check:
            raise self.file.error(f"the member {name} is damaged: its checksum is another one")
        return bytes(buffer)

    def _count(self, size: int, total: int, name: str) -> None:
        self._given += size
        if total > self.file.limits.document:
            raise self.file.error(f"the member {name} is longer than {self.file.limits.document:,} bytes")
        if self._given > self._bound:
            raise self.file.error(
                f"expands to more than {self._bound:,} bytes", hint="unpack it yourself if you trust it"
            )

    def _listed(self, size: int) -> dict[str, _Member]:
        try:
            with zipfile.ZipFile(self.file.path) as archive:
                return {
                    info.filename[:_NAME_LIMIT]: _Member(
                        info.header_offset, info.compress_size, info.compress_type, info.CRC, bool(info.flag_bits & 1)
                    )
                    for info in archive.infolist()
                    if info.header_offset >= 0 and info.compress_size >= 0
                }
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError, RuntimeError) as exc:
            self.damage = f"damaged zip archive ({exc}); what comes before the damage is read"
        found = dict(self._headers(size))
        if not found:
            raise self.file.error("damaged zip archive: no member can be found in it")
        return found

    def _headers(self, size: int) -> Iterator[tuple[str, _Member]]:
        """Yield the whole members from the start of the file, by the headers in front of them."""
        with boundary(FormatError, f"reading {self.file.path.name}", OSError), self.file.path.open("rb") as handle:
            offset = 0
            while len(fields := handle.read(_HEADER.size)) == _HEADER.size and fields.startswith(_MAGIC):
                _, _, flags, method, _, _, check, packed, _, name_size, extra_size = _HEADER.unpack(fields)
                name = handle.read(name_size).decode("utf-8", "replace")[:_NAME_LIMIT]
                end = offset + _HEADER.size + name_size + extra_size + packed
                if not name_size or flags & 8 or end > size:
                    return  # its size stands behind it, or it is cut off
                yield name, _Member(offset, packed, method, check, bool(flags & 1))
                offset = end
                handle.seek(offset)


def _pieces(handle: IO[bytes], member: _Member) -> Iterator[bytes]:
    left = member.packed
    step = _ZSTD_CHUNK if member.method == _ZSTD else _CHUNK
    while left and (data := handle.read(min(step, left))):
        left -= len(data)
        yield data


def _expanded(pieces: Iterator[bytes], method: int, name: str, file: InputFile) -> Iterator[bytes]:
    try:
        if method == _STORED:
            yield from pieces
        elif method == _DEFLATED:
            yield from _inflated(pieces)
        elif method == _ZSTD:
            yield from _unpacked(pieces)
        else:
            raise file.error(f"the member {name} is packed by method {method}, which is not known")
    except (zlib.error, zstandard.ZstdError, EOFError, MemoryError) as exc:
        raise file.error(f"the member {name} is damaged: {exc}") from exc


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    stream = zlib.decompressobj(wbits=-15)
    for data in pieces:
        while data and not stream.eof:
            yield stream.decompress(data, _CHUNK)
            data = stream.unconsumed_tail
    yield stream.flush(_CHUNK)
    if not stream.eof:
        raise EOFError("it ends too early")


def _unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    frame: zstandard.ZstdDecompressionObj | None = None
    for data in pieces:
        while data:
            frame = frame or zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            yield frame.decompress(data)
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError("it ends too early")
