"""Answering a script's requests about files from the simulated world."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

__all__ = ["FileSystem", "answer"]


class Stat(Protocol):
    """What a file system tells about one file (`FileStat` of the shell's builtins fits)."""

    @property
    def kind(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def mode(self) -> int: ...

    @property
    def uid(self) -> int: ...

    @property
    def gid(self) -> int: ...

    @property
    def mtime(self) -> datetime: ...

    @property
    def nlink(self) -> int: ...


class FileSystem(Protocol):
    """The files of the simulated world; methods raise the OSError of the system call."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None: ...

    def append(self, path: str, data: bytes) -> None: ...

    def stat(self, path: str, *, follow: bool = True) -> Any: ...

    def list(self, path: str) -> list[str]: ...

    def mkdir(self, path: str, mode: int = 0o755) -> None: ...

    def remove(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None: ...

    def symlink(self, target: str, path: str) -> None: ...

    def readlink(self, path: str) -> str: ...

    def chmod(self, path: str, mode: int) -> None: ...

    def utime(self, path: str, moment: datetime) -> None: ...


def answer(files: FileSystem, operation: str, arguments: list[Any], *, uid: int, now: datetime) -> dict[str, Any]:
    """Perform one request.

    Returns:
        `{"value": ...}`, or `{"error": errno}` where the system call would fail.
    """
    if not arguments or not isinstance(arguments[0], str):
        return {"error": errno.EINVAL}
    path = arguments[0]
    if not path:
        return {"error": errno.ENOENT}
    try:
        return {"value": _perform(files, operation, path, arguments[1:], uid, now)}
    except OSError as exc:
        return {"error": exc.errno if exc.errno is not None else errno.EIO}


def _perform(files: FileSystem, operation: str, path: str, rest: list[Any], uid: int, now: datetime) -> Any:
    if operation in ("stat", "lstat"):
        return _stat(files.stat(path, follow=operation == "stat"))
    if operation == "probe":
        return _probe(files, path)
    if operation == "access":
        return _access(files, path, int(rest[0]), uid)
    simple: dict[str, Callable[[], Any]] = {
        "read": lambda: files.read(path).decode("latin-1"),
        "write": lambda: files.write(path, rest[0].encode("latin-1")),
        "append": lambda: files.append(path, rest[0].encode("latin-1")),
        "list": lambda: files.list(path),
        "mkdir": lambda: files.mkdir(path, int(rest[0])),
        "remove": lambda: files.remove(path),
        "rename": lambda: files.rename(path, str(rest[0])),
        "symlink": lambda: files.symlink(str(rest[0]), path),
        "readlink": lambda: files.readlink(path),
        "chmod": lambda: files.chmod(path, int(rest[0])),
        "utime": lambda: files.utime(path, now if rest[0] is None else datetime.fromtimestamp(float(rest[0]), UTC)),
    }
    perform = simple.get(operation)
    if perform is None:
        raise OSError(errno.ENOSYS, operation)
    return perform()


def _stat(found: Stat) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "size": found.size,
        "mode": found.mode,
        "uid": found.uid,
        "gid": found.gid,
        "mtime": found.mtime.timestamp(),
        "nlink": found.nlink,
    }


def _probe(files: FileSystem, path: str) -> bool:
    """Whether a file is known to be there (a file system may offer `probe` where it can be in doubt)."""
    probe: Callable[[str], bool] | None = getattr(files, "probe", None)
    if probe is not None:
        return probe(path)
    try:
        files.stat(path)
    except OSError:
        return False
    return True


def _access(files: FileSystem, path: str, mode: int, uid: int) -> bool:
    try:
        found = files.stat(path)
    except OSError:
        return False
    if uid == 0:
        return not (mode & 1) or bool(found.mode & 0o111) or found.kind == "directory"
    shift = 6 if found.uid == uid else 3 if found.gid == uid else 0
    return bool(((found.mode >> shift) & mode) == mode)
