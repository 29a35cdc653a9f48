"""`less`: a text page by page on the second screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from worldline.kernels.screen.programs.base import Host, Shown
from worldline.kernels.screen.programs.less_view import LessOptions, LessView, Text
from worldline.kernels.screen.programs.rows import odd_text

__all__ = ["Less", "LessOptions", "Text"]

_FORWARD = {"j": 1, "\r": 1, "\n": 1, "e": 1, "\x0e": 1, "\x05": 1, "\x1bOB": 1}
_BACK = {"k": 1, "y": 1, "\x0b": 1, "\x10": 1, "\x19": 1, "\x1bOA": 1}
_WINDOW = (" ", "f", "\x06", "\x16", "z", "\x1b[6~", "\x1b ")
_WINDOW_BACK = ("b", "\x02", "w", "\x1b[5~", "\x1bv")
_TO_START, _TO_END = ("g", "<", "\x1b<"), ("G", ">", "\x1b>")
_CURSOR = {"\x1b[A": "\x1bOA", "\x1b[B": "\x1bOB"}
"""Cursor keys, which the terminal sends in their other form to programs that ask for it."""
_KEYS = re.compile(r"\x1b\[[\d;]*[~A-Z]|\x1bO[A-Z]|\x1b[<>v ]|[\s\S]")


@dataclass
class Less(LessView):
    """The pager."""

    def start(self, host: Host) -> Shown:
        """Show the first page."""
        if self.source:
            host.run(self.source)
        self.window, self.half, self.begin = host.lines - 1, host.lines // 2, host.row
        if odd_text(self.files[0].text):
            self.doubt = "a text with control characters in less"
        rows = self._rows(host)
        self.short = len(rows) < host.lines - 1
        if (self.options.one_page and len(rows) <= host.lines - 1) or (self.options.at_end == 2 and self._over(host)):
            shown = "".join(f"{row.text}\n" for row in rows) if self.options.one_page else ""
            return Shown(shown, ended=True, unknown=self.doubt)
        for key in self.first_command:
            self._key(key, host)
            self.fresh = True
        if self.options.main_screen:
            return self._first_page(host)
        return Shown("\x1b[?1049h" + self._draw(host), unknown=self.doubt)

    def _first_page(self, host: Host) -> Shown:
        shown = self._rows(host)[self.top :][: host.lines - 1]
        return Shown("".join(f"{row.text}\n" for row in shown) + self._prompt(host), unknown=self.doubt)

    def feed(self, text: str, host: Host) -> Shown:
        """Take keys."""
        out = ""
        for key in self._keys(text):
            top, short = self.top, self.short
            if self._key(key, host):
                leave = "\r\x1b[K" if self.options.main_screen else "\x1b[?1049l"
                return Shown(out + leave, ended=True, unknown=self.doubt)
            if self.options.main_screen:
                out += self._change(top, short, host)
        return Shown(out if self.options.main_screen else self._draw(host), unknown=self.doubt)

    @property
    def commanding(self) -> bool:
        """Whether the next key is a command, so that C-z stops it."""
        return not (self.entering or self.waiting or self.message or self.options.main_screen)

    def _keys(self, text: str) -> list[str]:
        """Split what was typed into keys; an escape waits for what comes after it."""
        keys = [_CURSOR.get(key, key) for key in _KEYS.findall(self.escape + text)]
        self.escape = keys.pop() if keys and keys[-1] == "\x1b" else ""
        return keys

    def end_of_input(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def interrupt(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def _change(self, top: int, short: bool, host: Host) -> str:
        """What a key changes on the main screen, where lines scroll up from the bottom."""
        rows, room = self._rows(host), host.lines - 1
        if short == self.short and top <= self.top <= top + room:
            new = [rows[index].text if index < len(rows) else "~" for index in range(top + room, self.top + room)]
            return "\r\x1b[K" + "".join(f"{text}\n" for text in new) + self._prompt(host)
        return self._draw(host)

    def _key(self, key: str, host: Host) -> bool:
        """Act on a key; true where it ends the program."""
        self.fresh = False
        if self.waiting:
            if key == "\x03":
                self.waiting = False
            return False
        if self.message:
            self.message = ""
            self._settle(host)
            if key in "\r\n ":
                return False
        if self.entering:
            return self._entry(key, host)
        if key.isdigit() or key in "/?&:" or key in ("-", "_", "m", "'", "Z"):
            self.entering = key
            return False
        return self._command(key, 0, host)

    def _entry(self, key: str, host: Host) -> bool:
        """Take a key of what is typed at the bottom."""
        kind = self.entering[0]
        if kind.isdigit() and not key.isdigit():
            count, self.entering = int(self.entering), ""
            return key not in "\x03\x7f\x15" and self._command(key, count, host)
        if key == "\x03":
            self.entering = ""
        elif key in ("\x7f", "\b"):
            self.entering = self.entering[:-1]
        elif key == "\x15":
            self.entering = kind
        elif kind in "-_m'Z":
            self.entering = ""
            return self._second(kind, key, host)
        elif kind == ":" and self.entering == ":" and key != "e":
            self.entering = ""
            return self._colon(key, host)
        elif key not in "\r\n":
            self.entering += key
        else:
            words, self.entering = self.entering[1:], ""
            if kind == ":":
                self.doubt = "another file in less"
            else:
                self._line(kind, words, host)
        return False

    def _line(self, kind: str, words: str, host: Host) -> None:
        """Carry out a pattern."""
        if kind == "&":
            self._filter(words, host)
            return
        if words:
            self.pattern = words
        if not self.pattern:
            self.message = "No previous regular expression"
            return
        self.backward = kind == "?"
        self._search(1, self.backward, host, fresh=True)

    def _second(self, kind: str, key: str, host: Host) -> bool:
        if kind == "Z":
            return key == "Z"
        if kind in "-_":
            self._option(key, host, change=kind == "-")
        elif kind == "m":
            self.marks[key] = self.top
        elif key in ("'", "^", "$") or key in self.marks:
            target = {"'": self.before, "^": 0, "$": len(self._rows(host))}.get(key, self.marks.get(key, 0))
            if key == "$":
                self._to_end(host)
            else:
                self._jump(target, host)
        return False

    def _colon(self, key: str, host: Host) -> bool:
        if key in "qQ":
            return True
        if key == "f":
            self._info(host)
            return False
        step = {"n": 1, "p": -1, "x": -self.current, "d": 0}.get(key)
        if key == "d" and len(self.files) > 1:
            del self.files[self.current]
            self.current = min(self.current, len(self.files) - 1)
            self.top, self.short, self.fresh = 0, False, True
            self.tops.clear()
            return False
        if not step:
            return False
        if not 0 <= self.current + step < len(self.files):
            self.message = "No next file" if key == "n" else "No previous file"
            return False
        self.tops[self.current] = self.top
        self.current += step
        self.top, self.short, self.fresh = self.tops.get(self.current, 0), False, True
        return False

    def _command(self, key: str, count: int, host: Host) -> bool:
        """Carry out a command of one key."""
        if key in ("q", "Q"):
            return True
        page = host.lines - 1
        if key in _FORWARD or key == "J":
            return self._forward(count or 1, host, past=key == "J")
        if key in _WINDOW:
            if key == "z" and count:
                self.window = count
            return self._forward(count or self.window, host)
        if key in _WINDOW_BACK:
            self._back(count or min(self.window, page), host)
        elif key in _BACK or key == "K":
            self._back(count or 1, host)
        elif key in ("d", "\x04", "u", "\x15"):
            self.half = count or self.half
            if key in "d\x04":
                return self._forward(self.half, host)
            self._back(self.half, host)
        else:
            self._other(key, count, host)
        return False

    def _other(self, key: str, count: int, host: Host) -> None:
        table: Mapping[str, Callable[[], None]] = {
            "r": lambda: self._jump(self.top, host, mark=False),
            "\x0c": lambda: self._jump(self.top, host, mark=False),
            "R": lambda: self._jump(self.top, host, mark=False),
            "n": lambda: self._search(count or 1, self.backward, host),
            "N": lambda: self._search(count or 1, not self.backward, host),
            "p": lambda: self._percent(count, host),
            "%": lambda: self._percent(count, host),
            "=": lambda: self._info(host),
            "\x07": lambda: self._info(host),
            "F": lambda: self._follow(host),
        }
        if key in _TO_START or (key in _TO_END and count):
            self._to_line(count or 1, host)
        elif key in _TO_END:
            self._to_end(host)
        elif key in table:
            table[key]()
        elif key in ("h", "H", "v", "!", "s", "|", "\x1b", "(", ")", "{", "}", "[", "]", "t", "T", "V", "#", "+"):
            self.doubt = f"the key {key!r} in less"

    def _forward(self, count: int, host: Host, *, past: bool = False) -> bool:
        most = max(len(self._rows(host)) - (host.lines - 1), self.top, 0)
        if self.options.at_end == 1 and self._over(host):
            return self.current + 1 >= len(self.files)
        if not self.short or past:
            self.top = self.top + count if past else min(self.top + count, most)
        return self.options.at_end == 2 and self._over(host)
