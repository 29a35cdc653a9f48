"""The answer of a world model: its tags, and how text is kept from being taken for them.

The tags are those of the released evaluation code (paper section 4); an observation is found outside its own text only.
"""

from __future__ import annotations

import re

__all__ = ["CLOSE_TAG", "MARKER", "OPENING", "OPEN_TAG", "TAG_PATTERN", "extract_block", "shield", "tagged", "unshield"]

OPEN_TAG = "<predicted_observation>"
CLOSE_TAG = "</predicted_observation>"
MARKER = "**Environment Observation:**"
OPENING = f"{OPEN_TAG}\n{MARKER}\n"
"""How an answer begins: the tag, and the words that every earlier observation of the conversation begins with."""

TAG_PATTERN = r"[ \t]*</?predicted_observation>|\*\*Environment Observation:\*\*"
"""How a line begins that could be taken for part of the answer's form."""

_OPEN_LINE = re.compile(rf"^[ \t]*{re.escape(OPEN_TAG)}", re.MULTILINE)
_MARKER_LINE = re.compile(rf"^{re.escape(MARKER)}[ \t]*\n?", re.MULTILINE)
_FENCE = re.compile(r"(`{3,}|~{3,})[\w+-]*\n((?:.*\n)??)\1[ \t]*\n*", re.DOTALL)
_SHIELD = re.compile(rf"^(?=\\*(?:{TAG_PATTERN}))", re.MULTILINE)
_UNSHIELD = re.compile(rf"^\\(?=\\*(?:{TAG_PATTERN}))", re.MULTILINE)


def shield(text: str) -> str:
    """Put a backslash before each line that begins with a tag of the answer, however many it has already."""
    return _SHIELD.sub(r"\\", text)


def unshield(text: str) -> str:
    """Undo :func:`shield`."""
    return _UNSHIELD.sub("", text)


def tagged(body: str) -> str:
    """Write the text of an observation as a model's answer; :func:`extract_block` takes it out again."""
    return f"{OPENING}{body}{CLOSE_TAG}"


def extract_block(text: str) -> str:
    """Return what stands between the answer's tags, to the byte.

    The last opening tag at the start of a line counts (the last one anywhere if none is), and the last closing tag
    after it, so that tags named in a preamble or printed by the command do no harm. One newline after the opening
    tag belongs to the tag. Without tags, the observation marker and a fence around everything are taken off.
    """
    starts = [match.end() for match in _OPEN_LINE.finditer(text)]
    if not starts and OPEN_TAG in text:
        starts = [text.rindex(OPEN_TAG) + len(OPEN_TAG)]
    if not starts:
        return _bare(text)
    start = starts[-1]
    end = text.rfind(CLOSE_TAG, start)
    body = text[start : end if end >= 0 else len(text)].removeprefix("\n")
    return _without_marker(body)


def _bare(text: str) -> str:
    """The answer of a model that left out the opening tag."""
    end = text.rfind(CLOSE_TAG)
    body = text if end < 0 else text[:end]
    marked = list(_MARKER_LINE.finditer(body))
    body = body[marked[-1].end() :] if marked else body.removeprefix("\n")
    fenced = _FENCE.fullmatch(body)
    return fenced[2] if fenced else body


def _without_marker(body: str) -> str:
    found = _MARKER_LINE.match(body)
    return body[found.end() :] if found else body
