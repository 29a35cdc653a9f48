"""Texts that quote what a call gave: its arguments are found first, then what else differs between them."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from worldline.kernels.tools.collections.expressions import literal
from worldline.worlds.learning.columns import Column, known

__all__ = ["fillings", "quoting", "skeleton"]

_FIRST_MARK = 0xE000
"""Characters for private use stand for arguments while texts are compared."""
_MOST_MARKS = 60
_RIGHT = 0.8
"""Share of the texts that a template must give."""
_USUAL = 0.6
"""The same for one without anything but what the call gave: little else can be meant."""
_CLEAR = 0.5
"""Share of the texts in which it must be plain which argument stands where."""


def quoting(
    texts: Mapping[int, str], columns: Sequence[Column], explain: Callable[[Mapping[int, str]], Column | None]
) -> tuple[str, int] | None:
    """Find a template of texts that quote arguments.

    Args:
        texts: By the number of the call.
        columns: What the calls gave.
        explain: Finds what stands where texts still differ.

    Returns:
        The template and how many texts it gives; None where there is none.
    """
    named = [c for c in columns if c.all_are(str, int, float) and c.text.startswith("args.")][:_MOST_MARKS]
    marks = {chr(_FIRST_MARK + number): column for number, column in enumerate(named)}
    clear = {n: told for n, text in texts.items() if (told := _marked(text, n, marks)) is not None}
    if len(clear) < max(2, _CLEAR * len(texts)) or not any(set(told) & set(marks) for told in clear.values()):
        return None
    usual, count = Counter(clear.values()).most_common(1)[0]
    if _USUAL * len(texts) <= count and set(usual) & set(marks):
        clear = {n: told for n, told in clear.items() if told == usual}
    alike = len(set(clear.values())) == 1
    pieces = [usual] if alike else skeleton(list(clear.values()))
    filled = {n: fillings(told, pieces) for n, told in clear.items()} if pieces else {}
    if not pieces or any(found is None for found in filled.values()):
        return None
    slots: list[Column] = []
    for number in range(sum(piece is None for piece in pieces)):
        column = explain({n: _unmarked(found[number], n, marks) for n, found in filled.items() if found})
        if column is None:
            return None
        slots.append(column)
    right = sum(_said(pieces, slots, marks, n) == text for n, text in texts.items())
    return (_template(pieces, slots, marks), right) if right >= (_USUAL if alike else _RIGHT) * len(texts) else None


def _marked(text: str, n: int, marks: Mapping[str, Column]) -> str | None:
    """The text with a mark for each argument that stands in it; None where it may be one or the other."""
    found: dict[str, str] = {}
    for mark, column in marks.items():
        value = column.values[n]
        shown = str(value) if known(value) else ""
        if len(shown) < 2 - (not isinstance(value, str)) or not re.search(_alone(shown), text):
            continue
        if shown in found:
            return None
        found[shown] = mark
    if not found:
        return text
    longest = sorted(found, key=len, reverse=True)
    return re.sub("|".join(map(_alone, longest)), lambda match: found[match[0]], text)


def _alone(shown: str) -> str:
    """Matches a text that is no part of a longer word or number."""
    before = r"(?<![\w.-])" if shown[0].isdigit() else r"(?<!\w)" if shown[0].isalnum() else ""
    after = r"(?!\w|[.]\d)" if shown[-1].isdigit() else r"(?!\w)" if shown[-1].isalnum() else ""
    return before + re.escape(shown) + after


def _unmarked(text: str, n: int, marks: Mapping[str, Column]) -> str:
    return "".join(str(marks[char].values[n]) if char in marks else char for char in text)


def _said(pieces: Sequence[str | None], slots: Sequence[Column], marks: Mapping[str, Column], n: int) -> str | None:
    """What the template says of one call; None where something in it is not known."""
    used = [*slots, *(marks[char] for piece in pieces if piece for char in piece if char in marks)]
    if not all(known(column.values[n]) for column in used):
        return None
    left = iter(slots)
    return "".join(str(next(left).values[n]) if piece is None else _unmarked(piece, n, marks) for piece in pieces)


def _template(pieces: Sequence[str | None], slots: Sequence[Column], marks: Mapping[str, Column]) -> str:
    left = iter(slots)
    parts: list[str] = []
    for piece in pieces:
        if piece is None:
            parts.append(f"{{{{ {next(left).text} }}}}")
            continue
        for part in re.split(f"([{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + _MOST_MARKS)}])", piece):
            parts.append(f"{{{{ {marks[part].text} }}}}" if part in marks else literal(part))
    return "".join(parts)


def skeleton(texts: Sequence[str]) -> list[str | None] | None:
    """Return what texts have in common, None for each stretch in which they differ; None if that is hardly anything."""
    words = [re.findall(r"\d+\.\d+|\w+|\W", text) for text in texts[:40]]
    common = words[0]
    for other in words[1:]:
        matcher = difflib.SequenceMatcher(None, common, other, autojunk=False)
        common = [word for block in matcher.get_matching_blocks() for word in common[block.a : block.a + block.size]]
    if sum(map(len, common)) < 3:
        return None
    gaps = [False] * (len(common) + 1)
    for other in words:
        place = 0
        for number, word in enumerate(common):
            found = other.index(word, place)
            gaps[number] |= found > place
            place = found + 1
        gaps[-1] |= place < len(other)
    pieces: list[str | None] = []
    for number, word in enumerate([*common, ""]):
        if gaps[number]:
            pieces.append(None)
        if pieces and pieces[-1] is not None:
            pieces[-1] += word
        elif word:
            pieces.append(word)
    return pieces


def fillings(text: str, pieces: Sequence[str | None]) -> list[str] | None:
    """Return what stands in the slots of a text, each as short as can be from the left; None if they do not fit.

    Takes time that grows with the text alone: every piece is looked for once, behind the one before it.
    """
    place, found = 0, list[str]()
    for number, piece in enumerate(pieces):
        if piece is None:
            continue
        behind_slot, last = number > 0 and pieces[number - 1] is None, number == len(pieces) - 1
        if last:
            at = max(place, len(text) - len(piece)) if behind_slot else place
        else:
            at = text.find(piece, place) if behind_slot else place
        if at < 0 or not text.startswith(piece, at):
            return None
        if behind_slot:
            found.append(text[place:at])
        place = at + len(piece)
    if pieces and pieces[-1] is None:
        return [*found, text[place:]]
    return found if place == len(text) else None
