"""The kernel's files as one user sees them: links, permissions, owners, virtual times, open places, and a trace.

What is not known (a name in an open directory, the content of a tainted file) is noted as a doubt, and the run goes
on with the likeliest guess: that what is not declared is not there.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NoReturn

from worldline.domains.terminal.state import TerminalState
from worldline.kernels.shell.builtins.base import FileStat, Unknown
from worldline.kernels.shell.builtins.shared.people import SYSTEM_GROUPS, SYSTEM_USERS
from worldline.kernels.shell.disk import BROUGHT, Disk, is_virtual
from worldline.kernels.shell.table import Node, owner_id

__all__ = ["KernelFiles", "Trace"]

Names = list[str]
_LINKS = 40
_DIRECTORY_SIZE = 4096


@dataclass(slots=True)
class Trace:
    """What a step did with files."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    """Names that were looked for and are known not to be there."""
    doubts: list[str] = field(default_factory=list)
    """What was looked for and is not known."""


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


class KernelFiles:
    """Implements :class:`~worldline.kernels.shell.builtins.base.Files` for one call.

    Args:
        disk: The files below permissions.
        state: The declared world.
        cwd: Working directory of the call.
        now: Virtual time of the step.
        trace: Where accesses are noted.
        umask: Permission bits that new files do not get.
    """

    def __init__(
        self, disk: Disk, state: TerminalState, cwd: str, now: datetime, trace: Trace, umask: int = 0o022
    ) -> None:
        self._disk = disk
        disk.umask = umask
        self._table = disk.table
        self._state = state
        self._cwd = cwd
        self._now = now
        self._trace = trace
        self._umask = umask
        self._uid = state.user_id
        self._walked: dict[str, str] = {}
        """Directories that were walked to, by their name before links were resolved; while they stay as they are."""

    # --- paths

    def absolute(self, path: str) -> str:
        """Join to the cwd and normalise, without resolving links."""
        joined = posixpath.normpath(posixpath.join(self._cwd, path))
        return "/" + joined.lstrip("/")

    def probe(self, path: str) -> bool:
        """Whether something is known to be at `path`; where that is not known, False, and no doubt is noted."""
        kept = len(self._trace.doubts)
        try:
            return self.exists(path)
        finally:
            del self._trace.doubts[kept:]

    def resolve(self, path: str, *, follow: bool = True) -> str:
        """Resolve links in a path, checking that each directory on the way may be searched.

        Args:
            path: As given to the command; a trailing slash asks for a directory.
            follow: Whether a link in the last place is followed too.

        Raises:
            OSError: As the system's path walk would.
        """
        if path == "":
            raise _error(errno.ENOENT, path)
        head, _, last = posixpath.join(self._cwd, path).rpartition("/")
        slash = path.endswith(("/", "/."))
        place, links = self._walked.get(head, "/"), 0
        if head in self._walked and last not in ("", ".", ".."):
            todo = [last]
        else:
            place = "/"
            todo = [part for part in f"{head}/{last}".split("/") if part not in ("", ".")][::-1]
        while todo:
            part = todo.pop()
            self._search(place, path)
            if part == "..":
                place = posixpath.dirname(place)
                continue
            if not todo and not links and part == last:
                self._walked[head] = place
            step = f"{place}/{part}" if place != "/" else f"/{part}"
            node = self._disk.node(step)
            if node is not None and node.kind == "symlink" and (todo or follow or slash):
                links += 1
                if links > _LINKS:
                    raise _error(errno.ELOOP, path)
                if node.target.startswith("/"):
                    place = "/"
                todo.extend(piece for piece in node.target.split("/")[::-1] if piece not in ("", "."))
                continue
            if todo and node is None:
                self._absent(step, path)
            place = step
        if slash and self._kind(place) not in ("directory", None):
            raise _error(errno.ENOTDIR, path)
        return place

    def _search(self, directory: str, path: str) -> None:
        node = self._disk.node(directory)
        if node is None or node.kind != "directory":
            raise _error(errno.ENOTDIR if node is not None else errno.ENOENT, path)
        if self._uid and not self._permits(node, 1):
            raise _error(errno.EACCES, path)

    def _kind(self, path: str) -> str | None:
        node = self._disk.node(path)
        if self._table.tainted.get(path) == "existence":
            self._trace.doubts.append(f"it is not known whether {path} is there")
        return None if node is None else node.kind

    def _found(self, path: str, *, follow: bool = True) -> tuple[str, Node]:
        """Resolve a path that must be there."""
        place = self.resolve(path, follow=follow)
        node = self._disk.node(place)
        if node is None:
            self._absent(place, path)
        if self._table.tainted.get(place) == "existence":
            self._trace.doubts.append(f"it is not known whether {place} is there")
        self._trace.read.add(place)
        return place, node

    def _absent(self, step: str, path: str) -> NoReturn:
        """Say that a name is not there."""
        if not self._doubtful(step):
            self._trace.missing.add(step)
        raise _error(errno.ENOENT, path)

    def _doubtful(self, step: str) -> bool:
        """Note where it is not known whether a name is there."""
        if step in self._table.absent:
            return False
        if self._table.tainted.get(step) == "existence" or posixpath.dirname(step) in self._table.open:
            self._trace.doubts.append(f"it is not known whether {step} is there")
        elif is_virtual(step):
            self._trace.doubts.append(f"{step} is made up by the system")
        else:
            return False
        return True

    # --- permissions

    def _permits(self, node: Node, want: int) -> bool:
        """Whether the user may read (4), write (2) or execute (1); root may all, but execute only what anybody may."""
        if self._uid == 0:
            return want != 1 or node.kind == "directory" or bool(node.mode & 0o111)
        shift = 6 if node.uid == self._uid else 3 if node.gid == self._uid else 0
        return (node.mode >> shift) & want == want

    def _need(self, node: Node | None, want: int, path: str) -> None:
        if self._uid and node is not None and not self._permits(node, want):
            raise _error(errno.EACCES, path)

    def _may_change(self, place: str, path: str) -> None:
        """Check that an entry may be made or removed in the directory that holds `place`."""
        directory = self._disk.node(posixpath.dirname(place))
        self._need(directory, 2, path)
        node = self._disk.node(place)
        if not self._uid or directory is None or node is None or not directory.mode & 0o1000:
            return
        if self._uid not in (directory.uid, node.uid):
            raise _error(errno.EPERM, path)

    # --- reading

    def read(self, path: str) -> bytes:
        place, node = self._found(path)
        if node.kind == "directory":
            raise _error(errno.EISDIR, path)
        if place == "/dev/null":
            return b""
        self._need(node, 4, path)
        if place in self._table.tainted:
            self._trace.doubts.append(f"the content of {place} is not known")
        elif (is_virtual(place) and not place.startswith("/dev/fd/")) or node.kind == "fifo":
            raise Unknown(f"{place} is made up by the system")
        return self._disk.content(place)

    def stat(self, path: str, *, follow: bool = True) -> FileStat:
        place, node = self._found(path, follow=follow)
        return FileStat(
            kind=node.kind,
            size=self._size(place, node),
            mode=node.mode,
            uid=node.uid,
            gid=node.gid,
            owner=self._owner(node.uid, SYSTEM_USERS),
            group=self._owner(node.gid, SYSTEM_GROUPS),
            mtime=node.mtime,
            nlink=self._links(place, node),
            inode=node.inode,
        )

    def _size(self, place: str, node: Node) -> int:
        if node.kind == "symlink":
            return len(node.target.encode())
        if node.kind == "directory":
            return _DIRECTORY_SIZE
        if place.startswith("/dev/fd/"):
            return 0  # a pipe
        if self._table.tainted.get(place) == "content" or is_virtual(place):
            self._trace.doubts.append(f"the size of {place} is not known")
            return 0
        return self._disk.size(place)

    def _links(self, place: str, node: Node) -> int:
        if node.kind != "directory":
            return node.nlink
        inside = (self._disk.node(posixpath.join(place, name)) for name in self._disk.names(place))
        return 2 + sum(entry is not None and entry.kind == "directory" for entry in inside)

    def _owner(self, number: int, names: Mapping[str, int]) -> str:
        """Name of a user or group id."""
        if number == self._state.user_id:
            return self._state.user
        return next((name for name, known in names.items() if known == number), str(number)) if number else "root"

    def exists(self, path: str, *, follow: bool = True) -> bool:
        try:
            self._found(path, follow=follow)
        except OSError:
            return False
        return True

    def order(self, path: str) -> Names:
        """Names in a directory in the order in which the system lists them."""
        self.list(path)
        return self._disk.order(self.resolve(path))

    def list(self, path: str) -> Names:
        """Names in a directory, without `.` and `..`, sorted by bytes."""
        place, node = self._found(path)
        if node.kind != "directory":
            raise _error(errno.ENOTDIR, path)
        self._need(node, 4, path)
        if is_virtual(place):
            raise Unknown(f"{place} is not fully listed")
        if place in self._table.open:
            self._trace.doubts.append(f"{place} is not fully listed")
        for name, what in self._table.tainted.items():
            if what == "existence" and posixpath.dirname(name) == place:
                self._trace.doubts.append(f"it is not known whether {name} is there")
        return self._disk.names(place)

    def refresh(self) -> None:
        """Look at everything anew, after another command has run in between."""
        self._walked.clear()
        self._disk.refresh()

    def allowed(self, path: str, want: int) -> bool:
        """Whether the user may read (4), write (2) or execute (1) what is at a path."""
        return self._permits(self._found(path)[1], want)

    def readlink(self, path: str) -> str:
        _, node = self._found(path, follow=False)
        if node.kind != "symlink":
            raise _error(errno.EINVAL, path)
        return node.target

    # --- writing

    def _guard(self, place: str) -> None:
        """Refuse to change what the shell library makes up."""
        if is_virtual(place) or place in BROUGHT:
            raise Unknown(f"changing {place} is not simulated")
        self._disk.lift(place)
        self._trace.written.add(place)

    def write(self, path: str, data: bytes) -> None:
        self._put(path, data, append=False)

    def write_unknown(self, path: str, mode: int) -> None:
        place = self._new(path)
        self._disk.put(place, Node("file", mode & ~self._umask, self._uid, self._uid, self._now), b"")
        self._table.tainted[place] = "content"

    def append(self, path: str, data: bytes) -> None:
        self._put(path, data, append=True)

    def _put(self, path: str, data: bytes, *, append: bool) -> None:
        place = self.resolve(path)
        node = self._disk.node(place)
        if place in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            return
        if (node is not None and node.kind == "directory") or (node is None and path.endswith("/")):
            raise _error(errno.EISDIR, path)
        if node is not None:
            self._need(node, 2, path)
        else:
            self._may_change(place, path)
            if append or self._table.tainted.get(place) == "existence":
                self._doubtful(place)
        self._guard(place)
        if append and node is not None:
            if place not in self._table.tainted:
                self._disk.add(place, node, data)
            return
        self._table.tainted.pop(place, None)
        mode = 0o666 & ~self._umask
        self._disk.put(place, node or Node("file", mode, self._uid, self._uid, self._now), data)

    def _new(self, path: str) -> str:
        """Resolve a name that must be free, in a directory where it may be made."""
        place = self.resolve(path.rstrip("/") or "/", follow=False)
        if self._kind(place) is not None:
            raise _error(errno.EEXIST, path)
        self._may_change(place, path)
        self._doubtful(place)
        self._guard(place)
        return place

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        place = self._new(path)
        above = self._disk.node(posixpath.dirname(place))
        mode |= above.mode & 0o2000 if above is not None else 0
        self._disk.make(place, Node("directory", mode, self._uid, self._uid, self._now))

    def symlink(self, target: str, path: str) -> None:
        place = self._new(path)
        self._disk.make(place, Node("symlink", 0o777, self._uid, self._uid, self._now, target=target))

    def link(self, source: str, target: str) -> None:
        """Make a hard link to a file."""
        old, node = self._found(source, follow=False)
        if node.kind == "directory":
            raise _error(errno.EPERM, source)
        place = self._new(target)
        if node.kind != "file" or old in self._table.tainted:
            raise Unknown(f"a hard link to {source}")
        self._guard(old)
        self._disk.link(old, place)

    def remove(self, path: str) -> None:
        """Remove a file, link or empty directory."""
        self._walked.clear()
        place, node = self._found(path, follow=False)
        self._may_change(place, path)
        if node.kind == "directory":
            if place in self._table.open:
                self._trace.doubts.append(f"{place} is not fully listed")
            if self._disk.names(place):
                raise _error(errno.ENOTEMPTY, path)
        self._guard(place)
        self._disk.remove(place)

    def rename(self, source: str, target: str) -> None:
        self._walked.clear()
        old, node = self._found(source, follow=False)
        new = self.resolve(target, follow=False)
        there = self._disk.node(new)
        if old == new:
            return
        self._may_change(new, target)
        self._may_change(old, source)
        if there is None:
            self._doubtful(new)
        if node.kind == "directory" and new.startswith(old + "/"):
            raise _error(errno.EINVAL, target)
        if there is not None:
            self._check_replace(node, new, there, target)
        self._guard(old)
        self._guard(new)
        if there is not None:
            self._disk.remove(new)
        self._disk.rename(old, new, node)

    def _check_replace(self, node: Node, new: str, there: Node, target: str) -> None:
        if there.kind == "directory":
            if node.kind != "directory":
                raise _error(errno.EISDIR, target)
            if self._disk.names(new):
                raise _error(errno.ENOTEMPTY, target)
        elif node.kind == "directory":
            raise _error(errno.ENOTDIR, target)

    def chmod(self, path: str, mode: int) -> None:
        self._walked.clear()
        place, node = self._owned(path)
        self._disk.set(place, replace(node, mode=mode), mode=True)

    def chown(self, path: str, owner: str | None, group: str | None) -> None:
        self._walked.clear()
        place, node = self._found(path)
        uid = node.uid if owner is None else owner_id(self._state, owner)
        gid = node.gid if group is None else owner_id(self._state, group)
        if self._uid and (uid != node.uid or node.uid != self._uid or gid not in (node.gid, self._uid)):
            raise _error(errno.EPERM, path)
        self._guard(place)
        self._disk.set(place, replace(node, uid=uid, gid=gid))

    def utime(self, path: str, moment: datetime) -> None:
        place, node = self._owned(path, or_write=moment == self._now)
        self._disk.set(place, replace(node, mtime=moment))

    def _owned(self, path: str, *, or_write: bool = False) -> tuple[str, Node]:
        """Find what only its owner may change."""
        place, node = self._found(path)
        if self._uid and node.uid != self._uid and not (or_write and self._permits(node, 2)):
            raise _error(errno.EACCES if or_write else errno.EPERM, path)
        self._guard(place)
        return place, node
