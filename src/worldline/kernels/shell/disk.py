"""The files below permissions: what is at a resolved path, kept in step between the table and the shell library.

Asking the library's file system from inside a command costs a tenth of a millisecond, so the table answers for
every path that only our own commands can have changed. Paths that the library may have written in the running step
(`suspects`: targets of redirections, or everything where that cannot be told) are asked for.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from bashkit import FileSystem

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.barriers import Barriers
from worldline.kernels.shell.builtins.shared.textio import restore
from worldline.kernels.shell.programs import provided
from worldline.kernels.shell.table import Node, Table

__all__ = ["BROUGHT", "DEVICES", "Disk", "is_virtual"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_VIRTUAL = ("/proc", "/dev", "/sys", "/bin", "/usr/bin")

BROUGHT = frozenset(
    (
        "/etc/shells", "/etc/hosts", "/etc/os-release", "/etc/group", "/etc/hostname", "/etc/timezone", "/etc/passwd",
        "/etc/ssl", "/etc/ssl/certs",
    )
)  # fmt: skip
"""Files that the shell library brings along; they are not the world's."""


@lru_cache(maxsize=16384)
def is_virtual(path: str) -> bool:
    """Whether the shell library makes up what is at a path (its /proc, /dev, /bin, ...)."""
    return path.startswith(_VIRTUAL) and any(path == base or path.startswith(base + "/") for base in _VIRTUAL)


@lru_cache(maxsize=16384)
def _made_up(path: str) -> bool:
    return is_virtual(path) or path in BROUGHT


class Disk:
    """Files by resolved absolute path, for one command.

    Args:
        vfs: The library's file system.
        table: The trial's table, kept up to date here.
        stamps: The library's time stamps when the table was last in step with it.
        suspects: Paths the library may have changed since; None: any.
        state: The declared world.
        now: Virtual time of the step.
        barriers: Files that something else stands in for.
    """

    def __init__(
        self,
        vfs: FileSystem,
        table: Table,
        stamps: dict[str, float],
        suspects: frozenset[str] | None,
        state: TerminalState,
        now: datetime,
        barriers: Barriers,
    ) -> None:
        self._vfs = vfs
        self.table = table
        self._stamps = stamps
        self._suspects = suspects
        self._state = state
        self._now = now
        self._barriers = barriers
        self.emptied: frozenset[str] = frozenset()
        """Files that were emptied though the library has not done so yet."""
        self._entries: dict[str, dict[str, dict[str, Any]]] = {}
        self.umask = 0o022
        """Permission bits that the library's new files do not get."""

    def refresh(self) -> None:
        """Look at everything anew: another command has run in between and may have written anything."""
        self._entries.clear()
        self._suspects = None

    # --- reading

    def node(self, path: str) -> Node | None:
        """What is at a path, links not followed; None where nothing is. A file's content may be left out."""
        node = self.table.nodes.get(path)
        if path in self.emptied:
            uid = self._state.user_id
            node = node or Node("file", 0o644, uid, uid, self._now)
            return replace(node, content=b"", mtime=self._now) if node.kind == "file" else node
        if path in self._barriers.paths:
            return node
        if _made_up(path):
            return node if node is not None else self._system(path)
        if node is not None and node.inode:
            node = self._latest(path, node)
        if path == "/" or (self._suspects is not None and path not in self._suspects):
            return node
        return self._fresh(path, node)

    def _latest(self, path: str, node: Node) -> Node:
        """A file with several names, of which the library may have written to another."""
        for twin in self.table.twins(path):
            meta = self._listing(posixpath.dirname(twin)).get(posixpath.basename(twin))
            if meta is not None and self._stamps.get(twin) != meta["modified"]:
                return replace(node, mtime=self._now, content=self._vfs.read_file(twin))
        return node

    def _fresh(self, path: str, node: Node | None) -> Node | None:
        meta = self._listing(posixpath.dirname(path)).get(posixpath.basename(path))
        if meta is None:
            return node if node is not None and node.vast else None
        kind, mode, uid = meta["file_type"], int(meta["mode"]), self._state.user_id
        if kind == "symlink":
            if node is not None and node.kind == "symlink" and self._suspects is not None:
                return node
            target = self._vfs.read_link(path)
            if node is not None and node.kind == "symlink" and node.target == target:
                return node
            return Node("symlink", 0o777, uid, uid, self._now, target=target)
        if node is None or node.kind != kind:
            if (kind, mode) in (("file", 0o644), ("directory", 0o755)):
                mode = (0o666 if kind == "file" else 0o777) & ~self.umask
            return Node(kind, mode, uid, uid, self._now)
        # Modes are ours to change; the library resets them where it writes to a file.
        if kind == "file" and self._stamps.get(path) != meta["modified"]:
            return replace(node, mtime=self._now, content=None)
        return node

    def _listing(self, directory: str) -> dict[str, dict[str, Any]]:
        if directory not in self._entries:
            try:
                entries = self._vfs.read_dir(directory)
            except RuntimeError:
                entries = []
            self._entries[directory] = {str(entry["name"]): entry["metadata"] for entry in entries}
        return self._entries[directory]

    def _system(self, path: str) -> Node | None:
        """A file that every system has though no world declares it."""
        folder, name = posixpath.split(path)
        clock = self._state.clock
        if path == "/dev/fd" or (folder == "/dev/fd" and self._vfs.exists(path)):
            return Node("directory" if path == "/dev/fd" else "file", 0o755, 0, 0, clock)
        if path in DEVICES:
            return Node("file", 0o666, 0, 0, clock)
        if folder == "/usr/bin" and provided(self._state.packages)[0].get(name) == folder:
            return Node("file", 0o755, 0, 0, clock)
        return None

    def content(self, path: str) -> bytes:
        """Content of a regular file."""
        if path.startswith("/dev/fd/"):
            return restore(self._vfs.read_file(path))
        node = self.node(path)
        if node is not None and node.content is not None:
            return node.content
        return b"" if _made_up(path) or path in self.table.tainted else restore(self._vfs.read_file(path))

    def size(self, path: str) -> int:
        """Size of a regular file in bytes."""
        node = self.node(path)
        if node is not None and node.content is not None:
            return len(node.content)
        if _made_up(path):
            return 0
        meta = self._listing(posixpath.dirname(path)).get(posixpath.basename(path))
        return len(restore(self._vfs.read_file(path))) if meta is not None else 0

    def names(self, directory: str) -> list[str]:
        """Names in a directory, sorted by bytes."""
        prefix = directory.rstrip("/") + "/"
        if self._suspects is None and directory not in self._barriers.paths:
            found = set(self._listing(directory))
            found -= {name for name in found if prefix + name in BROUGHT and prefix + name not in self.table.nodes}
        else:
            found = {path[len(prefix) :] for path in self.table.nodes if path.startswith(prefix)}
            found = {name for name in found if name and "/" not in name}
            for path in self._suspects or ():
                if posixpath.dirname(path) == directory:
                    found.discard(posixpath.basename(path))
                    if self.node(path) is not None:
                        found.add(posixpath.basename(path))
        hidden = {path for path in self._barriers.paths if path not in self.table.nodes}
        return sorted((name for name in found if prefix + name not in hidden), key=os.fsencode)

    def order(self, directory: str) -> list[str]:
        """Names in a directory as the system lists them: the newest entry first, as on tmpfs.

        The table keeps files in the order in which they were made; what is not in it yet was made in this step.
        """
        prefix = directory.rstrip("/") + "/"
        names = set(self.names(directory))
        known = [path[len(prefix) :] for path in self.table.nodes if path.startswith(prefix)]
        known = [name for name in known if name in names]
        fresh = names.difference(known)
        entries = self._listing(directory) if fresh else {}
        made = {name: float(entries[name]["created"]) if name in entries else 0.0 for name in fresh}
        return [*known, *sorted(fresh, key=lambda name: (made[name], name))][::-1]

    # --- writing

    def _catch_up(self, directory: str) -> None:
        """Enter what the library made in a directory before now, so that its entries stay in order."""
        if self._suspects is not None and all(posixpath.dirname(path) != directory for path in self._suspects):
            return
        prefix = directory.rstrip("/") + "/"
        entries = self._listing(directory)
        fresh = [name for name in entries if prefix + name not in self.table.nodes and not _made_up(prefix + name)]
        for name in sorted(fresh, key=lambda name: float(entries[name]["created"])):
            node = self.node(prefix + name)
            if node is not None:
                self.table.nodes[prefix + name] = node

    def lift(self, path: str) -> None:
        """Put back what a stand-in hides, before it is changed."""
        if path in self._barriers.paths:
            self._barriers.lift(path, self._vfs)
            self._entries.clear()

    def put(self, path: str, node: Node, data: bytes) -> None:
        """Write a regular file."""
        fresh = path not in self.table.nodes
        if fresh:
            self._catch_up(posixpath.dirname(path))
        self._vfs.write_file(path, data)
        self._settle(path, replace(node, content=data, mtime=self._now), mode=fresh)

    def add(self, path: str, node: Node, data: bytes) -> None:
        """Append to a regular file that is there."""
        before = self.content(path)
        self._vfs.append_file(path, data)
        self._settle(path, replace(node, content=before + data, mtime=self._now), mode=False)

    def make(self, path: str, node: Node) -> None:
        """Make a directory or a symbolic link."""
        self._catch_up(posixpath.dirname(path))
        if node.kind == "symlink":
            self._vfs.symlink(node.target, path)
            self.table.nodes[path] = node
            self._changed(path)
        else:
            self._vfs.mkdir(path)
            self._settle(path, node, mode=True)

    def link(self, path: str, twin: str) -> None:
        """Make `twin` another name of the file at `path`; the library has no hard links, so it holds a copy."""
        node = self.node(path)
        assert node is not None
        self._catch_up(posixpath.dirname(twin))
        number = node.inode or 1 + max(other.inode for other in self.table.nodes.values())
        node = replace(node, content=self.content(path), nlink=node.nlink + 1, inode=number)
        self.table.nodes[path] = node
        self._vfs.write_file(twin, node.content or b"")
        self._settle(twin, node, mode=True)

    def _spread(self, path: str) -> None:
        """Give the other names of a file what was done to it under this one."""
        node = self.table.nodes[path]
        for twin in self.table.twins(path):
            if node.content is not None and self._vfs.read_file(twin) != node.content:
                self._vfs.write_file(twin, node.content)
            self._vfs.chmod(twin, node.mode)
            self.table.nodes[twin] = node
            self._stamps[twin] = self._vfs.stat(twin)["modified"]
            self._entries.pop(posixpath.dirname(twin), None)

    def remove(self, path: str) -> None:
        """Remove a file, link or empty directory."""
        for twin in self.table.twins(path):
            self.table.nodes[twin] = replace(self.table.nodes[twin], nlink=self.table.nodes[twin].nlink - 1)
        self._vfs.remove(path)
        self.table.drop(path)
        self._stamps.pop(path, None)
        self._changed(path)

    def rename(self, old: str, new: str, node: Node) -> None:
        """Move a path, with what lies below it, to a name that is free."""
        self._catch_up(posixpath.dirname(new))
        if node.kind == "symlink":
            self._vfs.symlink(node.target, new)
            self._vfs.remove(old)
        else:
            self._vfs.rename(old, new)
        table = self.table
        table.nodes[old] = node
        for name in [old, *list(table.children(old))]:
            moved = new + name[len(old) :]
            stamp = self._stamps.pop(name, None)
            table.nodes[moved] = table.nodes.pop(name)
            if name in table.open:
                table.open.discard(name)
                table.open.add(moved)
            if name in table.tainted:
                table.tainted[moved] = table.tainted.pop(name)
            if stamp is not None and name != old:
                self._stamps[moved] = stamp
        self._changed(old)
        self._changed(new)
        if node.kind != "symlink":
            self._stamps[new] = self._vfs.stat(new)["modified"]

    def set(self, path: str, node: Node, *, mode: bool = False) -> None:
        """Record owner, mode or time; the content is left alone."""
        if mode:
            self._vfs.chmod(path, node.mode)
        if node.kind == "file" and node.content is None and path not in self.table.tainted:
            node = replace(node, content=self.content(path))
        self.table.nodes[path] = node
        if node.kind != "symlink":
            self._stamps[path] = self._vfs.stat(path)["modified"]
        self._entries.pop(posixpath.dirname(path), None)
        if node.inode:
            self._spread(path)

    def _settle(self, path: str, node: Node, *, mode: bool) -> None:
        if mode:
            self._vfs.chmod(path, node.mode)
        self.table.nodes[path] = node
        self._stamps[path] = self._vfs.stat(path)["modified"]
        self._changed(path)
        if node.inode:
            self._spread(path)

    def _changed(self, path: str) -> None:
        """Forget the listing a path is in, and give its directory the time."""
        parent = posixpath.dirname(path)
        self._entries.pop(parent, None)
        self._entries.pop(path, None)
        node = self.table.nodes.get(parent)
        if node is not None and node.mtime != self._now:
            self.table.nodes[parent] = replace(node, mtime=self._now)
