"""Full-screen programs that stand otherwise than they were thought to: their state read off the screen they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from worldline.kernels.screen.programs.base import Host, Program
from worldline.kernels.screen.programs.less import Less
from worldline.kernels.screen.programs.nano import Nano
from worldline.kernels.screen.programs.nano_view import LASTING
from worldline.kernels.screen.programs.rows import shown_line

__all__ = ["resynchronise"]

_RETURN = "  (press RETURN)"
_STATUS = re.compile(r"\s*\[ (.*) \]$")
_QUESTIONS = {
    "write": re.compile(r"File Name to Write: ?(.*)"),
    "save": re.compile(r"Save modified buffer\?()"),
    "exists": re.compile(r'File "(.*)" exists; OVERWRITE\?'),
    "search": re.compile(r"Search(?: \[.*?\])?: ?(.*)"),
    "goto": re.compile(r"Enter line number, column number: ?(.*)"),
}
"""What nano asks, and the answer typed so far."""


def resynchronise(program: Program, rows: Sequence[str], host: Host) -> None:
    """Bring a program to the state that its screen shows, as far as the screen tells.

    Args:
        program: It is changed; one that is not known here stays as it is.
        rows: Of the screen, without the empty ones at its end.
        host: Of the program.
    """
    shown = [*rows, *[""] * (host.lines - len(rows))]
    if isinstance(program, Less):
        _less(program, shown, host)
    elif isinstance(program, Nano):
        _nano(program, shown, host)
    elif hasattr(program, "resynchronise"):
        program.resynchronise(shown, host)


def _places(lines: Sequence[str], window: Sequence[str], filler: str) -> list[int]:
    """Where in a text a window stands that is filled up after its end."""
    found = []
    for top in range(len(lines)):
        part = lines[top : top + len(window)]
        if [*part, *[filler] * (len(window) - len(part))] == list(window):
            found.append(top)
    return found


def _nearest(places: Sequence[int], top: int) -> int:
    return min(places, key=lambda place: abs(place - top))


def _less(program: Less, rows: Sequence[str], host: Host) -> None:
    last = rows[-1]
    if last:
        lines = [row.text.rstrip() for row in program._rows(host)]
        places = _places(lines, rows[:-1], "~")
        if not places:
            return
        program.top, program.short = _nearest(places, program.top), False
    else:
        last = next((row for row in reversed(rows) if row), "")
    program.escape, program.waiting = "", last.startswith("Waiting for data")
    program.message = last.removesuffix(_RETURN) if last.endswith(_RETURN) else ""
    program.entering = last if last[:1] in tuple("/?&-_") and not program.only else ""


def _nano(program: Nano, rows: Sequence[str], host: Host) -> None:
    if not rows[0].startswith("  GNU nano") or program.numbers:
        return
    text, height = program.text, host.lines - 4
    window, status = rows[1 : 1 + height], rows[host.lines - 3]
    shown = [shown_line(line).rstrip() for line in text.lines]
    places = _places(shown, window, "")
    if places:
        program.top = _nearest(places, program.top)
        text.y = min(max(text.y, program.top), program.top + height - 1, len(text.lines) - 1)
        text.x = min(text.x, len(text.line))
    elif (
        program.top == 0
        and not any(row.endswith(">") and len(row) == host.columns for row in window)
        and not window[-1]
    ):
        _take_lines(program, shown, window)
    text.modified = rows[0].endswith(" *")
    said = _STATUS.match(status)
    program.status, program.left = (said[1], LASTING) if said is not None else ("", program.left)
    program.escape, program.asking = "", ""
    for name, pattern in _QUESTIONS.items():
        asked = pattern.match(status)
        if asked is not None:
            program.asking, program.answer = name, asked[1]


def _same_end(old: str, new: str) -> int:
    """How many characters two texts have in common at their ends."""
    pairs = zip(reversed(old), reversed(new), strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))


def _take_lines(program: Nano, shown: Sequence[str], window: Sequence[str]) -> None:
    """Take the lines of a text all of which is shown; the cursor goes to the end of the last change."""
    text, seen = program.text, list(window)
    while seen and not seen[-1]:
        seen.pop()
    seen.append("")
    lines: list[str] = []
    for kind, begin, end, first, last in SequenceMatcher(None, shown, seen, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += text.lines[begin:end]
            continue
        lines += seen[first:last]
        old, new = (shown[end - 1], lines[-1]) if kind == "replace" else ("", lines[-1] if lines else "")
        text.y, text.x = max(len(lines) - 1, 0), len(new) - _same_end(old, new)
    text.lines = lines
    text.y = min(text.y, len(lines) - 1)
    text.x = min(text.x, len(text.line))
    text.wanted, text.last = text.column, ("", 0, 0)
    text.undos.clear()
    text.redos.clear()
