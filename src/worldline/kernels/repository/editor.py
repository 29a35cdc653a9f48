"""The file tools of the editor family: Read, Write, Edit, Glob."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from worldline.kernels.repository.answer import MOST_LINES, Answer, Refused, numbered, snippet, split_lines
from worldline.kernels.repository.patterns import glob_pattern
from worldline.kernels.repository.tree import Tree, digest

__all__ = ["MOST_FOUND", "PICTURES", "edit", "glob", "matching", "read", "write"]

_MOST_BYTES = 256 * 1024
MOST_FOUND = 100
"""Files that a glob tells."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".pdf", ".zip", ".gz", ".so", ".pyc")
"""Endings of files that are taken for binary whatever they hold."""
_SKIPPED = frozenset({".git", "node_modules", "__pycache__"})


def _missing(tree: Tree, path: str) -> str:
    """The message for a file that is not there; a file of the same stem beside it is named."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(name)[0]
    if tree.kind(folder) == "directory":
        for other in tree.names(folder):
            if other != name and posixpath.splitext(other)[0] == stem:
                return f"File does not exist. Did you mean {other}?"
    return "File does not exist."


def _content(tree: Tree, path: str) -> bytes:
    kind = tree.kind(path)
    if kind is None:
        raise Refused(_missing(tree, path))
    if kind == "directory":
        raise Refused(f"EISDIR: illegal operation on a directory, read '{path}'")
    try:
        return tree.read(path)
    except PermissionError:
        raise Refused(f"EACCES: permission denied, open '{path}'") from None


def _unchanged(tree: Tree, path: str, seen: Mapping[str, str]) -> None:
    if path not in seen:
        raise Refused("File has not been read yet. Read it first before writing to it.")
    if digest(_content(tree, path)) != seen[path]:
        raise Refused("File has been modified since it was read. Read it again before writing to it.")


def _may_write(tree: Tree, path: str) -> None:
    if not tree.inside(path):
        raise Refused(f"{path} is outside of the working directory {tree.root}: it may not be changed.")


def _changed(text: str, path: str, data: bytes, cls: str = "") -> Answer:
    """The answer of a tool that wrote a file, which then counts as read."""
    return Answer(text, writes={path: data}, read={path: digest(data)}, cls=cls)


def read(tree: Tree, path: str, offset: float | None, limit: float | None) -> Answer:
    """Show a file's lines behind their numbers."""
    data = _content(tree, path)
    if b"\0" in data[:8192] or path.endswith(PICTURES):
        raise Refused(f"This tool cannot read binary files. The file appears to be binary: {path}")
    if len(data) > _MOST_BYTES and offset is None and limit is None:
        raise Refused(
            f"File content ({len(data) / 1024:.1f}KB) exceeds maximum allowed size (256KB). Use offset and limit to "
            "read parts of it, or Grep to search it."
        )
    seen, text = {path: digest(data)}, data.decode("utf-8", "replace")
    if not text:
        return Answer("<system-reminder>The file is there, but it is empty.</system-reminder>", read=seen, cls="empty")
    lines, first = split_lines(text), max(int(offset or 1), 1)
    if first > len(lines):
        said = f"The file has {len(lines)} lines, fewer than the offset {first}."
        return Answer(f"<system-reminder>{said}</system-reminder>", read=seen, cls="beyond")
    shown = lines[first - 1 : first - 1 + int(limit or MOST_LINES)]
    return Answer(numbered(shown, first), read=seen, cls="range" if offset or limit else "")


def write(tree: Tree, path: str, content: str, seen: Mapping[str, str]) -> Answer:
    """Write a whole file."""
    _may_write(tree, path)
    if tree.kind(path) == "directory":
        raise Refused(f"EISDIR: illegal operation on a directory, open '{path}'")
    fresh = not tree.there(path)
    if not fresh:
        _unchanged(tree, path, seen)
    data = content.encode("utf-8")
    if fresh:
        return _changed(f"File created successfully at: {path}", path, data, "create")
    shown = numbered(split_lines(content)[:MOST_LINES], 1)
    text = f"The file {path} has been updated. Here is the file as `cat -n` shows it:\n{shown}"
    return _changed(text, path, data, "overwrite")


def edit(tree: Tree, path: str, old: str, new: str, replace_all: bool, seen: Mapping[str, str]) -> Answer:
    """Replace a text that stands in a file once, or everywhere."""
    if old == new:
        raise Refused("No changes to make: old_string and new_string are exactly the same.")
    _may_write(tree, path)
    kind = tree.kind(path)
    if kind is None:
        if old:
            raise Refused(_missing(tree, path))
        data = new.encode("utf-8")
        return _changed(f"File created successfully at: {path}", path, data, "create")
    if kind == "directory":
        raise Refused(f"EISDIR: illegal operation on a directory, read '{path}'")
    _unchanged(tree, path, seen)
    before = _content(tree, path).decode("utf-8", "replace")
    after = _replaced(before, old, new, replace_all)
    data = after.encode("utf-8")
    if replace_all:
        done = f"All occurrences of '{old}' were successfully replaced with '{new}'."
        return _changed(f"The file {path} has been updated. {done}", path, data, "all")
    head = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of it:"
    return _changed(f"{head}\n{snippet(after, before.find(old), new)}", path, data)


def _replaced(before: str, old: str, new: str, everywhere: bool) -> str:
    if not old and before:
        raise Refused("Cannot create new file - file already exists.")
    count = before.count(old) if old else 1
    if count == 0:
        raise Refused(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not everywhere:
        raise Refused(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, "
            "set replace_all to true. To replace only one, give more of the text around it.\n"
            f"String: {old}"
        )
    return before.replace(old, new) if everywhere else before.replace(old, new, 1)


def matching(tree: Tree, top: str, pattern: str, *, fold: bool = False) -> list[str]:
    """Files below a directory whose path from there fits a glob pattern, sorted."""
    if pattern.startswith("/"):
        prefix = top.rstrip("/") + "/"
        if not pattern.startswith(prefix):
            return []
        pattern = pattern[len(prefix) :]
    wanted, found = glob_pattern(pattern, fold=fold), []
    for path in tree.below(top):
        name = posixpath.relpath(path, top)
        if wanted.fullmatch(name) and not _SKIPPED.intersection(name.split("/")[:-1]):
            found.append(path)
    return found


def glob(tree: Tree, top: str, pattern: str) -> Answer:
    """Find files by a pattern."""
    kind = tree.kind(top)
    if kind is None:
        raise Refused(f"Directory does not exist: {top}")
    if kind != "directory":
        raise Refused(f"Path is not a directory: {top}")
    found = matching(tree, top, pattern)
    if not found:
        return Answer("No files found", cls="none")
    lines = found[:MOST_FOUND]
    if len(found) > MOST_FOUND:
        lines.append("(Results are truncated. Consider using a more specific path or pattern.)")
    return Answer("\n".join(lines))
