"""asciinema's recordings of terminals (asciicast 1, 2 and 3), read only, as trajectories of the keystroke dialect.

The screen is rebuilt from the output; an observation is what it shows before the next input. The action depends on
what was recorded; `origin["input"]` says which of these it was:

- `recorded`: there are input events. A turn is a line up to Enter, or what was typed before a pause of two seconds in
  which something was written. Keys have their names; what the terminal itself answered to queries is left out and
  noted in the turn's `extra`. So is what was typed at a prompt for a password: the entry says `<hidden>`, the turn
  `extra["hidden"]`.
- `recovered`: only output was recorded, but prompts can be told. Where a line was echoed at a prompt that comes up
  more than once, key by key, and ended by a newline of its own, the action is that line (as it stood when Enter was
  pressed: keys that edited it are lost) and the turn says `extra["input"] = "recovered"`. Anything less clear is
  unknown. Full-screen programs are cut at pauses.
- `unknown`: nothing can be told. The recording is cut at pauses of two seconds.

An action that is unknown is an empty text with the time that passed. It is marked `extra["input"] = "unknown"` and
counts nothing in training (`train` 0). What was shown before the first turn is the world's `extra["screen"]`.

Times that go backwards count as no time; one wait lasts at most an hour. Of a flood of output between two screens the
last MiB is played, and the observation is marked as truncated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.cast_turns import CastEvent, CastTurn, cast_turns
from worldline.formats.coding import nested_deeply
from worldline.formats.skeleton import mapping_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Observation, Source, Trajectory, Turn, WorldSpec, content_id

__all__ = ["ASCIINEMA", "Asciinema"]

_SIDE, _AREA = 1_000, 100_000
"""Most columns or lines, and most places, of a terminal."""
_CODES = frozenset("oimrx")
_TERMS = frozenset({"xterm-256color", "screen-256color", "linux"})


@dataclass(slots=True)
class _Cast:
    """One recording."""

    line: int
    header: JsonDict
    columns: int
    lines: int
    events: list[CastEvent] = field(default_factory=list)
    now: float = 0.0
    backwards: int = 0
    unknown: list[Any] = field(default_factory=list)
    """Events of codes that are not known."""
    size: int = 0

    @property
    def version(self) -> int:
        return int(self.header["version"])

    def add(self, time: float, code: str, data: str, *, relative: bool) -> None:
        """Take an event; time never goes backwards."""
        then = self.now + time if relative else time
        if then < self.now or not math.isfinite(then):
            self.backwards += 1
            then = self.now
        self.now = then
        self.size += len(data)
        if code in _CODES:
            self.events.append(CastEvent(then, code, data))
        else:
            self.unknown.append([then, code, str(data)])


class Asciinema:
    """The recordings of asciinema."""

    name = "asciinema"
    suffixes = (".cast", ".json")

    def sniff(self, value: Any) -> str | None:
        """Recognise the header of one of the three versions."""
        if not isinstance(value, dict):
            return None
        version = value.get("version")
        if version == 2 and "width" in value and "height" in value:
            return "the header of an asciicast of version 2"
        if version == 3 and "cols" in mapping_of(value.get("term")):
            return "the header of an asciicast of version 3"
        if version == 1 and {"width", "height"} <= value.keys() and ("stdout" in value or "duration" in value):
            return "an asciicast of version 1"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each header; a recording is held in memory."""
        cast: _Cast | None = None
        told = False
        for record in self._records(file):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            line, value = record
            if isinstance(value, dict):
                yield from _finished(cast, file, source)
                cast, told = None, True
                opened = _opened(value, line)
                if isinstance(opened, str):
                    yield file.skipped(opened, line)
                else:
                    cast, told = opened, False
                    yield from _frames(cast, file)
            elif cast is None:
                if not told:
                    yield file.skipped("a header of an asciicast was expected before the events", line)
                    told = True
            elif problem := _taken(cast, value, file.limits.document):
                yield file.skipped(problem, line)
        yield from _finished(cast, file, source)

    def _records(self, file: InputFile) -> Iterator[tuple[int, Any] | SkippedRecord]:
        """Yield the lines; a recording of version 1 may be one value of many lines."""
        first = next(iter(file.json_lines(comment=b"#")), None)
        whole = isinstance(first, SkippedRecord) and file.head().lstrip().startswith(b"{")
        if whole and (version_1 := self._document(file)) is not None:
            yield version_1
            return
        for record in file.json_lines(comment=b"#"):
            yield record if isinstance(record, SkippedRecord) else (record.line, record.value)

    def _document(self, file: InputFile) -> tuple[int, Any] | None:
        for record in file.values(whole_list=lambda first: True):
            if not isinstance(record, SkippedRecord) and isinstance(record.value, dict):
                return record.line, record.value
            return None
        return None


def _opened(header: JsonDict, line: int) -> _Cast | str:
    """Begin a recording, or say what is wrong with its header."""
    version = header.get("version")
    if isinstance(version, bool) or version not in (1, 2, 3):
        return f"a header of an asciicast of version 1, 2 or 3 was expected, found version {version!r:.20}"
    if nested_deeply(header):
        return "a header that is nested too deeply"
    size = mapping_of(header.get("term")) if version == 3 else header
    columns, lines = (size.get("cols"), size.get("rows")) if version == 3 else (size.get("width"), size.get("height"))
    if not isinstance(columns, int) or not isinstance(lines, int) or not _fits(columns, lines):
        return (
            f"a terminal of {columns!r:.20} x {lines!r:.20}; {_SIDE} columns or lines and {_AREA:,} places are the most"
        )
    return _Cast(line, header, columns, lines)


def _fits(columns: int, lines: int) -> bool:
    return 1 <= columns <= _SIDE and 1 <= lines <= _SIDE and columns * lines <= _AREA


def _frames(cast: _Cast, file: InputFile) -> Iterator[SkippedRecord]:
    """Take the frames of a recording of version 1, which stand in its header."""
    if cast.version != 1:
        return
    frames = cast.header.get("stdout")
    cast.header = {key: value for key, value in cast.header.items() if key != "stdout"}
    if not isinstance(frames, list):
        yield file.skipped("a recording of version 1 without its `stdout`", cast.line)
        return
    for number, frame in enumerate(frames):
        event = [frame[0], "o", frame[1]] if isinstance(frame, list) and len(frame) == 2 else frame
        if problem := _taken(cast, event, file.limits.document):
            yield file.skipped(f"stdout.{number}: {problem}", cast.line)


def _taken(cast: _Cast, event: Any, limit: int) -> str | None:
    """Take an event, or say what is wrong with it."""
    if not isinstance(event, list) or len(event) != 3:
        return "an event [time, code, data] was expected"
    time, code, data = event
    if isinstance(time, bool) or not isinstance(time, int | float):
        return "an event without a time"
    if not isinstance(code, str) or not isinstance(data, str):
        return "an event whose code and data are not texts"
    if cast.size + len(data) > limit:
        return f"the recording holds more than {limit:,} characters"
    try:
        cast.add(float(time), code, data, relative=cast.version != 2)
    except OverflowError:
        return "an event with a time beyond all bounds"
    return None


def _finished(cast: _Cast | None, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
    if cast is None:
        return
    try:
        yield _trajectory(cast, file, source)
    except (ValueError, RecursionError) as exc:
        yield file.skipped(f"the recording cannot be held: {reason_of(exc)}", cast.line)


def _trajectory(cast: _Cast, file: InputFile, source: Source) -> Trajectory:
    played = cast_turns(cast.events, cast.columns, cast.lines)
    header = cast.header
    start = header.get("timestamp")
    turns = [_turn(turn, start) for turn in played.turns]
    if turns and played.exit is not None:
        turns[-1] = turns[-1].model_copy(update={"done": True})
    layout: JsonDict = {"header": header, "exit": played.exit, "backwards": cast.backwards, "unknown": cast.unknown}
    layout["loose"] = played.loose
    identity = [header.get(key) for key in ("title", "command", "timestamp")]
    title, term = header.get("title"), mapping_of(header.get("env")).get("TERM")
    term = mapping_of(header.get("term")).get("type", term)
    screen: JsonDict = {"columns": cast.columns, "lines": cast.lines}
    if isinstance(term, str) and term in _TERMS:
        screen["term"] = str(term)
    return Trajectory(
        source=source,
        world=WorldSpec(
            domain="terminal",
            task=str(title) if isinstance(title, str) else "",
            initial_state={"screen": screen},
            extra={"screen": played.before} if played.before else {},
        ),
        turns=tuple(turns),
        family=f"asciinema-{content_id([*identity, *([] if any(identity) else [file.path.name])], 8)}",
        origin={"format": "asciinema", "file": file.path.name, "version": cast.version, "input": played.input},
        extra={"asciinema": {key: value for key, value in layout.items() if value not in (None, 0, [])}},
    )


def _turn(turn: CastTurn, start: Any) -> Turn:
    action = {"keystrokes": [{"keystrokes": text, "duration": duration} for text, duration in turn.entries]}
    return Turn(
        action=Action(name="keystrokes", arguments=action),
        observation=Observation(text=turn.screen, truncated=turn.flooded),
        train=0.0 if turn.extra.get("input") == "unknown" else 1.0,
        timestamp=_clock(start, turn.time),
        extra=turn.extra,
    )


def _clock(start: Any, time: float) -> str | None:
    if isinstance(start, bool) or not isinstance(start, int | float):
        return None
    try:
        return (datetime.fromtimestamp(0, UTC) + timedelta(seconds=start + time)).isoformat()
    except (OverflowError, ValueError):
        return None


ASCIINEMA = Asciinema()
