"""The kernel's files as one user sees them: permissions, owners, virtual times, open places, and a trace.

Contents live in the shell library's in-memory file system, so that its own commands see them too; owners,
modes and times live beside it, in a :class:`Table`. A time recorded in the table holds as long as the file
system's own time stamp is the one seen then; otherwise the file was written in the step that is running.
"""

from __future__ import annotations

import errno
import os
import posixpath
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NoReturn

from bashkit import FileSystem

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.barriers import NO_BARRIERS, Barriers
from worldline.kernels.shell.builtins.base import FileStat, Unknown
from worldline.kernels.shell.programs import provided
from worldline.kernels.shell.table import Node, Table, owner_id

__all__ = ["BROUGHT", "KernelFiles", "Trace", "is_virtual"]

_LINKS = 40
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_VIRTUAL = ("/proc", "/dev", "/sys", "/bin", "/usr/bin")
_DIRECTORY_SIZE = 4096

BROUGHT = frozenset(
    ("/etc/shells", "/etc/hosts", "/etc/os-release", "/etc/group", "/etc/hostname", "/etc/timezone", "/etc/passwd",
     "/etc/ssl", "/etc/ssl/certs")
)  # fmt: skip
"""Files that the shell library brings along; they are not the world's."""


@dataclass(slots=True)
class Trace:
    """What a step did with files."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    """Names that were looked for and are known not to be there."""


def is_virtual(path: str) -> bool:
    """Whether the shell library makes up what is at a path (its /proc, /dev, /bin, ...)."""
    return any(path == base or path.startswith(base + "/") for base in _VIRTUAL)


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


class KernelFiles:
    """Implements :class:`~worldline.kernels.shell.builtins.base.Files` for one call.

    Args:
        vfs: The in-memory file system.
        table: The trial's table; owners, modes and times are noted in it.
        state: The declared world.
        cwd: Working directory of the call.
        now: Virtual time of the step.
        trace: Where accesses are noted.
        stamps: Time stamp of each file in the in-memory file system when the table was last in step with it.
        umask: Permission bits that new files do not get.
        barriers: Files that something else stands in for, so that the library's commands are refused.
    """

    def __init__(
        self,
        vfs: FileSystem,
        table: Table,
        state: TerminalState,
        cwd: str,
        now: datetime,
        trace: Trace,
        stamps: dict[str, float],
        umask: int = 0o022,
        barriers: Barriers | None = None,
    ) -> None:
        self._vfs = vfs
        self._table = table
        self._state = state
        self._cwd = cwd
        self._now = now
        self._trace = trace
        self._stamps = stamps
        self._umask = umask
        self._barriers = barriers or NO_BARRIERS
        self._uid = state.user_id

    # --- paths

    def absolute(self, path: str) -> str:
        """Join to the cwd and normalise, without resolving links."""
        joined = posixpath.normpath(posixpath.join(self._cwd, path))
        return "/" + joined.lstrip("/")

    def resolve(self, path: str, *, follow: bool = True) -> str:
        """Resolve links in a path, checking that each directory on the way may be searched.

        Args:
            path: As given to the command; a trailing slash asks for a directory.
            follow: Whether a link in the last place is followed too.

        Raises:
            OSError: As the system's path walk would.
            Unknown: A directory on the way is open and the name is not known.
        """
        if path == "":
            raise _error(errno.ENOENT, path)
        todo = [part for part in posixpath.join(self._cwd, path).split("/") if part not in ("", ".")][::-1]
        slash = path.endswith(("/", "/."))
        place, links = "/", 0
        while todo:
            part = todo.pop()
            last = not todo
            self._search(place, path)
            if part == "..":
                place = posixpath.dirname(place)
                continue
            step = posixpath.join(place, part)
            target = self._link(step)
            if target is not None and (not last or follow or slash):
                links += 1
                if links > _LINKS:
                    raise _error(errno.ELOOP, path)
                if target.startswith("/"):
                    place = "/"
                todo.extend(piece for piece in target.split("/")[::-1] if piece not in ("", "."))
                continue
            if not last:
                self._present(step, path)
            place = step
        if slash and self._kind(place) not in ("directory", None):
            raise _error(errno.ENOTDIR, path)
        return place

    def _search(self, directory: str, path: str) -> None:
        kind = self._kind(directory)
        if kind != "directory":
            raise _error(errno.ENOTDIR if kind else errno.ENOENT, path)
        if self._uid and not self._allowed(directory, 1):
            raise _error(errno.EACCES, path)

    def _present(self, step: str, path: str) -> None:
        if self._kind(step) is None:
            self._absent(step, path)

    def _absent(self, step: str, path: str) -> NoReturn:
        """Say that a name is not there, or that it is not known; always raises."""
        if self._table.tainted.get(step) == "existence":
            raise Unknown(f"{step} may or may not be there")
        parent = posixpath.dirname(step)
        if parent in self._table.open or is_virtual(step):
            raise Unknown(f"it is not known whether {step} is there")
        self._trace.missing.add(step)
        raise _error(errno.ENOENT, path)

    def _link(self, path: str) -> str | None:
        node = self._table.nodes.get(path)
        if is_virtual(path):
            return node.target if node is not None and node.kind == "symlink" else None
        try:
            return self._vfs.read_link(path)
        except RuntimeError:
            return None

    def _raw(self, path: str) -> dict[str, Any] | None:
        try:
            return self._vfs.stat(path)
        except RuntimeError:
            return None

    def _kind(self, path: str) -> str | None:
        if self._table.tainted.get(path) == "existence":
            raise Unknown(f"{path} may or may not be there")
        node = self._table.nodes.get(path)
        if is_virtual(path) or path in BROUGHT:
            return node.kind if node is not None else self._program(path)
        if path in self._barriers.paths:
            return None if node is None else node.kind
        if self._link(path) is not None:
            return "symlink"
        raw = self._raw(path)
        return None if raw is None else str(raw["file_type"])

    def _program(self, path: str) -> str | None:
        """Kind of a file that every system has though no world declares it."""
        folder, name = posixpath.split(path)
        if path in _DEVICES or (folder == "/dev/fd" and self._vfs.exists(path)):
            return "file"
        if folder == "/usr/bin" and provided(self._state.packages)[0].get(name) == folder:
            return "file"
        return None

    # --- permissions

    def node(self, path: str) -> Node:
        """What is known about a resolved path that exists; files written just now belong to the user."""
        node = self._table.nodes.get(path)
        if path in self._barriers.paths and node is not None:
            return node
        if is_virtual(path) or path in BROUGHT:
            if node is None:
                return Node("file", 0o666 if path.startswith("/dev/") else 0o755, 0, 0, self._state.clock)
            return node
        target = self._link(path)
        if target is not None:
            fresh = Node("symlink", 0o777, self._uid, self._uid, self._now, target=target)
            return node if node is not None and node.kind == "symlink" and node.target == target else fresh
        raw = self._vfs.stat(path)
        kind, mode = raw["file_type"], int(raw["mode"])
        if node is None or node.kind != kind:
            return Node(kind, mode, self._uid, self._uid, self._now)
        moment = node.mtime if kind == "directory" or self._stamps.get(path) == raw["modified"] else self._now
        if mode != node.mode or moment != node.mtime:
            return replace(node, mode=mode, mtime=moment)
        return node

    def allowed(self, path: str, want: int) -> bool:
        """Whether the user may read (4), write (2) or execute (1) what is at a path; root may all but execute."""
        return self._allowed(self.resolve(path), want)

    def _allowed(self, path: str, want: int) -> bool:
        node = self.node(path)
        if self._uid == 0:
            return want != 1 or node.kind == "directory" or bool(node.mode & 0o111)
        shift = 6 if node.uid == self._uid else 3 if node.gid == self._uid else 0
        return (node.mode >> shift) & want == want

    def _may_change(self, place: str, path: str) -> None:
        """Check that an entry may be made or removed in the directory that holds `place`."""
        parent = posixpath.dirname(place)
        if self._uid and not self._allowed(parent, 2):
            raise _error(errno.EACCES, path)
        directory = self.node(parent)
        sticky = bool(directory.mode & 0o1000) and self._kind(place) is not None
        if self._uid and sticky and self._uid not in (directory.uid, self.node(place).uid):
            raise _error(errno.EPERM, path)

    # --- reading

    def read(self, path: str) -> bytes:
        place = self.resolve(path)
        kind = self._kind(place)
        if kind is None:
            self._absent(place, path)
        if kind == "directory":
            raise _error(errno.EISDIR, path)
        if place == "/dev/null":
            return b""
        if self._uid and not self._allowed(place, 4):
            raise _error(errno.EACCES, path)
        self._trace.read.add(place)
        if place in self._table.tainted:
            raise Unknown(f"the content of {place} is not known")
        if place.startswith("/dev/fd/"):
            return self._vfs.read_file(place)
        if place in self._barriers.paths:
            return self._table.nodes[place].content or b""
        if is_virtual(place) or kind == "fifo":
            raise Unknown(f"{place} is made up by the system")
        if place in BROUGHT:
            return self._table.nodes[place].content or b""
        return self._vfs.read_file(place)

    def stat(self, path: str, *, follow: bool = True) -> FileStat:
        place = self.resolve(path, follow=follow)
        if self._kind(place) is None:
            self._absent(place, path)
        self._trace.read.add(place)
        node = self.node(place)
        return FileStat(
            kind=node.kind,
            size=self._size(place, node),
            mode=node.mode,
            uid=node.uid,
            gid=node.gid,
            owner=self.owner(node.uid),
            group=self.owner(node.gid),
            mtime=node.mtime,
            nlink=self._links(place, node),
        )

    def _size(self, place: str, node: Node) -> int:
        if node.kind == "symlink":
            return len(node.target.encode())
        if node.kind == "directory":
            return _DIRECTORY_SIZE
        if self._table.tainted.get(place) == "content" or is_virtual(place):
            raise Unknown(f"the size of {place} is not known")
        if place in BROUGHT or place in self._barriers.paths:
            return len(node.content or b"")
        return int(self._vfs.stat(place)["size"])

    def _links(self, place: str, node: Node) -> int:
        if node.kind != "directory":
            return node.nlink
        if place in self._table.open:
            raise Unknown(f"{place} is not fully listed")
        kinds = [str(entry["metadata"]["file_type"]) for entry in self._vfs.read_dir(place)]
        return 2 + kinds.count("directory")

    def owner(self, uid: int) -> str:
        """Name of a user or group id."""
        if uid == self._state.user_id:
            return self._state.user
        return {0: "root", 65534: "nobody"}.get(uid, str(uid))

    def exists(self, path: str, *, follow: bool = True) -> bool:
        try:
            place = self.resolve(path, follow=follow)
            if self._kind(place) is None:
                self._absent(place, path)
        except OSError:
            return False
        self._trace.read.add(place)
        return True

    def list(self, path: str) -> list[str]:
        """Names in a directory, without `.` and `..`, sorted by bytes."""
        place = self.resolve(path)
        kind = self._kind(place)
        if kind is None:
            self._absent(place, path)
        if kind != "directory":
            raise _error(errno.ENOTDIR, path)
        if self._uid and not self._allowed(place, 4):
            raise _error(errno.EACCES, path)
        self._trace.read.add(place)
        if place in self._table.open or is_virtual(place):
            raise Unknown(f"{place} is not fully listed")
        prefix = place.rstrip("/") + "/"
        for name, what in self._table.tainted.items():
            if what == "existence" and posixpath.dirname(name) + "/" == prefix:
                raise Unknown(f"{name} may or may not be there")
        if place in self._barriers.paths:
            inside = {name[len(prefix) :].partition("/")[0] for name in self._table.children(place)}
            return sorted(inside, key=os.fsencode)
        names = [str(entry["name"]) for entry in self._vfs.read_dir(place)]
        hidden = {name for name in self._barriers.paths if name not in self._table.nodes}
        return sorted((name for name in names if prefix + name not in hidden), key=os.fsencode)

    def readlink(self, path: str) -> str:
        place = self.resolve(path, follow=False)
        kind = self._kind(place)
        if kind is None:
            self._absent(place, path)
        target = self._link(place)
        if target is None:
            raise _error(errno.EINVAL, path)
        self._trace.read.add(place)
        return target

    # --- writing

    def _target(self, path: str) -> tuple[str, str | None]:
        """Resolve a path that is to be written; the kind of what is there, None where nothing is."""
        place = self.resolve(path)
        kind = self._kind(place)
        if kind == "directory":
            raise _error(errno.EISDIR, path)
        if kind is None:
            if path.endswith("/"):
                raise _error(errno.EISDIR, path)
            parent = posixpath.dirname(place)
            if parent in self._table.open and self._uid and self._allowed(parent, 2):
                raise Unknown(f"it is not known whether {place} is there")
            if parent in self._table.open and self._uid:
                raise _error(errno.EACCES, path)
            self._may_change(place, path)
        elif self._uid and place != "/dev/null" and not self._allowed(place, 2):
            raise _error(errno.EACCES, path)
        return place, kind

    def write(self, path: str, data: bytes) -> None:
        self._put(path, data, append=False)

    def append(self, path: str, data: bytes) -> None:
        self._put(path, data, append=True)

    def _put(self, path: str, data: bytes, *, append: bool) -> None:
        place, kind = self._target(path)
        if place == "/dev/null":
            return
        self._barriers.lift(place)
        if is_virtual(place) or place in BROUGHT:
            raise Unknown(f"writing {place} is not simulated")
        node = self.node(place) if kind is not None else None
        if append and node is not None:
            if place in self._table.tainted:
                self._trace.written.add(place)
                return
            self._vfs.append_file(place, data)
        else:
            self._vfs.write_file(place, data)
            self._table.tainted.pop(place, None)
        self._note(place, node or Node("file", self._default(0o666), self._uid, self._uid, self._now), self._now)
        if node is None:
            self._vfs.chmod(place, self._default(0o666))
            self._touch_parent(place)
        self._trace.written.add(place)

    def _default(self, mode: int) -> int:
        return mode & ~self._umask

    def _note(self, place: str, node: Node, moment: datetime | None = None) -> None:
        """Record a node and that the table is in step with the file system for it."""
        self._table.nodes[place] = node if moment is None else replace(node, mtime=moment)
        if node.kind != "symlink":
            self._stamps[place] = self._vfs.stat(place)["modified"]

    def _touch_parent(self, place: str) -> None:
        parent = posixpath.dirname(place)
        node = self._table.nodes.get(parent)
        if node is not None:
            self._table.nodes[parent] = replace(node, mtime=self._now)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        place = self.resolve(path.rstrip("/") or "/", follow=False)
        if self._kind(place) is not None:
            raise _error(errno.EEXIST, path)
        self._new(place, path)
        self._barriers.lift(place)
        self._vfs.mkdir(place)
        self._vfs.chmod(place, mode)
        self._note(place, Node("directory", mode, self._uid, self._uid, self._now))
        self._touch_parent(place)
        self._trace.written.add(place)

    def _new(self, place: str, path: str) -> None:
        """Check that a name that is not there may be made."""
        parent = posixpath.dirname(place)
        if parent in self._table.open:
            if self._uid and not self._allowed(parent, 2):
                raise _error(errno.EACCES, path)
            raise Unknown(f"it is not known whether {place} is there")
        self._may_change(place, path)

    def remove(self, path: str) -> None:
        """Remove a file, link or empty directory."""
        place = self.resolve(path, follow=False)
        kind = self._kind(place)
        if kind is None:
            self._absent(place, path)
        self._may_change(place, path)
        if is_virtual(place) or place in BROUGHT:
            raise Unknown(f"removing {place} is not simulated")
        self._barriers.lift(place)
        if kind == "directory":
            if place in self._table.open:
                raise Unknown(f"{place} is not fully listed")
            if self._vfs.read_dir(place):
                raise _error(errno.ENOTEMPTY, path)
        self._vfs.remove(place)
        self._table.drop(place)
        self._touch_parent(place)
        self._trace.written.add(place)

    def rename(self, source: str, target: str) -> None:
        old = self.resolve(source, follow=False)
        kind = self._kind(old)
        if kind is None:
            self._absent(old, source)
        new = self.resolve(target, follow=False)
        there = self._kind(new)
        if old == new:
            return
        if there is None:
            self._new(new, target)
        else:
            self._may_change(new, target)
        self._may_change(old, source)
        self._barriers.lift(old)
        self._barriers.lift(new)
        self._check_replace(old, kind, new, there, target)
        if there is not None:
            self._vfs.remove(new)
            self._table.drop(new)
        if kind == "symlink":
            self._vfs.symlink(self._vfs.read_link(old), new)
            self._vfs.remove(old)
        else:
            node = self.node(old)
            self._table.nodes[old] = node
            self._vfs.rename(old, new)
        self._move_notes(old, new)
        self._touch_parent(old)
        self._touch_parent(new)
        self._trace.written.update((old, new))

    def _check_replace(self, old: str, kind: str | None, new: str, there: str | None, target: str) -> None:
        if kind == "directory" and new.startswith(old + "/"):
            raise _error(errno.EINVAL, target)
        if there == "directory":
            if kind != "directory":
                raise _error(errno.EISDIR, target)
            if self._vfs.read_dir(new):
                raise _error(errno.ENOTEMPTY, target)
        elif there is not None and kind == "directory":
            raise _error(errno.ENOTDIR, target)
        if is_virtual(old) or is_virtual(new):
            raise Unknown("renaming system files is not simulated")

    def _move_notes(self, old: str, new: str) -> None:
        table = self._table
        for name in [old, *list(table.children(old))]:
            moved = new + name[len(old) :]
            node = table.nodes.pop(name, None)
            self._stamps.pop(name, None)
            if name in table.open:
                table.open.discard(name)
                table.open.add(moved)
            if name in table.tainted:
                table.tainted[moved] = table.tainted.pop(name)
            if node is not None:
                self._note(moved, node)

    def symlink(self, target: str, path: str) -> None:
        place = self.resolve(path, follow=False)
        if self._kind(place) is not None:
            raise _error(errno.EEXIST, path)
        self._new(place, path)
        self._vfs.symlink(target, place)
        self._table.nodes[place] = Node("symlink", 0o777, self._uid, self._uid, self._now, target=target)
        self._touch_parent(place)
        self._trace.written.add(place)

    def chmod(self, path: str, mode: int) -> None:
        place, node = self._owned(path)
        self._vfs.chmod(place, mode)
        self._note(place, replace(node, mode=mode))

    def chown(self, path: str, owner: str | None, group: str | None) -> None:
        place, node = self._owned(path)
        uid = node.uid if owner is None else owner_id(self._state, owner)
        gid = node.gid if group is None else owner_id(self._state, group)
        if self._uid and (uid != node.uid or gid not in (node.gid, self._uid)):
            raise _error(errno.EPERM, path)
        self._note(place, replace(node, uid=uid, gid=gid))

    def utime(self, path: str, moment: datetime) -> None:
        place, node = self._owned(path, or_write=moment == self._now)
        self._note(place, node, moment)

    def _owned(self, path: str, *, or_write: bool = False) -> tuple[str, Node]:
        """Find what only its owner may change."""
        place = self.resolve(path)
        if self._kind(place) is None:
            self._absent(place, path)
        if is_virtual(place) or place in BROUGHT:
            raise Unknown(f"changing {place} is not simulated")
        self._barriers.lift(place)
        node = self.node(place)
        if self._uid and node.uid != self._uid and not (or_write and self._allowed(place, 2)):
            raise _error(errno.EACCES if or_write else errno.EPERM, path)
        self._trace.written.add(place)
        return place, node
