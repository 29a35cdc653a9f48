"""Cutting a recording of a terminal into turns: by recorded input, by echoed lines at prompts, or by pauses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.domains.terminal.keystrokes import MAX_DURATION, NAMED_KEYS
from worldline.formats.cast_keys import REPORTS, key_entries
from worldline.formats.cast_screen import CastScreen
from worldline.types import JsonDict

__all__ = ["CastEvent", "CastTurn", "Played", "cast_turns"]

_PAUSE = 2.0
"""Seconds without input or output after which a turn may end."""
_TYPING = 1.0
"""Seconds between two keys that make two entries of them."""
_AT_PROMPT = 0.05
"""Seconds that a prompt stands before somebody types."""
_PROMPT = re.compile(r"(?:(?P<lead>[\w.@~-]{0,64}).{0,200}?)(?P<sign>[$#>❯➜»λ]|(?<!\d)%) \Z")
_ECHOED, _COMPLETED = 3, 8
"""Characters that an echo may show, and those of a line that may have come by completion."""
_PASSWORD = re.compile(r"(?i:pass(?:word|phrase|code)|\bPIN)\b[^:\n]{0,80}:\s*\Z")
_HIDDEN = "<hidden>"
"""Stands for what was typed at a prompt for a password."""
_NEWLINE = re.compile(r"\r*\n")
_AREA = 100_000
"""Most places of a terminal."""
_SIZE = re.compile(r"(\d{1,4})x(\d{1,4})\Z")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)?|\r", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CastEvent:
    """An event at a time in seconds from the start."""

    time: float
    code: str
    data: str


@dataclass(slots=True)
class CastTurn:
    """A turn of a recording."""

    time: float
    """When its first key was pressed."""
    entries: list[tuple[str, float]] = field(default_factory=list)
    screen: str = ""
    flooded: bool = False
    extra: JsonDict = field(default_factory=dict)


@dataclass(slots=True)
class Played:
    """What a recording was cut into."""

    input: str
    turns: list[CastTurn] = field(default_factory=list)
    before: str = ""
    """The screen before the first turn."""
    exit: str | None = None
    loose: list[list[str]] = field(default_factory=list)
    """Markers and sizes before the first turn."""


def cast_turns(events: Sequence[CastEvent], columns: int, lines: int) -> Played:
    """Play a recording.

    Args:
        events: In order of time.
        columns: Width of the terminal.
        lines: Its height.
    """
    if any(event.code == "i" for event in events):
        return _Typed(events, columns, lines).played()
    prompted = _Prompted(events, columns, lines).played()
    if prompted.input == "recovered":
        return prompted
    return _Paused(events, columns, lines).played()


def _seconds(time: float) -> float:
    return min(max(round(time, 3), 0.0), MAX_DURATION)


def _waits(events: Sequence[CastEvent]) -> list[float]:
    """Return how long it takes after each event until something is written or typed; at the end, no time."""
    waits: list[float] = []
    later = events[-1].time if events else 0.0
    for event in reversed(events):
        waits.append(later - event.time)
        later = event.time if event.code in ("o", "i") else later
    return waits[::-1]


class _Cutter:
    """Plays events; subclasses say where turns begin."""

    input = "unknown"

    def __init__(self, events: Sequence[CastEvent], columns: int, lines: int) -> None:
        self.events = events
        self.screen = CastScreen(columns, lines)
        self.result = Played(self.input)
        self.turn: CastTurn | None = None

    def played(self) -> Played:
        for event, wait in zip(self.events, _waits(self.events), strict=True):
            if event.code == "o":
                self.output(event, wait)
            elif event.code == "i":
                self.typed(event)
            elif event.code == "x":
                self.result.exit = str(event.data)
            else:
                self.note(event)
        self.finish(self.events[-1].time if self.events else 0.0)
        return self.result

    def output(self, event: CastEvent, wait: float) -> None:
        self.screen.feed(event.data)

    def typed(self, event: CastEvent) -> None:
        """Take keys that were typed; where any were, :class:`_Typed` cuts the recording."""

    def note(self, event: CastEvent) -> None:
        """Take a marker or a change of the size."""
        kind = "marker" if event.code == "m" else "size"
        if event.code == "r" and (match := _SIZE.match(event.data)) is not None:
            columns, lines = int(match.group(1)), int(match.group(2))
            if columns > 0 and lines > 0 and columns * lines <= _AREA:
                self.screen.resize(columns, lines)
        if self.turn is None:
            self.result.loose.append([kind, str(event.data)])
        else:
            self.turn.extra.setdefault("notes", []).append([kind, str(event.data)])

    def begin(self, turn: CastTurn) -> None:
        if self.turn is None:
            self.result.before = self.result.before or self.screen.text()
            self.screen.flooded = False
        self.turn = turn
        self.result.turns.append(turn)

    def show(self) -> None:
        """Note what the screen shows as the answer of the present turn."""
        if self.turn is not None:
            self.turn.screen = self.screen.text()
            self.turn.flooded = self.turn.flooded or self.screen.flooded
        else:
            self.screen.play()
        self.screen.flooded = False

    def finish(self, time: float) -> None:
        self.show()


class _Typed(_Cutter):
    """Cuts by recorded input."""

    input = "recorded"

    def __init__(self, events: Sequence[CastEvent], columns: int, lines: int) -> None:
        super().__init__(events, columns, lines)
        self._pieces: list[str] = []
        self._last = 0.0
        self._written = False
        self._hidden = False
        """Whether the turn's keys answer a prompt for a password."""

    def output(self, event: CastEvent, wait: float) -> None:
        super().output(event, wait)
        self._written = True

    def typed(self, event: CastEvent) -> None:
        data = REPORTS.sub("", event.data)
        if data != event.data:
            reports = [["report", match.group()] for match in REPORTS.finditer(event.data)]
            extra = self.turn.extra.setdefault("notes", []) if self.turn is not None else self.result.loose
            extra.extend(reports)
        if not data:
            return
        gap = event.time - self._last
        ended = bool(self._pieces) and self._pieces[-1].endswith(("\r", "\n"))
        if self.turn is None or ended or (gap >= _PAUSE and self._written):
            self._close(event.time)
            self.begin(CastTurn(event.time))
            self._hidden = _PASSWORD.search(self.screen.around_cursor()[0]) is not None
        elif gap >= _TYPING:
            self._enter(event.time)
        self._pieces.append(data)
        self._last, self._written = event.time, False

    def _enter(self, time: float) -> None:
        """Make entries of the keys since the last."""
        if self.turn is None or not self._pieces:
            return
        texts = key_entries(self._pieces)
        if self._hidden:
            self.turn.extra["hidden"] = True
            texts = [text if text in NAMED_KEYS else _HIDDEN + "\n" * text.endswith("\n") for text in texts]
        self.turn.entries += [(text, 0.0) for text in texts[:-1]]
        self.turn.entries += [(text, _seconds(time - self._last)) for text in texts[-1:]]
        self._pieces = []

    def _close(self, time: float) -> None:
        self._enter(time)
        self.show()

    def finish(self, time: float) -> None:
        self._close(time)


class _Paused(_Cutter):
    """Cuts by pauses; what was typed is unknown."""

    def output(self, event: CastEvent, wait: float) -> None:
        super().output(event, wait)
        if wait >= _PAUSE:
            self.cut(event.time + wait)

    def cut(self, time: float) -> None:
        """End the present turn, and begin one whose input is unknown."""
        self.close(time)
        self.begin(CastTurn(time, extra={"input": "unknown"}))

    def close(self, time: float) -> None:
        self.show()
        if self.turn is not None and not self.turn.entries:
            self.turn.entries = [("", _seconds(time - self.turn.time))]

    def finish(self, time: float) -> None:
        if self.turn is None and self.events:
            self.begin(CastTurn(0.0, extra={"input": "unknown"}))
            self.result.before = ""
        self.close(time)


@dataclass(slots=True)
class _Prompt:
    row: int
    text: str
    """Of the row, before the cursor."""
    key: tuple[str, str]
    echoes: int = 0


class _Prompted(_Paused):
    """Cuts by lines that were echoed at prompts, and full-screen programs by pauses."""

    input = "unknown"

    def __init__(self, events: Sequence[CastEvent], columns: int, lines: int) -> None:
        super().__init__(events, columns, lines)
        self._prompt: _Prompt | None = None
        self._keys: Counter[tuple[str, str]] = Counter()
        self._guesses: list[tuple[CastTurn, tuple[str, str]]] = []

    def output(self, event: CastEvent, wait: float) -> None:
        data = event.data
        if self._prompt is not None:
            newline = _NEWLINE.search(data)
            if newline is None:
                self._prompt.echoes += 1
                self.screen.feed(data)
                self.screen.play()
                if not self._standing():
                    self._prompt = None
            else:
                self.screen.feed(data[: newline.start()])
                self._entered(event.time, data[: newline.start()])
                data = data[newline.start() :]
                self.screen.feed(data)
        else:
            self.screen.feed(data)
        if self._prompt is None and (wait >= _AT_PROMPT or event is self.events[-1]):
            self._look(event.time + wait, wait)

    def _standing(self) -> bool:
        """Whether the line at the prompt is still being typed."""
        prompt = self._prompt
        before, after = self.screen.around_cursor()
        return prompt is not None and self.screen.row == prompt.row and (before + after).startswith(prompt.text)

    def _entered(self, time: float, last: str) -> None:
        """Begin a turn with the line that stands at the prompt."""
        prompt, self._prompt = self._prompt, None
        assert prompt is not None
        self.screen.play()
        before, after = self.screen.around_cursor()
        line = before[len(prompt.text) :]
        safe = (
            self.screen.row == prompt.row
            and before.startswith(prompt.text)
            and not after.strip()
            and not _ESCAPES.sub("", last)
            and len(line) <= _ECHOED * prompt.echoes + (_COMPLETED if prompt.echoes else 0)
        )
        turn = CastTurn(time, extra={"input": "unknown"})
        self.begin(turn)
        if safe:
            turn.extra["line"] = line
            self._guesses.append((turn, prompt.key))

    def _look(self, time: float, wait: float) -> None:
        """Look whether the screen shows a prompt; there the present turn ends."""
        self.screen.play()
        before, after = self.screen.around_cursor()
        match = None if self.screen.alternate or after.strip() else _PROMPT.match(before)
        if match is not None:
            if self.turn is None:
                self.result.before = self.screen.text()
            key = (match["lead"], match["sign"])
            self._keys[key] += 1
            self._prompt = _Prompt(self.screen.row, before, key)
            self.close(time)
        elif self.screen.alternate and wait >= _PAUSE:
            self.cut(time)

    def finish(self, time: float) -> None:
        if self._prompt is None:
            self.close(time)
        # An empty line may be a newline of a program's own, unless somebody typed at the same prompt.
        typed_at = {key for turn, key in self._guesses if turn.extra["line"] and self._keys[key] > 1}
        for turn, key in self._guesses:
            line = turn.extra.pop("line")
            if key in typed_at:
                turn.extra["input"] = "recovered"
                texts = key_entries([f"{line}\r"])
                waited = turn.entries[-1][1] if turn.entries else 0.0
                turn.entries = [*((text, 0.0) for text in texts[:-1]), (texts[-1], waited)]
                self.result.input = "recovered"
