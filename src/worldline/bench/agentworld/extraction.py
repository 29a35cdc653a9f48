"""Taking the predicted observation out of a generation, to the byte (protocol `strict`).

Tags count outside the reasoning only, and an observation may itself show tags: those do not end it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.bench.agentworld.records import Generation
from worldline.formats.agentworld_text import HEADING
from worldline.models.reasoning import split_reasoning

__all__ = ["Extraction", "extract_prediction", "extract_text", "observed_text"]

_TAG = "predicted_observation"
_OPENER_LINE = re.compile(rf"^[ \t]*<{_TAG}>", re.MULTILINE)
_OPENER = re.compile(rf"<{_TAG}>")
_CLOSER = re.compile(rf"</{_TAG}>")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a generation predicts."""

    text: str
    """The observation, verbatim; a heading before it taken off. Empty is a prediction too: of silence."""
    tagged: bool
    """It stood in tags; otherwise it is the whole answer."""
    closed: bool
    """The closing tag was there."""
    start: int
    """Where the text begins in the answer (see `answer`)."""
    answer: str
    """The generation's content without its reasoning."""


def extract_prediction(generation: Generation) -> Extraction | None:
    """Return what a generation predicts; None where it failed, holds nothing, or nothing but reasoning."""
    if generation.outcome in ("error", "empty"):
        return None
    return extract_text(generation.content, reasoning_apart=generation.reasoning is not None)


def extract_text(content: str, *, reasoning_apart: bool = False) -> Extraction | None:
    """Return what an answer predicts: its last block in tags, or all of it where there is none.

    The content of a block is taken verbatim; of the newlines next to its tags, one each belongs to the tags. Tags at
    the beginning of a line go before others. A block goes on to the closing tag that balances it, and over further
    closing tags up to the last one that stands before the next block. One that is never closed goes on to the end.

    Args:
        content: The answer as the endpoint gave it.
        reasoning_apart: The endpoint gave the reasoning in a field of its own, so that all of `content` is answer.
    """
    answer = content if reasoning_apart else split_reasoning(content)[1]
    if not answer.strip():
        return None
    block = _last_block(answer)
    if block is None:
        start = len(HEADING) if answer.startswith(HEADING) else 0
        return Extraction(answer[start:], tagged=False, closed=False, start=start, answer=answer)
    start, end, closed = block
    if answer.startswith("\n", start):
        start += 1
    if closed and end > start and answer[end - 1] == "\n":
        end -= 1
    text = answer[start : max(start, end)]
    shown = observed_text(text)
    return Extraction(shown, tagged=True, closed=closed, start=start + len(text) - len(shown), answer=answer)


def observed_text(text: str) -> str:
    """Take the heading off an assistant turn, where it begins with one; nothing else is touched."""
    if text.startswith(HEADING):
        return text[len(HEADING) :]
    return "" if text == HEADING[:-1] else text


def _last_block(answer: str) -> tuple[int, int, bool] | None:
    """Return where the last block's content begins and ends, and whether it is closed."""
    openers = list(_OPENER_LINE.finditer(answer)) or list(_OPENER.finditer(answer))
    if not openers:
        return None
    marks = [(found.start(), found.end(), True) for found in openers]
    marks += [(found.start(), found.end(), False) for found in _CLOSER.finditer(answer)]
    depth, begin, last = 0, 0, None
    for start, end, opens in sorted(marks):
        if opens:
            begin = begin if depth else end
            depth += 1
        elif depth or last is not None:
            depth = max(0, depth - 1)
            if not depth:
                last = (begin, start)
    if not depth and last is not None:
        return last[0], last[1], True
    # More openers than closers: drafts that were never closed, of which the last one counts.
    begin = openers[-1].end()
    ends = [found.start() for found in _CLOSER.finditer(answer, begin)]
    return (begin, ends[-1], True) if ends else (begin, len(answer), False)
