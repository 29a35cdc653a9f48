"""What nano shows, and moving through it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.nano_screen import draw
from worldline.kernels.screen.programs.nano_text import TextBuffer

__all__ = ["LASTING", "NanoView"]

LASTING = 20
"""Keys after which a message goes."""


@dataclass
class NanoView:
    """The editor."""

    name: ClassVar[str] = "nano"
    silent: ClassVar[bool] = False
    file: str
    text: TextBuffer
    status: str = ""
    numbers: bool = False
    raw: bool = True
    readline: bool = False
    top: int = 0
    left: int = LASTING
    """Keys until the message goes."""
    asking: str = ""
    """What is asked in the status line: `write`, `save`, `different`, `exists`, `search`, `goto`."""
    answer: str = ""
    leaving: bool = False
    """The question is asked on the way out."""
    pattern: str = ""
    escape: str = ""
    doubt: str = ""
    names: list[str] = field(default_factory=list)

    def _draw(self, host: Host) -> str:
        prompts = {
            "write": f"File Name to Write: {self.answer}",
            "save": "Save modified buffer? ",
            "different": "Save file under DIFFERENT NAME? ",
            "exists": f'File "{self.answer}" exists; OVERWRITE? ',
            "search": f"Search{f' [{self.pattern}]' if self.pattern else ''}: {self.answer}",
            "goto": f"Enter line number, column number: {self.answer}",
        }
        asks = self.asking in ("save", "different", "exists")
        return draw(
            size=(host.columns, host.lines),
            title=(self.file or "New Buffer") + (" *" if self.text.modified else ""),
            lines=self.text.lines,
            top=self.top,
            cursor=(self.text.y, self.text.column),
            numbers=self.numbers,
            status=self.status,
            prompt=prompts.get(self.asking),
            shortcuts="yesno" if asks else self.asking or "main",
        )

    def _say(self, text: str) -> None:
        self.status, self.left = text, LASTING

    def _show(self, host: Host, *, centre: bool = False) -> None:
        """Bring the cursor's line into the window, in its middle or by as little as needed."""
        rows, y = host.lines - 4, self.text.y
        if self.top <= y < self.top + rows:
            return
        if centre:
            self.top = max(y - rows // 2, 0)
        else:
            self.top = y if y < self.top else y - rows + 1

    def _edit(self, key: str, host: Host) -> None:
        text = self.text
        keys: Mapping[str, Callable[[], None]] = {
            "\r": text.enter, "\x7f": text.backspace, "\b": text.backspace, "\x1b[3~": text.delete, "\x04": text.delete,
            "\x0b": self._cut, "\x15": self._paste, "\x1b6": self._copy, "\x1bu": self._undo, "\x1be": self._redo,
            "\x03": self._location,
        }  # fmt: skip
        if key in keys:
            keys[key]()
        elif key in _MOVES:
            self._move(_MOVES[key], host)
            return
        elif key == "\x1bw":
            self._search(host)
            return
        elif key == "\t" or (len(key) == 1 and key.isprintable()):
            text.insert(key)
        elif key != "\x0c":
            self.doubt = f"the key {key!r} in nano"
        self._show(host)

    def _cut(self) -> None:
        self.status = ""
        if not self.text.cut():
            self._say("Nothing was cut")

    def _copy(self) -> None:
        self.status = ""
        if not self.text.copy():
            self._say("Nothing was copied")

    def _paste(self) -> None:
        if self.text.paste():
            self.status = ""
        else:
            self._say("Cutbuffer is empty")

    def _undo(self) -> None:
        kind = self.text.undo()
        self._say(f"Undid {kind}" if kind else "Nothing to undo")

    def _redo(self) -> None:
        kind = self.text.redo()
        self._say(f"Redid {kind}" if kind else "Nothing to redo")

    def _location(self) -> None:
        text = self.text
        count, width = len(text.lines), text.column_of(text.line, len(text.line)) + 1
        size = sum(map(len, text.lines)) + count - 1
        place = sum(len(line) + 1 for line in text.lines[: text.y]) + text.x
        lead, digits = max(len(str(count)), 2), max(len(str(size)), 2)
        percent = 100 * (text.y + 1) // count, 100 * (text.column + 1) // width, 100 * place // size if size else 0
        self._say(
            f"line {text.y + 1:>{lead}}/{count} ({percent[0]:2d}%), col {text.column + 1:2d}/{width:2d} "
            f"({percent[1]:3d}%), char {place:>{digits}}/{size} ({percent[2]:2d}%)"
        )

    def _move(self, where: str, host: Host) -> None:
        text, last = self.text, len(self.text.lines) - 1
        if where in ("up", "down"):
            text.y = max(text.y - 1, 0) if where == "up" else min(text.y + 1, last)
            text.place_at(text.wanted)
            self._show(host)
            return
        if where in ("pageup", "pagedown"):
            self._page(-1 if where == "pageup" else 1, host)
            return
        if where == "left" and (text.x or text.y):
            text.x -= 1
            if text.x < 0:
                text.y, text.x = text.y - 1, len(text.lines[text.y - 1])
        elif where == "right" and (text.x < len(text.line) or text.y < last):
            text.x += 1
            if text.x > len(text.line):
                text.y, text.x = text.y + 1, 0
        elif where in ("home", "end"):
            self._home_or_end(where)
        elif where == "first":
            text.y, text.x = 0, 0
        elif where == "last":
            text.y, text.x = last, len(text.lines[last])
        text.wanted = text.column
        self._show(host)

    def _home_or_end(self, where: str) -> None:
        text = self.text
        text.x = 0 if where == "home" else len(text.line)

    def _page(self, direction: int, host: Host) -> None:
        text, step = self.text, (host.lines - 6) * direction
        last = len(text.lines) - 1
        if not 0 <= text.y + step <= last:
            self._move("last" if direction > 0 else "first", host)
            return
        row = text.y - self.top
        text.y += step
        text.place_at(text.wanted)
        self.top = max(text.y - row, 0)

    def _search(self, host: Host) -> None:
        """Find the pattern after the cursor, then from the top."""
        text, pattern = self.text, self.pattern.lower()
        self.status = ""
        if not pattern:
            self._say("No current search pattern")
            return
        places = [
            (y, match.start())
            for y, line in enumerate(text.lines)
            for match in re.finditer(f"(?={re.escape(pattern)})", line.lower())
        ]
        if not places:
            self._say(f'"{self.pattern}" not found')
            return
        here = (text.y, text.x)
        after = [place for place in places if place > here]
        if not after:
            self._say("This is the only occurrence" if places == [here] else "Search Wrapped")
        text.y, text.x = (after or places)[0]
        text.wanted = text.column
        self._show(host, centre=True)

    def _goto(self, answer: str, host: Host) -> None:
        match = re.fullmatch(r"\s*(\d+)(?:\s*[,.;]\s*(\d+))?\s*", answer)
        if match is None:
            self.doubt = "a place to go to in nano"
            return
        text = self.text
        text.y = min(int(match[1]), len(text.lines)) - 1
        text.place_at(int(match[2] or text.wanted + 1) - 1)
        self.top = max(text.y - (host.lines - 4) // 2, 0)


_MOVES = {
    "\x1bOA": "up", "\x10": "up", "\x1bOB": "down", "\x0e": "down", "\x1bOC": "right", "\x06": "right",
    "\x1bOD": "left", "\x02": "left", "\x01": "home", "\x1b[1~": "home", "\x1b[H": "home", "\x1bOH": "home",
    "\x05": "end", "\x1b[4~": "end", "\x1b[F": "end", "\x1bOF": "end", "\x19": "pageup", "\x1b[5~": "pageup",
    "\x16": "pagedown", "\x1b[6~": "pagedown", "\x1b\\": "first", "\x1b/": "last",
}  # fmt: skip
