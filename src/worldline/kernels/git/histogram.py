"""The histogram difference of two lists of lines, which git's merges use: it grows from the rarest common lines.

The algorithm is JGit's (S. Pearce), an extension of B. Cohen's patience difference: of all common stretches, the one
that holds the rarest lines splits both files, and both halves are treated alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worldline.kernels.git.discarding import discard_rule
from worldline.kernels.shell.builtins.text.differences import changes

__all__ = ["changed_lines_of"]

_CHAIN = 64


@dataclass(slots=True)
class _Stretch:
    """A common stretch, ends inclusive; nothing where `begin` is -1."""

    old: int = -1
    old_end: int = -1
    new: int = -1
    new_end: int = -1


def changed_lines_of(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[list[bool], list[bool]]:
    """Tell which lines of both sides are changed.

    Raises:
        TooExpensive: The files differ too much for an exact search.
    """
    flags = [False] * len(old), [False] * len(new)
    todo = [(0, len(old), 0, len(new))]
    while todo:
        a, b, c, d = todo.pop()
        if a == b or c == d:
            flags[0][a:b] = [True] * (b - a)
            flags[1][c:d] = [True] * (d - c)
            continue
        stretch = _Search(old, new, a, b, c, d).run()
        if stretch is None:
            _classic(old, new, (a, b, c, d), flags)
        elif stretch.old < 0:
            flags[0][a:b] = [True] * (b - a)
            flags[1][c:d] = [True] * (d - c)
        else:
            todo.append((a, stretch.old, c, stretch.new))
            todo.append((stretch.old_end + 1, b, stretch.new_end + 1, d))
    return flags


def _classic(
    old: Sequence[bytes], new: Sequence[bytes], span: tuple[int, int, int, int], flags: tuple[list[bool], list[bool]]
) -> None:
    a, b, c, d = span
    first, second = old[a:b], new[c:d]
    for change in changes(first, second, discard=discard_rule(first, second)):
        for index in range(change.old_start, change.old_end):
            flags[0][a + index] = True
        for index in range(change.new_start, change.new_end):
            flags[1][c + index] = True


class _Search:
    """Looks for the best common stretch of two ranges."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes], a: int, b: int, c: int, d: int) -> None:
        self.old, self.new, self.a, self.b, self.c, self.d = old, new, a, b, c, d
        self.places: dict[bytes, list[int]] = {}
        for index in range(a, b):
            self.places.setdefault(old[index], []).append(index)
        self.limit = _CHAIN + 1
        self.common = False
        self.best = _Stretch()

    def run(self) -> _Stretch | None:
        """The best stretch; None where all common lines are too frequent."""
        at = self.c
        while at < self.d:
            at = self._try(at)
        return None if self.common and self.limit > _CHAIN else self.best

    def _try(self, at: int) -> int:
        places = self.places.get(self.new[at])
        further = at + 1
        if places is None:
            return further
        self.common = True
        if len(places) > self.limit:
            return further
        end = -1
        for start in places:
            if start <= end:
                continue
            stretch, rarity = self._grow(start, at, len(places))
            end = stretch.old_end
            further = max(further, stretch.new_end + 1)
            longer = self.best.old_end - self.best.old < stretch.old_end - stretch.old if self.best.old >= 0 else True
            if longer or rarity < self.limit:
                self.best, self.limit = stretch, rarity
        return further

    def _grow(self, start: int, at: int, rarity: int) -> tuple[_Stretch, int]:
        old, new = self.old, self.new
        first, begin, last, end = start, at, start, at
        while first > self.a and begin > self.c and old[first - 1] == new[begin - 1]:
            first, begin = first - 1, begin - 1
            rarity = min(rarity, len(self.places[old[first]]))
        while last + 1 < self.b and end + 1 < self.d and old[last + 1] == new[end + 1]:
            last, end = last + 1, end + 1
            rarity = min(rarity, len(self.places[old[last]]))
        return _Stretch(first, last, begin, end), rarity
