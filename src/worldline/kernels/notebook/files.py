"""Simulated files of a notebook: a small tree in memory, of which a copy costs nothing."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from worldline.kernels.python import PythonUnknown

__all__ = ["MemoryFiles", "Node", "declared_nodes"]

_OPEN = ("/home/user", "/tmp")
"""Where everything is known, if the world is complete."""
_KNOWN_DIRECTORIES = ("/", "/home", "/home/user", "/tmp")


_SYSTEM = ("/bin", "/etc", "/opt", "/proc", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/var", "/var/log")
"""Directories that are there, whatever they hold."""


@dataclass(frozen=True, slots=True)
class Node:
    """A file, directory or symbolic link."""

    kind: str
    mode: int
    mtime: datetime
    data: bytes = b""
    """Content, or where a link points."""
    uid: int = 1000
    gid: int = 1000
    nlink: int = 1
    doubtful: bool = False
    """Reality may have changed it since it was last known."""

    @property
    def size(self) -> int:
        """Bytes; a directory has those of its entries in reality, which is not known."""
        return len(self.data)


def declared_nodes(files: Mapping[str, bytes], now: datetime) -> dict[str, Node]:
    """The tree that a world declares: its files and the directories they imply."""
    nodes: dict[str, Node] = {}
    for path in (*_KNOWN_DIRECTORIES, *(parent for file in files for parent in _parents(file))):
        mine = path.startswith("/home/user") or path == "/tmp"
        owner = 1000 if mine and path != "/tmp" else 0
        nodes[path] = Node("directory", 0o1777 if path == "/tmp" else 0o755, now, uid=owner, gid=owner)
    for path in _SYSTEM:
        nodes[path] = Node("directory", 0o755, now, uid=0, gid=0)
    nodes["/etc/hostname"] = Node("file", 0o644, now, b"box\n", uid=0, gid=0)
    for path, data in files.items():
        nodes[path] = Node("file", 0o644, now, data)
    return nodes


def _parents(path: str) -> Iterable[str]:
    parent = posixpath.dirname(path)
    while parent not in _KNOWN_DIRECTORIES:
        yield parent
        parent = posixpath.dirname(parent)


def _fail(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


class MemoryFiles:
    """Satisfies :class:`worldline.kernels.python.FileSystem`.

    Args:
        nodes: The tree; copied when it is first changed.
        complete: What is not in the tree, in the home and in /tmp, does not exist; otherwise that is unknown.
        now: Modification time of what is written.
        known: Paths that are known not to exist though the tree is not complete.
    """

    def __init__(self, nodes: Mapping[str, Node], complete: bool, now: datetime, known: Iterable[str] = ()) -> None:
        self.nodes = dict(nodes)
        self.gone = set(known)
        self.written: set[str] = set()
        """Paths that were changed."""
        self.guessed: dict[str, str] = {}
        """What was answered without being known, by path: one line each, for people."""
        self._asked: str | None = None
        self._complete, self._now = complete, now

    def read(self, path: str) -> bytes:
        node = self._node(self._resolve(path))
        if node.kind == "directory":
            raise _fail(errno.EISDIR, path)
        return node.data

    def write(self, path: str, data: bytes) -> None:
        path = self._resolve(path)
        if self._asked == path:  # opening a file anew asks first, but does the same whether it is there or not
            self.guessed.pop(path, None)
        known = self.nodes.get(path)
        if known is not None and known.kind == "directory":
            raise _fail(errno.EISDIR, path)
        self._enter(path)
        mode = known.mode if known is not None else 0o644
        self._put(path, Node("file", mode, self._now, data))

    def append(self, path: str, data: bytes) -> None:
        path = self._resolve(path)
        before = b""
        if path in self.nodes or not self._absent(path):
            before = self.read(path)
        self.write(path, before + data)

    def stat(self, path: str, *, follow: bool = True) -> Node:
        place = self._resolve(path) if follow else self._tidy(path)
        self._asked = None if place in self.guessed else place
        node = self._node(place, content=False)
        if node.kind == "directory":
            children = sum(self.nodes[child].kind == "directory" for child in self._children(self._tidy(path)))
            return replace(node, nlink=2 + children)
        return node

    def list(self, path: str) -> list[str]:
        path = self._resolve(path)
        if self._node(path).kind != "directory":
            raise _fail(errno.ENOTDIR, path)
        if not path.startswith(_OPEN):
            raise PythonUnknown(f"not everything in {path} is known")
        if not self._complete:
            self.guessed[path] = f"not everything in {path} is known"
        return [posixpath.basename(child) for child in self._children(path)]

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        path = self._tidy(path)
        if not self._absent(path):
            raise _fail(errno.EEXIST, path)
        self._enter(path)
        self._put(path, Node("directory", mode & 0o777 & ~0o022, self._now))

    def remove(self, path: str) -> None:
        path = self._tidy(path)
        node = self._node(path)
        if node.kind == "directory" and self._children(path):
            raise _fail(errno.ENOTEMPTY, path)
        if node.kind == "directory" and not self._complete:
            self.guessed[path] = f"not everything in {path} is known"
        self._enter(path)
        del self.nodes[path]
        self.gone.add(path)
        self.written.add(path)

    def rename(self, source: str, target: str) -> None:
        source, target = self._tidy(source), self._tidy(target)
        node = self._node(source)
        if target in self.nodes and self.nodes[target].kind == "directory" and node.kind != "directory":
            raise _fail(errno.EISDIR, target)
        self._enter(target)
        moved = {path: self.nodes[path] for path in self.nodes if path == source or path.startswith(f"{source}/")}
        for path, inner in moved.items():
            del self.nodes[path]
            self.gone.add(path)
            self._put(target + path[len(source) :], inner)

    def symlink(self, target: str, path: str) -> None:
        path = self._tidy(path)
        if not self._absent(path):
            raise _fail(errno.EEXIST, path)
        self._enter(path)
        self._put(path, Node("symlink", 0o777, self._now, target.encode()))

    def readlink(self, path: str) -> str:
        node = self._node(self._tidy(path))
        if node.kind != "symlink":
            raise _fail(errno.EINVAL, path)
        return node.data.decode()

    def chmod(self, path: str, mode: int) -> None:
        path = self._resolve(path)
        self._put(path, replace(self._node(path), mode=mode & 0o7777))

    def utime(self, path: str, moment: datetime) -> None:
        path = self._resolve(path)
        self._put(path, replace(self._node(path), mtime=moment))

    def probe(self, path: str) -> bool:
        """Whether a file is known to be there."""
        return self._tidy(path) in self.nodes

    # --- inside

    def _tidy(self, path: str) -> str:
        return posixpath.normpath(path)

    def _resolve(self, path: str) -> str:
        """Follow symbolic links in a path."""
        path, steps = self._tidy(path), 0
        done = "/"
        parts = [part for part in path.split("/") if part]
        while parts:
            done = posixpath.normpath(posixpath.join(done, parts.pop(0)))
            node = self.nodes.get(done)
            if node is not None and node.kind == "symlink":
                steps += 1
                if steps > 40:
                    raise _fail(errno.ELOOP, path)
                target = posixpath.normpath(posixpath.join(posixpath.dirname(done), node.data.decode()))
                parts = [part for part in target.split("/") if part] + parts
                done = "/"
        return done

    def _children(self, path: str) -> Sequence[str]:
        start = path.rstrip("/") + "/"
        return [
            name for name in self.nodes if name.startswith(start) and "/" not in name[len(start) :] and name != start
        ]

    def _node(self, path: str, *, content: bool = True) -> Node:
        node = self.nodes.get(path)
        if node is not None:
            if node.doubtful and content:
                self.guessed[path] = f"the content of {path} is not known"
            return node
        self._absent(path)
        parent = posixpath.dirname(path)
        above = self.nodes.get(parent)
        if above is not None and above.kind == "file":
            raise _fail(errno.ENOTDIR, path)
        raise _fail(errno.ENOENT, path)

    def _absent(self, path: str) -> bool:
        """Whether a path does not exist; a guess inside an open home, PythonUnknown elsewhere."""
        if path in self.nodes:
            return False
        if path in self.gone:
            return True
        if "/share/locale/" in path:
            return True  # no catalogue of messages is installed
        if not path.startswith(tuple(f"{place}/" for place in _OPEN)):
            raise PythonUnknown(f"whether {path} exists is not known")
        if not self._complete:
            self.guessed[path] = f"whether {path} exists is not known"
        return True

    def _enter(self, path: str) -> None:
        """Check that something can be put at a path."""
        parent = posixpath.dirname(path)
        node = self._node(self._resolve(parent))
        if node.kind != "directory":
            raise _fail(errno.ENOTDIR, path)
        if not path.startswith(tuple(f"{place}/" for place in _OPEN)):
            raise _fail(errno.EACCES, path)

    def _put(self, path: str, node: Node) -> None:
        self.nodes[path] = node
        self.gone.discard(path)
        self.written.add(path)
