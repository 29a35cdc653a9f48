"""How near a wrong answer is to the truth, in ways that text without knowledge of the truth cannot please.

All shares are 0..1. Words of the action do not count where the truth holds others: repeating what was asked is no
prediction. Stretches that the truth marks as volatile need only match their pattern.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rapidfuzz.distance import Indel

from worldline.domains.comparing import as_json
from worldline.domains.rouge import rouge_l
from worldline.types import Observation, VolatileSpan

__all__ = ["agreement", "alike", "beyond", "completeness", "masked", "shape_alike", "words"]

_WORD = re.compile(r"\w+|[^\w\s]")
_MOST_WORDS = 4000
_MOST_CHARACTERS = 6000
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
_HOLE = "\ufffc"
"""Stands for a volatile stretch."""


def words(text: str) -> Counter[str]:
    """Count the words and signs of a text."""
    return Counter(found[0] for found, _ in zip(_WORD.finditer(text), range(_MOST_WORDS), strict=False))


def masked(predicted: str, truth: Observation) -> tuple[str, str]:
    """Put the same sign for volatile stretches into the truth and into every predicted line that fits them.

    Returns:
        The prediction and the truth.
    """
    spans = sorted((s for s in truth.volatile if s.field == "text" and s.end > s.start), key=lambda s: s.start)
    if not spans:
        return predicted, truth.text
    shown, patterns, start = [], dict[str, re.Pattern[str]](), 0
    for line in truth.text.split("\n"):
        inside = [s for s in spans if start <= s.start and s.end <= start + len(line)]
        hidden, pattern = _line_mask(line, start, inside)
        shown.append(hidden)
        if inside:
            patterns[hidden] = pattern
        start += len(line) + 1
    told = []
    for line in predicted.split("\n"):
        told.append(next((hidden for hidden, pattern in patterns.items() if pattern.fullmatch(line)), line))
    return "\n".join(told), "\n".join(shown)


def _line_mask(line: str, start: int, spans: list[VolatileSpan]) -> tuple[str, re.Pattern[str]]:
    hidden, pieces, position = "", [], 0
    for span in spans:
        if span.start - start < position:
            continue
        fixed = line[position : span.start - start]
        hidden += fixed + _HOLE
        pieces += [re.escape(fixed), f"(?:{span.pattern})"]
        position = span.end - start
    pieces.append(re.escape(line[position:]))
    return hidden + line[position:], re.compile("".join(pieces))


def beyond(text: str, previous: str) -> str:
    """Return the lines of a text that the previous observation does not hold, each as often as it is new."""
    left, new = Counter(previous.split("\n")), []
    for line in text.split("\n"):
        if left[line]:
            left[line] -= 1
        else:
            new.append(line)
    return "\n".join(new)


def agreement(predicted: str, truth: str, given: Counter[str]) -> float:
    """Facts in common, as F1: of the leaves where the truth is JSON, otherwise of its words.

    Args:
        predicted: The answer.
        truth: What was right.
        given: Words that were given with the question.
    """
    data = as_json(truth)
    if data is not None:
        told = as_json(predicted)
        return 0.0 if told is None else _f1(Counter(_leaves(told)), Counter(_leaves(data)))
    right, said = words(truth), words(predicted)
    new = Counter({word: count for word, count in right.items() if word not in given})
    if new:
        return _f1(Counter({word: count for word, count in said.items() if word not in given}), new)
    return _f1(said, right)


def _f1(said: Counter[str], right: Counter[str]) -> float:
    total = said.total() + right.total()
    return 2 * (said & right).total() / total if total else 1.0


def completeness(predicted: str, truth: str) -> tuple[float, float]:
    """Share of the truth's words that were said, and how little was said beside them (1: no longer than the truth)."""
    right, said = words(truth), words(predicted)
    if not right:
        return float(not said), float(not said)
    return (said & right).total() / right.total(), min(1.0, len(truth) / max(1, len(predicted)))


def alike(left: str, right: str) -> float:
    """Similarity of two texts' characters, less where their words stand in another order."""
    if left == right:
        return 1.0
    near = Indel.normalized_similarity(left[:_MOST_CHARACTERS], right[:_MOST_CHARACTERS])
    return (_above_chance(near) + rouge_l(left, right)) / 2


def shape_alike(left: str, right: str) -> float:
    """Similarity of two texts' looks, in which one number or word is as good as another."""
    return _above_chance(Indel.normalized_similarity(_shape(left), _shape(right)))


def _above_chance(similarity: float) -> float:
    """Any two English sentences share near half of their characters in order; only what is beyond that counts."""
    return max(0.0, 2 * similarity - 1)


def _shape(text: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("0", text[:_MOST_CHARACTERS]))


def _leaves(value: Any) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("", value)]
    for _ in range(_MOST_WORDS):
        if not waiting:
            return
        path, part = waiting.pop()
        if isinstance(part, dict) and part:
            waiting.extend((f"{path}.{key}", inner) for key, inner in part.items())
        elif isinstance(part, list) and part:
            waiting.extend((f"{path}[{number}]", inner) for number, inner in enumerate(part))
        else:
            yield f"{path}={json.dumps(part)}"
