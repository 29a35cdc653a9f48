"""Files that are one JSON value and break off: what stands before the break is read all the same."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import from_json

from worldline.errors import FormatError
from worldline.formats.jsontext import finite
from worldline.formats.source import InputFile, Record, SkippedRecord

__all__ = ["whole_or_part"]

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def whole_or_part(file: InputFile, whole_list: Callable[[Any], bool]) -> Iterator[Record | SkippedRecord]:
    """Yield the records of a file as :meth:`InputFile.values` does.

    Where the file is one JSON object that breaks off or is damaged, what is complete before that place comes as a
    record, followed by the notice. A text that the break goes through is left out.
    """
    items = file.values(whole_list)
    first = next(items, None)
    if first is None:
        return
    second = next(items, None)
    if isinstance(first, SkippedRecord) and second is None and (value := _before_break(file)):
        yield Record(1, value)
    yield first
    if second is not None:
        yield second
    yield from items


def _before_break(file: InputFile) -> Any:
    buffer = bytearray()
    try:
        for chunk in file.chunks():
            buffer += chunk
            if len(buffer) > file.limits.document:
                return None
    except FormatError:
        pass  # damaged compression: what came out before it counts
    data = bytes(buffer.removeprefix(codecs.BOM_UTF8))
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as exc:
        data = data[: exc.start]
    data = _SURROGATE_ESCAPE.sub(rb"\\ufffd", data)
    try:
        return finite(from_json(data, allow_partial=True))
    except (ValueError, RecursionError):
        return None
