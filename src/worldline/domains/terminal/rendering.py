r"""How an observation is written for a model, so that it can be read back to the byte.

One rendering serves the prompt's history and the model's answer::

    the standard output, line by line
    [no newline]                      only where the output's last line has no newline
    [stderr]                          only where there was any
    the standard error, line by line
    [no newline]                      as above
    [exit code: 1]                    always, where streams are kept apart

Where both streams arrive as one text, the two bracketed lines about stderr and status are absent. A line of the
output that would itself read as one of these markers, or that begins with a tag of the answer, gets a backslash in
front; so does one that already has such backslashes. Reading takes one off again.

A screen is written as it stands, row by row; only rows that begin with a tag of the answer or with the observation's
marker get a backslash.
"""

from __future__ import annotations

import re

from worldline.domains.answers import TAG_PATTERN, shield, unshield
from worldline.types import Observation

__all__ = [
    "NO_NEWLINE",
    "STDERR",
    "read_observation",
    "read_screen",
    "render_observation",
    "render_screen",
]

STDERR = "[stderr]"
NO_NEWLINE = "[no newline]"

_STATUS = re.compile(r"\[exit code: (-?\d{1,10})\][ \t\r]*")
_LOOSE_STATUS = re.compile(r"\[?\s*(?:exit|return)[ _-]?(?:code|status)\s*[:=]?\s*(-?\d{1,3})\s*\]?\s*", re.IGNORECASE)
_SPECIAL = (
    r"(?:\[stderr\][ \t\r]*\Z|\[no newline\][ \t\r]*\Z|\[exit code: -?\d{1,10}\][ \t\r]*\Z"
    rf"|{TAG_PATTERN})"
)
_ESCAPE = re.compile(r"\\*" + _SPECIAL)
_UNESCAPE = re.compile(r"\\+" + _SPECIAL)


def render_observation(observation: Observation) -> str:
    """Write an observation for a model; every line of the result ends with a newline.

    Bytes that are not text show as U+FFFD, as everywhere in a prompt.
    """
    if observation.merged:
        return _section(observation.text)
    parts = [_section(observation.stdout or "")]
    if observation.stderr:
        parts += [STDERR, "\n", _section(observation.stderr)]
    if observation.exit_code is not None:
        parts.append(f"[exit code: {observation.exit_code}]\n")
    return "".join(parts)


def read_observation(body: str, *, merged: bool) -> Observation:
    """Read what :func:`render_observation` wrote, and what a model wrote in its place.

    Args:
        body: The rendering; a missing final newline is added.
        merged: The world's streams arrive as one text.

    Returns:
        The observation. Where streams are kept apart and no last line gives the status, `exit_code` is None.
    """
    lines = body.split("\n")
    if lines[-1] == "":
        lines.pop()
    if merged:
        return Observation.from_text(_content(lines))
    status = _take_status(lines)
    split = next((index for index, line in enumerate(lines) if line.rstrip(" \t\r") == STDERR), len(lines))
    stdout, stderr = _content(lines[:split]), _content(lines[split + 1 :])
    return Observation(
        text=stdout + stderr,
        stdout=stdout,
        stderr=stderr,
        exit_code=status,
        is_error=None if status is None else status != 0,
    )


def render_screen(screen: str) -> str:
    """Write a screen for a model; every row of the result ends with a newline."""
    return f"{shield(screen)}\n" if screen else ""


def read_screen(body: str) -> Observation:
    """Read what :func:`render_screen` wrote; blanks at the end of rows and empty rows at the end are dropped."""
    rows = unshield(body).split("\n")
    return Observation.from_text("\n".join(row.rstrip() for row in rows).rstrip("\n"))


def _section(text: str) -> str:
    if not text:
        return ""
    lines = text.split("\n")
    # A text that ends with a newline splits into one empty piece more than it has lines.
    tail = [NO_NEWLINE] if lines[-1] else []
    body = lines if lines[-1] else lines[:-1]
    return "".join(f"{line}\n" for line in [*map(_escape, body), *tail])


def _content(lines: list[str]) -> str:
    if not lines:
        return ""
    newline = "\n"
    if lines[-1].rstrip(" \t\r") == NO_NEWLINE:
        lines, newline = lines[:-1], ""
    return "\n".join(map(_unescape, lines)) + newline


def _take_status(lines: list[str]) -> int | None:
    """Remove the closing status line and return what it says."""
    for pattern in (_STATUS, _LOOSE_STATUS):
        last = len(lines)
        while pattern is _LOOSE_STATUS and last and not lines[last - 1].strip():
            last -= 1
        found = pattern.fullmatch(lines[last - 1]) if last else None
        if found:
            del lines[last - 1 :]
            return int(found[1])
    return None


def _escape(line: str) -> str:
    return "\\" + line if _ESCAPE.match(line) else line


def _unescape(line: str) -> str:
    return line[1:] if _UNESCAPE.match(line) else line
