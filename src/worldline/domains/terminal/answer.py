"""Reading a model's answer (its reasoning already taken off) as an observation of a terminal."""

from __future__ import annotations

import json
import re
from typing import Any

from worldline.domains.answers import extract_block
from worldline.domains.terminal.rendering import read_observation, read_screen
from worldline.types import Observation

__all__ = ["parse_answer"]

_FENCED_PART = re.compile(r"^(`{3,}|~{3,})[\w+-]*\n((?:.*\n)*?)\1[ \t]*$", re.MULTILINE)


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
