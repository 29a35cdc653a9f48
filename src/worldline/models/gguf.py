"""Reading the head of a GGUF file: what the model is called, how much it takes, under which licence.

The layout is that of the GGUF specification, versions 2 and 3: magic, version, number of tensors, number of entries,
then entries of key, type and value, all little-endian.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

from worldline.errors import ConfigError, boundary
from worldline.types import JsonDict

__all__ = ["is_gguf", "read_head"]

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""struct's letters of the scalar types."""
_TEXT_LIMIT = 16 * 1024 * 1024
_ITEMS_LIMIT = 10_000_000
_ENTRIES_LIMIT = 100_000


def is_gguf(path: Path) -> bool:
    """Whether a file begins as a GGUF file does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == _MAGIC
    except OSError:
        return False


def read_head(path: Path) -> JsonDict:
    """Return the entries of a file's head; an array is given as its length, since vocabularies are long.

    Raises:
        ConfigError: It is no GGUF file of a known version, or its head is cut off.
    """
    with boundary(ConfigError, f"reading {path}", OSError, ValueError, struct.error), path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise ConfigError(f"{path} is no GGUF file")
        version = _scalar(file, "I")
        if version not in (2, 3):
            raise ConfigError(f"{path}: GGUF version {version} is not known")
        _scalar(file, "Q")  # tensors
        count = _scalar(file, "Q")
        if count > _ENTRIES_LIMIT:
            raise ConfigError(f"{path}: the head claims {count} entries")
        return {_text(file): _value(file, _scalar(file, "I")) for _ in range(count)}


def _scalar(file: IO[bytes], letter: str) -> Any:
    size = struct.calcsize(f"<{letter}")
    return struct.unpack(f"<{letter}", file.read(size))[0]


def _text(file: IO[bytes]) -> str:
    return _exactly(file, _scalar(file, "Q")).decode("utf-8", "replace")


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        if kind not in _FORMATS:
            raise ValueError(f"a value of unknown type {kind}")
        return _scalar(file, _FORMATS[kind])
    inner, count = _scalar(file, "I"), _scalar(file, "Q")
    if count > _ITEMS_LIMIT:
        raise ValueError(f"an array of {count} items")
    if inner in _FORMATS:
        file.seek(count * struct.calcsize(f"<{_FORMATS[inner]}"), 1)
    else:
        for _ in range(count):
            _skip_or_read(file, inner)
    return int(count)


def _skip_or_read(file: IO[bytes], kind: int) -> None:
    if kind != _STRING:
        raise ValueError(f"an array of type {kind}")
    file.seek(_scalar(file, "Q"), 1)


def _exactly(file: IO[bytes], size: int) -> bytes:
    if size > _TEXT_LIMIT:
        raise ValueError(f"a text of {size} bytes")
    data = file.read(size)
    if len(data) != size:
        raise ValueError("the head is cut off")
    return data
