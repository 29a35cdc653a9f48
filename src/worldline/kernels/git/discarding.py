"""Which lines git leaves out of its search for differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from worldline.kernels.shell.builtins.text.differences import Discard

__all__ = ["discard_rule"]

_MANY, _WINDOW, _RUN = 1024, 100, 4


def discard_rule(old: Sequence[bytes], new: Sequence[bytes]) -> Discard:
    """The rule for two files: lines without a counterpart go, and frequent ones among such."""
    counts = Counter(old), Counter(new)
    limits = [_root(len(side)) for side in (old, new)]

    def marks(lines: Sequence[Hashable], side: int) -> list[bool]:
        found = [counts[1 - side][line] for line in lines]  # type: ignore[index]
        kinds = [0 if count == 0 else 2 if count >= limits[side] else 1 for count in found]
        return [kind == 0 or (kind == 2 and _drowned(kinds, place)) for place, kind in enumerate(kinds)]

    return lambda first, second: (marks(first, 0), marks(second, 1))


def _root(number: int) -> int:
    """A coarse square root, as git bounds what is frequent."""
    root = 1
    while number > 0:
        root, number = root << 1, number >> 2
    return min(root, _MANY)


def _drowned(kinds: list[int], place: int) -> bool:
    """Whether a frequent line lies in a run in which most lines have no counterpart."""
    lost, frequent = 0, 2
    for step in (-1, 1):
        here, at = 0, place + step
        while 0 <= at < len(kinds) and abs(at - place) <= _WINDOW and kinds[at] != 1:
            here += kinds[at] == 0
            frequent += kinds[at] == 2
            at += step
        if not here:
            return False
        lost += here
    return frequent * _RUN < frequent + lost
