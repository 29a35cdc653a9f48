"""Compressed formats as their programs write them: gzip, bzip2, xz, zstd."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from dataclasses import dataclass

import zstandard

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "Format",
    "NotThisFormat",
    "compress",
    "decompress",
    "deflate",
    "detect",
    "gunzip_parts",
    "is_exact",
    "known_suffix",
    "zstd_size",
]


class NotThisFormat(Exception):
    """The data is of another format; `str()` is empty, or says what else is wrong (`truncated`, `corrupt`)."""


@dataclass(frozen=True)
class Format:
    """One format and its magic number."""

    name: str
    suffix: str
    magic: bytes


FORMATS = {
    "gzip": Format("gzip", ".gz", b"\x1f\x8b"),
    "bzip2": Format("bzip2", ".bz2", b"BZh"),
    "xz": Format("xz", ".xz", b"\xfd7zXZ\0"),
    "zstd": Format("zstd", ".zst", b"\x28\xb5\x2f\xfd"),
}


def detect(data: bytes) -> str | None:
    """Name the format of compressed data, or None."""
    return next((item.name for item in FORMATS.values() if data.startswith(item.magic)), None)


def is_exact(kind: str, size: int) -> bool:
    """Whether data of that size is compressed to the very bytes of the program.

    Measured: gzip's own deflate ends its blocks elsewhere than zlib from about 64 KiB on; zstd packs by version.
    """
    return {"gzip": size <= 60_000, "zstd": size <= 600}.get(kind, True)


def deflate(data: bytes, level: int) -> bytes:
    """Return raw deflated data."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def compress(
    kind: str, data: bytes, *, level: int | None = None, extreme: bool = False, name: str = "", mtime: int = 0
) -> bytes:
    """Compress as the program does at that level (None: its default).

    Args:
        kind: `gzip`, `bzip2`, `xz` or `zstd`.
        data: What to compress.
        level: 1 to 9.
        extreme: For xz: its slower variant (`-e`).
        name: For gzip: the name that is stored; empty for none.
        mtime: For gzip: the time that is stored, in seconds.
    """
    if kind == "gzip":
        level = 6 if level is None else level
        extra = 2 if level == 9 else 4 if level == 1 else 0
        head = struct.pack("<4BI2B", 0x1F, 0x8B, 8, 8 if name else 0, mtime, extra, 3)
        tail = struct.pack("<2I", zlib.crc32(data), len(data) & 0xFFFFFFFF)
        return head + (name.encode() + b"\0" if name else b"") + deflate(data, level) + tail
    if kind == "bzip2":
        return bz2.compress(data, 9 if level is None else level)
    if kind == "xz":
        preset = (6 if level is None else level) | (lzma.PRESET_EXTREME if extreme else 0)
        return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC64, preset)
    packer = zstandard.ZstdCompressor(3 if level is None else level, write_checksum=True, write_content_size=True)
    return packer.compress(data)


def decompress(kind: str, data: bytes) -> bytes:
    """Decompress all members.

    Raises:
        NotThisFormat: It is not of that format, or damaged.
    """
    if not data.startswith(FORMATS[kind].magic):
        raise NotThisFormat
    try:
        if kind == "gzip":
            return b"".join(body for body, _ in gunzip_parts(data))
        if kind == "bzip2":
            return bz2.decompress(data)
        if kind == "xz":
            return lzma.decompress(data, lzma.FORMAT_XZ)
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except (EOFError, ValueError) as error:
        raise NotThisFormat("truncated") from error
    except (OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        raise NotThisFormat("corrupt") from error


def gunzip_parts(data: bytes) -> list[tuple[bytes, str]]:
    """Return the members of a gzip file: content and stored name.

    Raises:
        EOFError: It is cut off.
        zlib.error: It is damaged.
    """
    found: list[tuple[bytes, str]] = []
    while data.startswith(b"\x1f\x8b"):
        unpacker = zlib.decompressobj(31)
        body = unpacker.decompress(data)
        if not unpacker.eof:
            raise EOFError
        name = ""
        if data[3] & 8 and not data[3] & 4:
            name = data[10 : data.index(b"\0", 10)].decode("utf-8", "replace")
        found.append((body, name))
        data = unpacker.unused_data
    return found


SUFFIXES = {
    "gzip": {".gz": "", ".tgz": ".tar", ".taz": ".tar", "-gz": "", ".z": "", "-z": ""},
    "bzip2": {".bz2": "", ".bz": "", ".tbz2": ".tar", ".tbz": ".tar"},
    "xz": {".xz": "", ".txz": ".tar"},
    "zstd": {".zst": "", ".tzst": ".tar"},
}
"""What each format's file names end in, and what that becomes without compression."""


def known_suffix(kind: str, name: str) -> str | None:
    """Return the suffix that marks a file name as compressed, or None."""
    return next(
        (suffix for suffix in SUFFIXES[kind] if name.lower().endswith(suffix) and len(name) > len(suffix)), None
    )


def zstd_size(size: int) -> str:
    """Return a size as zstd prints it."""
    if size < 1024:
        return f"{size:6d} B"
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
        value = size / factor
        if value < 1000:
            return f"{value:6.3g} {unit}"
    return str(size)
