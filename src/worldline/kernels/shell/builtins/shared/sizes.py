"""Sizes as GNU programs print and read them: `1.5K`, `--block-size=1M`, `10KB`."""

from __future__ import annotations

import re

__all__ = ["SizeError", "blocks_of", "human", "parse_size", "scaled"]

_LETTERS = "KMGTPEZY"
_SUFFIX = re.compile(r"^([KkMGTPEZY])(iB|B)?$")


class SizeError(ValueError):
    """The text is not a size."""


def human(size: int, *, si: bool = False) -> str:
    """Return a size with one letter, rounded up as GNU's `human_readable` does (`ls -h`, `du -h`).

    Args:
        size: Bytes.
        si: Powers of 1000 and a small `k` instead of powers of 1024.
    """
    base = 1000 if si else 1024
    if size < base:
        return str(size)
    power = 0
    unit = 1
    while power < len(_LETTERS) and size >= unit * base:
        unit *= base
        power += 1
    tenths = -(-size * 10 // unit)
    if tenths < 100:
        text = f"{tenths // 10}.{tenths % 10}"
    else:
        whole = -(-size // unit)
        if whole >= base and power < len(_LETTERS):
            power += 1
            text = "1.0"
        else:
            text = str(whole)
    letter = _LETTERS[power - 1]
    return text + (letter.lower() if si and letter == "K" else letter)


def scaled(size: int, unit: int) -> int:
    """Return `size` in blocks of `unit` bytes, rounded up."""
    return -(-size // unit)


def blocks_of(size: int, block: int = 4096) -> int:
    """Return the bytes that a file of `size` bytes takes on disk."""
    return -(-size // block) * block


def parse_size(text: str, *, default: str = "") -> int:
    """Read a size such as `512`, `10K`, `1MB`, `2GiB` or `M`.

    Args:
        text: The size; GNU's suffixes `c w b` (1, 2 and 512 bytes) count too.
        default: Suffix that is assumed where there is none.

    Raises:
        SizeError: It is no size.
    """
    match = re.match(r"^(\d*)(.*)$", text, re.DOTALL)
    if match is None or not text:
        raise SizeError(text)
    number = int(match.group(1)) if match.group(1) else 1
    suffix = match.group(2) or default
    if suffix in ("", "c"):
        if not match.group(1):
            raise SizeError(text)
        return number
    if suffix in ("b", "w"):
        return number * (512 if suffix == "b" else 2)
    found = _SUFFIX.match(suffix)
    if found is None:
        raise SizeError(text)
    base = 1000 if found.group(2) == "B" else 1024
    factor: int = base ** (_LETTERS.index(found.group(1).upper()) + 1)
    return number * factor
