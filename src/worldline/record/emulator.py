"""A terminal emulator: rebuilds the screen from what programs write to the terminal.

pyte does most of it. Added is what programs for `xterm-256color` use and pyte lacks: the alternate screen, repeating a
character, scrolling without moving the cursor, back tabs, and ignoring control strings and queries.
"""

from __future__ import annotations

import codecs
import re
from copy import copy
from typing import Any

import pyte
from pyte.screens import wcwidth

from worldline.formats.escapes import without_silent

__all__ = ["Emulator"]

_ALTERNATE = frozenset({47, 1047, 1049})
_CURSOR_KEYS = 1

_UNFINISHED = re.compile(r"\x1b(?:[PX^_\]][^\x1b\x07]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)?\Z")


class _Screen(pyte.Screen):
    """pyte's screen and the functions of xterm that it lacks."""

    def __init__(self, columns: int, lines: int) -> None:
        self._last = " "
        self._normal: tuple[Any, Any] | None = None
        self.cursor_keys = False
        super().__init__(columns, lines)

    @property
    def is_alternate(self) -> bool:
        return self._normal is not None

    def draw(self, data: str) -> None:
        super().draw(data)
        if data:
            self._last = data[-1]

    def repeat(self, count: int = 1) -> None:
        self.draw(self._last * max(1, count))

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private"):
            self.cursor_keys = self.cursor_keys or _CURSOR_KEYS in modes
            if _ALTERNATE.intersection(modes) and self._normal is None:
                self._normal = ({y: copy(line) for y, line in self.buffer.items()}, copy(self.cursor))
                cursor = self.cursor
                super().erase_in_display(2)
                self.cursor = cursor
            modes = tuple(mode for mode in modes if mode not in _ALTERNATE)
        if modes:
            super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private"):
            self.cursor_keys = self.cursor_keys and _CURSOR_KEYS not in modes
            if _ALTERNATE.intersection(modes) and self._normal is not None:
                lines, self.cursor = self._normal
                self._normal = None
                self.buffer.clear()
                self.buffer.update(lines)
                self.dirty.update(range(self.lines))
            modes = tuple(mode for mode in modes if mode not in _ALTERNATE)
        if modes:
            super().reset_mode(*modes, **kwargs)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how != 3:  # 3 erases what scrolled away, not the screen
            super().erase_in_display(how, *args, **kwargs)

    def whole_cells(self) -> None:
        """Blank a wide letter of which one half was overwritten, as a terminal does."""
        for line in self.buffer.values():
            for column in sorted(x for x, cell in line.items() if wcwidth(cell.data[:1] or " ") == 2):
                if column + 1 in line and line[column + 1].data != "":
                    line[column] = line[column]._replace(data=" ")
            for column in [x for x, cell in line.items() if cell.data == ""]:
                if wcwidth(line[column - 1].data[:1] or " ") != 2:
                    line[column] = line[column]._replace(data=" ")

    def scroll_up(self, count: int = 1) -> None:
        self._scroll(count, self.index, bottom=True)

    def scroll_down(self, count: int = 1) -> None:
        self._scroll(count, self.reverse_index, bottom=False)

    def _scroll(self, count: int, move: Any, *, bottom: bool) -> None:
        top, end = self.margins or (0, self.lines - 1)
        place = self.cursor.y
        self.cursor.y = end if bottom else top
        for _ in range(max(1, count)):
            move()
        self.cursor.y = place

    def back_tab(self, count: int = 1) -> None:
        for _ in range(max(1, count)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)


class _Stream(pyte.Stream):
    csi = {**pyte.Stream.csi, "b": "repeat", "S": "scroll_up", "T": "scroll_down", "Z": "back_tab"}  # noqa: RUF012
    events = frozenset({*pyte.Stream.events, "repeat", "scroll_up", "scroll_down", "back_tab"})


class Emulator:
    """The screen of a terminal.

    Args:
        columns: Width.
        lines: Height.
    """

    def __init__(self, columns: int, lines: int) -> None:
        self._screen = _Screen(columns, lines)
        self._stream = _Stream(self._screen)
        self._stream.use_utf8 = False  # text arrives decoded; this keeps the line-drawing character set
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    @property
    def cursor_keys(self) -> bool:
        """Whether a program asked for the application's form of the cursor keys (ESC O A for Up)."""
        return self._screen.cursor_keys

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return self._screen.is_alternate

    def feed(self, data: bytes) -> None:
        """Take what a program wrote."""
        text = self._held + self._decoder.decode(data)
        tail = _UNFINISHED.search(text)
        cut = len(text) if tail is None or len(text) - tail.start() > 4096 else tail.start()
        self._held = text[cut:]
        self._stream.feed(without_silent(text[:cut]))

    def rows(self) -> list[str]:
        """The rows of the screen from the top, without blanks at their ends."""
        self._screen.whole_cells()
        return [row.rstrip() for row in self._screen.display]
