"""The file tools of the envelope family: read_file, write_file, edit, list_directory, glob."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Sequence

from worldline.kernels.repository.answer import MOST_LINES, Answer, Refused, cut
from worldline.kernels.repository.editor import MOST_FOUND, PICTURES, matching
from worldline.kernels.repository.tree import Tree

__all__ = ["edit", "glob", "list_directory", "place", "read_file", "write_file"]


def place(tree: Tree, path: str, what: str = "File path") -> str:
    """The absolute path of a file, which must lie in the workspace."""
    full = posixpath.normpath(posixpath.join(tree.root, path))
    if not tree.inside(full):
        raise Refused(f"{what} must be within the workspace directory {tree.root}: {path}")
    return full


def read_file(tree: Tree, name: str, offset: float | None, limit: float | None) -> Answer:
    """Show a file, or some of its lines."""
    path = place(tree, name)
    kind = tree.kind(path)
    if kind is None:
        raise Refused(f"File not found: {path}")
    if kind == "directory":
        raise Refused(f"Path is a directory, not a file: {path}")
    try:
        data = tree.read(path)
    except PermissionError:
        raise Refused(f"Error reading file {path}: EACCES: permission denied, open '{path}'") from None
    if b"\0" in data[:8192] or path.endswith(PICTURES):
        return Answer(f"Cannot display content of binary file: {posixpath.relpath(path, tree.root)}", cls="binary")
    lines = data.decode("utf-8", "replace").split("\n")
    first = int(offset or 0)
    last = min(first + int(limit or MOST_LINES), len(lines))
    if first and first >= len(lines):
        raise Refused(f"Offset {first} is beyond the end of the file, which has {len(lines)} lines.")
    text = "\n".join(map(cut, lines[first:last]))
    if not first and last >= len(lines):
        return Answer(text)
    head = f"showing lines {first + 1}-{last} of {len(lines)} total lines. Use offset and limit for more."
    return Answer(f"[File content truncated: {head}]\n{text}", cls="range")


def write_file(tree: Tree, name: str, content: str) -> Answer:
    """Write a whole file."""
    path = place(tree, name)
    kind = tree.kind(path)
    if kind == "directory":
        raise Refused(f"Path is a directory, not a file: {path}")
    done = "overwrote file" if kind else "created and wrote to new file"
    return Answer(f"Successfully {done}: {path}.", writes={path: content.encode("utf-8")}, cls="" if kind else "create")


def edit(tree: Tree, name: str, old: str, new: str, expected: float | None) -> Answer:
    """Replace a text as often as it is said to stand there."""
    path = place(tree, name)
    kind = tree.kind(path)
    if kind == "directory":
        raise Refused(f"Path is a directory, not a file: {path}")
    if kind is None:
        if old:
            raise Refused(f"File not found. Cannot apply edit. Use an empty old_string to create a new file: {path}")
        text = f"Created new file: {path} with provided content."
        return Answer(text, writes={path: new.encode("utf-8")}, cls="create")
    before = tree.read(path).decode("utf-8", "replace")
    if not old:
        raise Refused(f"Failed to edit. Attempted to create a file that already exists: {path}")
    count, wanted = before.count(old), int(expected or 1)
    if count == 0:
        raise Refused(f"Failed to edit, 0 occurrences found for old_string in {path}. No edits made.")
    if count != wanted:
        times = "occurrence" if wanted == 1 else "occurrences"
        raise Refused(f"Failed to edit, expected {wanted} {times} but found {count} in {path}.")
    if old == new:
        raise Refused(f"No changes to apply: old_string and new_string are identical in {path}")
    after = before.replace(old, new).encode("utf-8")
    return Answer(f"Successfully modified file: {path} ({count} replacements).", writes={path: after})


def list_directory(tree: Tree, name: str, ignore: Sequence[str]) -> Answer:
    """List a directory, folders first."""
    top = place(tree, name, "Path")
    kind = tree.kind(top)
    if kind is None:
        raise Refused(f"Directory not found: {top}")
    if kind != "directory":
        raise Refused(f"Path is not a directory: {top}")
    names = [one for one in tree.names(top) if not any(fnmatch.fnmatchcase(one, pattern) for pattern in ignore)]
    if not names:
        return Answer(f"Directory {top} is empty.", cls="empty")
    folders = [one for one in sorted(names) if tree.kind(f"{top}/{one}") == "directory"]
    lines = [f"[DIR] {one}" for one in folders] + [one for one in sorted(names) if one not in folders]
    return Answer("\n".join([f"Directory listing for {top}:", *lines]))


def glob(tree: Tree, pattern: str, path: str | None, case_sensitive: bool) -> Answer:
    """Find files by a pattern."""
    top = place(tree, path, "Path") if path else tree.root
    if tree.kind(top) != "directory":
        raise Refused(f"Search path does not exist or is no directory: {top}")
    found = matching(tree, top, pattern, fold=not case_sensitive)
    if not found:
        return Answer(f'No files found matching pattern "{pattern}" within {top}', cls="none")
    head = f'Found {len(found)} file(s) matching "{pattern}" within {top}, sorted by path'
    head += f" (the first {MOST_FOUND})" if len(found) > MOST_FOUND else ""
    return Answer("\n".join([f"{head}:", *found[:MOST_FOUND]]))
