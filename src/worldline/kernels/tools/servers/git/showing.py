"""What the git server shows of an object."""

from __future__ import annotations

from worldline.kernels.git.changes import FileChange, compare, find_renames
from worldline.kernels.git.context import Git
from worldline.kernels.git.objects import Commit
from worldline.kernels.git.patch import PatchStyle, hunks, is_binary
from worldline.kernels.git.people import take_apart
from worldline.kernels.git.snapshot import Contents

__all__ = ["log_entry", "show_object"]


def log_entry(commit: Commit) -> str:
    """A commit as `git_log` shows it."""
    name, _, stamp = take_apart(commit.author)
    return f"Commit: {commit.sha}\nAuthor: {name}\nDate: {stamp.moment}\nMessage: {commit.message}\n"


def show_object(git: Git, sha: str) -> str:
    """A blob, a tree or a commit as `git_show` shows it."""
    objects = git.repo.objects
    sha = objects.peel(sha)
    kind = objects.kind(sha)
    if kind == "blob":
        return objects.blob(sha).decode("utf-8", "replace")
    if kind == "tree":
        return "\n".join(f"{name}/" if entry.mode == 0o40000 else name for name, entry in objects.entries(sha).items())
    return _commit(git, objects.commit(sha))


def _commit(git: Git, commit: Commit) -> str:
    objects = git.repo.objects
    name, mail, stamp = take_apart(commit.author)
    message = "".join(f"    {line}\n" for line in commit.message.rstrip("\n").split("\n"))
    head = f"commit {commit.sha}\nAuthor: {name} <{mail}>\nDate:   {stamp.moment:%Y-%m-%d %H:%M:%S %z}\n\n{message}"
    before = objects.commit(commit.parents[0]).tree if commit.parents else None
    contents = Contents(git)
    changes = find_renames(compare(objects.flat(before), objects.flat(commit.tree)), contents.blob)
    return head + "".join(_change(contents, change) for change in changes)


def _change(contents: Contents, change: FileChange) -> str:
    old, new = contents.blob(change.old), contents.blob(change.new)
    left = "/dev/null" if change.old is None else f"a/{change.old_path}"
    right = "/dev/null" if change.new is None else f"b/{change.path}"
    if old == new:
        body = ""
    elif is_binary(old) or is_binary(new):
        body = f"Binary files {left} and {right} differ\n"
    else:
        body = hunks(old, new, PatchStyle()).decode("utf-8", "replace")
    return f"\n--- {left}\n+++ {right}\n{body}"
