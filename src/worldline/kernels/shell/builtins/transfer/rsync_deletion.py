"""What rsync takes away on the receiving side: files that the source lacks, and what is kept as a backup."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from worldline.kernels.shell.builtins.base import Call, FileStat
from worldline.kernels.shell.builtins.transfer.rsync_filters import excluded
from worldline.kernels.shell.builtins.transfer.rsync_options import RsyncOptions

__all__ = ["Remover"]


class Remover:
    """Deletes and backs up.

    Args:
        call: The invocation.
        options: Its options.
        place: Gives the path of a name below the destination.
        dry: Whether nothing is done.
    """

    def __init__(self, call: Call, options: RsyncOptions, place: Callable[[str], str], *, dry: bool) -> None:
        self._call = call
        self._files = call.files
        self._options = options
        self._place = place
        self._dry = dry
        self.lines: list[str] = []
        """What is told of deletions."""
        self.gone: set[str] = set()
        """Names that were deleted, or would be."""

    def extra(self, path: str, names: set[str]) -> None:
        """Delete what a directory of the destination holds beyond the given names."""
        place = self._place(path)
        if self._files.stat(place).kind != "directory":
            return
        found = []
        for name in self._files.list(place):
            below = name if path == "." else f"{path}/{name}"
            if below not in names:
                found.append((below, self._files.stat(posixpath.join(place, name), follow=False)))
        found.sort(key=lambda pair: (pair[1].kind == "directory", pair[0].encode()), reverse=True)
        for below, stat in found:
            self._delete(below, stat)

    def _delete(self, path: str, stat: FileStat, *, inside: bool = False) -> bool:
        """Delete what the source lacks; returns whether it is gone.

        Args:
            path: Relative to the destination.
            stat: What it is.
            inside: Whether it is in a directory that is deleted as a whole.
        """
        directory = stat.kind == "directory"
        if self._protected(path, directory=directory):
            return False
        place = self._place(path)
        if directory and not self._empty(path, place, inside=inside):
            return False
        if self._options.on("i"):
            self.lines.append(f"*deleting   {path}{'/' if directory else ''}\n")
        elif self._options.on("v"):
            self.lines.append(f"deleting {path}{'/' if directory else ''}\n")
        self.gone.add(path)
        if not self._dry:
            if not directory:
                self.backup(path)
            self.discard(place)
        return True

    def _protected(self, path: str, *, directory: bool) -> bool:
        """Whether filters, or its being a backup, keep a file from deletion."""
        options = self._options
        if options.on("b") and not directory and path.endswith(options.suffix or "~"):
            return True
        return not options.on("delete-excluded") and excluded(options.rules, path, directory=directory, receiver=True)

    def _empty(self, path: str, place: str, *, inside: bool) -> bool:
        """Delete what is in a directory; where something stays, say so."""
        found = [
            (f"{path}/{name}", self._files.stat(posixpath.join(place, name), follow=False))
            for name in self._files.list(place)
        ]
        found.sort(key=lambda pair: (pair[1].kind == "directory", pair[0].encode()), reverse=True)
        gone = [self._delete(below, stat, inside=True) for below, stat in found]
        kept = not all(gone)
        backups = self._options.on("b") and self._options.backup_dir is None and bool(found)
        if not kept and not backups:
            return True
        if self._dry:
            self._call.unknown("what a dry run says of directories that stay")
        if kept or self._files.list(place):
            # A directory inside of one that is deleted is tried twice.
            times = 2 if kept and inside else 1
            self.lines += [f"cannot delete non-empty directory: {path}\n"] * times
            return False
        return True

    def backup(self, path: str) -> None:
        """Move a file to where its backup belongs, if backups are asked for."""
        options = self._options
        place = self._place(path)
        if options.backup_dir is None and not options.on("b"):
            return
        if options.backup_dir is None:
            self._files.rename(place, place + (options.suffix if options.suffix is not None else "~"))
            return
        single = self._place(".") == place
        root = posixpath.dirname(place) or "." if single else self._place(".")
        kept = posixpath.join(root, options.backup_dir, posixpath.basename(place) if single else path)
        kept += options.suffix or ""
        missing = []
        folder = posixpath.dirname(kept)
        while folder and not self._files.exists(folder):
            missing.append(folder)
            folder = posixpath.dirname(folder)
        for name in reversed(missing):
            self._files.mkdir(name, 0o700 if name == missing[-1] else 0o777 & ~self._call.umask)
        self._files.rename(place, kept)

    def discard(self, place: str) -> None:
        """Remove what is at a path, if anything still is."""
        if self._files.exists(place, follow=False):
            self._files.remove(place)
