"""The calls of both tool families, so that an explorer can say what it wants without minding which one it has."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldline.types import Action

__all__ = ["Calls"]


@dataclass(frozen=True, slots=True)
class Calls:
    """Makes calls of one family.

    Args:
        editing: Whether it is the family `editor`.
        root: The repository's root.
    """

    editing: bool
    root: str

    def path(self, name: str) -> str:
        """The absolute path of a file of the repository."""
        return posixpath.join(self.root, name)

    def _call(self, name: str, **arguments: Any) -> Action:
        return Action(name=name, arguments={key: value for key, value in arguments.items() if value is not None})

    def read(self, name: str, first: int | None = None, count: int | None = None) -> Action:
        """Read a file, or `count` lines from line `first` (counted from 1)."""
        if self.editing:
            return self._call("Read", file_path=self.path(name), offset=first, limit=count)
        offset = None if first is None else first - 1
        return self._call("read_file", absolute_path=self.path(name), offset=offset, limit=count)

    def write(self, name: str, content: str) -> Action:
        """Write a whole file."""
        return self._call("Write" if self.editing else "write_file", file_path=self.path(name), content=content)

    def edit(self, name: str, old: str, new: str, times: int = 1) -> Action:
        """Replace a text that stands in a file `times` times."""
        path = self.path(name)
        if self.editing:
            everywhere = True if times > 1 else None
            return self._call("Edit", file_path=path, old_string=old, new_string=new, replace_all=everywhere)
        expected = times if times > 1 else None
        return self._call("edit", file_path=path, old_string=old, new_string=new, expected_replacements=expected)

    def find(self, pattern: str, place: str | None = None) -> Action:
        """Find files by a pattern."""
        path = None if place is None else self.path(place)
        return self._call("Glob" if self.editing else "glob", pattern=pattern, path=path)

    def search(
        self,
        pattern: str,
        place: str | None = None,
        files: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Action:
        """Search contents; options are those of the editor's tool and left out in the other family."""
        path = None if place is None else self.path(place)
        if self.editing:
            return Action(
                name="Grep",
                arguments={
                    **{key: value for key, value in {"pattern": pattern, "path": path, "glob": files}.items() if value},
                    **(options or {}),
                },
            )
        return self._call("search_file_content", pattern=pattern, path=path, include=files)

    def list(self, place: str = "", ignore: list[str] | None = None) -> Action:
        """List a directory."""
        if self.editing:
            return self.shell(f"ls {place or '.'}")
        return self._call("list_directory", path=self.path(place).rstrip("/"), ignore=ignore)

    def shell(self, command: str, place: str | None = None) -> Action:
        """Run a command; `place` is where, relative to the root, which only the envelope family can say."""
        if self.editing:
            return self._call("Bash", command=command if place is None else f"cd {self.path(place)} && {command}")
        return self._call("run_shell_command", command=command, directory=place)
