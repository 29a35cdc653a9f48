"""Moving the working tree from one commit to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.index import Index
from worldline.kernels.git.objects import TreeEntry, path_bytes

__all__ = ["apply_tree", "force_tree", "local_changes", "refuse"]


def refuse(changed: Iterable[str], untracked: Iterable[str], removed: Iterable[str], what: str) -> str:
    """The errors about files that are in the way; `what` is `checkout` or `merge`."""
    text = ""
    changed, untracked, removed = list(changed), list(untracked), list(removed)
    doing = {"checkout": "switch branches", "merge": "merge"}.get(what, what)
    if changed:
        text += f"error: Your local changes to the following files would be overwritten by {what}:\n"
        text += "".join(f"\t{path}\n" for path in changed)
        text += f"Please commit your changes or stash them before you {doing}.\n"
    for paths, word in ((removed, "removed"), (untracked, "overwritten")):
        if paths:
            text += f"error: The following untracked working tree files would be {word} by {what}:\n"
            text += "".join(f"\t{path}\n" for path in paths)
            text += f"Please move or remove them before you {doing}.\n"
    return text + "Aborting\n" if text else ""


def apply_tree(git: Git, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry], what: str = "checkout") -> None:
    """Change files that differ between two trees, in the index and the working tree; other changes are kept.

    Raises:
        Failure: Files that were changed by hand are in the way.
    """
    index, tree = git.repo.index, git.tree
    changed, untracked = [], []
    todo = []
    for path in sorted({**old, **new, **index.entries}, key=path_bytes):
        before, after, staged = old.get(path), new.get(path), index.entries.get(path)
        if after in (before, staged):
            continue
        if staged != before:
            changed.append(path)
            continue
        here = tree.entry(path)
        if staged is None:
            if after is not None and tree.exists(path) and here != after and not tree.ignored.ignores(path):
                if tree.is_directory(path):
                    git.call.unknown("a directory in the way")
                untracked.append(path)
                continue
        elif here is not None and here != staged:
            changed.append(path)
            continue
        todo.append(path)
    text = refuse(changed, untracked, [], what)
    if text:
        raise Failure(text.removesuffix("\n"), 1, "")
    gone = [path for path in todo if path not in new]
    for path in gone:
        tree.remove(path)
        index.drop(path)
    for path in todo:
        if path in new:
            tree.put(path, new[path])
            index.set(path, new[path])


def force_tree(git: Git, new: Mapping[str, TreeEntry]) -> None:
    """Make the index and the tracked files of the working tree those of a tree, whatever they were."""
    index, tree = git.repo.index, git.tree
    for path in index.paths():
        if path not in new:
            tree.remove(path)
    for path, entry in new.items():
        if tree.entry(path) != entry:
            tree.put(path, entry)
    git.repo.index = Index(dict(new))


def local_changes(git: Git) -> list[tuple[str, str]]:
    """Files that differ from the last commit, with `A`, `D` or `M`, as a checkout lists those it carries over."""
    head = git.repo.objects.flat(git.repo.head_tree())
    index = git.repo.index
    found = []
    for path in sorted({**head, **index.entries, **index.conflicts}, key=path_bytes):
        if path in index.conflicts:
            found.append(("U", path))
            continue
        here = git.tree.entry(path) if path in index.entries else None
        if path not in index.entries or here is None:
            found.append(("D", path))
        elif path not in head:
            found.append(("A", path))
        elif here != head[path] or index.entries[path] != head[path]:
            found.append(("M", path))
    return found
