"""What a builtin of ours gets and gives: commands that the shell library lacks or answers differently from GNU.

A builtin is a plain function `(Call) -> Result`. It works on the kernel's files only through `call.files`, which
records every access, applies permissions and knows owners and virtual times. Where it cannot answer as the real
program would, it raises :class:`Unknown`; the whole command then becomes a guess and never counts as computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NoReturn, Protocol

from worldline.domains.terminal.state import TerminalState

__all__ = ["Builtin", "Call", "FileStat", "Files", "Result", "Runner", "Unknown"]


class Unknown(Exception):
    """The builtin does not know what the real program would answer; the message says why.

    Args:
        why: What is not known.
        guess: What the program writes if things are as they usually are; it goes on through pipes and variables.
    """

    def __init__(self, why: str, guess: Result | None = None) -> None:
        super().__init__(why)
        self.guess = guess


@dataclass(frozen=True, slots=True)
class FileStat:
    """Metadata of one file, as `lstat` or `stat` would give it."""

    kind: Literal["file", "directory", "symlink", "fifo"]
    size: int
    """Bytes; for a symlink the length of its target, for a directory what the file system would report."""
    mode: int
    """Permission bits, without the file type."""
    uid: int
    gid: int
    owner: str
    group: str
    mtime: datetime
    """Virtual time, aware."""
    nlink: int = 1
    inode: int = 0
    """Files of the same number other than 0 are one file under several names."""


class Files(Protocol):
    """The kernel's files as one user sees them. Relative paths are resolved against the call's cwd.

    Methods raise the OSError that the system call would (FileNotFoundError, PermissionError,
    IsADirectoryError, NotADirectoryError, FileExistsError, ...), and :class:`Unknown` where the kernel does not
    know what is there (an open directory, a tainted file).
    """

    def absolute(self, path: str) -> str:
        """Join to the cwd and normalise, without resolving links."""

    def read(self, path: str) -> bytes: ...

    def write(self, path: str, data: bytes) -> None: ...

    def write_unknown(self, path: str, mode: int) -> None:
        """Make a file whose content is not known; whatever reads it becomes a guess."""

    def append(self, path: str, data: bytes) -> None: ...

    def stat(self, path: str, *, follow: bool = True) -> FileStat: ...

    def exists(self, path: str, *, follow: bool = True) -> bool: ...

    def order(self, path: str) -> list[str]:
        """Names in a directory in the order in which the system lists them."""

    def list(self, path: str) -> list[str]:
        """Names in a directory, without `.` and `..`, sorted by bytes."""

    def mkdir(self, path: str, mode: int = 0o755) -> None: ...

    def remove(self, path: str) -> None:
        """Remove a file, link or empty directory."""

    def rename(self, source: str, target: str) -> None: ...

    def symlink(self, target: str, path: str) -> None: ...

    def link(self, source: str, target: str) -> None:
        """Make a hard link to a file."""

    def readlink(self, path: str) -> str: ...

    def chmod(self, path: str, mode: int) -> None: ...

    def chown(self, path: str, owner: str | None, group: str | None) -> None: ...

    def utime(self, path: str, moment: datetime) -> None: ...

    def allowed(self, path: str, want: int) -> bool:
        """Whether the user may read (4), write (2) or execute (1) what is at a path."""

    def refresh(self) -> None:
        """Look at everything anew, after another command has run in between."""


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation of a builtin."""

    name: str
    argv: list[str]
    """Arguments after expansion, without the command's name."""
    stdin: str | None
    """What is piped or redirected in; None: nothing is (reading it gives end of file)."""
    env: Mapping[str, str]
    cwd: str
    files: Files
    world: TerminalState
    now: datetime
    """The session's virtual time, aware, in UTC."""
    umask: int = 0o022
    """Permission bits that new files do not get."""
    runner: Runner | None = None
    """How the call runs another command; None where it cannot."""
    script: str = ""
    """The whole text that the shell was given; empty where it is not known."""
    columns: int | None = None
    """Width of the terminal that its output goes to; None: it goes elsewhere."""

    def run(self, argv: Sequence[str], *, stdin: str | None = None, env: Mapping[str, str] | None = None) -> Result:
        """Run another command (`find -exec`, `env`, `timeout`, ...) in the same place.

        Args:
            argv: Its name and arguments; nothing is expanded.
            stdin: What it reads.
            env: Its environment; default the call's.

        Returns:
            What it wrote and its status; 127 and no output where there is no such command.

        Raises:
            Unknown: It cannot be run from here.
        """
        if self.runner is None:
            self.unknown(f"running {argv[0]} from here")
        result = self.runner(argv, stdin, self.env if env is None else env)
        self.files.refresh()
        return result

    def unknown(self, why: str, guess: Result | None = None) -> NoReturn:
        """Give up: the answer of the real program is not known.

        Args:
            why: What is not known.
            guess: The most likely answer, where there is one.

        Raises:
            Unknown: Always.
        """
        raise Unknown(f"{self.name}: {why}", guess)


@dataclass(frozen=True, slots=True)
class Result:
    """What a builtin wrote and its exit status."""

    stdout: str = ""
    stderr: str = ""
    status: int = 0
    merged: str | None = None
    """Both streams in the order written, where the program knows it and both have something."""


Builtin = Callable[[Call], Result]
Runner = Callable[[Sequence[str], str | None, Mapping[str, str]], Result]
