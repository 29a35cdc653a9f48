"""Differences between two sets of files, with renames found."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from worldline.kernels.git.objects import TreeEntry, path_bytes

__all__ = ["FileChange", "compare", "find_renames", "similarity"]

_FULL = 60000
_CHUNK = 64
_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs. `old` is None where it is new, `new` where it is gone."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None
    source: str | None = None
    """Where it was before, if it was renamed or copied."""
    score: int = 0
    """Similarity of source and target, 0 to 60000."""
    unmerged: bool = False
    copied: bool = False

    @property
    def status(self) -> str:
        """`A`, `C`, `D`, `M`, `R`, `T` or `U`."""
        if self.unmerged:
            return "U"
        if self.source is not None:
            return "C" if self.copied else "R"
        if self.old is None:
            return "A"
        if self.new is None:
            return "D"
        return "T" if self.old.mode >> 12 != self.new.mode >> 12 else "M"

    @property
    def percent(self) -> int:
        """Similarity in percent."""
        return self.score * 100 // _FULL

    @property
    def old_path(self) -> str:
        """Where it was before."""
        return self.source if self.source is not None else self.path


def compare(old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> list[FileChange]:
    """List the files that differ, in order."""
    paths = sorted({**old, **new}, key=path_bytes)
    return [FileChange(path, old.get(path), new.get(path)) for path in paths if old.get(path) != new.get(path)]


def _chunks(data: bytes) -> Counter[bytes]:
    """Pieces of a file: lines, or 64 bytes of longer ones."""
    found: Counter[bytes] = Counter()
    text = b"\0" not in data[:8000]
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start, start + _CHUNK)
        stop = min(start + _CHUNK, len(data)) if stop < 0 else stop + 1
        piece = data[start:stop]
        if text and piece.endswith(b"\r\n"):
            piece = piece[:-2] + b"\n"
        found[piece] += len(piece)
        start = stop
    return found


def similarity(old: bytes, new: bytes, least: int = 0) -> int:
    """How similar two files are, 0 to 60000."""
    size, small = max(len(old), len(new)), min(len(old), len(new))
    if not size:
        return 0
    if size * (_FULL - least) < (size - small) * _FULL:
        return 0
    first, second = _chunks(old), _chunks(new)
    copied = sum(min(count, second[piece]) for piece, count in first.items())
    return copied * _FULL // size


def find_renames(found: list[FileChange], blob: Callable[[TreeEntry], bytes], percent: int = 50) -> list[FileChange]:
    """Turn pairs of deleted and added files into renames."""
    least = percent * _FULL // 100
    gone = {
        change.path: change for change in found if change.old is not None and change.new is None and not change.unmerged
    }
    come = {
        change.path: change for change in found if change.old is None and change.new is not None and not change.unmerged
    }
    pairs: dict[str, tuple[str, int]] = {}
    if gone and come:
        _exact(gone, come, pairs)
        if percent < 100:
            _same_name(gone, come, pairs, blob, least)
            _best(gone, come, pairs, blob, least)
    sources = {source for source, _ in pairs.values()}
    result = []
    for change in found:
        if change.path in pairs and change.old is None:
            source, score = pairs[change.path]
            result.append(replace(change, old=gone[source].old, source=source, score=score))
        elif not (change.path in sources and change.new is None):
            result.append(change)
    return result


Pairs = dict[str, tuple[str, int]]
Sides = dict[str, FileChange]


def _exact(gone: Sides, come: Sides, pairs: Pairs) -> None:
    for path, change in come.items():
        used = {source for source, _ in pairs.values()}
        assert change.new is not None
        same = [
            name
            for name, other in gone.items()
            if other.old is not None
            and name not in used
            and other.old.sha == change.new.sha
            and other.old.mode >> 12 == change.new.mode >> 12
        ]
        if same:
            named = [name for name in same if posixpath.basename(name) == posixpath.basename(path)]
            pairs[path] = ((named or same)[0], _FULL)


def _left(gone: Sides, come: Sides, pairs: Pairs) -> tuple[list[str], list[str]]:
    used = {source for source, _ in pairs.values()}
    return [name for name in gone if name not in used], [name for name in come if name not in pairs]


def _score(gone: Sides, come: Sides, source: str, target: str, blob: Callable[[TreeEntry], bytes], least: int) -> int:
    old, new = gone[source].old, come[target].new
    if old is None or new is None or old.mode >> 12 != 0o10 or new.mode >> 12 != 0o10:
        return 0
    return similarity(blob(old), blob(new), least)


def _same_name(gone: Sides, come: Sides, pairs: Pairs, blob: Callable[[TreeEntry], bytes], least: int) -> None:
    sources, targets = _left(gone, come, pairs)
    by_name = [Counter(posixpath.basename(name) for name in side) for side in (sources, targets)]
    for source in sources:
        base = posixpath.basename(source)
        if by_name[0][base] == 1 and by_name[1][base] == 1:
            target = next(name for name in targets if posixpath.basename(name) == base)
            wanted = least + (_FULL - least) // 2
            score = _score(gone, come, source, target, blob, wanted)
            if score >= wanted:
                pairs[target] = (source, score)


def _best(gone: Sides, come: Sides, pairs: Pairs, blob: Callable[[TreeEntry], bytes], least: int) -> None:
    sources, targets = _left(gone, come, pairs)
    if len(sources) * len(targets) > _LIMIT * _LIMIT:
        return
    scored = []
    for place, target in enumerate(targets):
        for source in sources:
            score = _score(gone, come, source, target, blob, least)
            named = posixpath.basename(source) == posixpath.basename(target)
            if score >= least and score:
                scored.append((-score, not named, place, source, target))
    used: set[str] = set()
    for negative, _, _, source, target in sorted(scored, key=lambda item: item[:3]):
        if source not in used and target not in pairs:
            pairs[target] = (source, -negative)
            used.add(source)
