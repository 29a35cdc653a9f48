"""The data card of the keystroke recordings: prose and counts, as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

from worldline.domains.terminal.keystrokes import typed
from worldline.types import Trajectory, Turn

__all__ = ["card", "fresh_rows", "shows_error"]

_PROSE = "card.md"
_PAGERS = frozenset({"less", "more", "pager", "nano", "vi", "vim", "vim.basic", "vim.tiny", "watch", "top"})
_SLEEPERS = frozenset({"sleep", "timeout", "make"})
_ERROR = re.compile(
    r"[Nn]o such file|not found|[Ee]rror\b|cannot |[Pp]ermission denied|[Ii]nvalid|Traceback|^fatal:|^usage:|[Uu]sage:"
    r"|denied|unexpected|refused|not allowed|missing|unknown|unrecognized|not a |is a directory|Is a directory|Not a "
    r"|no such|\bfailed\b|^\?$|did you mean|not in|unbound|CONFLICT|bad |is not|too |readonly|ambiguous",
    re.MULTILINE,
)


def fresh_rows(before: str, after: str) -> str:
    """Return the rows of a screen that did not stand on the one before, wherever they stood."""
    known = Counter(before.split("\n"))
    rows: list[str] = []
    for row in after.split("\n"):
        if known[row]:
            known[row] -= 1
        else:
            rows.append(row)
    return "\n".join(rows)


def shows_error(before: str, turn: Turn) -> bool:
    """Whether a turn brought a message about an error to the screen, by the wording of common tools."""
    return _ERROR.search(fresh_rows(before, turn.observation.text)) is not None


def card(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    """Write the card.

    Args:
        sets: Trajectories by split.
    """
    prose = (files("worldline.record.keystroke_plans") / "resources" / _PROSE).read_text(encoding="utf-8")
    total = [trajectory for split in sets.values() for trajectory in split]
    parts = [prose.rstrip("\n"), "## Counts", _counts({**sets, "all": total}), "## Families", _families(sets)]
    return "\n\n".join(parts) + "\n"


def _counts(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows: list[list[str]] = [["", *sets]]
    rows.append(["families", *(str(len({item.family for item in split})) for split in sets.values())])
    rows.append(["sessions", *(f"{len(split):,}" for split in sets.values())])
    rows.append(["turns", *(f"{sum(len(item.turns) for item in split):,}" for split in sets.values())])
    for title, test in _TESTS.items():
        cells = []
        for split in sets.values():
            turns = [pair for item in split for pair in _pairs(item)]
            count = sum(test(before, turn) for before, turn in turns)
            cells.append(f"{count:,} ({count / max(1, len(turns)):.1%})")
        rows.append([title, *cells])
    return _table(rows)


def _pairs(trajectory: Trajectory) -> list[tuple[str, Turn]]:
    """Each turn with the screen before it."""
    screens = ["", *(turn.observation.text for turn in trajectory.turns)]
    return list(zip(screens, trajectory.turns, strict=False))


def _full_screen(before: str, turn: Turn) -> bool:
    return bool(turn.extra.get("full_screen")) or turn.extra.get("foreground") in _PAGERS


def _reading(before: str, turn: Turn) -> bool:
    front = turn.extra.get("foreground")
    return bool(front) and not _full_screen(before, turn) and front not in _SLEEPERS


def _waiting(before: str, turn: Turn) -> bool:
    return turn.extra.get("foreground") in _SLEEPERS and not _full_screen(before, turn)


def _entries(turn: Turn) -> int:
    return len(typed(turn.action) or ())


_TESTS: dict[str, Callable[[str, Turn], bool]] = {
    "session-determined turns": lambda before, turn: turn.determined is True,
    "turns whose screen was the same twice": lambda before, turn: (
        not turn.observation.volatile and "unstable" not in turn.extra
    ),
    "turns with volatile spans": lambda before, turn: bool(turn.observation.volatile),
    "unstable turns": lambda before, turn: "unstable" in turn.extra,
    "turns that end in a full-screen program": _full_screen,
    "turns that end in a program that reads": _reading,
    "turns that end while a command goes on": _waiting,
    "turns that bring an error message": shows_error,
    "turns that wait at most 0.3 s": lambda before, turn: sum(e.duration for e in typed(turn.action) or ()) <= 0.3,
    "turns of several entries": lambda before, turn: _entries(turn) > 1,
    "empty actions": lambda before, turn: _entries(turn) == 0,
}


def _families(sets: Mapping[str, Sequence[Trajectory]]) -> str:
    rows = [["split", "families (sessions)"]]
    for name, split in sets.items():
        count = Counter(trajectory.family for trajectory in split)
        rows.append([name, ", ".join(f"{family} ({number})" for family, number in sorted(count.items()))])
    return _table(rows)


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
