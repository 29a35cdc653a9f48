"""The kernel's own table of files: what the in-memory file system lacks (owners, virtual times, open places).

A :class:`Table` describes the files of one settled state. It is never changed in place once it stands for a
state, so forks share it. Contents are immutable bytes and shared as well.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from worldline.domains.terminal.state import FileSpec, TerminalState

__all__ = [
    "LARGEST",
    "STANDARD_DIRECTORIES",
    "STANDARD_LINKS",
    "Kind",
    "Node",
    "Table",
    "declared_table",
    "owner_id",
    "parents",
]

Kind = Literal["file", "directory", "symlink", "fifo"]

STANDARD_DIRECTORIES = (
    "/", "/boot", "/dev", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys",
    "/tmp", "/usr", "/usr/bin", "/usr/games", "/usr/include", "/usr/lib", "/usr/libexec", "/usr/local",
    "/usr/local/bin", "/usr/local/etc", "/usr/local/games", "/usr/local/include", "/usr/local/lib",
    "/usr/local/sbin", "/usr/local/share", "/usr/local/src", "/usr/sbin", "/usr/share", "/usr/src", "/var",
    "/var/backups", "/var/cache", "/var/lib", "/var/local", "/var/log", "/var/mail", "/var/opt", "/var/spool",
    "/var/tmp",
)  # fmt: skip
"""Directories that every Debian system has (base-files)."""

STANDARD_LINKS = {"/bin": "usr/bin", "/lib": "usr/lib", "/lib64": "usr/lib64", "/sbin": "usr/sbin"}
"""Symbolic links of the merged /usr layout."""

_STANDARD_FILES = {
    "passwd": 0o644, "group": 0o644, "shadow": 0o640, "hosts": 0o644, "hostname": 0o644, "fstab": 0o644,
    "debian_version": 0o644, "issue": 0o644, "profile": 0o644, "bash.bashrc": 0o644, "shells": 0o644,
    "nsswitch.conf": 0o644, "resolv.conf": 0o644, "login.defs": 0o644,
}  # fmt: skip
"""Files in /etc that every Debian system has; their content is not known."""


LARGEST = 10_000_000
"""Bytes that a file may have in the library's memory."""


@dataclass(frozen=True, slots=True)
class Node:
    """One file. `content` is None for what is not a regular file."""

    kind: Kind
    mode: int
    uid: int
    gid: int
    mtime: datetime
    content: bytes | None = None
    target: str = ""
    nlink: int = 1
    inode: int = 0
    """Paths with the same number other than 0 are hard links to one file."""

    @property
    def vast(self) -> bool:
        """Whether the file is too large for the shell library, which then does not have it."""
        return self.content is not None and len(self.content) > LARGEST


@dataclass(slots=True)
class Table:
    """All files that are known, the places that are open, and what is tainted."""

    nodes: dict[str, Node] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    """Directories of which not every entry is known."""
    tainted: dict[str, Literal["content", "existence"]] = field(default_factory=dict)
    """Paths whose content, or even whose being there, is not known."""
    absent: set[str] = field(default_factory=set)
    """Paths in open directories that were seen not to be there."""

    def copy(self) -> Table:
        """Return a copy that can be changed."""
        return Table(dict(self.nodes), set(self.open), dict(self.tainted), set(self.absent))

    def children(self, path: str) -> Iterator[str]:
        """Paths directly or indirectly below a directory."""
        prefix = path.rstrip("/") + "/"
        return (name for name in self.nodes if name.startswith(prefix) and name != path)

    def twins(self, path: str) -> list[str]:
        """Other paths that are the same file."""
        node = self.nodes.get(path)
        if node is None or not node.inode:
            return []
        return [name for name, other in self.nodes.items() if other.inode == node.inode and name != path]

    def drop(self, path: str) -> None:
        """Forget a path and what lies below it."""
        for name in [path, *self.children(path)]:
            self.nodes.pop(name, None)
            self.open.discard(name)
            self.tainted.pop(name, None)


def parents(path: str) -> list[str]:
    """Directories above a path, outermost first."""
    found = []
    while path != "/":
        path = posixpath.dirname(path)
        found.append(path)
    return found[::-1]


def declared_table(state: TerminalState) -> Table:
    """Lay out the files of a world: the standard directories, home, /tmp and what is declared."""
    table = Table()
    root = Node("directory", 0o755, 0, 0, state.clock)
    for path in STANDARD_DIRECTORIES:
        table.nodes[path] = root
        table.open.add(path)
    for path, target in STANDARD_LINKS.items():
        table.nodes[path] = Node("symlink", 0o777, 0, 0, state.clock, target=target)
    table.nodes["/root"] = replace(root, mode=0o700)
    table.nodes["/tmp"] = table.nodes["/var/tmp"] = replace(root, mode=0o1777)
    table.open.discard("/tmp")
    for name, mode in _STANDARD_FILES.items():
        table.nodes[f"/etc/{name}"] = Node("file", mode, 0, 42 if name == "shadow" else 0, state.clock)
        table.tainted[f"/etc/{name}"] = "content"
    table.nodes["/etc/hostname"] = replace(table.nodes["/etc/hostname"], content=f"{state.hostname}\n".encode())
    del table.tainted["/etc/hostname"]
    home = Node("directory", 0o755, state.user_id, state.user_id, state.clock)
    _make_parents(table, state, state.home)
    table.nodes[state.home] = home if state.home != "/root" else table.nodes["/root"]
    table.open.discard(state.home)
    for path, spec in sorted(state.files.items()):
        _declare(table, state, path, spec)
    _make_parents(table, state, state.start_directory + "/x")
    # The order in which a recorder lays them out, and in which a directory therefore lists them (backwards).
    ranked = sorted(table.nodes.items(), key=lambda item: (item[1].kind == "symlink", item[0].count("/"), item[0]))
    table.nodes = dict(ranked)
    return table


def _own(state: TerminalState, path: str) -> bool:
    """Whether a path lies in the user's home or in /tmp."""
    return any(path == base or path.startswith(base + "/") for base in (state.home, "/tmp"))


def _make_parents(table: Table, state: TerminalState, path: str) -> None:
    for parent in parents(path):
        if parent not in table.nodes:
            uid = state.user_id if _own(state, parent) else 0
            table.nodes[parent] = Node("directory", 0o755, uid, uid, state.clock)
            if not _own(state, parent):
                table.open.add(parent)


def _declare(table: Table, state: TerminalState, path: str, spec: FileSpec) -> None:
    _make_parents(table, state, path)
    uid = owner_id(state, spec.owner) if spec.owner else (state.user_id if _own(state, path) else 0)
    default = {"file": "644", "directory": "755", "symlink": "777"}[spec.kind]
    mode = int(spec.mode or default, 8)
    mtime = spec.mtime or state.clock
    content = None
    if spec.kind == "file":
        content = base64.b64decode(spec.base64) if spec.base64 is not None else (spec.content or "").encode()
    table.tainted.pop(path, None)
    table.nodes[path] = Node(spec.kind, mode, uid, uid, mtime, content, spec.target or "")
    if spec.kind == "directory":
        if spec.complete or _own(state, path):
            table.open.discard(path)
        else:
            table.open.add(path)


def owner_id(state: TerminalState, owner: str) -> int:
    """Numeric id of a user name: root, the world's user, or a number; any other name gets 65534."""
    if owner == state.user:
        return state.user_id
    if owner == "root":
        return 0
    return int(owner) if owner.isdigit() else 65534
