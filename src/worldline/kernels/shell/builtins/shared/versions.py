"""Version order, as `sort -V` and `ls -v` have it: coreutils' manual, chapter "Version sort ordering"."""

from __future__ import annotations

import re
from functools import cmp_to_key
from typing import Any

__all__ = ["version_compare", "version_key"]

_SUFFIX = re.compile(rb"(?:\.[A-Za-z~][A-Za-z0-9~]*)*$")


def _weight(byte: int | None) -> int:
    if byte is None:
        return -1
    if byte == 0x7E:
        return -2
    if 48 <= byte <= 57:
        return 0
    if chr(byte).isalpha() and byte < 128:
        return byte
    return byte + 256


def _compare(left: bytes, right: bytes) -> int:
    i = j = 0
    while i < len(left) or j < len(right):
        while (i < len(left) and not 48 <= left[i] <= 57) or (j < len(right) and not 48 <= right[j] <= 57):
            a = _weight(left[i] if i < len(left) else None)
            b = _weight(right[j] if j < len(right) else None)
            if a != b:
                return a - b
            i, j = i + 1, j + 1
        start_i, start_j = i, j
        while i < len(left) and 48 <= left[i] <= 57:
            i += 1
        while j < len(right) and 48 <= right[j] <= 57:
            j += 1
        a, b = int(left[start_i:i] or b"0"), int(right[start_j:j] or b"0")
        if a != b:
            return -1 if a < b else 1
    return 0


def version_compare(left: bytes, right: bytes) -> int:
    """Compare two names by version: negative, zero or positive."""
    if left == right:
        return 0
    special = (b"", b".", b"..")
    for name in special:
        if left == name or right == name:
            return -1 if left == name else 1
    if left.startswith(b".") != right.startswith(b"."):
        return -1 if left.startswith(b".") else 1
    if left.startswith(b"."):
        left, right = left[1:], right[1:]
    left_base, right_base = _SUFFIX.sub(b"", left), _SUFFIX.sub(b"", right)
    if left_base == right_base:
        left_base, right_base = left, right
    return _compare(left_base, right_base)


version_key: Any = cmp_to_key(version_compare)
"""Sort key for names in version order."""
