"""The text that vim edits: cursor, words, registers, undo."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.screen.programs.rows import shown_line

__all__ = ["Change", "VimText"]


@dataclass(frozen=True)
class Change:
    """What one undo takes back."""

    lines: tuple[str, ...]
    place: tuple[int, int]
    """Where the cursor goes."""
    number: int
    time: int = 0
    """Second at which it began."""
    count: int = 0
    """Lines that it is said to change; 0: those that differ."""


@dataclass
class VimText:
    """Lines, at least one."""

    lines: list[str]
    y: int = 0
    x: int = 0
    wanted: int = 0
    """Column for moves up and down; a large number after `$`."""
    register: tuple[str, ...] = ()
    linewise: bool = True
    undos: list[Change] = field(default_factory=list)
    redos: list[Change] = field(default_factory=list)
    changes: int = 0
    clock: int = 0
    """The present second."""
    saved: tuple[str, ...] = ()
    empty: bool = False
    """There are no lines at all: the file is empty."""

    @property
    def line(self) -> str:
        """The line of the cursor."""
        return self.lines[self.y]

    @property
    def modified(self) -> bool:
        """Whether something was changed since the text was last written."""
        return self.undos[-1].number != self.written if self.undos else self.written != 0

    written: int = 0
    """Number of the change after which the text was last written."""

    def mark_written(self) -> None:
        """The text stands in its file."""
        self.written = self.undos[-1].number if self.undos else 0

    def virtual(self, y: int, x: int) -> int:
        """The column on the screen, from 0, of the start of a character."""
        return len(shown_line(self.lines[y][:x]))

    def cursor_column(self, inserting: bool) -> int:
        """Where the cursor is drawn: at the end of a tab, unless text is inserted before it."""
        if not inserting and self.x < len(self.line) and self.line[self.x] == "\t":
            return self.virtual(self.y, self.x + 1) - 1
        return self.virtual(self.y, self.x)

    def clamp(self, inserting: bool = False) -> None:
        """Keep the cursor on the text."""
        self.y = max(0, min(self.y, len(self.lines) - 1))
        self.x = max(0, min(self.x, len(self.line) - (0 if inserting else 1)))

    def remember(self) -> None:
        """A change begins."""
        self.changes += 1
        self.undos.append(Change(tuple(self.lines), (self.y, self.x), self.changes, self.clock))
        self.redos.clear()
        self.empty = False

    def first_nonblank(self, y: int) -> int:
        """Index of the first character of a line that is no blank."""
        line = self.lines[y]
        return max(min(len(line) - len(line.lstrip(" \t")), len(line) - 1), 0)

    def up_down(self, count: int, inserting: bool) -> bool:
        """Move over lines, keeping the column; false where there are not so many."""
        y = self.y + count
        if (count < 0 and self.y == 0) or (count > 0 and self.y + 1 >= len(self.lines)):
            return False
        self.y = max(0, min(y, len(self.lines) - 1))
        line = self.line
        self.x = next((x for x in range(len(line)) if self.virtual(self.y, x + 1) > self.wanted), len(line))
        self.clamp(inserting)
        return True

    # --- words

    def classes(self, y: int, big: bool) -> list[int]:
        """For each character of a line: 0 a blank, 1 of a word, 2 another sign."""
        return [0 if c in " \t" else 1 if big or re.match(r"\w", c) else 2 for c in self.lines[y]]

    def word_forward(self, y: int, x: int, big: bool) -> tuple[int, int]:
        """Start of the next word."""
        kinds = self.classes(y, big)
        kind = kinds[x] if x < len(kinds) else 0
        while x < len(kinds) and kinds[x] == kind and kind:
            x += 1
        while True:
            while x < len(kinds) and not kinds[x]:
                x += 1
            if x < len(kinds):
                return y, x
            if y + 1 >= len(self.lines):
                return y, len(kinds)
            y, x = y + 1, 0
            kinds = self.classes(y, big)
            if not kinds:
                return y, 0

    def word_end(self, y: int, x: int, big: bool) -> tuple[int, int]:
        """End of the word, of the next one where the cursor is at an end."""
        x += 1
        while True:
            kinds = self.classes(y, big)
            while x < len(kinds) and not kinds[x]:
                x += 1
            if x < len(kinds):
                kind = kinds[x]
                while x + 1 < len(kinds) and kinds[x + 1] == kind:
                    x += 1
                return y, x
            if y + 1 >= len(self.lines):
                return y, max(len(kinds) - 1, 0)
            y, x = y + 1, 0

    def word_back(self, y: int, x: int, big: bool) -> tuple[int, int]:
        """Start of the word, of the one before where the cursor is at a start."""
        x -= 1
        while True:
            kinds = self.classes(y, big)
            while x >= 0 and not kinds[x]:
                x -= 1
            if x >= 0:
                while x > 0 and kinds[x - 1] == kinds[x]:
                    x -= 1
                return y, x
            if y == 0:
                return 0, 0
            y -= 1
            x = len(self.lines[y]) - 1
            if x < 0:
                return y, 0

    def word_end_back(self, y: int, x: int, big: bool) -> tuple[int, int]:
        """End of the word before."""
        kinds = self.classes(y, big)
        kind = kinds[x] if x < len(kinds) else 0
        while x >= 0 and x < len(kinds) and kind and kinds[x] == kind:
            x -= 1
        if not kind:
            x -= 1
        while True:
            while x >= 0 and not kinds[x]:
                x -= 1
            if x >= 0:
                return y, x
            if y == 0:
                return 0, 0
            y -= 1
            kinds = self.classes(y, big)
            x = len(kinds) - 1
            if not kinds:
                return y, 0

    # --- changes

    def cut_lines(self, first: int, last: int) -> int:
        """Delete lines into the register; return how many."""
        self.remember()
        taken = self.lines[first : last + 1]
        self.register, self.linewise = tuple(taken), True
        del self.lines[first : last + 1]
        if not self.lines:
            self.lines, self.empty = [""], True
        self.y = min(first, len(self.lines) - 1)
        self.x = self.first_nonblank(self.y)
        return len(taken)

    def cut_part(self, start: int, end: int) -> None:
        """Delete characters of the cursor's line into the register."""
        self.remember()
        self.register, self.linewise = (self.line[start:end],), False
        self.lines[self.y] = self.line[:start] + self.line[end:]
        self.x = start

    def put(self, count: int, after: bool) -> int:
        """Insert the register; return how many lines came in."""
        if not self.register:
            return 0
        self.remember()
        if self.linewise:
            place = self.y + (1 if after else 0)
            self.lines[place:place] = list(self.register) * count
            self.y = place
            self.x = self.first_nonblank(place)
            return len(self.register) * count
        at = self.x + (1 if after and self.line else 0)
        if len(self.register) > 1:
            return self._put_parts(at, count)
        text = self.register[0] * count
        self.lines[self.y] = self.line[:at] + text + self.line[at:]
        self.x = at + len(text) - 1
        return 0

    def _put_parts(self, at: int, count: int) -> int:
        """Insert parts of lines; return how many lines came in."""
        head, tail = self.line[:at], self.line[at:]
        first, *middle, last = self.register
        lines = [head + first]
        for number in range(count):
            lines += middle
            lines.append(last + (first if number < count - 1 else tail))
        self.lines[self.y : self.y + 1] = lines
        self.x = min(at, max(len(self.line) - 1, 0))
        return len(lines) - 1

    def take(self, start: tuple[int, int], end: tuple[int, int]) -> tuple[str, ...]:
        """The characters from one place up to another."""
        (y, x), (last, stop) = start, end
        if y == last:
            return (self.lines[y][x:stop],)
        return (self.lines[y][x:], *self.lines[y + 1 : last], self.lines[last][:stop])

    def cut(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        """Delete the characters from one place up to another."""
        (y, x), (last, stop) = start, end
        self.lines[y : last + 1] = [self.lines[y][:x] + self.lines[last][stop:]]
        self.y, self.x = y, x
