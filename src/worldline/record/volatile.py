"""What of an observation is left to chance: found by comparing two recordings of the same turn, never guessed from one.

Lines are aligned first, then the words of lines that differ. Each stretch that differs becomes a span of the first
recording, with a regular expression for its shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import cast

from worldline.types import Observation, TextField, VolatileSpan

__all__ = ["ANYTHING", "agrees", "shape", "volatile_spans"]

ANYTHING = "(?s:.*)"
"""Pattern of a stretch whose structure differs: nothing can be said about it."""

_LINE = "[^\\n]*"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TOKEN = re.compile(rf"\b{_UUID}\b|[A-Za-z0-9]+|[ \t]+|.", re.DOTALL)
_SAME_STRUCTURE = 0.3
"""Below this share of common lines or words, two texts are taken to differ as a whole."""
_MOST_LINES = 4000
_MOST_TOKENS = 2000

_Edit = tuple[int, int, str, str]
"""Start and end in the first text, and the two stretches."""


def volatile_spans(first: Observation, second: Observation) -> tuple[VolatileSpan, ...]:
    """Compare two recordings of a turn and return the volatile spans of the first.

    Args:
        first: The recording that is kept.
        second: The same turn in another fresh sandbox.
    """
    fields: tuple[TextField, ...] = ("text",) if first.merged else ("stdout", "stderr")
    spans: list[VolatileSpan] = []
    for field in fields:
        a, b = _text(first, field), _text(second, field)
        if (first.raw or {}).get(field) != (second.raw or {}).get(field):
            if a:  # bytes that are not text: there are no words to align
                spans.append(VolatileSpan(field=field, start=0, end=len(a), pattern=ANYTHING))
        elif a != b:
            spans += [
                VolatileSpan(field=field, start=start, end=end, pattern=pattern) for start, end, pattern in _spans(a, b)
            ]
    return tuple(spans)


def agrees(observation: Observation, truth: Observation) -> bool:
    """Whether an observation equals `truth` to the byte, status included, up to the truth's volatile spans.

    A span about which nothing can be said (:data:`ANYTHING`) agrees with nothing.
    """
    if (observation.exit_code, observation.is_error) != (truth.exit_code, truth.is_error):
        return False
    if observation.truncated != truth.truncated or any(span.pattern == ANYTHING for span in truth.volatile):
        return False
    fields: tuple[TextField, ...] = ("text",) if truth.merged else ("stdout", "stderr")
    return all(_field_agrees(observation, truth, field) for field in fields)


def _field_agrees(observation: Observation, truth: Observation, field: TextField) -> bool:
    told, real = _text(observation, field), _text(truth, field)
    spans = [span for span in truth.volatile if span.field == field]
    if not spans:
        return told == real and (observation.raw or {}).get(field) == (truth.raw or {}).get(field)
    pieces, position = [], 0
    for span in spans:
        pieces += [re.escape(real[position : span.start]), f"(?:{span.pattern})"]
        position = span.end
    pieces.append(re.escape(real[position:]))
    return re.fullmatch("".join(pieces), told) is not None


def _text(observation: Observation, field: TextField) -> str:
    return cast("str | None", getattr(observation, field)) or ""


def shape(a: str, b: str) -> str:
    """Return a regular expression for the shape that two values of the same stretch share."""
    both = a + b
    if "\n" in both:
        return ANYTHING
    if not a or not b:
        return "[ \\t]*" if not both.strip(" \t") else _LINE
    for characters, pattern in _SHAPES:
        if characters.fullmatch(a) and characters.fullmatch(b):
            return pattern
    if _HEX.fullmatch(a) and _HEX.fullmatch(b) and re.search(r"\d", both) and len(a) == len(b) > 3:
        return f"[0-9a-f]{{{len(a)}}}"
    if _WORD.fullmatch(a) and _WORD.fullmatch(b):
        return "[A-Za-z0-9]+"
    return _LINE


_SHAPES = (
    (re.compile(r"\d+"), "\\d+"),
    (re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?"), "-?\\d+(\\.\\d+)?(e[-+]?\\d+)?"),
    (re.compile(r"0x[0-9a-f]+"), "0x[0-9a-f]+"),
    (re.compile(_UUID), _UUID),
    (re.compile(r"[ \t]+"), "[ \\t]+"),
    (re.compile(r"[A-Za-z]+"), "[A-Za-z]+"),
)
_HEX = re.compile(r"[0-9a-f]+")
_WORD = re.compile(r"[A-Za-z0-9]+")


def _spans(a: str, b: str) -> list[tuple[int, int, str]]:
    edits = _line_edits(a, b)
    if edits is None:
        return [(0, len(a), ANYTHING)] if a else []
    spans: list[tuple[int, int, str]] = []
    for start, end, left, right in edits:
        if start == end:  # something only the second has: hang it on a neighbour, a span cannot be empty
            if start < len(a) and a[start] != "\n":
                end, left, right = start + 1, a[start], right + a[start]
            elif start > 0:
                start, left, right = start - 1, a[start - 1], a[start - 1] + right
            else:
                end, left, right = min(len(a), 1), a[:1], right + a[:1]
        if spans and start < spans[-1][1]:
            first = spans.pop()
            spans.append((first[0], max(end, first[1]), _LINE if first[2] != ANYTHING else ANYTHING))
        elif end > start:
            spans.append((start, end, shape(left, right)))
    return spans


def _line_edits(a: str, b: str) -> list[_Edit] | None:
    """The stretches that differ, or None if the texts have no structure in common."""
    left, right = a.splitlines(keepends=True), b.splitlines(keepends=True)
    if len(left) == len(right):
        offset, edits = 0, list[_Edit]()
        for one, other in zip(left, right, strict=True):
            edits += _moved(_word_edits(one, other), offset)
            offset += len(one)
        return edits
    if max(len(left), len(right)) > _MOST_LINES:
        return None
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < _SAME_STRUCTURE:
        return None
    starts = [0]
    for line in left:
        starts.append(starts[-1] + len(line))
    edits = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if i2 - i1 == j2 - j1:
            for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                edits += _moved(_word_edits(left[i], right[j]), starts[i])
        else:
            edits.append((starts[i1], starts[i2], "".join(left[i1:i2]), "".join(right[j1:j2])))
    return edits


def _moved(edits: Sequence[_Edit], offset: int) -> Iterator[_Edit]:
    for start, end, left, right in edits:
        yield start + offset, end + offset, left, right


def _word_edits(a: str, b: str) -> list[_Edit]:
    """The words of two lines that differ; the whole line if it has another structure."""
    if a == b:
        return []
    left, right = _TOKEN.findall(a), _TOKEN.findall(b)
    body = len(a.rstrip("\n"))
    whole = [(0, body, a[:body], b.rstrip("\n"))] if body else [(0, len(a), a, b)]
    if a.endswith("\n") != b.endswith("\n"):
        return [(0, len(a), a, b)]
    if len(left) == len(right) and all(
        one[0].isalnum() == other[0].isalnum() for one, other in zip(left, right, strict=True)
    ):
        edits, position = list[_Edit](), 0
        for one, other in zip(left, right, strict=True):
            if one != other:
                edits.append((position, position + len(one), one, other))
            position += len(one)
        return edits
    if max(len(left), len(right)) > _MOST_TOKENS:
        return whole
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    common = sum(
        bool(token.strip()) for block in matcher.get_matching_blocks() for token in left[block.a : block.a + block.size]
    )
    if common < _SAME_STRUCTURE * sum(bool(token.strip()) for token in left):
        return whole
    starts = [0]
    for token in left:
        starts.append(starts[-1] + len(token))
    return [
        (starts[i1], starts[i2], "".join(left[i1:i2]), "".join(right[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]
