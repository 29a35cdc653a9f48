"""The commands `ls`, `dir` and `vdir`."""

from __future__ import annotations

import fnmatch
import posixpath
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, FileStat, Result, Unknown
from worldline.kernels.shell.builtins.files.listing_format import Entry, render
from worldline.kernels.shell.builtins.files.listing_options import Settings, read_options
from worldline.kernels.shell.builtins.files.statting import access_time
from worldline.kernels.shell.builtins.shared.messages import Report, shell_quote
from worldline.kernels.shell.builtins.shared.options import command
from worldline.kernels.shell.builtins.shared.order import directory_order
from worldline.kernels.shell.builtins.shared.versions import version_key
from worldline.kernels.shell.table import STANDARD_DIRECTORIES

__all__ = ["COMMANDS"]

_FRESH = ("/", "/tmp", "/run", "/dev", "/proc")
"""Directories that are made when a machine starts; the others came with its system, at some time before."""


class _Lister:
    """One run of `ls`."""

    def __init__(self, call: Call, settings: Settings) -> None:
        self.call = call
        self.settings = settings
        layout = settings.layout
        self.report = Report(call.name, 2)
        self.needs_stat = (
            layout.format == "l"
            or layout.blocks
            or layout.inode
            or layout.color
            or layout.indicator != ""
            or settings.sort in ("t", "S")
            or settings.recursive
            or settings.directories_first
            or settings.other_time
        )
        self.printed = False
        self.vague: list[str] = []
        """What is shown and not known."""

    def run(self, operands: list[str]) -> Result:
        settings = self.settings
        files: list[Entry] = []
        directories: list[Entry] = []
        for name in operands or ["."]:
            entry = self._operand(name)
            if entry is None:
                continue
            is_directory = entry.stat is not None and entry.stat.kind == "directory"
            (directories if is_directory and not settings.directory else files).append(entry)
        if files:
            self.report.out(render(self._sorted(files), settings.layout))
            self.printed = True
        many = len(operands) > 1 or settings.recursive
        for entry in self._sorted(directories):
            self._directory(entry.name, header=many, top=True)
        result = self.report.result()
        if settings.layout.inode:
            self.vague.append("inodes")
        if self.vague:
            raise Unknown(f"{self.call.name}: {', '.join(dict.fromkeys(self.vague))}", result)
        return result

    def _operand(self, name: str) -> Entry | None:
        """Look at a command-line argument, following a link as `ls` would."""
        settings = self.settings
        files = self.call.files
        never = settings.layout.format == "l" or settings.layout.indicator == "F" or settings.directory
        try:
            if not self.needs_stat and settings.directory:
                stat = None
                files.stat(name, follow=False) if not files.exists(name, follow=False) else None
                return Entry(name, None)
            stat = files.stat(name, follow=False)
            target = ""
            if stat.kind == "symlink":
                target = files.readlink(name)
                stat = self._through(name, stat, never)
        except OSError as error:
            self.report.fail(f"cannot access {shell_quote(name)}", error)
            return None
        return self._entry(name, name, stat, target)

    def _through(self, name: str, stat: FileStat, never: bool) -> FileStat:
        settings = self.settings
        if settings.follow or settings.follow_operands:
            try:
                return self.call.files.stat(name)
            except FileNotFoundError:
                if settings.follow:
                    raise
                return stat
        if never:
            return stat
        try:
            behind = self.call.files.stat(name)
        except FileNotFoundError:
            return stat
        return behind if behind.kind == "directory" else stat

    def _entry(self, name: str, path: str, stat: FileStat, target: str = "") -> Entry:
        behind = None
        if self.settings.other_time:
            access_time(self.call, stat)
        if self.settings.layout.format == "l" or self.settings.sort == "t":
            place = self.call.files.absolute(path)
            if place in STANDARD_DIRECTORIES and stat.mtime == self.call.world.clock and not self._made(place):
                self.vague.append(f"when {place} was last changed")
        layout = self.settings.layout
        shown = layout.format == "l" and (layout.color or layout.indicator)
        if stat.kind == "symlink" and (shown or self.settings.directories_first):
            try:
                behind = self.call.files.stat(path)
            except OSError:
                behind = None
        return Entry(name, stat, target if stat.kind == "symlink" else "", behind)

    def _made(self, place: str) -> bool:
        """Whether a directory of the system is known to have been made or changed since the machine started."""
        world = self.call.world
        if place != world.home:
            return place in _FRESH
        return any(posixpath.join(place, name) not in world.files for name in self.call.files.list(place))

    def _directory(self, path: str, *, header: bool, top: bool) -> None:
        settings = self.settings
        try:
            names = self._names(path)
        except OSError as error:
            status = self.report.status
            self.report.fail(f"cannot open directory {shell_quote(path)}", error)
            self.report.status = 2 if top else status or 1
            return
        if self.printed:
            self.report.out("\n")
        if header:
            self.report.out(f"{path}:\n")
        self.printed = True
        entries = [entry for name in names if (entry := self._member(path, name)) is not None]
        entries = self._sorted(entries)
        self.report.out(render(entries, settings.layout, total=True))
        if settings.recursive:
            for entry in entries:
                if entry.name not in (".", "..") and entry.stat is not None and entry.stat.kind == "directory":
                    self._directory(posixpath.join(path, entry.name), header=True, top=False)

    def _names(self, path: str) -> list[str]:
        settings = self.settings
        names = (
            directory_order(self.call, path)
            if settings.sort == "U"
            else [*([".", ".."] if settings.hidden == "a" else []), *self.call.files.list(path)]
        )
        if settings.sort == "U" and settings.hidden == "a":
            names = [".", "..", *names]
        if not settings.hidden:
            names = [name for name in names if not name.startswith(".") and not _matches(name, settings.hide)]
        return [name for name in names if not _matches(name, settings.ignore)]

    def _member(self, directory: str, name: str) -> Entry | None:
        if not self.needs_stat:
            return Entry(name, None)
        path = name if directory == "." else posixpath.join(directory, name)
        try:
            stat = self.call.files.stat(path, follow=self.settings.follow)
            target = self.call.files.readlink(path) if stat.kind == "symlink" else ""
        except OSError:
            self.call.unknown(f"what ls shows for {path}, which cannot be looked at")
        return self._entry(name, path, stat, target)

    def _sorted(self, entries: list[Entry]) -> list[Entry]:
        sort = self.settings.sort
        if sort == "U":
            return entries
        ordered = sorted(entries, key=lambda entry: entry.name.encode("utf-8", "surrogateescape"))
        if sort == "v":
            ordered.sort(key=lambda entry: version_key(entry.name.encode("utf-8", "surrogateescape")))
        elif sort == "X":
            ordered.sort(key=lambda entry: _extension(entry.name))
        elif sort == "W":
            ordered.sort(key=lambda entry: len(entry.name))
        elif sort == "t":
            ordered.sort(key=lambda entry: -entry.stat.mtime.timestamp() if entry.stat else 0.0)
        elif sort == "S":
            ordered.sort(key=lambda entry: -entry.stat.size if entry.stat else 0)
        if self.settings.reverse:
            ordered.reverse()
        if self.settings.directories_first:
            ordered.sort(key=lambda entry: not _leads_to_directory(entry))
        return ordered


def _leads_to_directory(entry: Entry) -> bool:
    stat = entry.behind or entry.stat
    return stat is not None and stat.kind == "directory"


def _extension(name: str) -> str:
    position = name.rfind(".")
    return name[position:] if position >= 0 else ""


def _matches(name: str, patterns: list[str]) -> bool:
    for pattern in patterns:
        if name.startswith(".") and not pattern.startswith("."):
            continue
        if re.match(fnmatch.translate(pattern.replace("[^", "[!")), name):
            return True
    return False


def _ls(call: Call) -> Result:
    settings, operands = read_options(call)
    if settings.layout.format == "":
        settings.layout.format = {"dir": "C", "vdir": "l"}.get(call.name, "1" if call.columns is None else "C")
    if settings.layout.quoting == "":
        plain = "literal" if call.columns is None else "shell-escape"
        settings.layout.quoting = plain if call.name == "ls" else "escape"
    settings.layout.hide_control |= call.columns is not None and settings.layout.quoting == "literal"
    return _Lister(call, settings).run(operands)


COMMANDS: dict[str, Builtin] = {name: command(usage_status=2)(_ls) for name in ("ls", "dir", "vdir")}
