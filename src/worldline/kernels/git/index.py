"""The index: which files the next commit holds, with the sides of those in conflict."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from dulwich.index import ConflictedIndexEntry, IndexEntry, read_index_dict, write_index_dict
from dulwich.objects import ObjectID

from worldline.kernels.git.objects import TreeEntry, path_bytes, path_text

__all__ = ["Index", "Sides"]


@dataclass(frozen=True, slots=True)
class Sides:
    """The versions of a file in conflict: of the common ancestor, ours and theirs."""

    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None


@dataclass(slots=True)
class Index:
    """Files by path."""

    entries: dict[str, TreeEntry] = field(default_factory=dict)
    conflicts: dict[str, Sides] = field(default_factory=dict)

    @classmethod
    def decode(cls, data: bytes) -> Index:
        """Read an index file; an empty one is an empty index."""
        index = cls()
        for name, entry in read_index_dict(io.BytesIO(data)).items() if data else ():
            path = path_text(name)
            if isinstance(entry, ConflictedIndexEntry):
                index.conflicts[path] = Sides(_take(entry.ancestor), _take(entry.this), _take(entry.other))
            else:
                index.entries[path] = TreeEntry(entry.mode, entry.sha.decode())
        return index

    def encode(self) -> bytes:
        """Return the index file. Times and sizes are left at zero, so that contents are compared."""
        found: dict[bytes, IndexEntry | ConflictedIndexEntry] = {}
        for path in self.paths():
            if path in self.conflicts:
                sides = self.conflicts[path]
                found[path_bytes(path)] = ConflictedIndexEntry(_put(sides.base), _put(sides.ours), _put(sides.theirs))
            else:
                found[path_bytes(path)] = _stored(self.entries[path])
        target = io.BytesIO()
        write_index_dict(target, found, version=2)
        return target.getvalue()

    def paths(self) -> list[str]:
        """All paths in order, those in conflict among them."""
        return sorted({**self.entries, **self.conflicts}, key=path_bytes)

    def set(self, path: str, entry: TreeEntry) -> None:
        """Put a file in; it settles a conflict and replaces what its path excludes."""
        self.drop(path)
        self.entries[path] = entry
        for other in [name for name in (*self.entries, *self.conflicts) if name.startswith(path + "/")]:
            self.drop(other)
        parts = path.split("/")
        for count in range(1, len(parts)):
            self.drop("/".join(parts[:count]))

    def drop(self, path: str) -> None:
        """Take a file out."""
        self.entries.pop(path, None)
        self.conflicts.pop(path, None)


def _take(entry: IndexEntry | None) -> TreeEntry | None:
    return None if entry is None else TreeEntry(entry.mode, entry.sha.decode())


def _put(entry: TreeEntry | None) -> IndexEntry | None:
    return None if entry is None else _stored(entry)


def _stored(entry: TreeEntry) -> IndexEntry:
    return IndexEntry(0, 0, 0, 0, entry.mode, 0, 0, 0, ObjectID(entry.sha.encode()))
