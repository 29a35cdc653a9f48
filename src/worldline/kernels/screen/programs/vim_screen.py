"""How vim draws itself: text, `~` below it, and the last line with message and ruler."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.kernels.screen.programs.rows import shown_line
from worldline.kernels.screen.programs.vim_text import VimText

__all__ = ["Window", "draw"]

_SCROLL_OFF = 5


@dataclass
class Window:
    """What part of the text is shown."""

    top: int = 0
    numbers: bool = False
    marks: bool = False
    """Ends of lines and tabs are shown (`list`)."""

    def shown(self, line: str) -> str:
        """A line as it is drawn."""
        return shown_line(line.replace("\t", "^I")) + "$" if self.marks else shown_line(line)

    def margin(self, text: VimText) -> int:
        """Columns of the line numbers."""
        return max(len(str(len(text.lines))) + 1, 4) if self.numbers else 0

    def follow(self, text: VimText, rows: int) -> bool:
        """Scroll so that the cursor is in the window, with five lines around it; true where lines were shifted."""
        before, y, last = self.top, text.y, len(text.lines) - 1
        most = max(last - rows + 1, 0)
        off = min(_SCROLL_OFF, (rows - 1) // 2)
        high, low = max(y - off, 0), min(y + off, last)
        if high < self.top:
            far = self.top - y + off >= rows // 2 - 1
            self.top = min(max(y - (rows - 1) // 2, 0), most) if far else high
        elif low > self.top + rows - 1:
            far = low - (self.top + rows - 1) > rows + 1
            self.top = min(y - (rows - 1) // 2, most) if far else low - rows + 1
        return self.top != before and abs(self.top - before) <= rows - 2


def draw(
    text: VimText, window: Window, size: tuple[int, int], bottom: str, pending: str, *, ruler: bool, inserting: bool
) -> str:
    """Return what draws the whole screen.

    Args:
        text: The text and the cursor.
        window: What of it is shown.
        size: Columns and lines.
        bottom: Message, mode or what is being typed in the last line.
        pending: Keys of a command that is not complete.
        ruler: Whether the position is shown.
        inserting: The cursor may stand behind the line.
    """
    columns, height = size
    rows, shown_to = _rows(text, window, columns, height - 1)
    last = bottom
    if ruler:
        last = f"{bottom:<{columns - 28}}{pending[-10:]:<10}{_ruler(text, window, height - 1, shown_to, inserting)}"
    rows.append(last.rstrip())
    body = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(rows, 1) if row)
    margin = window.margin(text)
    column = text.cursor_column(inserting)
    above = sum(_height(text, window, y, columns - margin) for y in range(window.top, text.y))
    row, column = above + column // (columns - margin), column % (columns - margin) + margin
    return f"\x1b[H\x1b[2J{body}\x1b[{row + 1};{column + 1}H"


def _height(text: VimText, window: Window, y: int, room: int) -> int:
    return max(-(-len(window.shown(text.lines[y])) // room), 1)


def _rows(text: VimText, window: Window, columns: int, height: int) -> tuple[list[str], int]:
    margin = window.margin(text)
    room, rows, y = columns - margin, list[str](), window.top
    while y < len(text.lines) and len(rows) < height:
        count = _height(text, window, y, room)
        if len(rows) + count > height and rows:
            return [*rows, *["@"] * (height - len(rows))], y
        shown = window.shown(text.lines[y])
        for part in range(count):
            label = f"{y + 1:>{margin - 1}} " if margin and not part else " " * margin
            rows.append(label + shown[part * room : (part + 1) * room])
        y += 1
    return [*rows, *["~"] * (height - len(rows))][:height], y


def _ruler(text: VimText, window: Window, height: int, shown_to: int, inserting: bool) -> str:
    if text.empty:
        place = "0,0-1" if not inserting else "0,1"
    else:
        virtual = text.cursor_column(inserting) + 1
        before = len(text.line[: text.x].encode())
        shown = "0-1" if not text.line and not inserting else str(before + 1)
        if shown != "0-1" and before + 1 != virtual:
            shown += f"-{virtual}"
        place = f"{text.y + 1},{shown}"
    below = len(text.lines) - shown_to
    if not window.top:
        part = "All" if below <= 0 else "Top"
    elif below <= 0:
        part = "Bot"
    else:
        part = f"{window.top * 100 // (window.top + below):2d}%"
    return f"{place:<14}{part}"
