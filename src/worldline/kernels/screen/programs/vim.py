"""`vim` 9.0, as Debian 12 has it: what most sessions use of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.screen.programs.base import Host, Shown
from worldline.kernels.screen.programs.vim_change import CHANGES, operate
from worldline.kernels.screen.programs.vim_command import Asked, run_command
from worldline.kernels.screen.programs.vim_indent import WIDTH, indent_again, new_start
from worldline.kernels.screen.programs.vim_motion import MOTIONS, move
from worldline.kernels.screen.programs.vim_view import VimView

__all__ = ["Vim"]

_KEYS = re.compile(r"\x1b\[[\d;]*[~A-Z]|\x1bO[A-Z]|[\s\S]")
_NAMED = {
    "\x1b[A": "k", "\x1bOA": "k", "\x1b[B": "j", "\x1bOB": "j", "\x1b[C": "l", "\x1bOC": "l", "\x1b[D": "h",
    "\x1bOD": "h", "\x1b[5~": "\x02", "\x1b[6~": "\x06", "\x1b[1~": "0", "\x1b[H": "0", "\x1bOH": "0",
    "\x1b[4~": "$", "\x1b[F": "$", "\x1bOF": "$",
}  # fmt: skip
"""Commands that keys with a name stand for."""
_READ_ONLY = "W10: Warning: Changing a readonly file"
_COMMAND = re.compile(
    r"(?P<count>[1-9]\d*)?(?:(?P<operator>[dcy])(?P<times>[1-9]\d*)?)?(?P<motion>[fFtTr].|g[geJ]|z[tzb.\r]|Z[ZQ]|[\s\S])"
)
_PARTS = re.compile(r"(?:[1-9]\d*)?(?:[dcy](?:[1-9]\d*)?)?[fFtTrgzZ]?")
"""What may still become a command."""


@dataclass
class Vim(VimView):
    """The editor."""

    def start(self, host: Host) -> Shown:
        """Draw the file."""
        self.window.follow(self.text, host.lines - 1)
        if len(self.text.lines) > host.lines - 1 and any(len(line) > host.columns - 8 for line in self.text.lines):
            self.doubt = self.doubt or "long lines in vim"
        return Shown("\x1b[?1049h" + self._draw(host), unknown=self._unknown())

    def feed(self, text: str, host: Host) -> Shown:
        """Take keys."""
        self.text.clock = host.now
        self.paused = ()
        for key in _KEYS.findall(text):
            before, changes = self._draw(host), self.text.changes
            warning = "" if self.warned or not self.readonly else self._plainly(host, _READ_ONLY)
            over = self._key(key, host)
            if warning and self.text.changes != changes:
                self.warned, self.paused = True, (warning, warning)
            if over:
                self._remember(host)
                return Shown("\x1b[?1049l", ended=True, status=self.status, unknown=self.doubt)
        if self.paused:
            return Shown(self.paused[0], unknown=self._unknown())
        if text == "\x1b" and before.startswith("\x1b[H") and self.left_insert:
            # Escape may begin the code of a key: vim shows its effect when its clock, which counts whole seconds,
            # tells that no more comes.
            self.paused = (before, self._plainly(host, " " * (host.columns - 28) + "^["))
            return Shown(before, unknown=self._unknown())
        return Shown(self._draw(host), unknown=self._unknown())

    def end_of_input(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def interrupt(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    @property
    def commanding(self) -> bool:
        """Whether the next key is a command, so that C-z stops it."""
        return self.mode == "normal" and not self.typed and not self.refused

    def _key(self, key: str, host: Host) -> bool:
        """Act on a key; true where it ends the program."""
        rows, before = host.lines - 1, self._shape()
        over = False
        self.left_insert = self.mode == "insert"
        if self.refused:
            self.refused = ""
            self.say("")
            if key in ("\r", "\n", " "):
                return False
        if self.mode == "insert":
            self._insert(_NAMED.get(key, key) if key.startswith("\x1b") and len(key) > 1 else key, key)
        elif self.mode in ("command", "search"):
            over = self._line(key, host)
        else:
            over = self._normal(_NAMED.get(key, key), host)
        self.text.clamp(self.mode == "insert")
        shifted = self.window.follow(self.text, rows) or self._pushed(before, rows)
        if shifted and not self._keeps_message():
            self.say("")
        return over

    def _insert(self, command: str, key: str) -> None:
        text = self.text
        if key in ("\x1b", "\x03"):
            self._drop_blanks()
            self.mode = "normal"
            text.x = max(text.x - 1, 0)
            text.wanted = text.cursor_column(False)
            self.say("")
        elif key in ("\r", "\n"):
            self._break()
        elif key in ("\x7f", "\b"):
            self._rub_out()
        elif len(key) > 1:
            self._insert_move(command)
        elif key == "\t" and self.kind == "python":
            self._type(" " * (WIDTH - text.x % WIDTH))
        elif key == "\t" or key.isprintable():
            self._type(key)
        else:
            self.doubt = f"the key {key!r} in vim's insert mode"

    def _type(self, word: str) -> None:
        text = self.text
        text.lines[text.y] = text.line[: text.x] + word + text.line[text.x :]
        text.x += len(word)
        text.empty = self.automatic = False
        indent = indent_again(self.kind, text.lines, text.y, word)
        if indent is not None:
            stripped = text.line.lstrip(" ")
            text.x += indent - (len(text.line) - len(stripped))
            text.lines[text.y] = " " * indent + stripped
        if self.kind == "other" and word in "{}:#;)>":
            self.doubt = self.doubt or "how vim indents such lines"
        text.wanted = text.virtual(text.y, text.x)

    def _drop_blanks(self) -> None:
        """Take away the indent of a line on which nothing was typed."""
        if self.automatic and not self.text.line.strip():
            self.text.lines[self.text.y], self.text.x = "", 0
        self.automatic = False

    def _insert_move(self, command: str) -> None:
        text = self.text
        if command in ("j", "k"):
            text.up_down(1 if command == "j" else -1, True)
        elif command in ("h", "l"):
            text.x = max(text.x - 1, 0) if command == "h" else min(text.x + 1, len(text.line))
            text.wanted = text.virtual(text.y, text.x)
        elif command in ("0", "$"):
            text.x = 0 if command == "0" else len(text.line)
        else:
            self.doubt = "a key with a name in vim's insert mode"
        # Moving ends one change and begins another.
        text.remember()

    def _break(self) -> None:
        text = self.text
        rest = text.line[text.x :]
        lines = [*text.lines[: text.y], text.line[: text.x]]
        start = new_start(self.kind, lines, text.y + 1)
        if start is None:
            self.doubt = self.doubt or "how vim indents the next line"
        self._drop_blanks()
        text.lines[text.y] = text.line[: text.x]
        text.lines.insert(text.y + 1, (start or "") + (rest.lstrip() if start else rest))
        text.y, text.x, text.empty = text.y + 1, len(start or ""), False
        text.wanted, self.automatic = text.x, bool(start) and not (start or "").strip()

    def _rub_out(self) -> None:
        text = self.text
        if text.x:
            blank = self.kind == "python" and not text.line[: text.x].strip(" ")
            size = (text.x - 1) % WIDTH + 1 if blank else 1
            text.lines[text.y] = text.line[: text.x - size] + text.line[text.x :]
            text.x -= size
        elif text.y:
            before = text.lines[text.y - 1]
            text.lines[text.y - 1 : text.y + 1] = [before + text.line]
            text.y, text.x = text.y - 1, len(before)

    def _line(self, key: str, host: Host) -> bool:
        if key in ("\x1b", "\x03"):
            self._leave_line()
            self.say("")
        elif key in ("\r", "\n"):
            return self._entered(host)
        elif key in ("\x7f", "\b"):
            self.typed = self.typed[:-1]
            if not self.typed:
                self._leave_line()
                self.say("")
            else:
                self._look_ahead(host)
        elif key == "\x15":
            self.typed = self.typed[:1]
        elif len(key) == 1 and key.isprintable():
            self.typed += key
            self._look_ahead(host)
        else:
            self.doubt = f"the key {key!r} in vim's last line"
        return False

    def _entered(self, host: Host) -> bool:
        line, mode = self.typed, self.mode
        self._leave_line()
        if mode == "search":
            self.pattern, self.backward = line[1:] or self.pattern, line[0] == "?"
            self.find(1, self.backward)
            return False
        self.say(line)
        asked: Asked = run_command(self, line[1:], host)
        return asked == "leave"

    def _normal(self, key: str, host: Host) -> bool:
        if key in ("\x1b", "\x03"):
            self.typed = ""
            if key == "\x03":
                self.doubt = self.doubt or "C-c in vim"
            return False
        self.typed += key
        if _PARTS.fullmatch(self.typed):
            return False
        match, self.typed = _COMMAND.fullmatch(self.typed), ""
        if match is None:
            self.doubt = self.doubt or "a command of vim"
            return False
        count = int(match["count"] or 1) * int(match["times"] or 1)
        given = bool(match["count"] or match["times"])
        operator, motion = match["operator"] or "", match["motion"]
        if motion in (":", "/", "?") and not operator:
            self.mode, self.typed = "command" if motion == ":" else "search", motion
            self.origin = (self.text.y, self.text.x, self.window.top)
            return False
        if operator:
            self._operate(operator, motion, count, given)
            return False
        if motion in ("ZZ", "ZQ"):
            return run_command(self, "x" if motion == "ZZ" else "q!", host) == "leave"
        if motion in MOTIONS or motion[0] in "fFtT":
            move(self, motion, count, given)
        elif motion in ("\x06", "\x02", "\x04", "\x15", "\x05", "\x19") or motion[0] == "z":
            self._scroll(motion, host.lines - 1)
        else:
            self._change(motion, count)
        return False

    def _scroll(self, key: str, rows: int) -> None:
        text, window, last = self.text, self.window, len(self.text.lines) - 1
        if key[0] == "z":
            window.top = {"t": max(text.y - 5, 0), "b": max(min(text.y + 5, last) - rows + 1, 0)}.get(
                key[1], max(text.y - (rows - 1) // 2, 0)
            )
        elif key == "\x06":
            window.top = min(window.top + rows - 2, last)
            text.y = max(text.y, min(window.top + 5, last))
        elif key == "\x02":
            window.top = max(window.top - rows + 2, 0)
            text.y = min(text.y, window.top + rows - 6)
        elif key in "\x04\x15":
            step = min(rows // 2, last - text.y) if key == "\x04" else -min(rows // 2, text.y)
            window.top = max(min(window.top + step, max(last - rows + 1, 0)), 0)
            text.y += step
            if window.top + rows <= last:
                text.y = min(text.y, window.top + rows - 6)
        else:
            window.top = max(min(window.top + (1 if key == "\x05" else -1), last), 0)
            text.y = max(min(text.y, window.top + rows - 6), window.top + (5 if window.top else 0))
        text.x = text.first_nonblank(min(max(text.y, 0), last)) if key in "\x06\x02\x04\x15" else text.x

    def _operate(self, operator: str, motion: str, count: int, given: bool) -> None:
        operate(self, operator, motion, count, given)

    def _change(self, key: str, count: int) -> None:
        if key[0] == "r" and len(key) == 2:
            self.text.remember()
            line, x = self.text.line, self.text.x
            if x + count <= len(line):
                self.text.lines[self.text.y] = line[:x] + key[1] * count + line[x + count :]
                self.text.x = x + count - 1
        elif key in CHANGES:
            CHANGES[key](self, count)
        else:
            self.doubt = self.doubt or f"the key {key!r} in vim"
