"""The kernel of the filesystem server."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from worldline.kernels.shell.builtins.base import Unknown
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers import zod
from worldline.kernels.tools.servers.blocks import text_of
from worldline.kernels.tools.servers.filesystem import reading
from worldline.kernels.tools.servers.filesystem.editing import apply_edits, fenced_patch, unix_lines
from worldline.kernels.tools.servers.filesystem.learning import follow
from worldline.kernels.tools.servers.filesystem.paths import Paths, node_error
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.js import stringify
from worldline.kernels.tools.servers.node_server import NodeServer, Refused
from worldline.kernels.tools.servers.replies import Unsure
from worldline.kernels.tools.servers.tree import Tree
from worldline.types import JsonDict, Observation, content_id

__all__ = ["FilesystemKernel"]

_READ = zod.record(path=zod.text, tail=zod.optional(zod.number()), head=zod.optional(zod.number()))
_PATH = zod.record(path=zod.text)
_EDIT = zod.record(oldText=zod.text, newText=zod.text)
_EXCLUDED = zod.default(zod.array(zod.text), [])
_WHOLE = frozenset({"directory_tree", "search_files"})
"""Tools that read everything below a directory."""


class FilesystemKernel(NodeServer):
    """The allowed directories; the files themselves are the host's.

    Args:
        host: What it shares with other servers.
        roots: The allowed directories.
    """

    kind = "filesystem"
    schemas: ClassVar[Mapping[str, zod.Schema]] = {
        "read_file": _READ,
        "read_text_file": _READ,
        "read_media_file": _PATH,
        "read_multiple_files": zod.record(paths=zod.array(zod.text, 1)),
        "write_file": zod.record(path=zod.text, content=zod.text),
        "edit_file": zod.record(path=zod.text, edits=zod.array(_EDIT), dryRun=zod.default(zod.boolean, False)),
        "create_directory": _PATH,
        "list_directory": _PATH,
        "list_directory_with_sizes": zod.record(path=zod.text, sortBy=zod.default(zod.enum("name", "size"), "name")),
        "directory_tree": zod.record(path=zod.text, excludePatterns=_EXCLUDED),
        "move_file": zod.record(source=zod.text, destination=zod.text),
        "search_files": zod.record(path=zod.text, pattern=zod.text, excludePatterns=_EXCLUDED),
        "get_file_info": _PATH,
        "list_allowed_directories": zod.record(),
    }

    def __init__(self, host: Host, roots: Sequence[str]) -> None:
        self.host = host
        self.paths = Paths(roots, host.tree, host.home)

    @property
    def tree(self) -> Tree:
        """The host's files."""
        return self.host.tree

    # --- calls

    def run(self, tool: str, value: Any) -> str:
        """Run a tool."""
        try:
            return self._tool(tool)(value)
        except Unknown as unknown:
            raise self._guess(tool, value, str(unknown)) from unknown

    def _guess(self, tool: str, value: Any, why: str) -> Unsure:
        """What the server would say if nothing were there that is not known."""
        self.host.tree = self.tree.fork()
        self.tree.lenient = True
        try:
            return Unsure(why, self._tool(tool)(value))
        except Refused as refused:
            return Unsure(why, str(refused), failed=True)
        except Unknown:
            return Unsure(why)
        finally:
            self.tree.lenient = False

    def _tool(self, tool: str) -> Callable[[Any], str]:
        name = "read_text_file" if tool == "read_file" else tool
        found: Callable[[Any], str] = getattr(self, f"_{name}")
        return found

    def _real(self, path: str) -> str:
        return self.paths.checked(self.tree, path)

    def _read_text_file(self, value: Mapping[str, Any]) -> str:
        real = self._real(value["path"])
        head, tail = value.get("head"), value.get("tail")
        if head and tail:
            raise Refused("Cannot specify both head and tail parameters simultaneously")
        return reading.read_text(self.tree, real, head, tail)

    def _read_media_file(self, value: Mapping[str, Any]) -> str:
        return text_of([reading.media_block(self.tree, self._real(value["path"]))])

    def _read_multiple_files(self, value: Mapping[str, Any]) -> str:
        parts = []
        for path in value["paths"]:
            try:
                parts.append(f"{path}:\n{reading.read_text(self.tree, self._real(path), None, None)}\n")
            except Refused as refused:
                parts.append(f"{path}: Error - {refused}")
        return "\n---\n".join(parts)

    def _write_file(self, value: Mapping[str, Any]) -> str:
        real = self._real(value["path"])
        node = self.tree.node(real)
        if real == "/" or (node is not None and node.kind == "directory"):
            temporary = f"{real}.{'0' * 32}.tmp"
            raise node_error(IsADirectoryError(21, ""), "rename", temporary, real)
        try:
            self.tree.write(real, value["content"].encode())
        except OSError as error:
            raise node_error(error, "open", real) from error
        return f"Successfully wrote to {value['path']}"

    def _edit_file(self, value: Mapping[str, Any]) -> str:
        real = self._real(value["path"])
        before = unix_lines(reading.read_bytes(self.tree, real).decode("utf-8", "replace"))
        after = apply_edits(before, value["edits"])
        if not value["dryRun"]:
            self.tree.write(real, after.encode())
        return fenced_patch(real, before, after)

    def _create_directory(self, value: Mapping[str, Any]) -> str:
        real = self._real(value["path"])
        todo = []
        while real != "/" and self.tree.node(real) is None:
            self.tree.must_be_absent(real)
            todo.append(real)
            real = posixpath.dirname(real)
        node = self.tree.node(real)
        if node is not None and node.kind != "directory":
            raise node_error(FileExistsError(17, ""), "mkdir", real)
        for path in reversed(todo):
            self.tree.mkdir(path)
        return f"Successfully created directory {value['path']}"

    def _list_directory(self, value: Mapping[str, Any]) -> str:
        real = self._real(value["path"])
        return "\n".join(
            f"{'[DIR]' if reading.is_directory(self.tree, posixpath.join(real, name)) else '[FILE]'} {name}"
            for name in reading.entries(self.tree, real)
        )

    def _list_directory_with_sizes(self, value: Mapping[str, Any]) -> str:
        return reading.sized_listing(self.tree, self._real(value["path"]), value["sortBy"])

    def _directory_tree(self, value: Mapping[str, Any]) -> str:
        return stringify(reading.tree_of(self.tree, self.paths, value["path"], value["excludePatterns"]), 2)

    def _move_file(self, value: Mapping[str, Any]) -> str:
        source, target = self._real(value["source"]), self._real(value["destination"])
        if self.tree.exists(target, follow=False):
            raise Refused(f"Destination already exists: {target}")
        try:
            self.tree.rename(source, target)
        except OSError as error:
            raise node_error(error, "rename", source, target) from error
        return f"Successfully moved {value['source']} to {value['destination']}"

    def _search_files(self, value: Mapping[str, Any]) -> str:
        real = self._real(value["path"])
        found = reading.search(self.tree, self.paths, real, value["pattern"], value["excludePatterns"])
        return "\n".join(found) if found else "No matches found"

    def _get_file_info(self, value: Mapping[str, Any]) -> str:
        return reading.file_info(self.tree, self._real(value["path"]), self.host.clock)

    def _list_allowed_directories(self, value: Mapping[str, Any]) -> str:
        return "Allowed directories:\n" + "\n".join(self.paths.allowed)

    # --- following reality

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take what an answer tells of files."""
        if tool not in self.schemas:
            return
        value, wrong = zod.parse(self.schemas[tool], dict(arguments))
        if not wrong:
            follow(self.host, self.paths, tool, value, observation)

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The files and directories that the call looks at."""
        if tool not in self.schemas:
            return {}
        value, wrong = zod.parse(self.schemas[tool], dict(arguments))
        if wrong:
            return {}
        named = [value[key] for key in ("path", "source", "destination") if key in value]
        found = {"roots": self.paths.shown}
        for path in [*named, *value.get("paths", [])][:50]:
            found[path] = self._state(path, deep=tool in _WHOLE)
        return found

    def _state(self, path: str, *, deep: bool) -> str:
        try:
            real = self._real(path)
            node = self.tree.node(real)
            if node is None:
                self.tree.must_be_absent(real)
                return "absent"
            if node.kind == "directory":
                return content_id(self._listing(real, deep))
            return "unknown" if node.content is None else content_id(node.content.hex())
        except Refused as refused:
            return f"refused {refused}"
        except Unknown:
            return "unknown"

    def _listing(self, real: str, deep: bool) -> list[Any]:
        found: list[Any] = []
        for name in self.tree.list(real):
            path = posixpath.join(real, name)
            node = self.tree.node(path)
            assert node is not None
            folder = node.kind == "directory"
            found.append([name, node.kind, self._listing(path, deep) if deep and folder else len(node.content or b"")])
        return found

    # --- copies

    def fork(self) -> FilesystemKernel:
        """Share everything: the directories never change."""
        twin = object.__new__(FilesystemKernel)
        twin.host, twin.paths = self.host, self.paths
        return twin

    def dump(self) -> JsonDict:
        """Nothing beside the host's files."""
        return {}

    def load(self, data: JsonDict) -> None:
        """Nothing to take up."""

    def describe(self) -> JsonDict:
        """The files below the allowed directories, the first hundred."""
        inside = sorted(path for path in self.tree.paths() if self.paths.inside(path))
        return {"roots": list(self.paths.allowed), "paths": inside[:100]}

    def close(self) -> None:
        """Nothing to free."""
