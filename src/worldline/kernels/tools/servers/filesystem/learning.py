"""What answers of the filesystem server tell of the files, where the kernel would have answered otherwise."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.servers.filesystem.paths import Paths
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.node_server import Refused
from worldline.kernels.tools.servers.tree import Kind, Node, Tree
from worldline.types import Observation

__all__ = ["follow"]

_ENTRY = re.compile(r"\[(DIR|FILE)\] (.*)")
_SIZED = re.compile(r"\[(DIR|FILE)\] (.*?) *(?: \d+(?:\.\d\d)? (?:B|KB|MB|GB|TB))?")
_MISSING = re.compile(r"ENOENT: no such file or directory, (open|stat|scandir) '(.*)'", re.DOTALL)


def follow(host: Host, paths: Paths, tool: str, value: Mapping[str, Any], seen: Observation) -> None:
    """Let the files follow an answer; where it went well, nothing that is not known stood in the way."""
    tree = host.tree
    tree.lenient = not seen.is_error
    try:
        _follow(tree, paths, tool, value, seen)
    finally:
        tree.lenient = False


def _follow(tree: Tree, paths: Paths, tool: str, value: Mapping[str, Any], seen: Observation) -> None:
    if seen.is_error:
        _refused(tree, paths, tool, value, seen.text)
        return
    match tool:
        case "read_file" | "read_text_file":
            if not value.get("head") and not value.get("tail"):
                _content(tree, _place(tree, paths, value["path"]), seen.text)
        case "read_multiple_files":
            _several(tree, paths, value["paths"], seen.text)
        case "list_directory" | "list_directory_with_sizes":
            _listing(tree, _place(tree, paths, value["path"]), seen.text, sized=tool != "list_directory")
        case "directory_tree":
            if not value["excludePatterns"]:
                _whole(tree, _place(tree, paths, value["path"]), seen.text)
        case "search_files":
            for line in seen.text.split("\n"):
                if line.startswith("/") and tree.node(line) is None:
                    _exists(tree, line)
        case _:
            _written(tree, paths, tool, value)


def _place(tree: Tree, paths: Paths, path: str) -> str:
    try:
        return paths.checked(tree, path)
    except (Refused, Unknown):
        try:
            return paths.absolute(path)
        except Refused:
            return path


def _refused(tree: Tree, paths: Paths, tool: str, value: Mapping[str, Any], text: str) -> None:
    missing = _MISSING.fullmatch(text)
    if missing is not None and tool != "write_file":
        tree.learn_absent(missing[2])
    elif tool == "move_file" and text.startswith("Destination already exists: "):
        _exists(tree, text.removeprefix("Destination already exists: "))
    elif tool == "edit_file":
        tree.doubt(_place(tree, paths, value["path"]))


def _content(tree: Tree, place: str, text: str) -> None:
    if "\ufffd" in text:
        if tree.node(place) is None:
            _exists(tree, place)
        tree.doubt(place)
    else:
        tree.learn_content(place, text.encode())


def _several(tree: Tree, paths: Paths, names: list[str], text: str) -> None:
    """Split the answer at the heads of the files that were asked for; ambiguous ones teach nothing."""
    rest = text
    for number, name in enumerate(names):
        following = f"\n---\n{names[number + 1]}:" if number + 1 < len(names) else None
        if following is not None and rest.count(following) != 1:
            return
        part, _, after = rest.partition(following) if following is not None else (rest, "", "")
        if part.startswith(f"{name}:\n") and part.endswith("\n"):
            _content(tree, _place(tree, paths, name), part[len(name) + 2 : -1])
        if following is not None:
            rest = f"{names[number + 1]}:{after}"


def _listing(tree: Tree, place: str, text: str, *, sized: bool) -> None:
    lines = text.split("\n")
    if sized:
        lines = lines[:-3] if len(lines) >= 3 else []
    found: dict[str, Kind] = {}
    for line in lines if text else []:
        entry = (_SIZED if sized else _ENTRY).fullmatch(line)
        if entry is None:
            return
        found[entry[2].rstrip(" ") if sized else entry[2]] = "directory" if entry[1] == "DIR" else "file"
    tree.learn_listing(place, found)


def _whole(tree: Tree, place: str, text: str) -> None:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return
    _branch(tree, place, entries)


def _branch(tree: Tree, place: str, entries: Any) -> None:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and "name" in entry for entry in entries):
        return
    kinds: dict[str, Kind] = {
        str(entry["name"]): "directory" if entry.get("type") == "directory" else "file" for entry in entries
    }
    tree.learn_listing(place, kinds)
    for entry in entries:
        if "children" in entry:
            _branch(tree, posixpath.join(place, str(entry["name"])), entry["children"])


def _exists(tree: Tree, path: str) -> None:
    if tree.node(path) is None:
        tree.declare(path, Node("file"))


def _written(tree: Tree, paths: Paths, tool: str, value: Mapping[str, Any]) -> None:
    if tool == "write_file":
        tree.learn_content(_place(tree, paths, value["path"]), value["content"].encode())
    elif tool == "edit_file" and not value["dryRun"]:
        place = _place(tree, paths, value["path"])
        _exists(tree, place)
        tree.doubt(place)
    elif tool == "create_directory":
        place = _place(tree, paths, value["path"])
        if tree.node(place) is None:
            tree.declare(place, Node("directory", None, 0o755, None, open=True))
    elif tool == "move_file":
        _moved(tree, _place(tree, paths, value["source"]), _place(tree, paths, value["destination"]))


def _moved(tree: Tree, source: str, target: str) -> None:
    if tree.node(source) is not None and tree.node(target) is None:
        try:
            if tree.node(posixpath.dirname(target)) is None:
                tree.declare(posixpath.dirname(target), Node("directory", None, 0o755, None, open=True))
            tree.rename(source, target)
        except (OSError, Unknown):
            tree.forget(source)
            _exists(tree, target)
        return
    tree.learn_absent(source)
    _exists(tree, target)
