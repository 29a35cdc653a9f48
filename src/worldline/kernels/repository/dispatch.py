"""Calling the file tools of both families by their names."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from worldline.kernels.repository import editor, envelope
from worldline.kernels.repository.answer import Answer, Refused
from worldline.kernels.repository.searching import grep, search_file_content
from worldline.kernels.repository.tree import Tree
from worldline.kernels.shell.builtins.base import Unknown
from worldline.types import JsonDict

__all__ = ["editor_tool", "envelope_tool"]


def editor_tool(tree: Tree, cwd: str, seen: Mapping[str, str], name: str, arguments: JsonDict) -> Answer:
    """Run a file tool of the family `editor`.

    Args:
        tree: The files.
        cwd: Where relative paths begin.
        seen: Files that were read, with the hash of what was seen.
        name: The tool.
        arguments: Checked arguments.

    Raises:
        Refused: The tool refuses.
        Unknown: The tool is not simulated, or rests on what is not known.
        Unclear: So does the meaning of a pattern.
    """
    take = arguments.get
    if name in ("Glob", "Grep"):
        path = take("path")
        top = posixpath.normpath(posixpath.join(cwd, path)) if path else cwd
        pattern = arguments["pattern"]
        return editor.glob(tree, top, pattern) if name == "Glob" else grep(tree, top, pattern, arguments)
    if name not in ("Read", "Write", "Edit"):
        raise Unknown(f"the tool {name} is not simulated")
    place = posixpath.normpath(posixpath.join(cwd, arguments["file_path"]))
    if name == "Read":
        return editor.read(tree, place, take("offset"), take("limit"))
    if name == "Write":
        return _writable(tree, editor.write(tree, place, arguments["content"], seen))
    old, new, everywhere = arguments["old_string"], arguments["new_string"], bool(take("replace_all"))
    return _writable(tree, editor.edit(tree, place, old, new, everywhere, seen))


def envelope_tool(tree: Tree, listed: Callable[[], list[str] | None], name: str, arguments: JsonDict) -> Answer:
    """Run a file tool of the family `envelope`.

    Args:
        tree: The files.
        listed: Tells the files that git knows or does not ignore; None where there is no repository.
        name: The tool.
        arguments: Checked arguments.

    Raises:
        Refused: The tool refuses.
        Unknown: The tool is not simulated, or rests on what is not known.
        Unclear: So does the meaning of a pattern.
    """
    take = arguments.get
    if name == "read_file":
        return envelope.read_file(tree, arguments["absolute_path"], take("offset"), take("limit"))
    if name == "write_file":
        return _writable(tree, envelope.write_file(tree, arguments["file_path"], arguments["content"]))
    if name == "edit":
        old, new = arguments["old_string"], arguments["new_string"]
        return _writable(tree, envelope.edit(tree, arguments["file_path"], old, new, take("expected_replacements")))
    if name == "list_directory":
        return envelope.list_directory(tree, arguments["path"], [str(one) for one in take("ignore") or ()])
    if name == "glob":
        return envelope.glob(tree, arguments["pattern"], take("path"), bool(take("case_sensitive")))
    if name == "search_file_content":
        return search_file_content(tree, listed(), arguments["pattern"], take("path"), take("include"))
    raise Unknown(f"the tool {name} is not simulated")


def _writable(tree: Tree, answer: Answer) -> Answer:
    """Refuse where the system would not let the files be written."""
    for path in answer.writes:
        place = path
        while place != "/" and not tree.there(place):
            place = posixpath.dirname(place)
            if tree.there(place) and tree.kind(place) != "directory":
                raise Refused(f"ENOTDIR: not a directory, open '{path}'")
        if not tree.files.allowed(place, 2):
            raise Refused(f"EACCES: permission denied, open '{path}'")
    return answer
