"""What can be read off a file tool's answer that was not foreseen."""

from __future__ import annotations

import posixpath
import re

from worldline.kernels.repository.tree import Tree
from worldline.types import Action, Observation

__all__ = ["READING", "absolute_of", "is_absence", "written_by"]

READING = frozenset({"Read", "read_file"})
"""Tools that show a file."""

_NUMBERED = re.compile(r" *(\d+)→(.*)")
_MOST = 2000


_ABSENT = re.compile(r"(?:<tool_use_error>)?File (?:does not exist|not found)")


def absolute_of(cwd: str, action: Action) -> str:
    """The absolute path of the file that an action names; empty where it names none."""
    name = action.arguments.get("file_path") or action.arguments.get("absolute_path")
    return posixpath.normpath(posixpath.join(cwd, name)) if isinstance(name, str) and name else ""


def is_absence(action: Action, seen: Observation) -> bool:
    """Whether an answer says that the file which an action names is not there."""
    return bool(seen.is_error) and bool(absolute_of("/", action)) and _ABSENT.match(seen.text) is not None


def written_by(tree: Tree, cwd: str, action: Action, text: str) -> dict[str, bytes]:
    """Contents of files as an answer that was no error shows or implies them, by absolute path.

    Raises:
        OSError: As reading a file that was edited does.
    """
    take = action.arguments.get
    path = absolute_of(cwd, action)
    if not path:
        return {}
    content = None
    if action.name == "Read" and not take("offset") and not take("limit"):
        content = _unnumbered(text)
    elif action.name == "read_file" and not text.startswith(("[File content truncated", "Cannot display")):
        content = text if not take("offset") and not take("limit") else None
    elif action.name in ("Write", "write_file"):
        content = take("content")
    elif action.name in ("Edit", "edit"):
        content = _edited(tree, path, str(take("old_string")), str(take("new_string")))
    return {path: content.encode("utf-8")} if isinstance(content, str) else {}


def _unnumbered(text: str) -> str | None:
    """A file's content from all its numbered lines; what cannot be seen, a final newline, is assumed."""
    lines = [_NUMBERED.fullmatch(line) for line in text.split("\n")]
    numbers = [int(line[1]) for line in lines if line is not None]
    if None in lines or numbers != list(range(1, len(lines) + 1)) or len(lines) >= _MOST:
        return None
    return "\n".join(line[2] for line in lines if line is not None) + "\n"


def _edited(tree: Tree, path: str, old: str, new: str) -> str | None:
    if not old:
        return new
    before = tree.read(path).decode("utf-8", "replace")
    return before.replace(old, new) if old in before else None
