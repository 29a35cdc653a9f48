"""Which lines two files do not share, as GNU diff decides it.

Of all smallest edit scripts GNU diff finds a certain one: a search for the middle of the path from both ends
(E. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986, section 4b), after lines without a counterpart
were set aside, and before each run of changes is moved down as far as it goes. What is printed depends on all three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

__all__ = ["Change", "Discard", "TooExpensive", "changes"]

_LIMIT = 2000

Discard = Callable[[Sequence[Hashable], Sequence[Hashable]], tuple[list[bool], list[bool]]]


class TooExpensive(Exception):
    """The files differ too much for an exact search; GNU diff would take a short cut."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `old_start..old_end` of the first file are replaced by `new_start..new_end` of the second."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def deleted(self) -> int:
        """How many lines of the first file go."""
        return self.old_end - self.old_start

    @property
    def inserted(self) -> int:
        """How many lines of the second file come."""
        return self.new_end - self.new_start


def changes(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    *,
    horizon: int = 0,
    ends: tuple[int, int] | None = None,
    discard: Discard | None = None,
) -> list[Change]:
    """Return the changes that turn one sequence of lines into another, in order.

    Args:
        old: Lines of the first file; equal lines are equal values.
        new: Lines of the second file.
        horizon: How many lines of a common start and end take part when runs are moved (the context of the output).
        ends: How many lines at the start and end are the same to the byte, where equality is looser than that.
        discard: Which lines take no part in the search, from those between a common start and end: gets both sides
            and returns flags for both. GNU's rule if None.

    Raises:
        TooExpensive: More than some thousand edits are needed.
    """
    start, stop = ends if ends is not None else _common(old, new)
    start, stop = max(0, start - horizon), max(0, stop - horizon)
    first, second = old[start : len(old) - stop], new[start : len(new) - stop]
    codes: dict[Hashable, int] = {}
    sides = [[codes.setdefault(line, len(codes)) for line in side] for side in (first, second)]
    if discard is None:
        changed = [_discarded(sides[0], sides[1]), _discarded(sides[1], sides[0])]
    else:
        changed = list(discard(first, second))
    kept = [[index for index, gone in enumerate(flags) if not gone] for flags in changed]
    _Search([sides[0][i] for i in kept[0]], [sides[1][i] for i in kept[1]], kept, changed).run()
    _shift(sides, changed)
    return [
        Change(a + start, b + start, c + start, d + start) for a, b, c, d in _runs(changed[0], changed[1])
    ]  # fmt: skip


def _common(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    least = min(len(old), len(new))
    start = 0
    while start < least and old[start] == new[start]:
        start += 1
    stop = 0
    while stop < least - start and old[-1 - stop] == new[-1 - stop]:
        stop += 1
    return start, stop


def _discarded(lines: list[int], others: list[int]) -> list[bool]:
    """Lines that take no part in the search: those without a counterpart, and frequent ones between such lines."""
    counts = Counter(others)
    many, scale = 5, len(lines) // 64
    while scale := scale >> 2:
        many *= 2
    marks = [1 if counts[line] == 0 else 2 if counts[line] > many else 0 for line in lines]
    index = 0
    while index < len(marks):
        if marks[index] == 2:
            marks[index] = 0
        elif marks[index] == 1:
            index = _settle(marks, index)
        index += 1
    return [mark != 0 for mark in marks]


def _settle(marks: list[int], start: int) -> int:
    """Decide on the frequent lines (2) of the run that begins at `start`; returns its last index."""
    stop = start
    while stop < len(marks) and marks[stop]:
        stop += 1
    while marks[stop - 1] == 2:
        stop -= 1
        marks[stop] = 0
    length = stop - start
    frequent = marks[start:stop].count(2)
    if frequent * 4 > length:
        for index in range(start, stop):
            if marks[index] == 2:
                marks[index] = 0
        return stop - 1
    least, scale = 1, length >> 2
    while scale := scale >> 2:
        least <<= 1
    least += 1
    index = start
    while index < stop:
        after = index
        while after < stop and marks[after] == 2:
            after += 1
        if after - index >= least:
            marks[index:after] = [0] * (after - index)
        index = max(after, index + 1)
    _trim(marks, range(start, stop))
    _trim(marks, range(stop - 1, start - 1, -1))
    return stop - 1


def _trim(marks: list[int], places: range) -> None:
    """Keep frequent lines near one end of a run, until three lines in a row have no counterpart."""
    row = 0
    for distance, place in enumerate(places):
        if distance >= 8 and marks[place] == 1:
            return
        if marks[place] == 2:
            row, marks[place] = 0, 0
        elif marks[place] == 0:
            row = 0
        else:
            row += 1
        if row == 3:
            return


class _Search:
    """Marks the lines that a smallest edit script deletes and inserts."""

    def __init__(self, old: list[int], new: list[int], places: list[list[int]], changed: list[list[bool]]) -> None:
        self.old, self.new, self.places, self.changed = old, new, places, changed
        size = len(old) + len(new) + 3
        self.offset = len(new) + 1
        self.forward = [0] * size
        self.backward = [0] * size

    def run(self) -> None:
        todo = [(0, len(self.old), 0, len(self.new))]
        while todo:
            x0, x1, y0, y1 = todo.pop()
            while x0 < x1 and y0 < y1 and self.old[x0] == self.new[y0]:
                x0, y0 = x0 + 1, y0 + 1
            while x0 < x1 and y0 < y1 and self.old[x1 - 1] == self.new[y1 - 1]:
                x1, y1 = x1 - 1, y1 - 1
            if x0 == x1:
                for y in range(y0, y1):
                    self.changed[1][self.places[1][y]] = True
            elif y0 == y1:
                for x in range(x0, x1):
                    self.changed[0][self.places[0][x]] = True
            else:
                x, y = self.middle(x0, x1, y0, y1)
                todo += [(x0, x, y0, y), (x, x1, y, y1)]

    def middle(self, x0: int, x1: int, y0: int, y1: int) -> tuple[int, int]:
        """A point on a shortest path, where the searches from both ends meet."""
        old, new, offset = self.old, self.new, self.offset
        forward, backward = self.forward, self.backward
        low, high = x0 - y1, x1 - y0
        f_mid, b_mid = x0 - y0, x1 - y1
        f_min = f_max = f_mid
        b_min = b_max = b_mid
        odd = (f_mid - b_mid) % 2 == 1
        forward[offset + f_mid], backward[offset + b_mid] = x0, x1
        infinite = len(old) + len(new) + 1
        for _ in range(_LIMIT):
            f_min, f_max = _widen(forward, offset, f_min, f_max, low, high, -1)
            for d in range(f_max, f_min - 1, -2):
                before, after = forward[offset + d - 1], forward[offset + d + 1]
                x = after if before < after else before + 1
                y = x - d
                while x < x1 and y < y1 and old[x] == new[y]:
                    x, y = x + 1, y + 1
                forward[offset + d] = x
                if odd and b_min <= d <= b_max and backward[offset + d] <= x:
                    return x, y
            b_min, b_max = _widen(backward, offset, b_min, b_max, low, high, infinite)
            for d in range(b_max, b_min - 1, -2):
                before, after = backward[offset + d - 1], backward[offset + d + 1]
                x = before if before < after else after - 1
                y = x - d
                while x0 < x and y0 < y and old[x - 1] == new[y - 1]:
                    x, y = x - 1, y - 1
                backward[offset + d] = x
                if not odd and f_min <= d <= f_max and x <= forward[offset + d]:
                    return x, y
        raise TooExpensive


def _widen(reached: list[int], offset: int, least: int, most: int, low: int, high: int, beyond: int) -> tuple[int, int]:
    """Take one more diagonal on each side, or give up one where the edge is reached."""
    if least > low:
        least -= 1
        reached[offset + least - 1] = beyond
    else:
        least += 1
    if most < high:
        most += 1
        reached[offset + most + 1] = beyond
    else:
        most -= 1
    return least, most


def _shift(sides: list[list[int]], changed: list[list[bool]]) -> None:
    """Move runs of changes: up to merge them, then down as far as they go, then back to a run of the other file."""
    for side in (0, 1):
        _shift_side(sides[side], _Flags(changed[side]), _Flags(changed[1 - side]))


class _Flags:
    """Flags that are False beyond both ends."""

    __slots__ = ("values",)

    def __init__(self, values: list[bool]) -> None:
        self.values = values

    def __getitem__(self, index: int) -> bool:
        return 0 <= index < len(self.values) and self.values[index]

    def __setitem__(self, index: int, value: bool) -> None:
        self.values[index] = value


def _shift_side(lines: list[int], changed: _Flags, other: _Flags) -> None:
    end = len(lines)
    i = j = 0
    while True:
        while i < end and not changed[i]:
            while other[j]:
                j += 1
            i, j = i + 1, j + 1
        if i == end:
            return
        start = i
        while changed[i]:
            i += 1
        while other[j]:
            j += 1
        while True:
            length = i - start
            while start and lines[start - 1] == lines[i - 1]:
                start, i = start - 1, i - 1
                changed[start], changed[i] = True, False
                while changed[start - 1]:
                    start -= 1
                j -= 1
                while other[j]:
                    j -= 1
            corresponding = i if other[j - 1] else end
            while i != end and lines[start] == lines[i]:
                changed[start], changed[i] = False, True
                start, i = start + 1, i + 1
                while changed[i]:
                    i += 1
                j += 1
                while other[j]:
                    corresponding = i
                    j += 1
            if length == i - start:
                break
        while corresponding < i:
            start, i = start - 1, i - 1
            changed[start], changed[i] = True, False
            j -= 1
            while other[j]:
                j -= 1


def _runs(old: list[bool], new: list[bool]) -> list[tuple[int, int, int, int]]:
    found = []
    i = j = 0
    while i < len(old) or j < len(new):
        a, c = i, j
        while i < len(old) and old[i]:
            i += 1
        while j < len(new) and new[j]:
            j += 1
        if (a, c) != (i, j):
            found.append((a, i, c, j))
        i, j = i + 1, j + 1
    return found
