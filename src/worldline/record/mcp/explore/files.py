"""Exploring the filesystem server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from worldline.domains.mcp.state import FilesystemServer, GitServer
from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted
from worldline.record.mcp.explore.repositories import tree_of

__all__ = ["FilesystemPlayer"]

_READ = ("read_text_file", "read_text_file", "read_text_file", "read_file")


class FilesystemPlayer(Player):
    """Writes and reads back, edits, moves, lists, searches; also what is not there or not allowed."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        roots = cast(FilesystemServer, scene.state.servers[scene.server]).roots
        self._root = roots[0]
        below = [path for path in scene.state.files if any(path.startswith(f"{root}/") for root in roots)]
        for server in scene.state.servers.values():
            for place, repository in server.repositories.items() if isinstance(server, GitServer) else ():
                below += [f"{place}/{name}" for name in tree_of(repository)] if place.startswith(self._root) else []
        declared = scene.state.files
        self._files = [path for path in below if path not in declared or declared[path].kind == "file"]
        self._folders = sorted({path.rpartition("/")[0] for path in below} | set(roots))

    def moves(self) -> Sequence[Weighted]:
        """All kinds; reading needs a file."""
        always: list[Weighted] = [
            (3.0, self._write_and_read),
            (2.0, self._list_and_read),
            (1.0, self._folder),
            (1.0, self._search),
            (0.8, self._overview),
            (1.2, self._missing),
            (0.8, self._outside),
            (0.2, self._roots),
        ]
        if not self._files:
            return always
        return [
            *always,
            (3.0, self._edit_and_read),
            (1.6, self._move_and_look),
            (1.2, self._parts),
            (1.0, self._many),
            (1.0, self._information),
            (0.8, self._clash),
        ]

    def _file(self) -> str:
        return cast(str, self.scene.pick(self._files))

    def _folder_name(self) -> str:
        return cast(str, self.scene.pick(self._folders))

    def _new_path(self) -> str:
        scene = self.scene
        suffix = scene.pick((".txt", ".md", ".csv", ".json", ".log", ""))
        return f"{self._folder_name()}/{scene.pick(scene.theme.things)}-{scene.random.randint(1, 99)}{suffix}"

    def _lines(self) -> str:
        scene, theme = self.scene, self.scene.theme
        lines = [
            f"{scene.pick(theme.things)} {scene.pick(theme.deeds).replace('_', ' ')} {scene.pick(theme.things)}"
            if scene.chance(0.5)
            else f"{scene.pick(theme.traits)}: {scene.random.randint(1, 900)}"
            for _ in range(scene.random.randint(1, 6))
        ]
        return "\n".join(lines) + ("" if scene.chance(0.25) else "\n")

    def _write_and_read(self) -> Move:
        scene = self.scene
        path = self._file() if self._files and scene.chance(0.3) else self._new_path()
        yield scene.call("write_file", path=path, content=self._lines())
        if path not in self._files:
            self._files.append(path)
        if scene.chance(0.25):
            yield scene.call("list_directory", path=path.rpartition("/")[0])
        yield scene.call(scene.pick(_READ), path=path)

    def _edit_and_read(self) -> Move:
        scene, path = self.scene, self._file()
        turn = yield scene.call("read_text_file", path=path)
        if turn.observation.is_error:
            return
        lines = [line for line in turn.observation.text.split("\n") if line.strip()]
        if not lines:
            return
        old = scene.pick(lines)
        if scene.chance(0.4) and " " in old.strip():
            old = scene.pick(old.strip().split(" "))
        new = "\n".join([self._lines().split("\n")[0], *([self._lines().strip()] if scene.chance(0.25) else [])])
        edits = [{"oldText": old, "newText": new}]
        if scene.chance(0.2):
            edits.append({"oldText": scene.pick(lines), "newText": ""})
        if scene.chance(0.2):
            edits[0]["oldText"] = f"{scene.pick(scene.theme.things)} nowhere"
        rehearsed = {"dryRun": True} if scene.chance(0.25) else {}
        yield scene.call("edit_file", path=path, edits=edits, **rehearsed)
        if scene.chance(0.8):
            yield scene.call("read_text_file", path=path)

    def _list_and_read(self) -> Move:
        scene, folder = self.scene, self._folder_name()
        tool = scene.pick(("list_directory", "list_directory", "list_directory_with_sizes"))
        more = {"sortBy": "size"} if tool.endswith("sizes") and scene.chance(0.6) else {}
        turn = yield scene.call(tool, path=folder, **more)
        names = re.findall(r"^\[(FILE|DIR)\] (\S+)", turn.observation.text, re.MULTILINE)
        if not names:
            return
        kind, name = scene.pick(names)
        if kind == "DIR":
            yield scene.call("list_directory", path=f"{folder}/{name}")
        else:
            yield scene.call(scene.pick(_READ), path=f"{folder}/{name}")

    def _move_and_look(self) -> Move:
        scene, source = self.scene, self._file()
        target = self._new_path()
        turn = yield scene.call("move_file", source=source, destination=target)
        if turn.observation.is_error:
            return
        self._files[self._files.index(source)] = target
        yield scene.call("read_text_file", path=target)
        if scene.chance(0.6):
            yield scene.call("read_text_file", path=source)

    def _folder(self) -> Move:
        scene = self.scene
        path = f"{self._folder_name()}/{scene.pick(scene.theme.places)}"
        if scene.chance(0.3):
            path = f"{path}/{scene.pick(scene.theme.kinds)}"
        turn = yield scene.call("create_directory", path=path)
        if not turn.observation.is_error and path not in self._folders:
            self._folders.append(path)
        if scene.chance(0.5):
            inside = f"{path}/{scene.pick(scene.theme.things)}.txt"
            yield scene.call("write_file", path=inside, content=self._lines())
            self._files.append(inside)
        yield scene.call("list_directory", path=path if scene.chance(0.6) else path.rpartition("/")[0])

    def _search(self) -> Move:
        scene = self.scene
        word = scene.pick((*scene.theme.things, *scene.theme.kinds))
        pattern = scene.pick(("*.md", "**/*.txt", f"**/*{word}*", "**/*.csv", f"*{word}*", "**", "**/*.{json,log}"))
        more = {"excludePatterns": [scene.pick(("**/*.md", scene.pick(scene.theme.places), "*.txt"))]}
        turn = yield scene.call(
            "search_files", path=self._folder_name(), pattern=pattern, **(more if scene.chance(0.3) else {})
        )
        found = [line for line in turn.observation.text.split("\n") if line.startswith("/")]
        if found:
            path = scene.pick(found)
            yield scene.call("read_text_file" if path in self._files else "get_file_info", path=path)

    def _overview(self) -> Move:
        scene = self.scene
        more = {"excludePatterns": [scene.pick(("*.md", scene.pick(scene.theme.places), "**/*.txt"))]}
        yield scene.call("directory_tree", path=self._folder_name(), **(more if scene.chance(0.3) else {}))

    def _parts(self) -> Move:
        scene, path = self.scene, self._file()
        part = {scene.pick(("head", "tail")): scene.random.randint(1, 4)}
        if scene.chance(0.15):
            part = {"head": 2, "tail": 2}
        yield scene.call("read_text_file", path=path, **part)

    def _many(self) -> Move:
        scene = self.scene
        paths = scene.some(self._files, 3)
        if scene.chance(0.3):
            paths.append(self._new_path())
        yield scene.call("read_multiple_files", paths=paths)

    def _information(self) -> Move:
        scene, path = self.scene, self._file()
        if scene.chance(0.4):
            yield scene.call("write_file", path=path, content=self._lines())
        yield scene.call("get_file_info", path=path if scene.chance(0.8) else self._folder_name())

    def _clash(self) -> Move:
        """What is there stands in the way."""
        scene, path = self.scene, self._file()
        match scene.random.randint(0, 4):
            case 0:
                yield scene.call("move_file", source=path, destination=self._file())
            case 1:
                yield scene.call("create_directory", path=path)
            case 2:
                yield scene.call("list_directory", path=path)
            case 3:
                yield scene.call("write_file", path=self._folder_name(), content=self._lines())
            case _:
                yield scene.call("read_text_file", path=self._folder_name())

    def _missing(self) -> Move:
        scene, path = self.scene, self._new_path()
        tool = scene.pick(("read_text_file", "get_file_info", "list_directory", "edit_file", "move_file"))
        if tool == "edit_file":
            yield scene.call(tool, path=path, edits=[{"oldText": "a", "newText": "b"}])
        elif tool == "move_file":
            yield scene.call(tool, source=path, destination=f"{path}.bak")
        else:
            yield scene.call(tool, path=path)
        if scene.chance(0.4):
            deep = f"{self._folder_name()}/{scene.pick(scene.theme.kinds)}-{scene.random.randint(1, 9)}/x.txt"
            yield scene.call("write_file", path=deep, content=self._lines())

    def _outside(self) -> Move:
        scene = self.scene
        place = scene.pick(
            ("/etc/passwd", f"{self._root}/../secret.txt", "/home/user", "/tmp/x.txt", "notes.txt", "~/notes.txt")
        )
        if scene.chance(0.3):
            yield scene.call("write_file", path=place, content=self._lines())
        else:
            yield scene.call(scene.pick(("read_text_file", "list_directory", "directory_tree")), path=place)

    def _roots(self) -> Move:
        yield self.scene.call("list_allowed_directories")
