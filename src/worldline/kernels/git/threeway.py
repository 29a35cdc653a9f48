"""Three-way merges of whole trees into the index and the working tree."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.kernels.git.changes import compare, find_renames
from worldline.kernels.git.context import Git
from worldline.kernels.git.failures import Failure
from worldline.kernels.git.index import Index, Sides
from worldline.kernels.git.linediff import TooExpensive, Way
from worldline.kernels.git.merging import merge_lines
from worldline.kernels.git.objects import TreeEntry, path_bytes
from worldline.kernels.git.patch import is_binary
from worldline.kernels.git.snapshot import Contents
from worldline.kernels.git.switching import refuse

__all__ = ["Merged", "lay_down", "merge_trees"]

Flat = dict[str, TreeEntry]


@dataclass(slots=True)
class Merged:
    """The outcome of a merge of trees."""

    entries: Flat = field(default_factory=dict)
    """What goes into the index and the tree."""
    conflicts: dict[str, Sides] = field(default_factory=dict)
    texts: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """Content and mode of files in conflict, as they are written."""
    messages: list[str] = field(default_factory=list)


def merge_trees(
    git: Git, base: Flat, ours: Flat, theirs: Flat, labels: tuple[str, str, str], *, favor: str = "", way: Way = "merge"
) -> Merged:
    """Merge two trees with their ancestor.

    Args:
        git: The invocation.
        base: The common ancestor.
        ours: Our side.
        theirs: Their side.
        labels: What ours, theirs and the base are called.
        favor: `ours` or `theirs` to decide conflicts of lines.
        way: How files are compared.
    """
    _no_renames(git, base, ours, theirs)
    merged = Merged()
    for path in sorted({**base, **ours, **theirs}, key=path_bytes):
        old, mine, other = base.get(path), ours.get(path), theirs.get(path)
        if mine == other or other == old:
            if mine is not None:
                merged.entries[path] = mine
        elif mine == old:
            if other is not None:
                merged.entries[path] = other
        elif mine is None or other is None:
            _deleted(git, merged, path, Sides(old, mine, other), labels)
        else:
            _contents(git, merged, path, Sides(old, mine, other), labels, favor, way)
    folders = {path[:at] for path in merged.entries for at, char in enumerate(path) if char == "/"}
    if folders & {*merged.entries, *merged.conflicts}:
        git.call.unknown("a file and a directory of the same name")
    return merged


def _no_renames(git: Git, base: Flat, ours: Flat, theirs: Flat) -> None:
    """Renames on one side matter where the other side changed the same file or its directory."""
    contents = Contents(git)
    for mine, other in ((ours, theirs), (theirs, ours)):
        for change in find_renames(compare(base, mine), contents.blob):
            if change.source is None:
                continue
            if other.get(change.source) != base.get(change.source):
                git.call.unknown("a merge with renames")
            folder = change.source.rpartition("/")[0]
            if folder and folder != change.path.rpartition("/")[0]:
                added = [path for path in other if path not in base and path.startswith(folder + "/")]
                if added and not any(path.startswith(folder + "/") for path in mine):
                    git.call.unknown("a merge with renamed directories")


def _deleted(git: Git, merged: Merged, path: str, sides: Sides, labels: tuple[str, str, str]) -> None:
    gone, kept = (labels[0], labels[1]) if sides.ours is None else (labels[1], labels[0])
    entry = sides.theirs if sides.ours is None else sides.ours
    assert entry is not None
    merged.conflicts[path] = sides
    merged.texts[path] = (git.repo.objects.blob(entry.sha), entry.mode)
    merged.messages.append(
        f"CONFLICT (modify/delete): {path} deleted in {gone} and modified in {kept}.  Version {kept} "
        f"of {path} left in tree.\n"
    )


def _contents(
    git: Git, merged: Merged, path: str, sides: Sides, labels: tuple[str, str, str], favor: str, way: Way
) -> None:
    mine, other, old = sides.ours, sides.theirs, sides.base
    assert mine is not None and other is not None
    if {mine.mode >> 12, other.mode >> 12, (old or mine).mode >> 12} != {0o10}:
        git.call.unknown("a merge of links")
    mode = other.mode if old is not None and mine.mode == old.mode else mine.mode
    blobs = [git.repo.objects.blob(entry.sha) if entry is not None else b"" for entry in (old, mine, other)]
    if mine.sha == other.sha or (old is not None and old.sha in (mine.sha, other.sha)):
        sha = other.sha if old is not None and mine.sha == old.sha else mine.sha
        merged.entries[path] = TreeEntry(mode, sha)
        return
    if any(is_binary(blob) for blob in blobs):
        if favor:
            git.call.unknown("a favoured side of binary files")
        merged.messages.append(f"warning: Cannot merge binary files: {path} ({labels[0]} vs. {labels[1]})\n")
        text, conflicts = blobs[1], 1
    else:
        try:
            text, conflicts = merge_lines(
                blobs[0], blobs[1], blobs[2], labels[:2], favor=favor, way=way, **_style(git, labels[2])
            )
        except TooExpensive:
            git.call.unknown("files that differ this much")
    merged.messages.append(f"Auto-merging {path}\n")
    if not conflicts:
        merged.entries[path] = TreeEntry(mode, git.repo.objects.write("blob", text))
        return
    kind = "content" if old is not None else "add/add"
    merged.messages.append(f"CONFLICT ({kind}): Merge conflict in {path}\n")
    merged.conflicts[path] = sides
    merged.texts[path] = (text, mode)


def _style(git: Git, base: str) -> dict[str, str]:
    style = git.settings.get("merge.conflictstyle") or "merge"
    if style not in ("merge", "diff3"):
        git.call.unknown(f"the conflict style {style}")
    return {"style": style, "base_label": base}


def lay_down(git: Git, merged: Merged, ours: Flat, what: str = "merge") -> None:
    """Write the outcome of a merge; changes by hand to other files are kept.

    Raises:
        Failure: Files that were changed by hand are in the way.
    """
    index, tree = git.repo.index, git.tree
    touched = [
        path
        for path in sorted({**ours, **merged.entries, **merged.conflicts}, key=path_bytes)
        if path in merged.conflicts or merged.entries.get(path) != ours.get(path)
    ]
    kept = {
        path
        for path, (data, mode) in merged.texts.items()
        if path in ours and ours[path] == TreeEntry(mode, git.repo.objects.name("blob", data))
    }
    changed = [
        path for path in touched if path in ours and path not in kept and tree.entry(path) not in (ours[path], None)
    ]
    fresh = [path for path in touched if path not in ours and path not in index.entries and tree.exists(path)]
    fresh = [path for path in fresh if tree.entry(path) != merged.entries.get(path) and not tree.ignored.ignores(path)]
    text = refuse(changed, fresh, [], what)
    if text:
        raise Failure(text.removesuffix("\n"), 1, "")
    result = Index(dict(index.entries))
    for path in touched:
        if path in merged.conflicts:
            if path not in kept:
                tree.write(path, *merged.texts[path])
            result.drop(path)
            result.conflicts[path] = merged.conflicts[path]
        elif path in merged.entries:
            if tree.entry(path) != merged.entries[path]:
                tree.put(path, merged.entries[path])
            result.set(path, merged.entries[path])
        else:
            tree.remove(path)
            result.drop(path)
    git.repo.index = result
    git.repo.save_index()
