"""How three things differ: the last commit, the index and the working tree."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.kernels.git.changes import FileChange, compare, find_renames
from worldline.kernels.git.context import Git
from worldline.kernels.git.objects import TreeEntry

__all__ = ["Contents", "Status", "against_index", "take_status"]


class Contents:
    """Contents of files by mode and name, also of those that are only in the working tree."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self._here: dict[str, str] = {}

    def note(self, path: str, entry: TreeEntry) -> None:
        """Remember that a version lies in the working tree."""
        self._here[entry.sha] = path

    def blob(self, entry: TreeEntry | None) -> bytes:
        """Content of a version; nothing for None."""
        if entry is None:
            return b""
        if entry.mode == 0o160000:
            return f"Subproject commit {entry.sha}\n".encode()
        if entry.sha in self._here and not self.git.repo.objects.has(entry.sha):
            return self.git.tree.data(self._here[entry.sha])
        return self.git.repo.objects.blob(entry.sha)


@dataclass(slots=True)
class Status:
    """What `git status` shows."""

    staged: list[FileChange]
    unstaged: list[FileChange]
    unmerged: list[str]
    untracked: list[str]
    ignored: list[str]


def against_index(git: Git) -> dict[str, TreeEntry]:
    """What the working tree holds of the files in the index."""
    found = {}
    entries = git.repo.index.entries
    for path in entries:
        here = git.tree.entry(path)
        if here is not None:
            found[path] = here
    return found


def take_status(git: Git, *, untracked: str = "normal", ignored: bool = False, renames: bool = True) -> Status:
    """Compare the last commit, the index and the working tree."""
    repo = git.repo
    index = repo.index
    head = repo.objects.flat(repo.head_tree())
    contents = Contents(git)
    staged = [change for change in compare(head, index.entries) if change.path not in index.conflicts]
    if renames:
        staged = find_renames(staged, contents.blob)
    unstaged = compare(index.entries, against_index(git))
    others = git.tree.untracked(everything=untracked == "all") if untracked != "no" else []
    hidden = git.tree.untracked(ignored=True, everything=untracked == "all") if ignored else []
    return Status(staged, unstaged, [path for path in index.paths() if path in index.conflicts], others, hidden)
