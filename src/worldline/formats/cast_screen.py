"""The screen of a recorded terminal, rebuilt by pyte from what programs wrote.

Whatever was recorded must not stop it: sequences that pyte cannot take are left out one by one. Added is the alternate
screen, which pyte lacks. Output is kept back until the screen is asked for, so that of a flood only the end is played.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from copy import copy
from typing import Any

import pyte

from worldline.formats.escapes import without_silent
from worldline.formats.jsontext import raw_of, verbatim

__all__ = ["CastScreen", "TextJoiner"]

_ALTERNATE = frozenset({47, 1047, 1049})
_CLEARING = frozenset({1047, 1049})
_SEQUENCE = re.compile(r"(\x1b\[[0-?]*[ -/]*[@-~])")
_UNFINISHED = re.compile(r"\x1b(?:[PX^_\]][^\x1b\x07]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)?\Z")
_HELD = 4_096
_PLAYED = 1 << 20
"""Characters that are played between two looks at the screen; of more, the last ones."""
_MARKS = 8
"""Combining characters in a row that are shown; each makes its cell longer."""
_TROUBLE = (TypeError, ValueError, IndexError, KeyError, AttributeError, NameError, ArithmeticError, StopIteration)
"""What pyte raises on sequences with parameters it does not expect."""


class TextJoiner:
    """Puts characters together that were split between two events, as lone surrogates or as single bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._high = ""
        self._bytes = False

    def join(self, data: str) -> str:
        """Return the text that is complete with `data`."""
        raw = raw_of(data)
        if raw is None and not self._high and not self._bytes:
            return data
        text = self._high + verbatim(data, raw)
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        self._high = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        text = re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text[: len(text) - len(self._high)])
        joined = self._decoder.decode(text.encode("utf-8", "surrogateescape"))
        self._bytes = self._decoder.getstate()[0] != b""
        return joined


class _Screen(pyte.Screen):
    """pyte's screen with the alternate screen of xterm."""

    def __init__(self, columns: int, lines: int) -> None:
        self.normal: tuple[dict[int, Any], Any] | None = None
        super().__init__(columns, lines)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _ALTERNATE.intersection(modes):
            if self.normal is None:
                self.normal = ({row: copy(line) for row, line in self.buffer.items()}, copy(self.cursor))
            if _CLEARING.intersection(modes):
                super().erase_in_display(2)
            modes = tuple(mode for mode in modes if mode not in _ALTERNATE)
        if modes:
            super().set_mode(*(mode for mode in modes if mode != 3), **kwargs)  # 3 would change the width

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _ALTERNATE.intersection(modes):
            if self.normal is not None:
                lines, self.cursor = self.normal
                self.normal = None
                self.buffer.clear()
                self.buffer.update(lines)
            modes = tuple(mode for mode in modes if mode not in _ALTERNATE)
        if modes:
            super().reset_mode(*(mode for mode in modes if mode != 3), **kwargs)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how != 3:  # 3 erases what scrolled away, not the screen
            super().erase_in_display(how, *args, **kwargs)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        super().resize(lines, columns)
        self.cursor.y = min(self.cursor.y, self.lines - 1)
        self.cursor.x = min(self.cursor.x, self.columns - 1)


class CastScreen:
    """A terminal's screen.

    Args:
        columns: Width.
        lines: Height.
    """

    def __init__(self, columns: int, lines: int) -> None:
        self._screen = _Screen(columns, lines)
        self._stream = self._attached()
        self._joiner = TextJoiner()
        self._pending: list[str] = []
        self._size = 0
        self._held = ""
        self.flooded = False
        """Whether output was left out since the screen was last asked for."""

    def _attached(self) -> pyte.Stream:
        stream = pyte.Stream(self._screen)
        stream.use_utf8 = False  # text arrives decoded; this keeps the line-drawing character set
        return stream

    def feed(self, data: str) -> None:
        """Take what programs wrote."""
        text = self._joiner.join(data)
        self._pending.append(text)
        self._size += len(text)
        if self._size > 4 * _PLAYED:
            kept = "".join(self._pending)[-_PLAYED:]
            self._pending, self._size, self.flooded = [kept], len(kept), True

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal."""
        self.play()
        self._screen.resize(lines, columns)

    def play(self) -> None:
        """Show all that was fed."""
        if not self._pending:
            return
        text = self._held + "".join(self._pending)
        if len(text) > _PLAYED:
            start = text.find("\n", len(text) - _PLAYED) + 1
            text, self.flooded = text[start or len(text) - _PLAYED :], True
        self._pending, self._size = [], 0
        tail = _UNFINISHED.search(text, max(0, len(text) - _HELD))
        cut = len(text) if tail is None else tail.start()
        text, self._held = text[:cut], text[cut:]
        for piece in _SEQUENCE.split(_tamed(without_silent(text))):
            if piece:
                try:
                    self._stream.feed(piece)
                except _TROUBLE:
                    self._stream = self._attached()

    def text(self) -> str:
        """What is shown: rows joined by newlines, without blanks at their ends and empty rows at the end."""
        self.play()
        rows = [self._row(number).rstrip() for number in range(self._screen.lines)]
        while rows and not rows[-1]:
            rows.pop()
        return "\n".join(rows)

    def _row(self, number: int, start: int = 0, end: int | None = None) -> str:
        cells = self._screen.buffer.get(number)
        if not cells:
            return ""
        last = max(cells) + 1
        # The second cell of a wide character is empty.
        return "".join(cells[column].data for column in range(start, last if end is None else min(end, last)))

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program has the screen."""
        return self._screen.normal is not None

    @property
    def row(self) -> int:
        """Row of the cursor, from 0."""
        return int(self._screen.cursor.y)

    def around_cursor(self) -> tuple[str, str]:
        """The cursor's row before and after the cursor."""
        row, place = self._screen.cursor.y, self._screen.cursor.x
        before = self._row(row, 0, place)
        return before.ljust(place) if before.isascii() else before, self._row(row, place)


def _tamed(text: str) -> str:
    """Leave out all but the first combining characters of a row of them."""
    if text.isascii():
        return text
    kept: list[str] = []
    run = 0
    for letter in text:
        run = run + 1 if letter > "\u02ff" and unicodedata.category(letter) in ("Mn", "Me", "Cf") else 0
        if run <= _MARKS:
            kept.append(letter)
    return "".join(kept)
