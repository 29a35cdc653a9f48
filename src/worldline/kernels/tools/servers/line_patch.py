"""Unified diffs as the JavaScript library `diff` writes them (`createTwoFilesPatch`, four lines of context)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from worldline.kernels.tools.servers.replies import Unsure

__all__ = ["file_patch"]

_CONTEXT = 4
_MOST_CHANGES = 700
"""Changed lines up to which the diff is computed; the time grows with their square."""
_BAR = "=" * 67


class _Step(NamedTuple):
    """A run of lines: kept (` `), added (`+`) or removed (`-`)."""

    sign: str
    lines: tuple[str, ...]


class _Path:
    """A path through the edit graph: where it stands in the old text, and its last run."""

    __slots__ = ("last", "old")

    def __init__(self, old: int, last: tuple[str, int, object] | None) -> None:
        self.old, self.last = old, last


def file_patch(name: str, old: str, new: str) -> str:
    """Return the patch between two versions of a file.

    Raises:
        Unsure: They differ too much for that.
    """
    head = [f"Index: {name}", _BAR, f"--- {name}\toriginal", f"+++ {name}\tmodified"]
    return "\n".join([*head, *_hunks(_steps(_lines(old), _lines(new)))]) + "\n"


def _lines(text: str) -> list[str]:
    """Lines with their newlines."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


# --- the shortest edit (Myers 1986, forward, with the library's choice among equals)


def _steps(old: Sequence[str], new: Sequence[str]) -> list[_Step]:
    start = _Path(-1, None)
    at = _slide(start, old, new, 0)
    if start.old + 1 >= len(old) and at + 1 >= len(new):
        return _runs(start, old, new)
    best: dict[int, _Path | None] = {0: start}
    lowest, highest = -len(new) - len(old), len(new) + len(old)
    for cost in range(1, len(old) + len(new) + 1):
        if cost > _MOST_CHANGES:
            raise Unsure("too many lines differ")
        for diagonal in range(max(lowest, -cost), min(highest, cost) + 1, 2):
            path = _branch(best, diagonal, len(old), len(new))
            best[diagonal] = path
            if path is None:
                continue
            at = _slide(path, old, new, diagonal)
            if path.old + 1 >= len(old) and at + 1 >= len(new):
                return _runs(path, old, new)
            if path.old + 1 >= len(old):
                highest = min(highest, diagonal - 1)
            if at + 1 >= len(new):
                lowest = max(lowest, diagonal + 1)
    return []


def _branch(best: dict[int, _Path | None], diagonal: int, old: int, new: int) -> _Path | None:
    """Go on from the neighbour that is farther in the old text."""
    removing, adding = best.get(diagonal - 1), best.get(diagonal + 1)
    if removing is not None:
        best[diagonal - 1] = None
    can_add = adding is not None and 0 <= adding.old - diagonal < new
    can_remove = removing is not None and removing.old + 1 < old
    if can_add and (not can_remove or (removing is not None and adding is not None and removing.old < adding.old)):
        assert adding is not None
        return _Path(adding.old, _join(adding.last, "+", 1))
    if can_remove:
        assert removing is not None
        return _Path(removing.old + 1, _join(removing.last, "-", 1))
    return None


def _join(last: tuple[str, int, object] | None, sign: str, count: int) -> tuple[str, int, object]:
    if last is not None and last[0] == sign:
        return sign, last[1] + count, last[2]
    return sign, count, last


def _slide(path: _Path, old: Sequence[str], new: Sequence[str], diagonal: int) -> int:
    """Walk along equal lines; return where it ends in the new text."""
    before, at = path.old, path.old - diagonal
    place = before
    while at + 1 < len(new) and place + 1 < len(old) and old[place + 1] == new[at + 1]:
        place, at = place + 1, at + 1
    if place > before:
        path.last = (" ", place - before, path.last)
    path.old = place
    return at


def _runs(path: _Path, old: Sequence[str], new: Sequence[str]) -> list[_Step]:
    signs: list[tuple[str, int]] = []
    last: object = path.last
    while isinstance(last, tuple):
        signs.append((last[0], last[1]))
        last = last[2]
    steps, left, right = [], 0, 0
    for sign, count in reversed(signs):
        if sign == "-":
            steps.append(_Step(sign, tuple(old[left : left + count])))
        else:
            steps.append(_Step(sign, tuple(new[right : right + count])))
            right += count
        left += count if sign != "+" else 0
    return steps


# --- hunks


def _hunks(steps: Sequence[_Step]) -> list[str]:
    shown: list[str] = []
    body: list[str] = []
    old = new = 1
    first = (0, 0)
    for place, step in enumerate(steps):
        if step.sign != " ":
            if not body:
                before = steps[place - 1].lines[-_CONTEXT:] if place and steps[place - 1].sign == " " else ()
                body = [f" {line}" for line in before]
                first = old - len(before), new - len(before)
            body += [step.sign + line for line in step.lines]
            old += len(step.lines) * (step.sign == "-")
            new += len(step.lines) * (step.sign == "+")
            continue
        if body:
            near = len(step.lines) <= 2 * _CONTEXT and place < len(steps) - 1
            after = step.lines if near else step.lines[:_CONTEXT]
            body += [f" {line}" for line in after]
            if not near:
                shown += _hunk(first, (old + len(after), new + len(after)), body)
                body = []
        old += len(step.lines)
        new += len(step.lines)
    return shown + _hunk(first, (old, new), body) if body else shown


def _hunk(first: tuple[int, int], end: tuple[int, int], body: Sequence[str]) -> list[str]:
    counts = end[0] - first[0], end[1] - first[1]
    old, new = (start - (count == 0) for start, count in zip(first, counts, strict=True))
    lines = [f"@@ -{old},{counts[0]} +{new},{counts[1]} @@"]
    for line in body:
        lines.append(line.removesuffix("\n"))
        if not line.endswith("\n"):
            lines.append("\\ No newline at end of file")
    return lines
