"""Which lines two versions of a file do not share, as git shows it.

The search is the one that the shell's diff uses; git then moves runs of changes differently: down as far as they go,
or to where they line up with a run of the other side, or else to where the indentation makes them look best
(the "indent heuristic", with the published weights of its author M. Haggerty).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from worldline.kernels.git.discarding import discard_rule
from worldline.kernels.git.histogram import changed_lines_of
from worldline.kernels.shell.builtins.text.differences import Change, TooExpensive, changes

__all__ = ["TooExpensive", "Way", "line_changes", "lines_of"]

Way = Literal["shown", "merge", "plain"]

_MAX_INDENT, _MAX_BLANKS, _MAX_SLIDE = 200, 20, 100
_START, _END = 1, 21
_TOTAL_BLANK, _POST_BLANK = -30, 6
_INDENT, _INDENT_BLANK = -4, 10
_OUTDENT, _OUTDENT_BLANK = 24, 17
_DEDENT, _DEDENT_BLANK = 23, 17
_WEIGHT = 60


def lines_of(data: bytes) -> list[bytes]:
    """Split into lines with their ends."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def line_changes(
    old: list[bytes],
    new: list[bytes],
    shown: tuple[list[bytes], list[bytes]] | None = None,
    *,
    way: Way = "shown",
) -> list[Change]:
    """Return the changes between two lists of lines (or of keys that stand for them).

    Args:
        old: Lines or keys of the first file.
        new: Lines or keys of the second file.
        shown: The lines themselves where `old` and `new` are keys.
        way: How they are found: as differences are `shown`, as a `merge` compares, or as an older merge did (`plain`).

    Raises:
        TooExpensive: The files differ too much for an exact search.
    """
    texts = shown or (old, new)
    return list(_cached(tuple(old), tuple(new), tuple(texts[0]), tuple(texts[1]), way))


Lines = tuple[bytes, ...]


@lru_cache(256)
def _cached(old: Lines, new: Lines, left: Lines, right: Lines, way: Way) -> tuple[Change, ...]:
    flags = changed_lines_of(old, new) if way == "merge" else _flags(old, new)
    for side in flags:
        side.append(False)
    heuristic = way == "shown"
    _compact(list(old), list(left), flags[0], flags[1], heuristic)
    _compact(list(new), list(right), flags[1], flags[0], heuristic)
    return tuple(_runs(flags[0][:-1], flags[1][:-1]))


def _flags(old: Lines, new: Lines) -> tuple[list[bool], list[bool]]:
    flags = [False] * len(old), [False] * len(new)
    for change in changes(old, new, discard=discard_rule(old, new)):
        for index in range(change.old_start, change.old_end):
            flags[0][index] = True
        for index in range(change.new_start, change.new_end):
            flags[1][index] = True
    return flags


def _runs(old: list[bool], new: list[bool]) -> list[Change]:
    found, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        a, b = i, j
        while i < len(old) and old[i]:
            i += 1
        while j < len(new) and new[j]:
            j += 1
        if i > a or j > b:
            found.append(Change(a, i, b, j))
        i, j = i + 1, j + 1
    return found


class _Group:
    """A run of changed lines, perhaps empty, between two unchanged ones."""

    def __init__(self, flags: list[bool]) -> None:
        self.flags, self.start, self.end = flags, 0, 0
        while self.flags[self.end]:
            self.end += 1

    def next(self) -> bool:
        if self.end >= len(self.flags) - 1:
            return False
        self.start = self.end = self.end + 1
        while self.flags[self.end]:
            self.end += 1
        return True

    def previous(self) -> bool:
        if self.start == 0:
            return False
        self.end = self.start = self.start - 1
        while self.start > 0 and self.flags[self.start - 1]:
            self.start -= 1
        return True

    def down(self, keys: list[bytes]) -> bool:
        if self.end >= len(keys) or keys[self.start] != keys[self.end]:
            return False
        self.flags[self.start], self.flags[self.end] = False, True
        self.start, self.end = self.start + 1, self.end + 1
        while self.flags[self.end]:
            self.end += 1
        return True

    def up(self, keys: list[bytes]) -> bool:
        if self.start == 0 or keys[self.start - 1] != keys[self.end - 1]:
            return False
        self.start, self.end = self.start - 1, self.end - 1
        self.flags[self.start], self.flags[self.end] = True, False
        while self.start > 0 and self.flags[self.start - 1]:
            self.start -= 1
        return True


def _compact(keys: list[bytes], lines: list[bytes], flags: list[bool], other: list[bool], heuristic: bool) -> None:
    group, mate = _Group(flags), _Group(other)
    while True:
        if group.end != group.start:
            _settle(keys, lines if heuristic else None, group, mate)
        if not group.next():
            return
        mate.next()


def _settle(keys: list[bytes], lines: list[bytes] | None, group: _Group, mate: _Group) -> None:
    while True:
        size = group.end - group.start
        matching = -1
        while group.up(keys):
            mate.previous()
        earliest = group.end
        if mate.end > mate.start:
            matching = group.end
        while group.down(keys):
            mate.next()
            if mate.end > mate.start:
                matching = group.end
        if group.end - group.start == size:
            break
    if group.end == earliest:
        return
    if matching != -1:
        while mate.end == mate.start:
            group.up(keys)
            mate.previous()
        return
    if lines is None:
        return
    best, best_score = -1, (0, 0)
    shift = max(earliest, group.end - size - 1, group.end - _MAX_SLIDE)
    while shift <= group.end:
        score = _score(lines, shift)
        more = _score(lines, shift - size)
        total = (score[0] + more[0], score[1] + more[1])
        if best == -1 or _compare(total, best_score) <= 0:
            best, best_score = shift, total
        shift += 1
    while group.end > best:
        group.up(keys)
        mate.previous()


def _compare(one: tuple[int, int], two: tuple[int, int]) -> int:
    order = (one[0] > two[0]) - (one[0] < two[0])
    return _WEIGHT * order + one[1] - two[1]


def _indent(line: bytes) -> int:
    """Columns of leading white space; -1 for a blank line."""
    width = 0
    for byte in line:
        if byte == 0x20:
            width += 1
        elif byte == 0x09:
            width += 8 - width % 8
        elif byte not in b"\n\v\f\r":
            return width
        if width >= _MAX_INDENT:
            return _MAX_INDENT
    return -1


def _score(lines: list[bytes], split: int) -> tuple[int, int]:
    """How bad it looks to split before a line: effective indentation and penalty."""
    at_end = split >= len(lines)
    indent = -1 if at_end else _indent(lines[split])
    pre_blank, pre_indent = 0, -1
    for index in range(split - 1, -1, -1):
        pre_indent = _indent(lines[index])
        if pre_indent != -1:
            break
        pre_blank += 1
        if pre_blank == _MAX_BLANKS:
            pre_indent = 0
            break
    post_blank, post_indent = 0, -1
    for index in range(split + 1, len(lines)):
        post_indent = _indent(lines[index])
        if post_indent != -1:
            break
        post_blank += 1
        if post_blank == _MAX_BLANKS:
            post_indent = 0
            break
    penalty = _START * (pre_indent == -1 and pre_blank == 0) + _END * at_end
    post = 1 + post_blank if indent == -1 else 0
    total = pre_blank + post
    penalty += _TOTAL_BLANK * total + _POST_BLANK * post
    shown = indent if indent != -1 else post_indent
    blanks = total != 0
    if shown == -1 or pre_indent == -1 or shown == pre_indent:
        return shown, penalty
    if shown > pre_indent:
        return shown, penalty + (_INDENT_BLANK if blanks else _INDENT)
    if post_indent != -1 and post_indent > shown:
        return shown, penalty + (_OUTDENT_BLANK if blanks else _OUTDENT)
    return shown, penalty + (_DEDENT_BLANK if blanks else _DEDENT)
