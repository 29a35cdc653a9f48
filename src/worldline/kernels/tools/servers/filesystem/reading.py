"""What the filesystem server shows of files and directories."""

from __future__ import annotations

import base64
import math
import posixpath
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote

from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.servers import globs
from worldline.kernels.tools.servers.filesystem.editing import unix_lines
from worldline.kernels.tools.servers.filesystem.paths import Paths, node_error
from worldline.kernels.tools.servers.js import collation_key, pad_end, pad_start
from worldline.kernels.tools.servers.node_server import Refused
from worldline.kernels.tools.servers.tree import Tree
from worldline.types import JsonDict

__all__ = ["entries", "file_info", "media_block", "read_bytes", "read_text", "search", "sized_listing", "tree_of"]

_CHUNK = 1024
_DIRECTORY = 4096
"""Size of every directory, as the recorded servers are shown it."""
_MOST_FILES = 20_000
_MEDIA = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".bmp": "image/bmp", ".svg": "image/svg+xml", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg",
    ".flac": "audio/flac",
}  # fmt: skip


def read_bytes(tree: Tree, real: str) -> bytes:
    """Content of a file.

    Raises:
        Refused: It cannot be read.
    """
    try:
        return tree.read(real)
    except IsADirectoryError as error:
        raise node_error(error, "read") from error
    except OSError as error:
        raise node_error(error, "open", real) from error


def read_text(tree: Tree, real: str, head: float | None, tail: float | None) -> str:
    """Text of a file, or some of its first or last lines."""
    if tail:
        try:
            tree.find(real)
        except OSError as error:
            raise node_error(error, "stat", real) from error
    data = read_bytes(tree, real)
    if tail:
        return _tail(data, tail)
    return _head(data, head) if head else data.decode("utf-8", "replace")


def _tail(data: bytes, count: float) -> str:
    position, newlines = len(data), 0
    while position > 0 and newlines < count:
        start = max(0, position - _CHUNK)
        newlines += data.count(b"\n", start, position)
        position = start
    lines = unix_lines(data[position:].decode("utf-8", "replace")).split("\n") if data else [""]
    first = -int(count)
    return "\n".join(lines[first:] if first < 0 else lines[first:] if first else lines)


def _head(data: bytes, count: float) -> str:
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    return "\n".join(lines[: max(0, math.ceil(count))])


def media_block(tree: Tree, real: str) -> JsonDict:
    """The content block of a file that is read as media."""
    stem = posixpath.basename(real)
    suffix = posixpath.splitext(stem)[1].lower()
    kind = _MEDIA.get(suffix, "application/octet-stream")
    data = base64.b64encode(read_bytes(tree, real)).decode()
    family = kind.split("/", 1)[0]
    if family in ("image", "audio"):
        return {"type": family, "data": data, "mimeType": kind}
    uri = "file://" + quote(real, safe="/!$&'()*+,;=:@~-._")
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "blob": data}}


def entries(tree: Tree, real: str) -> list[str]:
    """Names in a directory, in the order of their bytes.

    Raises:
        Refused: It is none.
    """
    try:
        return tree.list(real)
    except OSError as error:
        raise node_error(error, "scandir", real) from error


def is_directory(tree: Tree, path: str) -> bool:
    """Whether the entry itself, not what it links to, is a directory."""
    node = tree.node(path)
    return node is not None and node.kind == "directory"


def _size(tree: Tree, path: str) -> int:
    place, node = tree.find(path)
    if node.kind == "directory":
        return _DIRECTORY
    if node.content is None:
        raise Unknown(f"the size of {place} is not known")
    return len(node.content)


def sized_listing(tree: Tree, real: str, by: str) -> str:
    """The listing with sizes, and the sums below it."""
    rows: list[tuple[str, bool, int]] = []
    for name in entries(tree, real):
        path = posixpath.join(real, name)
        folder = is_directory(tree, path)
        try:
            size = _size(tree, path) if not folder or by == "size" else 0
        except OSError:
            size = 0
        rows.append((name, folder, size))
    if by == "size":
        rows.sort(key=lambda row: -row[2])
    else:
        rows.sort(key=lambda row: collation_key(row[0]))
    lines = [
        f"[DIR] {pad_end(name, 30)} " if folder else f"[FILE] {pad_end(name, 30)} {pad_start(_shown(size), 10)}"
        for name, folder, size in rows
    ]
    files = [size for _, folder, size in rows if not folder]
    summary = ["", f"Total: {len(files)} files, {len(rows) - len(files)} directories"]
    return "\n".join([*lines, *summary, f"Combined size: {_shown(sum(files))}"])


def _shown(size: int) -> str:
    if size <= 0:
        return "0 B"
    unit = min((size.bit_length() - 1) // 10, 4)
    if not unit:
        return f"{size} B"
    value = (Decimal(size) / 1024**unit).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{value} {('B', 'KB', 'MB', 'GB', 'TB')[unit]}"


def tree_of(tree: Tree, paths: Paths, shown: str, excluded: Sequence[str]) -> list[JsonDict]:
    """The tree below a directory that a caller named `shown`."""
    base = paths.absolute(shown)
    left = [_MOST_FILES]

    def build(path: str, relative: str) -> list[JsonDict]:
        found: list[JsonDict] = []
        real = paths.checked(tree, path)
        for name in entries(tree, real):
            left[0] -= 1
            if not left[0]:
                raise Unknown("too many files")
            inner = f"{relative}/{name}" if relative else name
            if _excludes(inner, excluded):
                continue
            if is_directory(tree, posixpath.join(real, name)):
                children = build(posixpath.join(path, name), inner)
                found.append({"name": name, "type": "directory", "children": children})
            else:
                found.append({"name": name, "type": "file"})
        return found

    return build(base, "")


def _excludes(path: str, patterns: Sequence[str]) -> bool:
    for pattern in patterns:
        forms = [pattern] if "*" in pattern else [pattern, f"**/{pattern}", f"**/{pattern}/**"]
        if any(_matches(path, form) for form in forms):
            return True
    return False


def _matches(path: str, pattern: str) -> bool:
    try:
        found = globs.matches(path, pattern)
    except TypeError as error:
        raise Refused(str(error)) from error
    if found is None:
        raise Unknown(f"the pattern {pattern[:80]} is not simulated")
    return found


def search(tree: Tree, paths: Paths, real: str, pattern: str, excluded: Sequence[str]) -> list[str]:
    """Paths below a directory that match a pattern."""
    found: list[str] = []
    left = [_MOST_FILES]

    def walk(place: str, relative: str) -> None:
        for name in entries(tree, place):
            left[0] -= 1
            if not left[0]:
                raise Unknown("too many files")
            path, inner = posixpath.join(place, name), f"{relative}/{name}" if relative else name
            try:
                paths.checked(tree, path)
                if any(_matches(inner, one) for one in excluded):
                    continue
                if _matches(inner, pattern):
                    found.append(path)
                if is_directory(tree, path):
                    walk(path, inner)
            except Refused:
                continue

    walk(real, "")
    return found


def file_info(tree: Tree, real: str, now: datetime) -> str:
    """Metadata of a file; times are those of the virtual clock."""
    try:
        place, node = tree.find(real)
    except OSError as error:
        raise node_error(error, "stat", real) from error
    if node.mtime is None:
        raise Unknown(f"when {place} was written is not known")
    folder = node.kind == "directory"
    rows: dict[str, Any] = {
        "size": _size(tree, place),
        "created": _date(node.mtime),
        "modified": _date(node.mtime),
        "accessed": _date(node.mtime),
        "isDirectory": str(folder).lower(),
        "isFile": str(not folder).lower(),
        "permissions": f"{node.mode & 0o777:03o}",
    }
    return "\n".join(f"{key}: {value}" for key, value in rows.items())


def _date(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%a %b %d %Y %H:%M:%S} GMT+0000 (Coordinated Universal Time)"
