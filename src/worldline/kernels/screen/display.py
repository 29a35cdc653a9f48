"""The screen of the terminal: what programs wrote to it, and whether all that it shows is known."""

from __future__ import annotations

from copy import copy
from typing import Any

import pyte
from pyte.screens import Char, Cursor, Margins, StaticDefaultDict
from wcwidth import wcwidth

from worldline.formats.escapes import without_silent
from worldline.types import JsonDict

__all__ = ["Display"]

_ALTERNATE = frozenset({47, 1047, 1049})
_PLAIN = Char(" ")


class _Screen(pyte.Screen):
    """pyte's screen, which counts the lines that scroll away, and keeps a second screen for full-screen programs."""

    def __init__(self, columns: int, lines: int) -> None:
        self.scrolled = 0
        self.cleared = False
        """All of it was erased, with the cursor at a known place."""
        self.placed = True
        """The cursor's place is known, whatever was written before."""
        self.normal: tuple[dict[int, dict[int, Char]], Cursor] | None = None
        super().__init__(columns, lines)

    def index(self) -> None:
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and bottom == self.lines - 1:
            self.scrolled += 1
        super().index()

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        self.placed = True
        super().cursor_position(line, column)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how == 3:  # erases what scrolled away, not the screen
            return
        home = self.cursor.x == 0 and self.cursor.y == 0
        if self.placed and (how == 2 or (how == 0 and home)):
            self.cleared = True
        super().erase_in_display(how, *args, **kwargs)

    def reset(self) -> None:
        super().reset()
        self.cleared = True

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _ALTERNATE.intersection(modes):
            if self.normal is None:
                self.normal = (_lines(self.buffer), copy(self.cursor))
                super().erase_in_display(2)
            modes = tuple(mode for mode in modes if mode not in _ALTERNATE)
        if modes:
            super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private") and _ALTERNATE.intersection(modes):
            if self.normal is not None:
                lines, self.cursor = self.normal
                self.normal = None
                self.put(lines)
            modes = tuple(mode for mode in modes if mode not in _ALTERNATE)
        if modes:
            super().reset_mode(*modes, **kwargs)

    def put(self, lines: dict[int, dict[int, Char]]) -> None:
        """Replace what is shown."""
        self.buffer.clear()
        for number, cells in lines.items():
            row: StaticDefaultDict[int, Char] = StaticDefaultDict(self.default_char)
            row.update(cells)
            self.buffer[number] = row


def _lines(buffer: Any) -> dict[int, dict[int, Char]]:
    return {number: dict(row) for number, row in buffer.items()}


class Display:
    """A terminal of some size, and the mark down to which what it shows is only a guess.

    Args:
        columns: Width.
        lines: Height.
    """

    def __init__(self, columns: int, lines: int) -> None:
        self.columns = columns
        self.lines = lines
        self._screen = _Screen(columns, lines)
        self._stream = self._attach()
        self.doubt = ""
        """Why a part of what is shown is only a guess; empty where all is known."""
        self._doubt_row = -1
        """Lowest row with a guess; rows below it are known, though perhaps not where they stand."""

    def _attach(self) -> pyte.Stream:
        stream = pyte.Stream(self._screen)
        stream.use_utf8 = False  # the text is decoded already; keeps the character set for drawing lines
        return stream

    # --- writing

    def feed(self, text: str, doubt: str = "") -> None:
        """Take what a program wrote, as it leaves the terminal driver.

        Args:
            text: With CR LF for a new line.
            doubt: Why this is only a guess, or empty.
        """
        screen = self._screen
        screen.scrolled, screen.cleared = 0, False
        if doubt:
            screen.placed = False
        self._stream.feed(without_silent(text))
        if screen.cleared and not doubt:
            self.doubt, self._doubt_row = "", -1
        if doubt:
            self.doubt, self._doubt_row = doubt, screen.cursor.y
        elif self.doubt:
            self._doubt_row -= screen.scrolled
            if self._doubt_row < 0:
                self.doubt = ""

    def write(self, text: str, doubt: str = "") -> None:
        """Take what a program wrote: the terminal driver makes CR LF of a new line."""
        self.feed(text.replace("\n", "\r\n"), doubt)

    # --- reading

    @property
    def column(self) -> int:
        """Column of the cursor; the width of the screen after a character in the last column."""
        return int(self._screen.cursor.x)

    @property
    def row(self) -> int:
        """Row of the cursor, from 0."""
        return int(self._screen.cursor.y)

    @property
    def alternate(self) -> bool:
        """Whether a full-screen program has the screen."""
        return self._screen.normal is not None

    def line(self, row: int) -> str:
        """One row, without blanks at its end."""
        cells = self._screen.buffer.get(row)
        if not cells:
            return ""
        last = max(cells)
        shown, skip = [], False
        for column in range(last + 1):
            if skip:
                skip = False
                continue
            data = cells[column].data if column in cells else " "
            shown.append(data)
            skip = bool(data) and not data.isascii() and wcwidth(data[0]) == 2
        return "".join(shown).rstrip()

    def rows(self) -> list[str]:
        """The rows from the top, without blanks at their ends."""
        return [self.line(row) for row in range(self.lines)]

    def text(self) -> str:
        """What is shown: rows joined by newlines, empty rows at the end dropped."""
        rows = self.rows()
        while rows and not rows[-1]:
            rows.pop()
        return "\n".join(rows)

    # --- copying and storing

    def adopt(self, text: str, row: int, column: int) -> None:
        """Show a text that was observed, with the cursor at a place."""
        self._screen.reset()
        self._stream = self._attach()
        for number, line in enumerate(text.split("\n")[: self.lines]):
            self._screen.cursor_position(number + 1, 1)
            self._screen.draw(line)
        self._screen.cursor_position(row + 1, column + 1)
        self.doubt, self._doubt_row = "", -1

    def put_column(self, column: int) -> None:
        """Set the cursor's column."""
        self._screen.cursor.x = min(column, self.columns - 1)

    def copy(self) -> Display:
        """Return an independent copy."""
        twin = Display.__new__(Display)
        twin.columns, twin.lines = self.columns, self.lines
        twin.doubt, twin._doubt_row = self.doubt, self._doubt_row
        mine, new = self._screen, _Screen(self.columns, self.lines)
        new.put(_lines(mine.buffer))
        new.cursor, new.mode, new.margins = copy(mine.cursor), set(mine.mode), mine.margins
        new.tabstops, new.charset = set(mine.tabstops), mine.charset
        new.g0_charset, new.g1_charset = mine.g0_charset, mine.g1_charset
        new.savepoints, new.placed = list(mine.savepoints), mine.placed
        if mine.normal is not None:
            new.normal = (mine.normal[0], copy(mine.normal[1]))
        twin._screen = new
        twin._stream = twin._attach()
        return twin

    def dump(self) -> JsonDict:
        """Return it as JSON data; colours and saved cursors are left out."""
        normal = self._screen.normal
        return {
            "rows": [self._cells(row) for row in range(self.lines)],
            "cursor": [self.row, self.column],
            "doubt": [self.doubt, self._doubt_row],
            "normal": None
            if normal is None
            else [_joined(normal[0], self.lines, self.columns), [normal[1].y, normal[1].x]],
        }

    def _cells(self, row: int) -> list[str]:
        return _joined(self._screen.buffer, self.lines, self.columns)[row]

    def restore(self, data: JsonDict) -> None:
        """Undo :meth:`dump`.

        Raises:
            KeyError: A part is missing.
            TypeError: A part is of another kind.
            ValueError: A part is damaged.
        """
        screen = self._screen
        screen.reset()
        self._stream = self._attach()
        screen.put(_parted(data["rows"]))
        screen.cursor.y, screen.cursor.x = (int(number) for number in data["cursor"])
        doubt, row = data["doubt"]
        self.doubt, self._doubt_row = str(doubt), int(row)
        if data["normal"] is not None:
            rows, (y, x) = data["normal"]
            screen.normal = (_parted(rows), Cursor(int(x), int(y)))


def _joined(buffer: Any, lines: int, columns: int) -> list[list[str]]:
    found = []
    for number in range(lines):
        row = buffer.get(number) or {}
        last = max((column for column in row if column < columns), default=-1)
        found.append([row[column].data if column in row else " " for column in range(last + 1)])
    return found


def _parted(rows: list[list[str]]) -> dict[int, dict[int, Char]]:
    return {
        number: {column: _PLAIN._replace(data=str(data)) for column, data in enumerate(row)}
        for number, row in enumerate(rows)
        if row
    }
