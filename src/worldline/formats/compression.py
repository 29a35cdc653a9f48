"""Compressed streams (gzip, bzip2, xz, zstd), told by their first bytes and expanded within bounds."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import zstandard

__all__ = ["HEAD", "CompressionError", "Method", "expand", "method_of"]

_ZSTD_WINDOW = 1 << 27
_XZ_MEMORY = 256 << 20
# A zstd block of a few bytes can hold 128 KiB, so a small piece of input bounds what one call can return.
_ZSTD_TAKEN = 1 << 11
_TAKEN = 1 << 16
_GIVEN = 1 << 18


class CompressionError(ValueError):
    """Compressed data is damaged, cut off, or expands beyond the limit."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class _Stream(Protocol):
    """One compressed stream of the several that a file may consist of."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Expand `data`, in pieces of bounded size."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to compress a file."""

    name: str
    suffix: str
    magic: bytes
    taken: int
    """Compressed bytes read at once."""
    open: Callable[[], _Stream]


class _Zlib:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self._inner.eof:
            yield self._inner.decompress(data, _GIVEN)
            data = self._inner.unconsumed_tail


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(data)


class _Buffered:
    """bz2 and lzma keep what they did not take; they are asked again until they need more input."""

    def __init__(self, inner: bz2.BZ2Decompressor | lzma.LZMADecompressor) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(data, _GIVEN)
        while not self._inner.eof and not self._inner.needs_input:
            yield self._inner.decompress(b"", _GIVEN)


_METHODS = (
    Method("zstd", ".zst", b"\x28\xb5\x2f\xfd", _ZSTD_TAKEN, _Zstd),
    Method("gzip", ".gz", b"\x1f\x8b\x08", _TAKEN, _Zlib),
    Method("bzip2", ".bz2", b"BZh", _TAKEN, lambda: _Buffered(bz2.BZ2Decompressor())),
    Method("xz", ".xz", b"\xfd7zXZ\x00", _TAKEN, lambda: _Buffered(lzma.LZMADecompressor(memlimit=_XZ_MEMORY))),
)
_BZIP2_BODIES = (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
HEAD = 10
"""Bytes of a file that tell how it is compressed."""


def method_of(head: bytes) -> Method | None:
    """Return how a file that begins with `head` (at least :data:`HEAD` bytes where it has them) is compressed."""
    for method in _METHODS:
        if head.startswith(method.magic):
            # "BZh" may also begin a text.
            return method if method.name != "bzip2" or head[4:10] in _BZIP2_BODIES else None
    return None


def expand(handle: BinaryIO, method: Method, *, limit: int, ratio: int) -> Iterator[bytes]:
    """Yield what is compressed in `handle`, in pieces of bounded size.

    Args:
        handle: The compressed file, at its start.
        method: How it is compressed.
        limit: Bytes that may come out in any case ...
        ratio: ... and how many times what was read beyond that.

    Raises:
        CompressionError: The data is damaged, ends too early or expands beyond the limit.
    """
    taken = given = 0
    stream: _Stream | None = None
    while data := handle.read(method.taken):
        taken += len(data)
        while data:
            if stream is None and taken > len(data) and not data.strip(b"\0"):
                break  # zero padding between or after streams
            stream = stream or method.open()
            try:
                for piece in stream.pieces(data):
                    given += len(piece)
                    if given > max(limit, taken * ratio):
                        raise CompressionError(
                            f"expands to more than {given - 1:,} bytes from {taken:,}",
                            hint="decompress it yourself if you trust it",
                        )
                    if piece:
                        yield piece
            except (zstandard.ZstdError, zlib.error, lzma.LZMAError, OSError, EOFError, MemoryError) as exc:
                raise CompressionError(f"damaged {method.name} data before byte {taken}: {exc}") from exc
            data = b""
            if stream.eof:
                data, stream = stream.unused_data, None
    if stream is not None:
        raise CompressionError(f"the {method.name} data ends in the middle of a stream: the file is cut off")
