"""Telling a model's reasoning from its answer."""

from __future__ import annotations

import re

__all__ = ["split_reasoning"]

_OPEN = "<think>"
_CLOSE = "</think>"
_ANSWER_END = "</predicted_observation>"
_ANSWER_LINE = re.compile(r"^[ \t]*<predicted_observation>", re.MULTILINE)


def split_reasoning(text: str) -> tuple[str | None, str]:
    """Split raw text into reasoning and answer.

    The last `</think>` ends the reasoning, also where its opening tag is missing because the chat template put it into
    the prompt. One that stands behind the tag that opens the answer belongs to the answer: a program may print it.
    An opening tag that is never closed makes everything reasoning, up to the tag that opens an answer.

    Returns:
        The reasoning, None where there is none, and the answer without the newlines that followed the tag.
    """
    opened = text.lstrip().startswith(_OPEN)
    answers = list(_ANSWER_LINE.finditer(text))
    end = text.rfind(_CLOSE, 0, answers[-1].start() if answers else len(text))
    if end < 0 and (opened or text.rfind(_CLOSE) > text.rfind(_ANSWER_END)):
        end = text.rfind(_CLOSE)  # the answer tag found was a draft inside the reasoning
    if end >= 0:
        return _inner(text[:end]), text[end + len(_CLOSE) :].lstrip("\n")
    if not opened:
        return None, text
    start = answers[-1].start() if answers and _ANSWER_END in text[answers[-1].end() :] else len(text)
    return _inner(text[:start]), text[start:]


def _inner(reasoning: str) -> str:
    return reasoning.strip().removeprefix(_OPEN).strip()
