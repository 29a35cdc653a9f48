"""Archives (zip, and tar however compressed): folders of members, unpacked under limits into a folder of ours.

Nothing of an archive is trusted: names that lead out of it, members that lie over each other or come twice, sizes
that lie and everything that expands without end are refused as a whole. Links and devices are left out and named.
"""

from __future__ import annotations

import errno
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from tarfile import InvalidHeaderError, ReadError, TruncatedHeaderError  # type: ignore[attr-defined]
from typing import IO, Self

from worldline.errors import FormatError, boundary
from worldline.formats.source import InputFile, shown

__all__ = ["archive_kind", "unpack"]

_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_ZIP_LOCAL_HEADER = 30
_TAR_BLOCK = 512
_HEADER_LIMIT = 16 << 20
"""Bytes of a tar that may pass between two members: its extended headers are held in memory."""
_CHUNK = 1 << 18
_NAME_LIMIT = 4_096
_IMPOSSIBLE = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
"""What a file system says of names that cannot stand side by side, or at all."""
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, LZMAError, OSError, EOFError, RuntimeError, ValueError, MemoryError)
_TAR_ERRORS = (tarfile.TarError, EOFError, ValueError, RecursionError, OverflowError, MemoryError)


def archive_kind(file: InputFile) -> str | None:
    """Tell whether a file is a `zip` or a `tar` by its first bytes, or None.

    Raises:
        FormatError: It cannot be read, or is damaged from its first byte on.
    """
    head = bytearray()
    try:
        for chunk in file.chunks():
            head += chunk
            if len(head) >= _TAR_BLOCK:
                break
    except FormatError:
        if not head:
            raise
    if head.startswith(_ZIP_MAGICS):
        return "zip"
    if len(head) < _TAR_BLOCK or not any(head[:_TAR_BLOCK]):
        return None
    try:
        tarfile.TarInfo.frombuf(bytes(head[:_TAR_BLOCK]), "utf-8", "surrogateescape")
    except _TAR_ERRORS:
        return None
    return "tar"


def unpack(file: InputFile, kind: str, into: Path) -> list[tuple[str, str]]:
    """Write the regular files of an archive below an empty folder.

    Args:
        file: The archive.
        kind: What :func:`archive_kind` said.
        into: An empty folder.

    Returns:
        Members that were left out, and why.

    Raises:
        FormatError: It is damaged, expands beyond the limits, or names or places members as no honest archive does.
    """
    members = _Members(file, into)
    return list(_unzip(members) if kind == "zip" else _untar(members))


class _Members:
    """Writes members down and keeps count."""

    def __init__(self, file: InputFile, into: Path) -> None:
        self.file = file
        self._into = into
        self._seen: set[PurePosixPath] = set()
        self._given = self._count = 0
        self._bound = max(file.limits.expanded, file.path.stat().st_size * file.limits.ratio)

    def place(self, name: str, *, folder: bool) -> PurePosixPath:
        """Check a member's name and count the member.

        Raises:
            FormatError: There are too many, the file came before, or its name is no plain relative path.
        """
        self._count += 1
        if self._count > self.file.limits.members:
            raise self.file.error(f"holds more than {self.file.limits.members:,} members")
        path = PurePosixPath(name)
        bad = "\0" in name or "\\" in name or path.is_absolute() or ".." in path.parts or ":" in name[:2]
        if bad or not path.parts or len(name) > _NAME_LIMIT:
            raise self.file.error(
                f"the member name {shown(name.replace(chr(0), '?'))[:80]!r} is no plain relative path"
            )
        if not folder:
            if path in self._seen:
                raise self.file.error(f"the member {shown(name)[:80]!r} is there twice")
            self._seen.add(path)
        return path

    def write(self, path: PurePosixPath, content: IO[bytes], size: int) -> None:
        """Write a member of `size` bytes.

        Raises:
            FormatError: It is longer than it says, or the archive expands beyond the limits.
        """
        self.announce(size)
        target = self._into.joinpath(*path.parts)
        with boundary(FormatError, f"unpacking {shown(str(path))} from {self.file.name}", OSError, ValueError):
            try:
                written = _copied(content, target, size)
            except OSError as exc:
                if exc.errno not in _IMPOSSIBLE:
                    raise
                raise self.file.error(
                    f"the member {shown(str(path))[:80]!r} cannot be unpacked: {exc.strerror}"
                ) from exc
        if written != size:
            raise self.file.error(f"the member {shown(str(path))[:80]!r} is not as long as it says")

    def announce(self, size: int) -> None:
        """Count bytes that are about to be written.

        Raises:
            FormatError: They are more than the archive may expand to.
        """
        self._given += max(size, 0)
        if size < 0 or self._given > self._bound:
            raise self.file.error(
                f"expands to more than {self._bound:,} bytes", hint="unpack it yourself if you trust it"
            )


def _copied(content: IO[bytes], target: Path, size: int) -> int:
    """Copy a member to a new file; stop behind `size` bytes and return how many there were."""
    written = 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as handle:
        while written <= size and (chunk := content.read(_CHUNK)):
            written += len(chunk)
            handle.write(chunk)
    return written


def _unzip(members: _Members) -> Iterator[tuple[str, str]]:
    file = members.file
    try:
        with zipfile.ZipFile(file.path) as archive:
            entries = archive.infolist()
            if len(entries) > file.limits.members:
                raise file.error(f"holds more than {file.limits.members:,} members")
            _refuse_overlaps(file, entries)
            for entry in entries:
                folder = entry.filename.endswith("/")  # is_dir() fails on a name that is empty
                path = members.place(entry.filename, folder=folder)
                if folder:
                    continue
                mode = entry.external_attr >> 16
                if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
                    yield shown(entry.filename), "a link or device in an archive"
                elif entry.flag_bits & 1:
                    yield shown(entry.filename), "encrypted"
                else:
                    with archive.open(entry) as content:
                        members.write(path, content, entry.file_size)
    except _ZIP_ERRORS as exc:
        raise file.error(f"damaged zip archive: {exc}") from exc


def _refuse_overlaps(file: InputFile, entries: Iterable[zipfile.ZipInfo]) -> None:
    """Refuse members that share bytes: the trick of archives that expand without end."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise file.error("members of the zip archive overlap")
        end = entry.header_offset + _ZIP_LOCAL_HEADER + len(entry.orig_filename) + entry.compress_size


class _Stream(io.RawIOBase):
    """The decompressed bytes of a tar, which ends with an error where too many pass without a member."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._chunks = file.chunks()
        self._rest = b""
        self.budget = _HEADER_LIMIT

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._rest = chunk
        taken = self._rest[: size if size >= 0 else None]
        self._rest = self._rest[len(taken) :]
        self.budget -= len(taken)
        if self.budget < 0:
            raise self._file.error(f"the headers of a tar member take more than {_HEADER_LIMIT:,} bytes")
        return taken


class _Header(tarfile.TarInfo):
    """A header that says so where it is damaged: the library takes that for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except (InvalidHeaderError, TruncatedHeaderError) as exc:
            raise ReadError(str(exc)) from exc


def _untar(members: _Members) -> Iterator[tuple[str, str]]:
    file = members.file
    stream = _Stream(file)
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header, encoding="utf-8") as archive:
            while (entry := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]  # or it would hold every header
                if entry.isdir() and not PurePosixPath(entry.name).parts:
                    continue  # "./", the archive itself
                path = members.place(entry.name, folder=entry.isdir())
                if entry.isreg() and not entry.issparse():
                    stream.budget = entry.size + _HEADER_LIMIT
                    content = archive.extractfile(entry)
                    if content is not None:
                        members.write(path, content, entry.size)
                elif not entry.isdir():
                    members.announce(entry.size)
                    stream.budget = entry.size + _HEADER_LIMIT
                    yield shown(entry.name), "a link, device or sparse file in an archive"
                stream.budget = _HEADER_LIMIT + _TAR_BLOCK
    except _TAR_ERRORS as exc:
        raise file.error(f"damaged tar archive: {exc}") from exc
