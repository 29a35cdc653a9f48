"""The simulated world's files, put in the place of the system's for everything in this process.

The functions of `os`, `open` and the streams are replaced, so that the standard library (`pathlib`, `csv`,
`shutil`, `glob`, ...) works on the simulated world without knowing.
"""

# This is the layer that stands in for the file system, so it speaks `os`; and a script may raise anything.
# ruff: noqa: PTH102, PTH112, PTH116, PTH119, PTH123

from __future__ import annotations

import builtins
import errno
import importlib.util
import io
import marshal
import os
import posixpath
import stat
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .frames import abstain
from .streams import TextInput, TextOutput
from .terminal import TerminalOutput, TypedInput

__all__ = ["World", "install", "write_cache"]

_KINDS = {"file": stat.S_IFREG, "directory": stat.S_IFDIR, "symlink": stat.S_IFLNK, "fifo": stat.S_IFIFO}
_UNKNOWN = [
    "system",
    "popen",
    "fork",
    "forkpty",
    "execv",
    "execve",
    "execl",
    "execvp",
    "execvpe",
    "execle",
    "execlp",
    "execlpe",
    "spawnv",
    "spawnve",
    "spawnl",
    "spawnlp",
    "spawnvp",
    "posix_spawn",
    "kill",
    "killpg",
    "getppid",
    "getloadavg",
    "pipe",
    "urandom",
    "getrandom",
    "times",
    "uname",
    "getlogin",
    "statvfs",
    "chroot",
    "mkfifo",
    "mknod",
    "link",
    "dup",
    "dup2",
    "openpty",
    "getpgrp",
    "getsid",
    "nice",
    "sched_yield",
    "wait",
    "waitpid",
    "cpu_count",
    "fsync",
    "fdatasync",
    "truncate",
    "ftruncate",
    "pread",
    "pwrite",
    "sendfile",
    "writev",
    "readv",
    "walk_fd",
    "fwalk",
    "fdopen",
    "getgroups",
    "getpgid",
    "getpriority",
    "umask",
    "lchown",
    "removexattr",
    "setxattr",
    "getxattr",
    "listxattr",
    "fstatvfs",
    "isatty_fd",
    "tcgetpgrp",
    "ttyname",
]
HOST_PID = 4242424
"""What library code takes for the process id; a script that shows it makes the result unknown."""


class World:
    """Asks the other side for what a system call would give."""

    def __init__(self, ask: Callable[..., Any], cwd: str, uid: int) -> None:
        self._ask = ask
        self.cwd = cwd
        self.uid = uid
        self.changes = 0
        self.sorts = False
        """The script sorts: the order in which a directory is listed does not show."""
        self.open_files: weakref.WeakSet[Any] = weakref.WeakSet()

    def ask(self, operation: str, path: Any, *rest: Any, shown: Any = None) -> Any:
        """Perform one operation on files.

        Raises:
            OSError: What the system call would give, naming `shown` (or the path as it was given).
        """
        name = _text(path)
        if operation not in ("stat", "lstat", "read", "list", "readlink", "access", "probe"):
            self.changes += 1
        answer = self._ask(operation, posixpath.join(self.cwd, name) if name else "", *rest)
        if "error" in answer:
            number = answer["error"]
            raise OSError(number, os.strerror(number), os.fspath(path if shown is None else shown))
        if "unknown" in answer:
            abstain(answer["unknown"])
        return answer["value"]

    def command(self, words: list[str], data: str | None, environment: dict[str, str]) -> dict[str, Any]:
        """Run another command; gives its `stdout`, `stderr` (Latin-1 text) and `status`."""
        self.changes += 1
        answer = self._ask("run", words, data, environment)
        if "unknown" in answer:
            abstain(answer["unknown"])
        found: dict[str, Any] = answer["value"]
        return found


def _text(path: Any) -> str:
    path = os.fspath(path)
    text = os.fsdecode(path) if isinstance(path, bytes) else path
    if "\0" in text:
        raise ValueError("embedded null byte")
    return str(text)


class _File(io.RawIOBase):
    """An open file; what is written goes to the other side at once."""

    def __init__(self, world: World, path: Any, mode: str) -> None:
        super().__init__()
        self._world, self.name, self.mode = world, path, "rb+" if "+" in mode else f"{mode[0]}b"
        self._path = posixpath.join(world.cwd, _text(path))
        self._place, self._seen = 0, -1
        self._data = bytearray()
        self._reads = "r" in mode or "+" in mode
        self._writes = mode[0] in "wax" or "+" in mode
        self._appends = mode[0] == "a"
        self._null = self._path == "/dev/null"
        if self._null:
            return
        try:
            kind = world.ask("stat", path)["kind"]
        except FileNotFoundError:
            kind = None
        if kind == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if mode[0] == "x" and kind is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
        if mode[0] in "wx":
            world.ask("write", path, "")
        elif mode[0] == "a":
            world.ask("append", path, "")
        else:
            self._load(path)
            if "+" in mode:
                world.ask("append", path, "")

    def _load(self, shown: Any = None) -> None:
        if not self._null and self._seen != self._world.changes:
            data = self._world.ask("read", self._path, shown=shown)
            self._data = bytearray(data.encode("latin-1"))
            self._seen = self._world.changes

    def readable(self) -> bool:
        return self._reads

    def writable(self) -> bool:
        return self._writes

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        abstain("the number of a file descriptor")

    def isatty(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        self._load()
        data = self._data[self._place : self._place + len(buffer)]
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def write(self, data: Any) -> int:
        data = bytes(data)
        if self._null:
            return len(data)
        if self._appends:
            self._world.ask("append", self._path, data.decode("latin-1"))
        else:
            self._load()
            if self._place == len(self._data):
                self._world.ask("append", self._path, data.decode("latin-1"))
                self._data += data
            else:
                self._data[self._place : self._place + len(data)] = data
                self._world.ask("write", self._path, self._data.decode("latin-1"))
            self._seen = self._world.changes
            self._place += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence == 2:
            self._load()
        base = {0: 0, 1: self._place, 2: len(self._data)}[whence]
        self._place = base + offset
        return self._place

    def tell(self) -> int:
        if self._appends and not self._reads:
            self._load()
            return max(self._place, len(self._data))
        return self._place

    def truncate(self, size: int | None = None) -> int:
        self._load()
        size = self._place if size is None else size
        data = self._data[:size].ljust(size, b"\0")
        self._world.ask("write", self._path, data.decode("latin-1"))
        self._seen = -1
        return size


def _opener(world: World) -> Callable[..., Any]:
    def open(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if isinstance(file, int):
            abstain("opening a file descriptor")
        if not isinstance(file, (str, bytes, os.PathLike)):
            raise TypeError(f"expected str, bytes or os.PathLike object, not {type(file).__name__}")
        if not isinstance(mode, str):
            raise TypeError(f"open() argument 'mode' must be str, not {type(mode).__name__}")
        _check_mode(mode, encoding, errors, newline)
        if opener is not None or buffering == 0:
            abstain("an unusual way to open a file")
        name = os.fspath(file)
        if name in ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/urandom"):
            abstain(f"opening {name!r}")
        raw = _File(world, name, mode.replace("b", "").replace("t", ""))
        buffer: Any
        if "+" in mode:
            buffer = io.BufferedRandom(raw)
        elif raw.writable():
            buffer = io.BufferedWriter(raw)
            if raw._appends:
                buffer.seek(0, 2)
        else:
            buffer = io.BufferedReader(raw)
        if "b" in mode:
            world.open_files.add(buffer)
            return buffer
        text = io.TextIOWrapper(buffer, encoding or "UTF-8", errors, newline, line_buffering=buffering == 1)
        setattr(text, "mode", mode)  # noqa: B010
        world.open_files.add(text)
        return text

    return open


def _check_mode(mode: str, encoding: Any, errors: Any, newline: Any) -> None:
    if set(mode) - set("rwaxbt+U") or len(mode) > len(set(mode)) or "U" in mode:
        raise ValueError(f"invalid mode: {mode!r}")
    if "t" in mode and "b" in mode:
        raise ValueError("can't have text and binary mode at once")
    if sum(letter in mode for letter in "rwax") != 1:
        raise ValueError("must have exactly one of create/read/write/append mode")
    if "b" in mode:
        for name, value in (("encoding", encoding), ("errors", errors), ("newline", newline)):
            if value is not None:
                raise ValueError(f"binary mode doesn't take {'an' if name == 'encoding' else 'a'} {name} argument")


class _DirEntry:
    """What `os.scandir` gives."""

    def __init__(self, world: World, directory: str, name: str) -> None:
        self.name = name
        self.path = posixpath.join(directory, name)
        self._world = world

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def _is(self, test: Callable[[int], bool], follow: bool) -> bool:
        try:
            return test(self.stat(follow_symlinks=follow).st_mode)
        except FileNotFoundError:
            return False

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._is(stat.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._is(stat.S_ISREG, follow_symlinks)

    def is_symlink(self) -> bool:
        return self._is(stat.S_ISLNK, False)

    def inode(self) -> int:
        abstain("an inode number")


class _Scan:
    def __init__(self, entries: list[_DirEntry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[_DirEntry]:
        return self._entries

    def __next__(self) -> _DirEntry:
        return next(self._entries)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def install(
    world: World, environment: dict[str, str], stdin: bytes | None, limit: int, *, terminal: bool = False
) -> tuple[TextOutput, TextOutput]:
    """Put the simulated world in the place of the system's.

    Args:
        world: What is simulated.
        environment: The variables.
        stdin: What is on standard input.
        limit: Bytes that each stream may take.
        terminal: The streams are a terminal, and `stdin` is what was typed.

    Returns:
        What collects standard output and standard error.
    """
    builtins.open = io.open = _opener(world)
    for name, function in _system(world).items():
        setattr(os, name, function)
    for name in _UNKNOWN:
        if hasattr(os, name):
            setattr(os, name, _unknown(f"os.{name}"))
    _settle_libraries()
    environ: Any = os._Environ(
        {k.encode(): v.encode("utf-8", "surrogateescape") for k, v in environment.items()},
        lambda text: _encode(text), os.fsdecode, lambda text: _encode(text), os.fsdecode,
    )  # fmt: skip
    os.environ = environ  # noqa: B003
    for name in ("putenv", "unsetenv"):
        setattr(os, name, lambda *args: None)
    os.supports_follow_symlinks = os.supports_dir_fd = os.supports_fd = set()
    kind = TerminalOutput if terminal else TextOutput
    out, err = kind("<stdout>", limit), kind("<stderr>", limit)
    sys.stdout = out
    setattr(sys, "__stdout__", sys.stdout)  # noqa: B010
    sys.stderr = err
    setattr(sys, "__stderr__", sys.stderr)  # noqa: B010
    typed = (stdin or b"").decode("utf-8", "surrogateescape") if terminal else ""
    sys.stdin = TypedInput(typed) if terminal else TextInput(stdin or b"")
    if terminal:
        setattr(os, "isatty", lambda fd: fd in (0, 1, 2))  # noqa: B010
    setattr(sys, "__stdin__", sys.stdin)  # noqa: B010
    return out, err


def _settle_libraries() -> None:
    """Undo what library modules decided about the system when they were imported."""
    import bz2
    import shutil
    import tarfile

    settled: Any = shutil
    settled._use_fd_functions = settled._USE_CP_SENDFILE = False
    settled._copyxattr = lambda *args, **kwargs: None
    opened: Any = tarfile
    opened.bltn_open = builtins.open
    opened = bz2
    opened._builtin_open = builtins.open


def _from_shutil() -> bool:
    """Whether library code that does not show the order of directory entries asks for them."""
    frame = sys._getframe(2)
    if frame.f_code.co_name == "scandir" and frame.f_back is not None:
        frame = frame.f_back
    return os.path.basename(frame.f_code.co_filename) == "shutil.py"


def _encode(text: Any) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"str expected, not {type(text).__name__}")
    return text.encode("utf-8", "surrogateescape")


def _unknown(name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        abstain(f"{name} is not known here")

    function.__name__ = name.rpartition(".")[2]
    return function


def _system(world: World) -> dict[str, Callable[..., Any]]:
    """The replaced functions of `os`."""

    def stat_of(path: Any, *, dir_fd: Any = None, follow_symlinks: bool = True) -> os.stat_result:
        if isinstance(path, int):
            abstain("the state of a file descriptor")
        found = world.ask("stat" if follow_symlinks else "lstat", path)
        mode = _KINDS[found["kind"]] | found["mode"]
        moment = found["mtime"]
        times = {f"st_{letter}time": moment for letter in "mac"}
        times |= {f"st_{letter}time_ns": int(moment * 1e9) for letter in "mac"}
        plain = (mode, 0, 0, found["nlink"], found["uid"], found["gid"], found["size"], *[int(moment)] * 3)
        return os.stat_result(plain, times)

    def listdir(path: Any = ".") -> list[str]:
        names = list(world.ask("list", "." if path is None else path))
        if len(names) > 1 and not world.sorts and not _from_shutil():
            abstain("the order of a directory's entries")
        return names

    def scandir(path: Any = ".") -> _Scan:
        directory = "." if path is None else os.fspath(path)
        return _Scan([_DirEntry(world, directory, name) for name in listdir(directory)])

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: Any = None) -> None:
        world.ask("mkdir", path, mode & ~0o022)

    def unlink(path: Any, *, dir_fd: Any = None) -> None:
        if world.ask("lstat", path)["kind"] == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        world.ask("remove", path)

    def rmdir(path: Any, *, dir_fd: Any = None) -> None:
        if world.ask("lstat", path)["kind"] != "directory":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
        if world.ask("list", path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), os.fspath(path))
        world.ask("remove", path)

    def rename(src: Any, dst: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None) -> None:
        try:
            world.ask("rename", src, posixpath.join(world.cwd, _text(dst)))
        except OSError as exc:
            number = exc.errno or 0
        else:
            return
        raise OSError(number, os.strerror(number), os.fspath(src), None, os.fspath(dst))

    def symlink(src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: Any = None) -> None:
        world.ask("symlink", dst, _text(src))

    def readlink(path: Any, *, dir_fd: Any = None) -> str:
        return str(world.ask("readlink", path))

    def chmod(path: Any, mode: int, *, dir_fd: Any = None, follow_symlinks: bool = True) -> None:
        world.ask("chmod", path, mode)

    def utime(
        path: Any, times: Any = None, *, ns: Any = None, dir_fd: Any = None, follow_symlinks: bool = True
    ) -> None:
        seconds = times[1] if times else ns[1] / 1e9 if ns else None
        world.ask("utime", path, seconds)

    def chdir(path: Any) -> None:
        if world.ask("stat", path)["kind"] != "directory":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
        world.cwd = posixpath.normpath(posixpath.join(world.cwd, _text(path)))

    def access(
        path: Any, mode: int, *, dir_fd: Any = None, effective_ids: bool = False, follow_symlinks: bool = True
    ) -> bool:
        return bool(world.ask("access", path, mode))

    def terminal_size(fd: int = 1) -> os.terminal_size:
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))

    found: dict[str, Callable[..., Any]] = {
        "stat": stat_of, "listdir": listdir, "scandir": scandir, "mkdir": mkdir, "unlink": unlink, "remove": unlink,
        "rmdir": rmdir, "rename": rename, "replace": rename, "symlink": symlink, "readlink": readlink,
        "chmod": chmod, "utime": utime, "chdir": chdir, "access": access, "get_terminal_size": terminal_size,
    }  # fmt: skip
    found["lstat"] = lambda path, *, dir_fd=None: stat_of(path, follow_symlinks=False)
    found["getcwd"] = lambda: world.cwd
    found["getcwdb"] = lambda: world.cwd.encode()
    found["chown"] = lambda *args, **kwargs: abstain("chown")
    found["open"] = lambda *args, **kwargs: abstain("os.open")
    found["close"] = lambda *args: abstain("os.close")
    found["read"] = lambda *args: abstain("os.read")
    found["write"] = lambda *args: abstain("os.write")
    found["fstat"] = lambda *args: abstain("os.fstat")
    found["isatty"] = lambda fd: False
    found["getpid"] = lambda: HOST_PID
    found["getuid"] = found["geteuid"] = found["getgid"] = found["getegid"] = lambda: world.uid
    return found


def write_cache(path: str, text: str) -> None:
    """Leave the compiled file that an import leaves behind."""
    place = posixpath.dirname(os.path.abspath(path))  # noqa: PTH100
    folder = posixpath.join(place, "__pycache__")
    state = os.stat(path)
    if not os.access(place, os.W_OK):
        return
    if not os.path.isdir(folder):
        os.mkdir(folder)
    header = importlib.util.MAGIC_NUMBER + bytes(4)
    header += int(state.st_mtime).to_bytes(4, "little") + state.st_size.to_bytes(4, "little")
    compiled = compile(text, path, "exec", dont_inherit=True)
    stem = posixpath.basename(path).removesuffix(".py")
    with open(posixpath.join(folder, f"{stem}.cpython-311.pyc"), "wb") as file:
        file.write(header + marshal.dumps(compiled))
