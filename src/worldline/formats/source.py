"""An input file, read as a stream: plain or compressed, split into lines or JSON values, in bounded memory."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from worldline.errors import FormatError, boundary
from worldline.formats.compression import HEAD, CompressionError, expand, method_of
from worldline.formats.jsontext import JsonTextError, load_json

__all__ = ["InputFile", "Limits", "Record", "SkippedRecord", "shown"]

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PLAIN_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a reader takes in at once; in bytes where nothing else is said."""

    line: int = 128 << 20
    """Longest line."""
    document: int = 512 << 20
    """Largest file that is one JSON value."""
    expanded: int = 1 << 30
    """How far a compressed file may expand in any case ..."""
    ratio: int = 2_000
    """... and how many times its compressed size beyond that."""
    head: int = 1 << 20
    """How much is looked at to tell the format."""
    members: int = 100_000
    """How many members an archive may have."""


def shown(path: str | Path) -> str:
    """Return a path as text that is valid Unicode: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file and the line it starts on (1-based)."""

    line: int
    value: Any


@dataclass(frozen=True, slots=True)
class SkippedRecord:
    """A record that cannot be used, and why."""

    error: FormatError

    @property
    def line(self) -> int | None:
        """Line the record starts on, where it is known."""
        return self.error.line

    @property
    def reason(self) -> str:
        """The error's message without file and line."""
        prefix = ":".join(str(part) for part in (self.error.path, self.error.line) if part is not None)
        return self.error.message.removeprefix(f"{prefix}: ")


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    data: bytes | bytearray
    ended: bool
    """Whether a newline ended it; only the last line of a file may lack one."""
    oversize: bool = False


class InputFile:
    """A file of records.

    Args:
        path: The file.
        limits: Bounds on memory and on what a compressed file may expand to.
        name: What messages call it, where that is not `path` (a member of an archive).

    Raises:
        FormatError: It is missing, or not a regular file.
    """

    def __init__(self, path: str | Path, limits: Limits | None = None, *, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name if name is not None else shown(self.path)
        self.limits = limits or Limits()
        if self.path.is_dir():
            raise self.error("is a directory", hint="name a file in it, or import the folder as a whole")
        if not self.path.exists():
            raise self.error("no such file")

    def error(self, message: str, line: int | None = None, hint: str | None = None) -> FormatError:
        """Build an error about this file."""
        return FormatError(message, path=self.name, line=line, hint=hint)

    def skipped(self, message: str, line: int | None = None) -> SkippedRecord:
        """Build the notice that the record at `line` cannot be used."""
        return SkippedRecord(self.error(message, line))

    def chunks(self) -> Iterator[bytes]:
        """Yield the content, decompressed.

        Raises:
            FormatError: The compressed data is damaged, ends too early or expands beyond the limits.
        """
        with boundary(FormatError, f"reading {self.name}", OSError), self._opened() as handle:
            method = method_of(handle.read(HEAD))
            handle.seek(0)
            if method is None:
                yield from iter(lambda: handle.read(_PLAIN_CHUNK), b"")
                return
            try:
                yield from expand(handle, method, limit=self.limits.expanded, ratio=self.limits.ratio)
            except CompressionError as exc:
                raise self.error(str(exc), hint=exc.hint) from exc

    def _opened(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except PermissionError as exc:
            raise self.error("permission denied") from exc

    def head(self) -> bytes:
        """Return the first bytes, without a byte order mark; damage behind them does not matter."""
        buffer = bytearray()
        try:
            for chunk in self.chunks():
                buffer += chunk
                if len(buffer) >= self.limits.head:
                    break
        except FormatError:
            if not buffer:
                raise
        return bytes(buffer[: self.limits.head]).removeprefix(codecs.BOM_UTF8)

    def lines(self) -> Iterator[_Line]:
        """Yield the lines, split on LF only; one beyond the limit comes without its data."""
        number, buffer, oversize = 1, bytearray(), False
        for index, chunk in enumerate(self.chunks()):
            if index == 0:
                if chunk.startswith(_UTF16_MARKS):
                    raise self.error(
                        "is UTF-16; UTF-8 is expected", line=1, hint="convert it: iconv -f UTF-16 -t UTF-8"
                    )
                chunk = chunk.removeprefix(codecs.BOM_UTF8)
            start = 0
            while (end := chunk.find(b"\n", start)) >= 0:
                if not oversize:
                    buffer += chunk[start:end]
                    oversize = len(buffer) > self.limits.line
                yield _Line(number, b"" if oversize else buffer, True, oversize)
                number, start, oversize, buffer = number + 1, end + 1, False, bytearray()
            if not oversize:
                buffer += chunk[start:]
                if len(buffer) > self.limits.line:
                    oversize, buffer = True, bytearray()
        if buffer or oversize:
            yield _Line(number, buffer, False, oversize)

    def json_lines(self, comment: bytes | None = None) -> Iterator[Record | SkippedRecord]:
        """Yield the JSON value of each line that is not blank.

        Args:
            comment: What begins a line that is left out.

        A damaged end of a compressed file is a skipped record too: what comes before it is kept.
        """
        number = 0
        lines = self.lines()
        while True:
            try:
                line = next(lines, None)
            except FormatError as exc:
                yield SkippedRecord(exc)
                return
            if line is None:
                return
            number = line.number
            if line.oversize:
                yield self.skipped(f"the line is longer than {self.limits.line:,} bytes", number)
            elif line.data.strip() and not (comment and line.data.startswith(comment)):
                yield self._json_line(line)

    def _json_line(self, line: _Line) -> Record | SkippedRecord:
        try:
            return Record(line.number, load_json(line.data.decode("utf-8")))
        except UnicodeDecodeError as exc:
            return self.skipped(f"invalid UTF-8 at byte {exc.start + 1} of the line", line.number)
        except JsonTextError as exc:
            torn = "" if line.ended else "; the last line is torn, one complete JSON value was expected"
            return self.skipped(f"{exc}{torn}", line.number)

    def document(self) -> Record | SkippedRecord:
        """Return the whole file as one JSON value, on line 1."""
        text = self._document()
        return text if isinstance(text, SkippedRecord) else self._parsed(text)

    def values(self, whole_list: Callable[[Any], bool]) -> Iterator[Record | SkippedRecord]:
        """Yield the records of a file that is JSON lines, one JSON value, or a JSON list of records.

        Args:
            whole_list: Given a list's first element, whether the list as a whole is one record.
        """
        if self._is_json_lines():
            for item in self.json_lines():
                yield from self._unpack(item, whole_list) if isinstance(item, Record) else [item]
            return
        text = self._document()
        if isinstance(text, SkippedRecord):
            yield text
        elif text.lstrip().startswith("["):
            yield from self._elements(text, whole_list)
        else:
            yield self._parsed(text)

    def _is_json_lines(self) -> bool:
        """Whether one of the first two lines that are not blank is a complete JSON object or list."""
        seen = 0
        try:
            for line in self.lines():
                if not line.data.strip():
                    continue
                value = self._json_line(line)
                found = value.value if isinstance(value, Record) else None
                if isinstance(found, dict) or (isinstance(found, list) and found and seen == 0):
                    return True
                seen += 1
                if seen == 2 or line.data.lstrip().startswith(b"["):
                    return False
        except FormatError:
            pass
        return False

    def _unpack(self, record: Record, whole_list: Callable[[Any], bool]) -> Iterator[Record]:
        value = record.value
        if isinstance(value, list) and value and not whole_list(value[0]):
            yield from (Record(record.line, element) for element in value)
        else:
            yield record

    def _document(self) -> str | SkippedRecord:
        buffer = bytearray()
        try:
            for chunk in self.chunks():
                buffer += chunk
                if len(buffer) > self.limits.document:
                    return self.skipped(f"one JSON value of more than {self.limits.document:,} bytes")
        except FormatError as exc:
            if not buffer:
                return SkippedRecord(exc)
        if buffer.startswith(_UTF16_MARKS):
            return self.skipped("is UTF-16; UTF-8 is expected")
        try:
            return buffer.decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            line = buffer.count(b"\n", 0, exc.start) + 1
            return self.skipped(f"invalid UTF-8 at byte {exc.start + 1} of the file", line)

    def _parsed(self, text: str) -> Record | SkippedRecord:
        try:
            return Record(1, load_json(text))
        except JsonTextError as exc:
            return self.skipped(str(exc), exc.line)

    def _elements(self, text: str, whole_list: Callable[[Any], bool]) -> Iterator[Record | SkippedRecord]:
        """Yield a list's elements one by one, so that a torn list keeps those before the tear."""
        position, line, mark = text.index("[") + 1, 1, 0
        first = True
        while True:
            position = _skip_blanks(text, position)
            if first and text[position : position + 1] == "]":
                return
            line, mark = line + text.count("\n", mark, position), position
            try:
                value, end = load_json(text, position)
            except JsonTextError as exc:
                yield self.skipped(str(exc), max(line, exc.line))
                return
            if first and whole_list(value):
                yield self._parsed(text)
                return
            yield Record(line, value)
            first, position = False, _skip_blanks(text, end)
            follower = text[position : position + 1]
            if follower != ",":
                rest = text[position + 1 :].strip() if follower == "]" else follower or "the end of the file"
                if rest:
                    at = text.count("\n", 0, position) + 1
                    yield self.skipped(f"expected ',' or the end of the list, found {rest[:20]!r}", at)
                return
            position += 1


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position
