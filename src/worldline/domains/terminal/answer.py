"""Reading a model's answer (its reasoning already taken off) as an observation of a terminal."""

from __future__ import annotations

import json
import re
from typing import Any

from worldline.domains.terminal.rendering import CLOSE_TAG, MARKER, OPEN_TAG, read_observation, read_screen
from worldline.types import Observation

__all__ = ["extract_block", "parse_answer"]

_OPEN_LINE = re.compile(rf"^[ \t]*{re.escape(OPEN_TAG)}", re.MULTILINE)
_MARKER_LINE = re.compile(rf"^{re.escape(MARKER)}[ \t]*\n?", re.MULTILINE)
_FENCED_PART = re.compile(r"^(`{3,}|~{3,})[\w+-]*\n((?:.*\n)*?)\1[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"(`{3,}|~{3,})[\w+-]*\n((?:.*\n)??)\1[ \t]*\n*", re.DOTALL)


def parse_answer(text: str, *, merged: bool, screen: bool = False) -> Observation:
    """Read a model's answer.

    Args:
        text: The answer without its reasoning.
        merged: The world's streams arrive as one text.
        screen: The world is answered by screens.

    Returns:
        The observation that :func:`~worldline.domains.terminal.rendering.read_observation` finds in the answer's
        block, or that a JSON object `{"stdout", "stderr", "exit_code"}` in its place gives. Where that holds no exit
        status but a code fence in it does, what is in the last such fence counts.
    """
    body = extract_block(text)
    if screen:
        return read_screen(body)
    if merged:
        return read_observation(body, merged=True)
    observation = _from_json(body) or read_observation(body, merged=False)
    if observation.exit_code is not None:
        return observation
    for fenced in reversed(_FENCED_PART.findall(body)):
        inner = _from_json(fenced[1]) or read_observation(fenced[1], merged=False)
        if inner.exit_code is not None:
            return inner
    return observation


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


def _from_json(body: str) -> Observation | None:
    """Read `{"stdout": ..., "stderr": ..., "exit_code": ...}`; None if the block is anything else."""
    if not body.lstrip().startswith("{"):
        return None
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not {"stdout", "exit_code"} <= set(value) <= {"stdout", "stderr", "exit_code"}:
        return None
    stdout, stderr, status = value["stdout"], value.get("stderr", ""), value["exit_code"]
    if not isinstance(stdout, str) or not isinstance(stderr, str) or type(status) is not int:
        return None
    try:
        return Observation.from_streams(stdout.encode("utf-8"), stderr.encode("utf-8"), status)
    except UnicodeEncodeError:  # an escaped lone surrogate: not an observation, shown as it stands
        return None
