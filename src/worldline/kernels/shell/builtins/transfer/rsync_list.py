"""What rsync sends: the list of files, from the operands or from `--files-from`."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from datetime import datetime

from worldline.kernels.shell.builtins.base import Call, FileStat
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.textio import escape
from worldline.kernels.shell.builtins.transfer.rsync_filters import excluded
from worldline.kernels.shell.builtins.transfer.rsync_options import Refusal, RsyncOptions

__all__ = ["Entry", "FileList", "order"]


@dataclass(slots=True)
class Entry:
    """One file, directory or link that is sent."""

    path: str
    """Relative to the destination; `.` is the destination itself."""
    source: str
    stat: FileStat
    target: str = ""
    """Where a link points."""
    content: bool = False
    """Whether what a directory holds is sent too."""

    @property
    def directory(self) -> bool:
        """Whether it is a directory."""
        return self.stat.kind == "directory"

    @property
    def mtime(self) -> datetime:
        """Its modification time."""
        return self.stat.mtime


class FileList:
    """Builds the list of a transfer.

    Args:
        call: The invocation.
        options: Its options.
    """

    def __init__(self, call: Call, options: RsyncOptions) -> None:
        self._call = call
        self._options = options
        self._recursive = options.on("r")
        self.entries: dict[str, Entry] = {}
        self.messages: list[str] = []
        """What is said on stdout while the list is built."""
        self.errors: list[str] = []

    def add(self, operand: str) -> None:
        """Add a source operand."""
        call, options = self._call, self._options
        if options.on("R"):
            self._add_relative(operand)
            return
        inside = operand.endswith(("/", "/.", "/..")) or operand in (".", "..")
        path = operand.rstrip("/") or "/"
        try:
            found = self._look(path, follow=inside)
        except OSError as error:
            self._missing(operand, error, inside=inside and operand.endswith("/"))
            return
        if inside and found.kind != "directory":
            # A file with a slash behind it.
            call.unknown("a source that is no directory")
        name = "." if inside else posixpath.basename(path)
        self._enter(name, path, found, top=True)

    def add_listed(self, base: str, name: str) -> None:
        """Add a name of `--files-from` below a base directory."""
        operand = posixpath.normpath(name.strip().lstrip("/"))
        path = posixpath.join(base, operand)
        try:
            found = self._look(path, follow=False)
        except OSError as error:
            self._missing(path, error, inside=False)
            return
        self._implied(base, operand)
        self._enter(operand, path, found, top=True)

    def _add_relative(self, operand: str) -> None:
        base, mark, rest = operand.rpartition("/./")
        if not mark:
            base, rest = "", operand.removeprefix("./")
        inside = rest.endswith("/")
        name = posixpath.normpath(rest.strip("/")) if rest.strip("/") else "."
        path = posixpath.join(base, name) if base else posixpath.normpath(operand)
        try:
            found = self._look(path, follow=inside)
        except OSError as error:
            self._missing(operand, error, inside=inside)
            return
        if name.startswith(".."):
            self._call.unknown("a relative name that leads upwards")
        self._implied(base or ("/" if operand.startswith("/") else ""), name)
        self._enter(name, path, found, top=True)

    def _implied(self, base: str, name: str) -> None:
        """Add the directories above a name."""
        parent = posixpath.dirname(name)
        parts = parent.split("/") if parent else []
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            if path not in self.entries:
                place = posixpath.join(base, path)
                self.entries[path] = Entry(path, place, self._call.files.stat(place))

    def _look(self, path: str, *, follow: bool) -> FileStat:
        return self._call.files.stat(path, follow=follow or self._options.on("L"))

    def _missing(self, operand: str, error: OSError, *, inside: bool) -> None:
        path = self._call.files.absolute(operand)
        what = "change_dir" if inside else "link_stat"
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            self._call.unknown(f"a source that cannot be reached: {strerror(error)}")
        self.errors.append(f'rsync: [sender] {what} "{path}" failed: {strerror(error)} ({error.errno})\n')

    def _enter(self, path: str, source: str, found: FileStat, *, top: bool = False) -> None:
        options = self._options
        directory = found.kind == "directory"
        if path != "." and excluded(options.rules, path, directory=directory):
            return
        if directory and not self._recursive and not options.on("d"):
            self.messages.append(f"skipping directory {path}\n")
            return
        target = ""
        if found.kind == "symlink":
            target = self._call.files.readlink(source)
        elif found.kind == "fifo":
            self._call.unknown("special files")
        elif found.nlink > 1 and not directory and options.on("H"):
            self._call.unknown("hard links")
        content = directory and (self._recursive or path == ".")
        if path not in self.entries or top:
            self.entries[path] = Entry(path, source, found, target, content)
        if content:
            self._descend(path, source)

    def _descend(self, path: str, source: str) -> None:
        try:
            names = self._call.files.list(source)
        except PermissionError:
            self._call.unknown("a directory that cannot be read")
        for name in names:
            place = posixpath.join(source, name)
            found = self._call.files.stat(place, follow=False)
            if found.kind == "symlink" and self._options.on("L"):
                try:
                    found = self._call.files.stat(place)
                except OSError:
                    self._call.unknown("a link that leads nowhere")
            below = name if path == "." else f"{path}/{name}"
            if not self._recursive and found.kind == "directory":
                if not excluded(self._options.rules, below, directory=True):
                    self.entries[below] = Entry(below, place, found)
                continue
            self._enter(below, place, found)

    def read_names(self, name: str) -> list[str]:
        """Read the file of `--files-from`.

        Raises:
            Refusal: It is not there.
        """
        try:
            text = self._call.stdin or "" if name == "-" else escape(self._call.files.read(name))
        except OSError as error:
            raise Refusal(
                f"rsync: failed to open files-from file {name}: {strerror(error)}\n"
                "rsync error: syntax or usage error (code 1) at main.c(1886) [client=3.5.0]\n",
                1,
            ) from error
        end = "\0" if self._options.on("0") else "\n"
        return [line for line in text.split(end) if line.strip() and not line.startswith((";", "#"))]

    def sorted(self) -> list[Entry]:
        """The entries in the order of the transfer, empty directories left out where that is asked for."""
        found = sorted(self.entries.values(), key=order)
        if not self._options.on("m"):
            return found
        full = [entry.path for entry in found if not entry.directory]
        return [
            entry
            for entry in found
            if not entry.directory or entry.path == "." or any(path.startswith(f"{entry.path}/") for path in full)
        ]


def order(entry: Entry) -> tuple[tuple[int, bytes], ...]:
    """Sort key: in each directory its files first, then its directories, each with what is in it."""
    if entry.path == ".":
        return ()
    parts = entry.path.split("/")
    key = [(1, part.encode()) for part in parts]
    if not entry.directory:
        key[-1] = (0, parts[-1].encode())
    return tuple(key)
