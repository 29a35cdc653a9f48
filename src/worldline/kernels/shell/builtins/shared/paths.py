"""Paths: links resolved, last components, backups, the kind of a file without following it."""

from __future__ import annotations

import errno
import os
import posixpath

from worldline.kernels.shell.builtins.base import Call, FileStat

__all__ = ["canonical", "inside", "is_directory", "join", "kind_of", "last_part", "lstat", "strip_slashes"]

_LINKS = 40


def lstat(call: Call, path: str) -> FileStat | None:
    """Return what is at a path, without following it; None where nothing is.

    Raises:
        OSError: The path cannot be walked, for another reason than a missing name.
    """
    try:
        return call.files.stat(path, follow=False)
    except FileNotFoundError:
        return None


def strip_slashes(path: str) -> str:
    """Remove trailing slashes, but keep `/`."""
    return path.rstrip("/") or ("/" if path else "")


def last_part(path: str) -> str:
    """Return the last component of a path, trailing slashes aside."""
    return posixpath.basename(strip_slashes(path)) or strip_slashes(path)


def join(directory: str, name: str) -> str:
    """Join as GNU's file_name_concat does: one slash between, nothing normalised."""
    return directory + ("" if directory.endswith("/") else "/") + name.lstrip("/")


def inside(path: str, directory: str) -> bool:
    """Whether a canonical path is a directory or below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def canonical(call: Call, path: str, *, missing: str = "last", links: bool = True) -> str:
    """Return a path without links, `.` and `..`.

    Args:
        call: Whose files and working directory count.
        path: The path.
        missing: What may be absent: `none`, the `last` component, or `all` of them.
        links: Whether links are resolved; otherwise `..` goes up in the text.

    Raises:
        OSError: As the system's path walk would.
    """
    if path == "":
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    todo = [part for part in posixpath.join(call.cwd, path).split("/") if part not in ("", ".")][::-1]
    place, followed, gone = "/", 0, False
    while todo:
        part = todo.pop()
        if part == "..":
            place = posixpath.dirname(place)
            continue
        step = posixpath.join(place, part)
        kind = "" if gone else kind_of(call, step)
        if kind == "":
            if missing == "none" or (missing == "last" and todo):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            gone = True
        elif kind == "symlink" and links:
            followed += 1
            if followed > _LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = call.files.readlink(step)
            place = "/" if target.startswith("/") else place
            todo.extend(piece for piece in target.split("/")[::-1] if piece not in ("", "."))
            continue
        elif kind == "file" and (todo or path.endswith("/")):
            if missing != "all":
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            gone = True
        place = step
    return place


def is_directory(call: Call, path: str, *, follow: bool = True) -> bool:
    """Whether a path is a directory; nothing about its entries needs to be known."""
    if not follow and kind_of(call, path) == "symlink":
        return False
    return path != "" and call.files.exists(path + "/")


def kind_of(call: Call, path: str) -> str:
    """Return `symlink`, `directory`, `file` or "" for what is at a path, without counting a directory's entries."""
    try:
        call.files.readlink(path)
        return "symlink"
    except FileNotFoundError:
        return ""
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return "directory" if call.files.exists(path + "/") else "file"
