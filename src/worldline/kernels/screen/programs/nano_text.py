"""The text that nano edits: cursor, cutting and pasting, undoing."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Step", "TextBuffer"]


@dataclass(frozen=True)
class Step:
    """What one undo takes back."""

    kind: str
    """As nano names it: addition, deletion, line break, line join, cut, paste."""
    lines: tuple[str, ...]
    place: tuple[int, int]
    modified: bool


@dataclass
class TextBuffer:
    """Lines, the last of which is empty unless the text is: that is the line after the last newline."""

    lines: list[str]
    y: int = 0
    x: int = 0
    modified: bool = False
    cut_text: list[str] = field(default_factory=list)
    cutting: bool = False
    """The last key cut, so that the next cut is added."""
    wanted: int = 0
    """Column that the cursor returns to in lines that are long enough."""
    undos: list[Step] = field(default_factory=list)
    redos: list[Step] = field(default_factory=list)
    last: tuple[str, int, int] = ("", 0, 0)
    """Kind of the last change and where the cursor was after it, to tell whether the next belongs to it."""

    @property
    def line(self) -> str:
        """The line of the cursor."""
        return self.lines[self.y]

    @property
    def column(self) -> int:
        """Where the cursor stands on the screen's line."""
        return self.column_of(self.line, self.x)

    def column_of(self, line: str, x: int) -> int:
        """The column of a character of a line."""
        column = 0
        for char in line[:x]:
            column += 8 - column % 8 if char == "\t" else 2 if char < " " else 1
        return column

    def place_at(self, column: int) -> None:
        """Put the cursor on the character of its line that stands in a column."""
        self.x = next(
            (x for x in range(len(self.line) + 1) if self.column_of(self.line, x + 1) > column), len(self.line)
        )
        self.x = min(self.x, len(self.line))

    def text(self) -> str:
        """The text as it is written."""
        kept = self.lines[:-1] if self.lines[-1] == "" else self.lines
        return "".join(f"{line}\n" for line in kept)

    # --- changes

    def _remember(self, kind: str) -> None:
        joined = self.last == (kind, self.y, self.x) and kind in ("addition", "deletion", "cut")
        if not joined or not self.undos:
            self.undos.append(Step(kind, tuple(self.lines), (self.y, self.x), self.modified))
        self.redos.clear()
        self.modified = True

    def _done(self, kind: str) -> None:
        if self.lines[-1] != "":
            self.lines.append("")
        self.last = (kind, self.y, self.x)
        self.wanted = self.column

    def insert(self, char: str) -> None:
        """Type a character."""
        self._remember("addition")
        self.lines[self.y] = self.line[: self.x] + char + self.line[self.x :]
        self.x += 1
        self._done("addition")

    def enter(self) -> None:
        """Break the line."""
        self._remember("line break")
        self.lines[self.y : self.y + 1] = [self.line[: self.x], self.line[self.x :]]
        self.y, self.x = self.y + 1, 0
        self._done("line break")

    def backspace(self) -> None:
        """Delete the character before the cursor, or join the line with the one above."""
        if self.x:
            self._remember("deletion")
            self.lines[self.y] = self.line[: self.x - 1] + self.line[self.x :]
            self.x -= 1
            self._done("deletion")
        elif self.y:
            self._join(self.y - 1)

    def _join(self, y: int) -> None:
        """Join a line with the one below; nothing where that is the line after the last newline."""
        if y + 2 == len(self.lines) and self.lines[y]:
            self.y, self.x = y, len(self.lines[y])
            return
        self._remember("line join")
        self.y, self.x = y, len(self.lines[y])
        self.lines[y : y + 2] = [self.lines[y] + self.lines[y + 1]]
        self._done("line join")

    def delete(self) -> None:
        """Delete the character under the cursor, or join the line with the one below."""
        if self.x < len(self.line):
            self._remember("deletion")
            self.lines[self.y] = self.line[: self.x] + self.line[self.x + 1 :]
            self._done("deletion")
        elif self.y + 1 < len(self.lines):
            self._join(self.y)

    def cut(self) -> bool:
        """Cut the line; false where there is none."""
        if self.y + 1 == len(self.lines):
            return False
        self._remember("cut")
        self.cut_text = [*(self.cut_text if self.cutting else []), self.line]
        del self.lines[self.y]
        self.x, self.cutting = 0, True
        self._done("cut")
        return True

    def copy(self) -> bool:
        """Copy the line and go to the next."""
        if self.y + 1 == len(self.lines):
            return False
        self.cut_text = [*(self.cut_text if self.cutting else []), self.line]
        self.y, self.x, self.cutting, self.wanted = self.y + 1, 0, True, 0
        return True

    def paste(self) -> bool:
        """Insert what was cut or copied; false where nothing was."""
        if not self.cut_text:
            return False
        self._remember("paste")
        head, tail = self.line[: self.x], self.line[self.x :]
        pieces = [*self.cut_text, ""]
        pieces[0] = head + pieces[0]
        self.lines[self.y : self.y + 1] = [*pieces[:-1], pieces[-1] + tail]
        self.y, self.x = self.y + len(pieces) - 1, 0
        self._done("paste")
        return True

    def undo(self) -> str:
        """Take the last change back; return its kind, empty where there is none."""
        return self._restore(self.undos, self.redos)

    def redo(self) -> str:
        """Do again what was taken back."""
        return self._restore(self.redos, self.undos)

    def _restore(self, taken: list[Step], given: list[Step]) -> str:
        if not taken:
            return ""
        step = taken.pop()
        given.append(Step(step.kind, tuple(self.lines), (self.y, self.x), self.modified))
        self.lines, self.modified = list(step.lines), step.modified
        self.y, self.x = step.place
        self.last, self.wanted = ("", 0, 0), self.column
        return step.kind
