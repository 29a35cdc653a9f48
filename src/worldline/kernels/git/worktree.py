"""The working tree: what lies in it, how it differs from the index, and how files get into it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from worldline.kernels.git.ignoring import Ignored
from worldline.kernels.git.objects import TreeEntry, path_bytes, path_text
from worldline.kernels.git.repository import Repository
from worldline.kernels.shell.builtins.shared.textio import restore

__all__ = ["Worktree"]


class Worktree:
    """The working tree of a repository.

    Args:
        repo: The repository; it must have a working tree.
    """

    def __init__(self, repo: Repository) -> None:
        assert repo.worktree is not None
        self.repo, self.files, self.top = repo, repo.files, repo.worktree
        self.ignored = Ignored(repo)
        self._entries: dict[str, TreeEntry | None] = {}

    def full(self, path: str) -> str:
        """Absolute path."""
        return posixpath.join(self.top, path)

    # --- reading

    def data(self, path: str) -> bytes:
        """What the blob of a file or link would hold."""
        full = self.full(path)
        if self.files.stat(full, follow=False).kind == "symlink":
            return path_bytes(self.files.readlink(full))
        return restore(self.files.read(full))

    def entry(self, path: str) -> TreeEntry | None:
        """Mode and name of what is at a path; None where there is no file or link."""
        if path not in self._entries:
            self._entries[path] = self._look(path)
        return self._entries[path]

    def _look(self, path: str) -> TreeEntry | None:
        if not self._reachable(path):
            return None
        kind = self.files.stat(self.full(path), follow=False).kind
        if kind not in ("file", "symlink"):
            return None
        mode = 0o120000 if kind == "symlink" else 0o100644
        if kind == "file" and self.files.stat(self.full(path)).mode & 0o100:
            mode = 0o100755
        return TreeEntry(mode, self.repo.objects.name("blob", self.data(path)))

    def _reachable(self, path: str) -> bool:
        """Whether something is there, not through a link."""
        parts = path.split("/")
        for count in range(1, len(parts)):
            full = self.full("/".join(parts[:count]))
            if not self.files.exists(full, follow=False) or self.files.stat(full, follow=False).kind != "directory":
                return False
        return self.files.exists(self.full(path), follow=False)

    def exists(self, path: str) -> bool:
        """Whether anything is at a path."""
        return self._reachable(path)

    def is_directory(self, path: str) -> bool:
        """Whether a directory is at a path."""
        return self._reachable(path) and self.files.stat(self.full(path), follow=False).kind == "directory"

    def scan(self, directory: str = "", *, ignored: bool = True) -> list[str]:
        """Files and links below a directory, by path, sorted; nested repositories as `NAME/`.

        Args:
            directory: Where to look; empty for the top, otherwise with a slash at the end.
            ignored: Whether what is ignored is listed too.
        """
        found: list[str] = []
        for name in self.files.list(self.full(directory) if directory else self.top):
            path = directory + name
            if name == ".git":
                continue
            kind = self.files.stat(self.full(path), follow=False).kind
            if not ignored and self.ignored.ignores(path, kind == "directory"):
                continue
            if kind == "directory":
                if self.files.exists(self.full(path) + "/.git"):
                    found.append(path + "/")
                else:
                    found += self.scan(path + "/", ignored=ignored)
            elif kind in ("file", "symlink"):
                found.append(path)
        return sorted(found, key=path_bytes) if not directory else found

    def untracked(self, *, everything: bool = False, ignored: bool = False) -> list[str]:
        """Paths that are not in the index; whole directories as `NAME/`.

        Args:
            everything: List the files in untracked directories one by one.
            ignored: List what is ignored instead.
        """
        index = self.repo.index
        tracked = {*index.entries, *index.conflicts}
        folders = {path[: at + 1] for path in tracked for at, char in enumerate(path) if char == "/"}
        found = self._untracked("", tracked, folders, everything, ignored)
        return sorted(found, key=path_bytes)

    def _untracked(self, base: str, tracked: set[str], folders: set[str], everything: bool, ignored: bool) -> list[str]:
        found = []
        for name in self.files.list(self.full(base) if base else self.top):
            path = base + name
            if name == ".git" or path in tracked:
                continue
            kind = self.files.stat(self.full(path), follow=False).kind
            if kind == "directory":
                found += self._untracked_directory(path, tracked, folders, everything, ignored)
            elif kind in ("file", "symlink") and self.ignored.ignores(path) == ignored:
                found.append(path)
        return found

    def _untracked_directory(
        self, path: str, tracked: set[str], folders: set[str], everything: bool, ignored: bool
    ) -> list[str]:
        known = path + "/" in folders
        if not known and self.ignored.ignores(path, True):
            return [path + "/"] if ignored and (self.scan(path + "/") or self.nested(path)) else []
        if not known and self.nested(path):
            return [] if ignored else [path + "/"]
        inside = self._untracked(path + "/", tracked, folders, everything, ignored)
        if known or everything or not inside:
            return inside
        if not ignored:
            return [path + "/"]
        other = self._untracked(path + "/", tracked, folders, everything, False)
        return inside if other else [path + "/"]

    def nested(self, path: str) -> bool:
        """Whether a directory is a repository of its own."""
        return self.files.exists(self.full(path) + "/.git")

    # --- writing

    def put(self, path: str, entry: TreeEntry) -> None:
        """Write a file or link from its blob."""
        self.write(path, self.repo.objects.blob(entry.sha), entry.mode)

    def write(self, path: str, data: bytes, mode: int = 0o100644) -> None:
        """Write a file or link, replacing what is there."""
        full = self.full(path)
        self._entries.pop(path, None)
        self._clear_way(path)
        if self.files.exists(full, follow=False):
            self.remove(path, prune=False)
        if mode == 0o120000:
            self.files.symlink(path_text(data), full)
            return
        self.files.write(full, data)
        umask = self.repo.call.umask
        self.files.chmod(full, (0o777 if mode == 0o100755 else 0o666) & ~umask)

    def _clear_way(self, path: str) -> None:
        parts = path.split("/")
        for count in range(1, len(parts)):
            full = self.full("/".join(parts[:count]))
            there = self.files.exists(full, follow=False)
            if there and self.files.stat(full, follow=False).kind != "directory":
                self.files.remove(full)
                there = False
            if not there:
                self.files.mkdir(full)

    def remove(self, path: str, *, prune: bool = True) -> None:
        """Remove a file, or a directory with all in it, and directories left empty above it."""
        full = self.full(path.rstrip("/"))
        self._entries.pop(path, None)
        if not self._reachable(path.rstrip("/")):
            return
        self._delete(full)
        folder = posixpath.dirname(path.rstrip("/"))
        while prune and folder and self.files.exists(self.full(folder)) and not self.files.list(self.full(folder)):
            if self.full(folder) == self.repo.call.cwd:
                break
            self.files.remove(self.full(folder))
            folder = posixpath.dirname(folder)

    def _delete(self, full: str) -> None:
        if self.files.stat(full, follow=False).kind == "directory":
            for name in self.files.list(full):
                self._delete(f"{full}/{name}")
        self.files.remove(full)

    # --- comparing

    def differing(self, paths: Iterable[str] | None = None) -> dict[str, TreeEntry | None]:
        """Files of the index (conflicts left out) that are different here: what is here instead, None for nothing."""
        entries = self.repo.index.entries
        found = {}
        for path in sorted(entries, key=path_bytes) if paths is None else paths:
            here = self.entry(path)
            if here != entries[path]:
                found[path] = here
        return found
