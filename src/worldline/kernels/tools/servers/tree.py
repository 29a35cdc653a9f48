"""Files in memory: a tree that forks cheaply and knows what it does not know.

It satisfies :class:`worldline.kernels.shell.builtins.base.Files`, so that the git of the shell kernel works on it.
"""

from __future__ import annotations

import base64
import errno
import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, NoReturn

from worldline.domains.terminal.state import FileSpec
from worldline.kernels.shell.builtins.base import FileStat, Unknown
from worldline.types import JsonDict

__all__ = ["Kind", "Node", "Tree", "spec_content"]

Kind = Literal["file", "directory", "symlink"]
Names = list[str]
_LINKS = 40
_LONGEST_NAME, _LONGEST_PATH = 255, 4095
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Node:
    """One file, directory or link."""

    kind: Kind
    content: bytes | None = None
    """Bytes of a file; None: not known."""
    mode: int = 0o644
    mtime: datetime | None = None
    """None: not known."""
    target: str = ""
    open: bool = False
    """For a directory: it may hold more than is known."""


def spec_content(spec: FileSpec) -> bytes:
    """Content of a declared file."""
    if spec.base64 is not None:
        return base64.b64decode(spec.base64)
    return (spec.content or "").encode("utf-8", "surrogateescape")


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


class Tree:
    """A file system of one user who may read and write everything in it.

    Args:
        closed: Directories below which nothing is there but what was put there.
        now: Time of what is written.
    """

    __slots__ = ("_absent", "_names", "_nodes", "_owned", "closed", "cwd", "lenient", "now")

    def __init__(self, closed: tuple[str, ...] = (), now: datetime | None = None) -> None:
        self._nodes: dict[str, Node] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._absent: set[str] = set()
        self._owned = True
        self.closed = closed
        self.now = now
        self.cwd = "/"
        self.lenient = False
        """Take it that what is not known is not there: good for guesses only."""

    # --- copies

    def fork(self) -> Tree:
        """Return a copy that shares everything until one side writes."""
        twin = Tree(self.closed, self.now)
        twin._nodes, twin._names, twin._absent, twin.cwd = self._nodes, self._names, self._absent, self.cwd
        self._owned = twin._owned = False
        return twin

    def _own(self) -> None:
        if not self._owned:
            self._nodes = dict(self._nodes)
            self._names = {path: dict(names) for path, names in self._names.items()}
            self._absent = set(self._absent)
            self._owned = True

    def dump(self) -> JsonDict:
        """Return the tree as JSON data."""
        nodes = {}
        for path, node in self._nodes.items():
            entry: JsonDict = {"kind": node.kind, "mode": node.mode, "target": node.target, "open": node.open}
            entry["mtime"] = node.mtime.isoformat() if node.mtime else None
            entry["content"] = None if node.content is None else base64.b64encode(node.content).decode()
            nodes[path] = entry
        now = self.now.isoformat() if self.now else None
        return {"nodes": nodes, "absent": sorted(self._absent), "closed": list(self.closed), "now": now}

    @classmethod
    def load(cls, data: JsonDict) -> Tree:
        """Undo `dump`."""
        tree = cls(tuple(data["closed"]), datetime.fromisoformat(data["now"]) if data["now"] else None)
        for path, entry in data["nodes"].items():
            content = entry["content"]
            mtime = datetime.fromisoformat(entry["mtime"]) if entry["mtime"] else None
            raw = None if content is None else base64.b64decode(content)
            tree._set(path, Node(entry["kind"], raw, entry["mode"], mtime, entry["target"], entry["open"]))
        tree._absent = set(data["absent"])
        return tree

    # --- the bare table

    def node(self, path: str) -> Node | None:
        """What is known to be at an absolute path, links not followed."""
        return self._nodes.get(path)

    def _set(self, path: str, node: Node) -> None:
        self._own()
        self._nodes[path] = node
        self._absent.discard(path)
        if path != "/":
            self._names.setdefault(posixpath.dirname(path), {})[posixpath.basename(path)] = None

    def _drop(self, path: str) -> None:
        self._own()
        for name in self._names.pop(path, {}):
            self._drop(posixpath.join(path, name))
        self._nodes.pop(path, None)
        self._names.get(posixpath.dirname(path), {}).pop(posixpath.basename(path), None)

    def paths(self) -> Iterator[str]:
        """All known paths."""
        return iter(self._nodes)

    def names(self, path: str) -> list[str]:
        """Names known in a directory, sorted by bytes."""
        return sorted(self._names.get(path, {}), key=os.fsencode)

    # --- what is declared or learnt

    def declare(self, path: str, node: Node) -> None:
        """Put something in, and directories above it."""
        self._make_above(path)
        self._set(path, node)

    def _make_above(self, path: str) -> None:
        parent = posixpath.dirname(path)
        if parent != path and parent not in self._nodes:
            self._make_above(parent)
            self._set(parent, Node("directory", None, 0o755, self.now, open=not self._closed_here(parent)))

    def _closed_here(self, path: str) -> bool:
        return any(path == top or path.startswith(top.rstrip("/") + "/") for top in self.closed)

    def forget(self, path: str) -> None:
        """Doubt a path: something may be there or not, and its content may be anything."""
        self._drop(path)
        self._absent.discard(path)
        parent = self._nodes.get(posixpath.dirname(path))
        if parent is not None:
            self._set(posixpath.dirname(path), replace(parent, open=True))

    def doubt(self, path: str) -> None:
        """Doubt the content of a file."""
        node = self._nodes.get(path)
        if node is not None and node.kind == "file":
            self._set(path, replace(node, content=None, mtime=None))

    def learn_content(self, path: str, content: bytes) -> None:
        """Take a file's content as it was observed."""
        node = self._nodes.get(path)
        if node is not None and node.kind == "file":
            if node.content != content:
                self._set(path, replace(node, content=content))
        else:
            self.declare(path, Node("file", content))

    def learn_listing(self, path: str, entries: Mapping[str, Kind]) -> None:
        """Take a whole listing: what it does not name is not there."""
        if path not in self._nodes:
            self.declare(path, Node("directory", None, 0o755, None))
        for name in self.names(path):
            if name not in entries:
                self._drop(posixpath.join(path, name))
        for name, kind in entries.items():
            child = posixpath.join(path, name)
            known = self._nodes.get(child)
            if known is None or (known.kind == "directory") != (kind == "directory"):
                self._drop(child)
                made = Node("directory", None, 0o755, open=True) if kind == "directory" else Node("file")
                self._set(child, made)
        self._set(path, replace(self._nodes[path], open=False))

    def learn_absent(self, path: str) -> None:
        """Take it that nothing is at a path."""
        self._drop(path)
        self._absent.add(path)

    # --- walking

    def absolute(self, path: str) -> str:
        """Join to the working directory and normalise, without resolving links."""
        return "/" + posixpath.normpath(posixpath.join(self.cwd, path)).lstrip("/")

    def resolve(self, path: str, *, follow: bool = True) -> str:
        """Resolve links in a path; nothing need be at its end.

        Raises:
            OSError: As the system's walk would.
            Unknown: It leads through what is not known.
        """
        if "\0" in path:
            raise ValueError("embedded null byte")
        if path == "":
            raise _error(errno.ENOENT, path)
        full = posixpath.join(self.cwd, path)
        if len(os.fsencode(full)) > _LONGEST_PATH:
            raise _error(errno.ENAMETOOLONG, path)
        place, links = "/", 0
        todo = [part for part in full.split("/") if part not in ("", ".")][::-1]
        while todo:
            part = todo.pop()
            node = self._nodes.get(place)
            if node is not None and node.kind != "directory":
                raise _error(errno.ENOTDIR, path)
            if node is None and place != "/":
                self._missing(place, path)
            if part == "..":
                place = posixpath.dirname(place)
                continue
            if len(os.fsencode(part)) > _LONGEST_NAME:
                raise _error(errno.ENAMETOOLONG, path)
            step = posixpath.join(place, part)
            found = self._nodes.get(step)
            if found is not None and found.kind == "symlink" and (todo or follow):
                links += 1
                if links > _LINKS:
                    raise _error(errno.ELOOP, path)
                if found.target.startswith("/"):
                    place = "/"
                todo.extend(piece for piece in found.target.split("/")[::-1] if piece not in ("", "."))
                continue
            place = step
        return place

    def _missing(self, place: str, path: str) -> NoReturn:
        self.must_be_absent(place)
        raise _error(errno.ENOENT, path)

    def must_be_absent(self, place: str) -> None:
        """Check that what is not known to be there is known not to be there.

        Raises:
            Unknown: It is not.
        """
        while place != "/" and place not in self._absent and not self.lenient:
            parent = posixpath.dirname(place)
            node = self._nodes.get(parent)
            if node is None and parent != "/":
                place = parent
                continue
            if node is None or node.open:
                raise Unknown(f"it is not known whether {place} is there")
            return

    def find(self, path: str, *, follow: bool = True) -> tuple[str, Node]:
        """Resolve a path at which something must be.

        Raises:
            OSError: Nothing is there.
            Unknown: It is not known whether anything is.
        """
        place = self.resolve(path, follow=follow)
        node = self._nodes.get(place)
        if node is None:
            if place == "/":
                return place, Node("directory", None, 0o755, open=True)
            self._missing(place, path)
        return place, node

    # --- reading

    def read(self, path: str) -> bytes:
        """Content of a file."""
        place, node = self.find(path)
        if node.kind == "directory":
            raise _error(errno.EISDIR, path)
        if node.content is None and not self.lenient:
            raise Unknown(f"the content of {place} is not known")
        return node.content or b""

    def stat(self, path: str, *, follow: bool = True) -> FileStat:
        """Metadata; a size or time that is not known counts as 0."""
        _, node = self.find(path, follow=follow)
        size = len(node.target if node.kind == "symlink" else node.content or b"")
        moment = node.mtime or _EPOCH
        size = 4096 if node.kind == "directory" else size
        return FileStat(node.kind, size, node.mode, 1000, 1000, "user", "user", moment)

    def exists(self, path: str, *, follow: bool = True) -> bool:
        """Whether something is at a path."""
        try:
            self.find(path, follow=follow)
        except OSError:
            return False
        return True

    def probe(self, path: str) -> bool:
        """Whether something is known to be at a path."""
        try:
            return self.exists(path)
        except Unknown:
            return False

    def list(self, path: str) -> Names:
        """Names in a directory, sorted by bytes."""
        place, node = self.find(path)
        if node.kind != "directory":
            raise _error(errno.ENOTDIR, path)
        if node.open and not self.lenient:
            raise Unknown(f"{place} may hold more than is known")
        return self.names(place)

    def order(self, path: str) -> Names:
        """The same; the order on a disk is not known."""
        return self.list(path)

    def readlink(self, path: str) -> str:
        """Target of a link."""
        _, node = self.find(path, follow=False)
        if node.kind != "symlink":
            raise _error(errno.EINVAL, path)
        return node.target

    def allowed(self, path: str, want: int) -> bool:
        """Everything is the user's own."""
        return self.exists(path)

    def refresh(self) -> None:
        """Nothing is kept that could be stale."""

    # --- writing

    def _new(self, path: str) -> str:
        """Where a file of that name would lie; its directory must be there."""
        place = self.resolve(path)
        parent = posixpath.dirname(place)
        node = self._nodes.get(parent)
        if node is None and parent != "/":
            self._missing(parent, path)
        if node is not None and node.kind != "directory":
            raise _error(errno.ENOTDIR, path)
        return place

    def write(self, path: str, data: bytes) -> None:
        """Make a file or replace its content."""
        place = self._new(path)
        node = self._nodes.get(place)
        if node is not None and node.kind == "directory":
            raise _error(errno.EISDIR, path)
        if node is None:
            self.must_be_absent(place)
        self._set(place, Node("file", data, node.mode if node else 0o644, self.now))

    def write_unknown(self, path: str, mode: int) -> None:
        """Make a file whose content is not known."""
        self._set(self._new(path), Node("file", None, mode, self.now))

    def append(self, path: str, data: bytes) -> None:
        """Write behind what is there."""
        self.write(path, (self.read(path) if self.exists(path) else b"") + data)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        """Make a directory."""
        place = self._new(path)
        if place in self._nodes or place == "/":
            raise _error(errno.EEXIST, path)
        self.must_be_absent(place)
        self._set(place, Node("directory", None, mode, self.now))

    def remove(self, path: str) -> None:
        """Remove a file, link or empty directory."""
        place, node = self.find(path, follow=False)
        if node.kind == "directory" and self.list(place):
            raise _error(errno.ENOTEMPTY, path)
        self._drop(place)
        self._note_absent(place)

    def _note_absent(self, place: str) -> None:
        parent = self._nodes.get(posixpath.dirname(place))
        if parent is None or parent.open:
            self._own()
            self._absent.add(place)

    def rename(self, source: str, target: str) -> None:
        """Move a file or a directory with all in it."""
        start, node = self.find(source, follow=False)
        goal = self.resolve(target, follow=False)
        self._new(posixpath.join(posixpath.dirname(goal), ".x"))
        if goal == start:
            return
        if goal.startswith(start + "/"):
            raise _error(errno.EINVAL, source)
        there = self._nodes.get(goal)
        if there is None:
            self.must_be_absent(goal)
        elif there.kind == "directory":
            if node.kind != "directory":
                raise _error(errno.EISDIR, source)
            if self.list(goal):
                raise _error(errno.ENOTEMPTY, source)
        elif node.kind == "directory":
            raise _error(errno.ENOTDIR, source)
        self._move(start, goal)
        self._note_absent(start)

    def _move(self, start: str, goal: str) -> None:
        self._own()
        moved = [path for path in self._nodes if path == start or path.startswith(start + "/")]
        nodes = {goal + path[len(start) :]: self._nodes[path] for path in moved}
        self._drop(start)
        self._drop(goal)
        for path, node in nodes.items():
            self._set(path, node)

    def symlink(self, target: str, path: str) -> None:
        """Make a link."""
        place = self.resolve(path, follow=False)
        if place in self._nodes:
            raise _error(errno.EEXIST, path)
        self.must_be_absent(self._new(posixpath.join(posixpath.dirname(place), posixpath.basename(place))))
        self._set(place, Node("symlink", None, 0o777, self.now, target))

    def link(self, source: str, target: str) -> None:
        """Hard links are not simulated."""
        raise Unknown("hard links are not simulated")

    def chmod(self, path: str, mode: int) -> None:
        """Set permission bits."""
        place, node = self.find(path)
        if node.mode != mode:
            self._set(place, replace(node, mode=mode))

    def chown(self, path: str, owner: str | None, group: str | None) -> None:
        """Owners are not simulated."""
        raise Unknown("owners are not simulated")

    def utime(self, path: str, moment: datetime) -> None:
        """Set the time of the last change."""
        place, node = self.find(path)
        self._set(place, replace(node, mtime=moment))
