"""What there is to import below a path: files, folders that are a trajectory as a whole, members of archives."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from worldline.errors import FormatError
from worldline.formats.base import FolderFormat
from worldline.formats.catalog import Detection, claim, get_format, opened, recognise
from worldline.formats.container import archive_kind, unpack
from worldline.formats.folder import InputFolder
from worldline.formats.source import InputFile, Limits, SkippedRecord, shown
from worldline.types import Source, Trajectory, content_id

__all__ = ["Found", "LeftOut", "Unit", "find_units", "open_unit"]

_TOOL_FOLDERS = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})
"""Folders of tools: large, and never trajectories."""
_NAMED = "named with --format"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something below the path that is not read, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What is imported in one go: a file, an archive, or a folder that one format reads as a whole."""

    path: Path
    name: str
    """What messages call it."""
    folder: Detection | None = None
    """The format that claims it, for a folder."""

    def key(self) -> str:
        """Return what changes whenever a file of it changes: names, sizes and times."""
        files = [self.path]
        if self.folder is not None:
            files = sorted(Path(root, name) for root, _, names in os.walk(self.path) for name in names)
        return content_id([_stamp(self.path, file) for file in files])


def _stamp(root: Path, file: Path) -> list[str | int]:
    try:
        status = file.lstat()
    except OSError:
        return [shown(root), shown(file)]
    return [shown(root), shown(file), status.st_size, status.st_mtime_ns]


@dataclass(frozen=True, slots=True)
class Found:
    """Something to read, what it was recognised as, and how its trajectories are had."""

    name: str
    detection: Detection
    read: Callable[[Source], Iterator[Trajectory | SkippedRecord]]


def find_units(path: Path, *, format: str | None = None, limits: Limits | None = None) -> Iterator[Unit | LeftOut]:
    """List what is below a path, sorted by name. A path that is a file is itself the only unit.

    Folders are walked without following links, so a file is met once and a loop is never entered.

    Args:
        path: A file or a folder.
        format: The only format that may claim folders; any may where None.
        limits: Bounds that files are read under.

    Raises:
        ConfigError: No format is called `format`.
    """
    if format is not None:
        get_format(format)
    if not path.is_dir():
        yield Unit(path, shown(path))
        return
    yield from _walk(InputFolder(path, limits), None if format is None else [format])


def _walk(folder: InputFolder, formats: list[str] | None) -> Iterator[Unit | LeftOut]:
    stack = [folder]
    while stack:
        folder = stack.pop()
        try:
            claimed = claim(folder, formats)
            entries = folder.entries
        except FormatError as exc:
            yield LeftOut(folder.name, SkippedRecord(exc).reason)
            continue
        if claimed is not None:
            yield Unit(folder.path, folder.name, claimed)
            continue
        below = []
        for name, kind in entries.items():
            path, label = folder.path / name, f"{folder.name}/{shown(name)}"
            if kind == "file":
                yield Unit(path, label)
            elif kind != "folder":
                yield LeftOut(label, _why_not(path, kind))
            elif name in _TOOL_FOLDERS:
                yield LeftOut(label, "a folder of tools, not looked into")
            else:
                below.append(folder.folder(name))
        stack.extend(reversed(below))


def _why_not(path: Path, kind: str) -> str:
    if kind != "link":
        return "no regular file"
    try:
        return f"a link, not followed: to {shown(path.readlink())}"
    except OSError:
        return "a link, not followed"


def open_unit(
    unit: Unit, *, format: str | None = None, limits: Limits | None = None
) -> Generator[Found | LeftOut, None, None]:
    """Recognise a unit; an archive is unpacked into a temporary folder for as long as its members are read.

    Args:
        unit: What to recognise.
        format: Name of the format of its files; told from their content where None.
        limits: Bounds that files are read and archives are unpacked under.

    Raises:
        FormatError: It is in no known format, damaged or unreadable, or an archive that breaks the limits.
    """
    if unit.folder is not None:
        yield _folder(unit, limits)
        return
    file = InputFile(unit.path, limits, name=unit.name)
    kind = archive_kind(file)
    if kind is None or opened(file, None if format is None else [format]) is not None:
        yield _file(file, format)
        return
    with tempfile.TemporaryDirectory(prefix="worldline-") as temporary:
        for name, why in unpack(file, kind, Path(temporary)):
            yield LeftOut(f"{unit.name}!/{name}", why)
        root = InputFolder(temporary, limits, name=f"{unit.name}!")
        for member in _walk(root, None if format is None else [format]):
            yield member if isinstance(member, LeftOut) else _member(member, format, limits)


def _member(unit: Unit, format: str | None, limits: Limits | None) -> Found | LeftOut:
    """Recognise a member of an archive; one that is nothing does not spoil the rest."""
    try:
        if unit.folder is not None:
            return _folder(unit, limits)
        file = InputFile(unit.path, limits, name=unit.name)
        if archive_kind(file) is not None and opened(file, None if format is None else [format]) is None:
            return LeftOut(unit.name, "an archive inside an archive, not looked into")
        return _file(file, format)
    except FormatError as exc:
        return LeftOut(unit.name, SkippedRecord(exc).reason)


def _file(file: InputFile, format: str | None) -> Found:
    detection = Detection(format, _NAMED) if format is not None else recognise(file)
    layout = get_format(detection.name)
    return Found(file.name, detection, lambda source: layout.read(file, source))


def _folder(unit: Unit, limits: Limits | None) -> Found:
    assert unit.folder is not None
    layout = get_format(unit.folder.name)
    assert isinstance(layout, FolderFormat)
    folder = InputFolder(unit.path, limits, name=unit.name)
    return Found(unit.name, unit.folder, lambda source: layout.read_folder(folder, source))
