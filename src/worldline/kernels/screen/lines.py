"""Editing a line as GNU readline does, and what that writes to the terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wcwidth import wcwidth

__all__ = ["LineEditor", "parted_keys"]

_KEY = re.compile(r"\x1b(?:\[[0-9;]*[~A-Za-z]|O[A-Za-z]|[^\x1b\[O])|\x1b|.", re.DOTALL)
_SEQUENCES = {
    "\x1b[A": "\x10", "\x1bOA": "\x10", "\x1b[B": "\x0e", "\x1bOB": "\x0e",
    "\x1b[C": "\x06", "\x1bOC": "\x06", "\x1b[D": "\x02", "\x1bOD": "\x02",
    "\x1b[H": "\x01", "\x1b[1~": "\x01", "\x1bOH": "\x01", "\x1b[7~": "\x01",
    "\x1b[F": "\x05", "\x1b[4~": "\x05", "\x1bOF": "\x05", "\x1b[8~": "\x05",
    "\x1b[3~": "delete", "\x1b[1;5C": "\x1bf", "\x1b[1;5D": "\x1bb", "\x1b[5C": "\x1bf", "\x1b[5D": "\x1bb",
    "\x1b[2~": "", "\x08": "\x7f",
}  # fmt: skip


_UNDONE_TOGETHER = 20
"""Letters typed one after the other that one undo takes back."""


def parted_keys(text: str) -> list[str]:
    """Part what is typed into keys: single characters and escape sequences."""
    return _KEY.findall(text)


@dataclass(slots=True)
class LineEditor:
    """A line that is being edited."""

    prompt: int
    """Columns of the last line of the prompt."""
    columns: int
    """Of the screen."""
    offset: int = 0
    """Columns that other output takes before the prompt, of which readline does not know."""
    text: str = ""
    point: int = 0
    killed: str = ""
    recall: int | None = None
    """Index of the history line that is shown; None: the line of one's own."""
    edited: dict[int, str] = field(default_factory=dict)
    """History lines as changed here; -1 is the line of one's own."""
    undone: list[tuple[str, int]] = field(default_factory=list)
    """Earlier texts and points."""
    unsure: str = ""
    """A key was pressed whose effect is not known."""
    accepted: bool = False
    ended: bool = False
    """C-d on an empty line."""
    held: str = ""
    """An Escape, or C-v, that changes the next key."""
    shown: str = ""
    """The last line of the prompt as it is written."""
    tabs: bool = False
    """Tab at the start of a line stands for itself (Python's prompt)."""
    tabbed: bool = False
    """The last key was a Tab that completed nothing: another one lists the choices."""
    searching: bool = False
    """C-r was pressed: letters look for lines of the history."""
    sought: str = ""
    place: int = -1
    """Index of the history line that was found."""
    run_end: int = -1
    """Where the letters end that one undo takes back; -1: there are none."""
    run: int = 0
    """How many these are."""
    killing: bool = False
    """The last key killed text, so that another kill adds to it."""

    def key(self, key: str, history: list[str]) -> str:
        """Take a key; return what is written to the terminal.

        Args:
            key: One of :func:`parted_keys`.
            history: Lines to be recalled.
        """
        if self.held:
            held, self.held = self.held, ""
            if held == "\x16":
                return self._insert(key)
            key = held + key
        if key == "\x1b" and self.searching:
            self.searching = False
            return self._redrawn(len(self.text))
        if key in ("\x1b", "\x16"):
            self.held = key
            return ""
        key = _SEQUENCES.get(key, key)
        self.tabbed = False
        if self.searching:
            return self._search(key, history)
        if key == "\x12":
            self.searching, self.sought, self.place = True, "", len(history)
            self.edited[-1] = self.text
            return self._search("", history)
        if key in ("\r", "\n"):
            self.accepted = True
            return self._leave() + "\r\n"
        if not key:
            return ""
        before, was_killing = (self.text, self.point), self.killing
        self.killing = False
        if len(key) == 1 and (key >= " " and key != "\x7f"):
            if self.run_end != self.point or self.run >= _UNDONE_TOGETHER:
                self._remember(before)
                self.run = 0
            self.run_end, self.run = self.point + 1, self.run + 1
            return self._insert(key)
        if key == "\t" and self.tabs and not self.text[: self.point].strip():
            self._remember(before)
            return self._changed(self.text[: self.point] + key + self.text[self.point :], self.point + 1)
        if key == "\t":
            self.unsure = "completion"
            return ""
        if key == "\x04" and not self.text:
            self.ended = True
            return ""
        if key in ("\x10", "\x0e", "\x1b<", "\x1b>"):
            return self._recalled(key, history)
        if key == "\x1f":
            text, point = self.undone.pop() if self.undone else before
            self.run_end = -1
            return self._changed(text, point)
        text, point = self._edited(key, was_killing, history)
        if text != self.text:
            self._remember(before)
            self.run_end = -1
        return self._changed(text, point)

    def _remember(self, before: tuple[str, int]) -> None:
        self.undone.append(before)
        del self.undone[:-50]

    # --- what a key does

    def _edited(self, key: str, was_killing: bool, history: list[str]) -> tuple[str, int]:
        text, point = self.text, self.point
        moved = {
            "\x01": 0, "\x05": len(text), "\x02": max(0, point - 1), "\x06": min(len(text), point + 1),
            "\x1bb": _word_start(text, point), "\x1bf": _word_end(text, point),
        }.get(key)  # fmt: skip
        if moved is not None:
            return text, moved
        if key == "\x7f":
            return (text[: point - 1] + text[point:], point - 1) if point else (text, 0)
        if key in ("\x04", "delete"):
            return text[:point] + text[point + 1 :], point
        kill = {
            "\x0b": (point, len(text)), "\x15": (0, point), "\x17": (_blank_start(text, point), point),
            "\x1bd": (point, _word_end(text, point)), "\x1b\x7f": (_word_start(text, point), point),
            "\x1b\x08": (_word_start(text, point), point),
        }.get(key)  # fmt: skip
        if kill is not None:
            start, end = kill
            taken = text[start:end]
            forward = key in ("\x0b", "\x1bd")
            self.killed = (self.killed + taken if forward else taken + self.killed) if was_killing else taken
            self.killing = True
            return text[:start] + text[end:], start
        if key == "\x19":
            return text[:point] + self.killed + text[point:], point + len(self.killed)
        if key == "\x14" and len(text) > 1 and point:
            at = point if point < len(text) else point - 1
            return text[: at - 1] + text[at] + text[at - 1] + text[at + 1 :], min(len(text), at + 1)
        if key in ("\x1b.", "\x1b_") and history:
            words = history[-1].split()
            last = words[-1] if words else ""
            return text[:point] + last + text[point:], point + len(last)
        if key in ("\x07", "\x0c", "\x1b\r"):
            if key == "\x0c":
                self.unsure = "clearing the screen while editing"
            return text, point
        if key in ("\x1bu", "\x1bl", "\x1bc"):
            end = _word_end(text, point)
            word = text[point:end]
            word = word.upper() if key == "\x1bu" else word.lower() if key == "\x1bl" else word.title()
            return text[:point] + word + text[end:], end
        self.unsure = f"the key {key!r}"
        return text, point

    def _recalled(self, key: str, history: list[str]) -> str:
        here = len(history) if self.recall is None else self.recall
        there = {"\x10": here - 1, "\x0e": here + 1, "\x1b<": 0, "\x1b>": len(history)}[key]
        if not 0 <= there <= len(history) or there == here:
            return ""
        self.edited[here] = self.text
        self.recall = None if there == len(history) else there
        text = self.edited.get(there, history[there] if there < len(history) else "")
        self.undone.clear()
        self.run_end = -1
        return self._changed(text, len(text))

    def _search(self, key: str, history: list[str]) -> str:
        """A key of an incremental search backwards through the history."""
        if key == "\x07":
            self.searching = False
            shown = len(self.text)
            self.text = self.edited.pop(-1, "")
            self.point = len(self.text)
            return self._redrawn(shown)
        if key in ("\x7f",):
            self.sought, self.place = self.sought[:-1], len(history)
        elif key == "\x12":
            self.place -= 1
        elif len(key) == 1 and key >= " ":
            self.sought += key
        elif key:
            self.searching = False
            if 0 <= self.place < len(history):
                self.recall = self.place
            return self._redrawn(len(self.text)) + self.key(key, history)
        start = min(self.place, len(history) - 1)
        found = next((index for index in range(start, -1, -1) if self.sought and self.sought in history[index]), None)
        failed = bool(self.sought) and found is None
        if found is not None:
            self.place, self.text = found, history[found]
            self.point = self.text.rindex(self.sought)
        head = f"({'failed ' if failed else ''}reverse-i-search)`{self.sought}': "
        if len(head) + len(self.text) >= self.columns:
            self.unsure = "a search in a line that wraps"
        return f"\r\x1b[J{head}{self.text}\r\x1b[{len(head) + self.point}C"

    def _redrawn(self, shown: int) -> str:
        """The prompt and the line again, in place of a search that showed so many letters."""
        if max(self.prompt + len(self.text), shown + 30) >= self.columns:
            self.unsure = "a search in a line that wraps"
        return f"\r\x1b[J{self.again()}"

    def again(self) -> str:
        """The prompt and the line, written from the start of a row."""
        end = self._cell(len(self.text))
        full = " \r" if end and end % self.columns == 0 else ""
        return self.shown + _shown(self.text) + full + self._move(end, self._cell(self.point))

    # --- what is drawn

    def _insert(self, key: str) -> str:
        if self.point == len(self.text) and key >= " ":
            before = self._cell(len(self.text))
            self.text += key
            self.point += 1
            after = self._cell(len(self.text))
            wrapped = after // self.columns > before // self.columns
            if wrapped and self.offset:
                self.unsure = "a line that wraps after other output"
            return key + (" \r" if wrapped and after % self.columns == 0 else "")
        return self._changed(self.text[: self.point] + key + self.text[self.point :], self.point + 1)

    def _cell(self, point: int) -> int:
        """Where a place in the text stands, counted in columns from the start of the prompt's line."""
        cell = self.prompt
        for letter in self.text[:point]:
            wide = wcwidth(letter) if letter >= " " else 0
            if letter == "\t":
                cell += 8 - cell % 8
            elif letter == "\n":
                cell = (cell // self.columns + 1) * self.columns
            elif letter < " ":
                cell += 2
            else:
                if wide == 2 and cell % self.columns == self.columns - 1:
                    cell += 1
                cell += max(0, wide)
        return cell

    def _changed(self, text: str, point: int) -> str:
        """Draw another text, from its first difference on."""
        same = 0
        limit = min(len(text), len(self.text))
        while same < limit and text[same] == self.text[same]:
            same += 1
        if text == self.text:
            same = point
        old = self._cell(self.point)
        rows_before = self._cell(len(self.text)) // self.columns
        out = ""
        if text != self.text:
            start = self._cell(same)
            out = self._move(old, start)
            self.text = text
            out += "\x1b[J" + _shown(text[same:])
            end = self._cell(len(text))
            if end % self.columns == 0 and end > start:
                out += " \r"
            old = end
        self.point = point
        if self.offset and max(rows_before, old // self.columns):
            self.unsure = "a line that wraps after other output"
        return out + self._move(old, self._cell(point))

    def _move(self, old: int, new: int) -> str:
        rows = new // self.columns - old // self.columns
        if not rows:
            step = new - old
            return f"\x1b[{step}C" if step > 0 else f"\x1b[{-step}D" if step else ""
        out = f"\x1b[{rows}B" if rows > 0 else f"\x1b[{-rows}A"
        column = new % self.columns
        return out + "\r" + (f"\x1b[{column}C" if column else "")

    def _leave(self) -> str:
        """Go to the last row of the line, as Enter does; a line that fills its last row leaves no empty one."""
        old, end = self._cell(self.point), self._cell(len(self.text))
        filled = end > 0 and end % self.columns == 0
        rows = end // self.columns - filled - old // self.columns
        return f"\x1b[{rows}B" if rows > 0 else "\x1b[A" if rows < 0 else ""

    def leave(self) -> str:
        """Go to where C-c or a new prompt leaves the line."""
        return self._leave()


def _shown(text: str) -> str:
    """Text as readline shows it: control characters by their names, a newline as one."""
    return "".join("\r\n" if c == "\n" else c if c == "\t" else f"^{chr(ord(c) + 64)}" if c < " " else c for c in text)


def _word_start(text: str, point: int) -> int:
    while point and not text[point - 1].isalnum():
        point -= 1
    while point and text[point - 1].isalnum():
        point -= 1
    return point


def _word_end(text: str, point: int) -> int:
    while point < len(text) and not text[point].isalnum():
        point += 1
    while point < len(text) and text[point].isalnum():
        point += 1
    return point


def _blank_start(text: str, point: int) -> int:
    while point and text[point - 1] in " \t":
        point -= 1
    while point and text[point - 1] not in " \t":
        point -= 1
    return point
