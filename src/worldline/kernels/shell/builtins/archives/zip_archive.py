"""Zip archives laid out as Info-ZIP does it, so that their sizes are right."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime

from worldline.kernels.shell.builtins.archives.compressors import deflate

__all__ = ["Entry", "build", "load", "percent"]


@dataclass
class Entry:
    """One file or directory in an archive."""

    name: str
    content: bytes
    mode: int
    mtime: datetime
    uid: int = 1000
    gid: int = 1000
    packed: bytes = b""
    stored: bool = True

    @property
    def is_directory(self) -> bool:
        """Whether it stands for a directory."""
        return self.name.endswith("/")

    @property
    def is_text(self) -> bool:
        """Whether zip takes it for text: no control characters beyond the usual ones."""
        if not self.content:
            return False
        allowed = set(range(32, 256)) | {9, 10, 13}
        passed = allowed | {7, 8, 11, 12, 26, 27}
        return all(byte in passed for byte in self.content) and any(byte in allowed for byte in self.content)

    def pack(self, level: int) -> None:
        """Compress the content, or keep it where that is no gain."""
        if self.is_directory or not self.content or level == 0:
            self.packed, self.stored = self.content, True
            return
        packed = deflate(self.content, level)
        self.stored = len(packed) >= len(self.content)
        self.packed = self.content if self.stored else packed


def percent(whole: int, part: int) -> int:
    """How much smaller `part` is, as Info-ZIP rounds it."""
    return (1 + 200 * (whole - part) // whole) // 2 if whole > part else 0


def _dos(moment: datetime) -> tuple[int, int]:
    time = moment.hour << 11 | moment.minute << 5 | (moment.second + 1) // 2
    return time, (moment.year - 1980) << 9 | moment.month << 5 | moment.day


def build(entries: list[Entry]) -> bytes:
    """Serialise an archive."""
    data, directory = bytearray(), bytearray()
    for entry in entries:
        raw = entry.name.encode()
        time, date = _dos(entry.mtime.astimezone(UTC))
        stamp = int(entry.mtime.timestamp())
        owner = struct.pack("<2sHBBIBI", b"ux", 11, 1, 4, entry.uid, 4, entry.gid)
        local = struct.pack("<2sHBII", b"UT", 9, 3, stamp, stamp) + owner
        central = struct.pack("<2sHBI", b"UT", 5, 3, stamp) + owner
        crc = zlib.crc32(entry.content)
        flags = 0x800 if any(byte > 127 for byte in raw) else 0
        method, needed = (0, 10) if entry.stored else (8, 20)
        sizes = (crc, len(entry.packed), len(entry.content))
        offset = len(data)
        data += struct.pack("<4s5H3I2H", b"PK\3\4", needed, flags, method, time, date, *sizes, len(raw), len(local))
        data += raw + local + entry.packed
        kind = 0o040000 if entry.is_directory else 0o100000
        attributes = (kind | entry.mode) << 16 | (0x10 if entry.is_directory else 0)
        directory += struct.pack(
            "<4s6H3I5H2I", b"PK\1\2", 3 << 8 | 30, needed, flags, method, time, date, *sizes, len(raw), len(central),
            0, 0, int(entry.is_text), attributes, offset,
        )  # fmt: skip
        directory += raw + central
    count = len(entries)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(data), 0)
    return bytes(data + directory + end)


def load(data: bytes) -> list[Entry]:
    """Read an archive.

    Raises:
        zipfile.BadZipFile: It is none.
        NotImplementedError: It uses encryption or an unknown method.
    """
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            if info.flag_bits & 1 or info.compress_type not in (0, 8):
                raise NotImplementedError
            entry = Entry(info.filename, archive.read(info), info.external_attr >> 16 & 0o7777, _time(info))
            entry.stored = info.compress_type == 0
            entry.packed = entry.content if entry.stored else bytes(info.compress_size)
            found.append(entry)
    return found


def _time(info: zipfile.ZipInfo) -> datetime:
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<2sH", extra[:4])
        if kind == b"UT" and size >= 5 and extra[4] & 1:
            return datetime.fromtimestamp(struct.unpack("<i", extra[5:9])[0], UTC)
        extra = extra[4 + size :]
    return datetime(*info.date_time, tzinfo=UTC)
