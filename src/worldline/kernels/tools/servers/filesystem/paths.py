"""Which paths the filesystem server accepts, and what it says of the others."""

from __future__ import annotations

import errno
import os
import posixpath
import re
import unicodedata
from collections.abc import Sequence

from worldline.kernels.tools.servers.js import trim
from worldline.kernels.tools.servers.node_server import Refused
from worldline.kernels.tools.servers.tree import Tree

__all__ = ["Paths", "node_error"]

_WINDOWS = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_TEXTS = {
    errno.ENOENT: "no such file or directory",
    errno.ENOTDIR: "not a directory",
    errno.EISDIR: "illegal operation on a directory",
    errno.EEXIST: "file already exists",
    errno.ELOOP: "too many symbolic links encountered",
    errno.ENAMETOOLONG: "name too long",
    errno.EINVAL: "invalid argument",
    errno.ENOTEMPTY: "directory not empty",
    errno.EACCES: "permission denied",
}


def node_error(error: OSError, call: str, *paths: str) -> Refused:
    """Word a failed system call as Node does."""
    code = error.errno or errno.EINVAL
    shown = " -> ".join(f"'{path}'" for path in paths)
    text = f"{errno.errorcode.get(code, 'EUNKNOWN')}: {_TEXTS.get(code, os.strerror(code))}, {call}"
    return Refused(f"{text} {shown}" if shown else text)


class Paths:
    """The allowed directories.

    Args:
        roots: As given on the command line.
        tree: The files at the start.
        home: What `~` stands for.
    """

    def __init__(self, roots: Sequence[str], tree: Tree, home: str) -> None:
        self.home = home
        found: list[str] = []
        for root in roots:
            plain = _normalized(posixpath.normpath(root))
            real = tree.resolve(plain) if tree.exists(plain) else plain
            found += [plain] if real == plain else [plain, real]
        self.allowed = tuple(found)

    @property
    def shown(self) -> str:
        """The allowed directories as messages name them."""
        return ", ".join(self.allowed)

    def inside(self, path: str) -> bool:
        """Whether an absolute path lies in an allowed directory."""
        if not path or "\0" in path:
            return False
        plain = _resolved("/", path)
        return any(plain == root or plain.startswith(root.rstrip("/") + "/") for root in self.allowed)

    def absolute(self, path: str) -> str:
        """Expand `~` and take a relative path from the first allowed directory in which it stays."""
        if path == "~" or path.startswith("~/"):
            path = posixpath.normpath(self.home + path[1:])
        if _WINDOWS.match(path):
            raise Refused(f"Access denied - Windows-style path received on a POSIX host: {path}")
        if path.startswith("/"):
            return _resolved("/", path)
        for root in self.allowed:
            candidate = _resolved(root, path)
            if self.inside(_normalized(candidate)):
                return candidate
        return _resolved(self.allowed[0] if self.allowed else self.home, path)

    def checked(self, tree: Tree, path: str) -> str:
        """Return the real path behind a path that a caller gave.

        Raises:
            Refused: It is not allowed, or the system refuses to walk it.
            Unknown: What lies on the way is not known.
        """
        absolute = self.absolute(path)
        if not self.inside(_normalized(absolute)):
            raise Refused(f"Access denied - path outside allowed directories: {absolute} not in {self.shown}")
        try:
            real, _ = tree.find(absolute)
        except FileNotFoundError:
            return self._new(tree, absolute)
        except OSError as error:
            raise node_error(error, "realpath", absolute) from error
        self._stays_inside(real)
        return real

    def _stays_inside(self, real: str) -> None:
        if not self.inside(_normalized(real)):
            raise Refused(f"Access denied - symlink target outside allowed directories: {real} not in {self.shown}")

    def _new(self, tree: Tree, absolute: str) -> str:
        """The real path of something that is not there: names are compared by their composed form on the way."""
        inside = [root for root in self.allowed if absolute == root or absolute.startswith(root.rstrip("/") + "/")]
        if not inside:
            return absolute
        root = max(inside, key=len)
        parent = f"Parent directory does not exist: {posixpath.dirname(absolute)}"
        try:
            place, _ = tree.find(root)
        except FileNotFoundError as error:
            raise Refused(parent) from error
        parts = [part for part in absolute[len(root) :].split("/") if part]
        for index, part in enumerate(parts):
            match = self._entry(tree, place, part)
            if match is None:
                return posixpath.join(place, *parts[index:])
            try:
                place, _ = tree.find(posixpath.join(place, match))
            except FileNotFoundError as error:
                raise Refused(parent) from error
            except OSError as error:
                raise node_error(error, "realpath", posixpath.join(place, match)) from error
            self._stays_inside(place)
        return place

    @staticmethod
    def _entry(tree: Tree, place: str, part: str) -> str | None:
        names = tree.names(place)
        if part in names:
            return part
        same = [name for name in names if unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", part)]
        if len(same) > 1:
            raise Refused(f"Ambiguous Unicode path component: {part}")
        return same[0] if same else None


def _resolved(base: str, path: str) -> str:
    return "/" + posixpath.normpath(posixpath.join(base, path)).lstrip("/")


def _normalized(path: str) -> str:
    plain = re.sub(r"^[\"']|[\"']$", "", trim(path))
    plain = re.sub(r"/+", "/", plain)
    return plain[:-1] if len(plain) > 1 and plain.endswith("/") else plain
