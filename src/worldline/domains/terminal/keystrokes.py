"""The keystroke dialect: a turn is a list of keystrokes with waits, its answer is the screen.

The action is the one of AgentWorldBench's terminal rows: a JSON list of `{"keystrokes": TEXT, "duration": SECONDS}`.
The text of an entry is typed as it stands (a newline is the Enter key), unless all of it is the name of a key in
:data:`NAMED_KEYS` (`C-c`, `Escape`, `Up`, ...), as in tmux. The screen is read once the durations have passed. An empty
list asks for the end of the task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worldline.errors import ActionError
from worldline.types import Action, JsonDict

__all__ = [
    "DEFAULT_DURATION",
    "KEYSTROKES_TOOL",
    "MAX_DURATION",
    "NAMED_KEYS",
    "Keystrokes",
    "keystroke_action",
    "typed",
]

KEYSTROKES_TOOL = "keystrokes"
"""Name of an action of the keystroke dialect; its one argument, of the same name, is the list."""
DEFAULT_DURATION = 1.0
"""Seconds waited where an entry names no duration."""
MAX_DURATION = 3600.0
"""Longest wait of one entry, in seconds."""

NAMED_KEYS: Mapping[str, str] = {
    **{f"C-{chr(96 + number)}": chr(number) for number in range(1, 27)},
    "C-[": "\x1b",
    "C-\\": "\x1c",
    "C-]": "\x1d",
    "C-^": "\x1e",
    "C-_": "\x1f",
    "C-@": "\0",
    "C-Space": "\0",
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "BSpace": "\x7f",
    "Space": " ",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "Home": "\x1b[1~",
    "End": "\x1b[4~",
    "PageUp": "\x1b[5~",
    "PPage": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "NPage": "\x1b[6~",
    "IC": "\x1b[2~",
    "DC": "\x1b[3~",
}
"""What the terminal sends for a key, by its tmux name."""

_EXPECTED = 'expected a list of {"keystrokes": TEXT, "duration": SECONDS}, for instance [{"keystrokes": "ls\\n"}]'


@dataclass(frozen=True, slots=True)
class Keystrokes:
    """One entry of the list."""

    text: str
    """As the agent wrote it."""
    duration: float
    """Seconds from the last key until the next entry or, after the last entry, until the screen is read."""

    @property
    def keys(self) -> str:
        """What the terminal sends: the key of that name, or the text with Enter for each newline."""
        return NAMED_KEYS.get(self.text, self.text.replace("\n", "\r"))


def keystroke_action(value: Any, call_id: str | None = None) -> Action:
    """Read a list of keystrokes, one entry, or a bare text as an action of the keystroke dialect.

    Raises:
        ActionError: It is none of these, or a duration is negative, not finite or above :data:`MAX_DURATION`.
    """
    entries = value if isinstance(value, list) else [value]
    return Action(
        name=KEYSTROKES_TOOL, arguments={KEYSTROKES_TOOL: [_entry(entry) for entry in entries]}, call_id=call_id
    )


def typed(action: Action) -> tuple[Keystrokes, ...] | None:
    """Return the entries of an action of the keystroke dialect, or None for any other action."""
    entries = action.arguments.get(KEYSTROKES_TOOL)
    if action.name != KEYSTROKES_TOOL or not isinstance(entries, list):
        return None
    return tuple(Keystrokes(entry["keystrokes"], float(entry["duration"])) for entry in map(_entry, entries))


def _entry(value: Any) -> JsonDict:
    if isinstance(value, str):
        value = {KEYSTROKES_TOOL: value}
    if not isinstance(value, Mapping) or not isinstance(value.get(KEYSTROKES_TOOL), str):
        raise _refusal("an entry without a text of keystrokes")
    text = value[KEYSTROKES_TOOL]
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise _refusal("the keystrokes hold a lone surrogate, which is not valid Unicode")
    duration = value.get("duration", DEFAULT_DURATION)
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not math.isfinite(duration):
        raise _refusal("a duration that is not a number of seconds")
    if not 0 <= duration <= MAX_DURATION:
        raise _refusal(f"a duration of {duration} s; 0 to {MAX_DURATION:.0f} are possible")
    return {**value, KEYSTROKES_TOOL: text, "duration": float(duration)}


def _refusal(what: str) -> ActionError:
    return ActionError(what, hint=_EXPECTED)
