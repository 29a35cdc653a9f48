"""The repository's files as tools see them, read from the shell kernel's state."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from worldline.kernels.shell.builtins.shared.textio import restore
from worldline.kernels.shell.kernel import ShellKernel

__all__ = ["Tree", "digest"]

_LINKS = 40


@lru_cache(maxsize=4096)
def digest(data: bytes) -> str:
    """Hash of a content."""
    return hashlib.sha256(data).hexdigest()


class Tree:
    """Files at one state; for one call. What is not known is noted in `doubts`.

    Args:
        shell: Holds the files.
        root: The repository's root.
    """

    def __init__(self, shell: ShellKernel, root: str) -> None:
        self.root = root
        self.shell = shell
        self.table = shell.settled.table
        self.files, self.doubts = shell.look()

    # --- single files

    def real(self, path: str) -> str:
        """The path with all links followed; what is not there stays as it is written."""
        place, todo, links = "/", [part for part in path.split("/") if part][::-1], 0
        while todo:
            part = todo.pop()
            if part == "..":
                place = posixpath.dirname(place)
                continue
            step = posixpath.join(place, part)
            node = self.table.nodes.get(step)
            if node is not None and node.kind == "symlink" and links < _LINKS:
                links += 1
                place = "/" if node.target.startswith("/") else place
                todo += [piece for piece in node.target.split("/")[::-1] if piece not in ("", ".")]
                continue
            place = step
        return place

    def inside(self, path: str) -> bool:
        """Whether a path, links followed, lies in the repository."""
        real = self.real(path)
        return real == self.root or real.startswith(self.root + "/")

    def kind(self, path: str) -> Literal["file", "directory"] | None:
        """What is at a path, links followed; None where nothing is."""
        try:
            kind = self.files.stat(path).kind
        except OSError:
            return None
        return "directory" if kind == "directory" else "file"

    def there(self, path: str) -> bool:
        """Whether something has this name, be it a dangling link."""
        return self.files.exists(path, follow=False)

    def read(self, path: str) -> bytes:
        """Content of a file.

        Raises:
            OSError: As reading it would.
        """
        return restore(self.files.read(path))

    # --- many files

    def names(self, directory: str) -> list[str]:
        """Names in a directory, sorted."""
        return list(self.files.list(directory))

    def below(self, top: str) -> Iterator[str]:
        """Paths of all files below a directory (links to files among them, git's own left out), sorted."""
        prefix = top.rstrip("/") + "/"
        self._open(top, prefix)
        for path in sorted(self.table.nodes):
            if not path.startswith(prefix) or "/.git/" in path[len(prefix) - 1 :]:
                continue
            node = self.table.nodes[path]
            if self.table.tainted.get(path) == "existence":
                self.doubts.append(f"it is not known whether {path} is there")
            if node.kind == "file" or (node.kind == "symlink" and self.kind(path) != "directory"):
                yield path

    def _open(self, top: str, prefix: str) -> None:
        for path in self.table.open:
            if (path == top or path.startswith(prefix)) and "/.git" not in path:
                self.doubts.append(f"not all that lies in {path} is known")
                return

    def fingerprint(self, top: str | None = None) -> str:
        """Hash of all names and contents of the repository, or of one directory; `unknown` where some are not known."""
        place = top or self.root
        known, parts = len(self.doubts), []
        for path in self.below(place):
            node = self.table.nodes[path]
            if path in self.table.tainted:
                self.doubts.append(f"the content of {path} is not known")
            data = node.target.encode() if node.kind == "symlink" else self._content(path)
            parts.append(f"{path[len(place) :]}={digest(data)}")
        if len(self.doubts) > known:
            del self.doubts[known:]
            return "unknown"
        return digest("\n".join(parts).encode())[:16]

    def _content(self, path: str) -> bytes:
        node = self.table.nodes[path]
        if node.content is not None:
            return node.content
        try:
            return self.read(path)
        except OSError:
            return b"?"
