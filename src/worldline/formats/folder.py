"""An input folder: what a format that spreads a trajectory over several files reads from."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from worldline.errors import FormatError, boundary
from worldline.formats.source import InputFile, Limits, SkippedRecord, shown

__all__ = ["InputFolder"]


class InputFolder:
    """A folder, on disk or unpacked from an archive. Links are not followed.

    Args:
        path: The folder.
        limits: Bounds that its files are read under.
        name: What messages call it, where that is not `path` (a folder in an archive).
    """

    def __init__(self, path: str | Path, limits: Limits | None = None, *, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name if name is not None else shown(self.path)
        self.limits = limits or Limits()

    @cached_property
    def entries(self) -> dict[str, str]:
        """What is directly in it, by name, in order: each `file`, `folder`, `link` or `special`.

        Raises:
            FormatError: It cannot be listed.
        """
        with boundary(FormatError, f"listing {self.name}", OSError):
            try:
                with os.scandir(self.path) as found:
                    return {entry.name: _kind(entry) for entry in sorted(found, key=lambda entry: entry.name)}
            except PermissionError as exc:
                raise self.error("permission denied") from exc

    def has_file(self, name: str) -> bool:
        """Whether a regular file of that name is directly in it."""
        return self.entries.get(name) == "file"

    def has_folder(self, name: str) -> bool:
        """Whether a folder of that name is directly in it."""
        return self.entries.get(name) == "folder"

    def file(self, name: str) -> InputFile:
        """Return a file of it, named relative to the folder ("events/event-00000.json").

        Raises:
            FormatError: There is no such file.
        """
        return InputFile(self.path / name, self.limits, name=f"{self.name}/{shown(name)}")

    def folder(self, name: str) -> InputFolder:
        """Return a folder in it, named relative to it."""
        return InputFolder(self.path / name, self.limits, name=f"{self.name}/{shown(name)}")

    def files(self, suffix: str = "") -> list[InputFile]:
        """Return the regular files directly in it whose names end in `suffix`, sorted by name."""
        return [self.file(name) for name, kind in self.entries.items() if kind == "file" and name.endswith(suffix)]

    def folders(self) -> list[InputFolder]:
        """Return the folders directly in it, sorted by name."""
        return [self.folder(name) for name, kind in self.entries.items() if kind == "folder"]

    def error(self, message: str, hint: str | None = None) -> FormatError:
        """Build an error about this folder."""
        return FormatError(message, path=self.name, hint=hint)

    def skipped(self, message: str) -> SkippedRecord:
        """Build the notice that the trajectory in this folder cannot be used."""
        return SkippedRecord(self.error(message))


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "special"
