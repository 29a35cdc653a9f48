"""Three-way merges of a file's lines."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.kernels.git.linediff import Way, line_changes, lines_of
from worldline.kernels.shell.builtins.text.differences import Change

__all__ = ["merge_lines"]

_NEAR = 3


@dataclass(slots=True)
class _Piece:
    """A stretch that differs. `side` is 1 (ours), 2 (theirs) or 0 (a conflict); ranges are half-open."""

    side: int
    base: tuple[int, int]
    ours: tuple[int, int]
    theirs: tuple[int, int]


def merge_lines(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    labels: tuple[str, str],
    *,
    favor: str = "",
    style: str = "merge",
    base_label: str = "",
    way: Way = "merge",
) -> tuple[bytes, int]:
    """Merge two versions of a file.

    Args:
        base: The common ancestor's version.
        ours: Our version.
        theirs: Their version.
        labels: What markers call ours and theirs.
        favor: `ours`, `theirs` or `union` to decide conflicts; empty for markers.
        style: `merge`, or `diff3` to show the base too.
        base_label: What markers call the base, in the style `diff3`.
        way: How the versions are compared.

    Returns:
        The merged text and how many conflicts it holds.
    """
    texts = lines_of(base), lines_of(ours), lines_of(theirs)
    pieces = _pieces(texts, way)
    if not favor and style == "merge":
        pieces = _simplify([part for piece in pieces for part in _refine(piece, texts, way)])
    out: list[bytes] = []
    at, conflicts = 0, 0
    for piece in pieces:
        out += texts[1][at : piece.ours[0]]
        mine, other = texts[1][slice(*piece.ours)], texts[2][slice(*piece.theirs)]
        if piece.side == 1 or (piece.side == 0 and favor == "ours"):
            out += mine
        elif piece.side == 2 or (piece.side == 0 and favor == "theirs"):
            out += other
        elif favor == "union":
            out += [*_ended(mine), *other]
        else:
            conflicts += 1
            middle = (
                [b"||||||| " + base_label.encode() + b"\n", *_ended(texts[0][slice(*piece.base)])]
                if style == "diff3"
                else []
            )
            out += [b"<<<<<<< " + labels[0].encode() + b"\n", *_ended(mine), *middle, b"=======\n", *_ended(other)]
            out.append(b">>>>>>> " + labels[1].encode() + b"\n")
        at = piece.ours[1]
    out += texts[1][at:]
    return b"".join(out), conflicts


def _ended(lines: list[bytes]) -> list[bytes]:
    return lines if not lines or lines[-1].endswith(b"\n") else [*lines[:-1], lines[-1] + b"\n"]


Texts = tuple[list[bytes], list[bytes], list[bytes]]


def _pieces(texts: Texts, way: Way) -> list[_Piece]:
    mine, other = (line_changes(texts[0], texts[side], way=way) for side in (1, 2))
    found: list[_Piece] = []
    i = j = 0
    while i < len(mine) or j < len(other):
        if j == len(other) or (i < len(mine) and mine[i].old_end < other[j].old_start):
            found.append(_only(mine[i], other[:j], 1))
            i += 1
        elif i == len(mine) or other[j].old_end < mine[i].old_start:
            found.append(_only(other[j], mine[:i], 2))
            j += 1
        else:
            start_i, start_j = i, j
            end = max(mine[i].old_end, other[j].old_end)
            i, j = i + 1, j + 1
            while (i < len(mine) and mine[i].old_start <= end) or (j < len(other) and other[j].old_start <= end):
                if i < len(mine) and mine[i].old_start <= end:
                    end, i = max(end, mine[i].old_end), i + 1
                else:
                    end, j = max(end, other[j].old_end), j + 1
            found += _both(texts, mine[start_i:i], other[start_j:j], _offset(mine[:start_i]), _offset(other[:start_j]))
    return found


def _offset(done: list[Change]) -> int:
    return sum(change.inserted - change.deleted for change in done)


def _only(change: Change, done: list[Change], side: int) -> _Piece:
    moved = _offset(done)
    base, own = (change.old_start, change.old_end), (change.new_start, change.new_end)
    there = (change.old_start + moved, change.old_end + moved)
    return _Piece(side, base, own, there) if side == 1 else _Piece(side, base, there, own)


def _both(texts: Texts, mine: list[Change], other: list[Change], moved: int, other_moved: int) -> list[_Piece]:
    start = min(mine[0].old_start, other[0].old_start)
    end = max(mine[-1].old_end, other[-1].old_end)
    ours = (start + moved, end + moved + _offset(mine))
    theirs = (start + other_moved, end + other_moved + _offset(other))
    if texts[1][slice(*ours)] == texts[2][slice(*theirs)]:
        return [_Piece(1, (start, end), ours, theirs)]
    return [_Piece(0, (start, end), ours, theirs)]


def _refine(piece: _Piece, texts: Texts, way: Way) -> list[_Piece]:
    """Split a conflict into the stretches where both sides really differ."""
    if piece.side or piece.ours[0] == piece.ours[1] or piece.theirs[0] == piece.theirs[1]:
        return [piece]
    found = line_changes(texts[1][slice(*piece.ours)], texts[2][slice(*piece.theirs)], way=way)
    (a, _), (b, _) = piece.ours, piece.theirs
    return [
        _Piece(0, piece.base, (a + c.old_start, a + c.old_end), (b + c.new_start, b + c.new_end)) for c in found
    ]  # fmt: skip


def _simplify(pieces: list[_Piece]) -> list[_Piece]:
    """Join conflicts with no more than three lines between them."""
    found: list[_Piece] = []
    for piece in pieces:
        last = found[-1] if found else None
        if last is not None and not last.side and not piece.side and piece.ours[0] - last.ours[1] <= _NEAR:
            joined = (last.base[0], piece.base[1])
            found[-1] = _Piece(0, joined, (last.ours[0], piece.ours[1]), (last.theirs[0], piece.theirs[1]))
        else:
            found.append(piece)
    return found
