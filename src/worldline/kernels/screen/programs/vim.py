"""`vim` 9.0, as Debian 12 has it: what most sessions use of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from worldline.kernels.screen.programs.base import Host, Shown
from worldline.kernels.screen.programs.vim_change import CHANGES
from worldline.kernels.screen.programs.vim_command import Asked, confirm, run_command
from worldline.kernels.screen.programs.vim_indent import WIDTH, indent_again
from worldline.kernels.screen.programs.vim_motion import MOTIONS, move
from worldline.kernels.screen.programs.vim_operate import operate
from worldline.kernels.screen.programs.vim_resync import resynchronise_vim
from worldline.kernels.screen.programs.vim_view import VimView
from worldline.kernels.screen.programs.vim_visual import BLOCK, begin, leave, press, select_again

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
    r'(?:"(?P<register>.))?(?P<count>[1-9]\d*)?(?:(?P<operator>g[~uU]|[dcy<>=])(?P<times>[1-9]\d*)?)?'
    r"(?P<motion>[fFtTr].|['`m@q].|[ia].(?<=[wWsp\"'`()\[\]{}<>bBt])|g[gegEiIvJ_jk0au~U]|z[tzb.\r\n]|Z[ZQ]|[\s\S])"
)
_PARTS = re.compile(
    r'(?:"|".)?(?:[1-9]\d*)?(?:(?P<operator>g[~uU]|[dcy<>=])(?:[1-9]\d*)?)?(?P<rest>[fFtTrgzZ\'`m@qia])?'
)
"""What may still become a command."""
_MOST_PLAYED = 200
_ERASE_WORD = re.compile(r"(?:\w+|[^\w\s]+)?[ \t]*$")


@dataclass
class Vim(VimView):
    """The editor."""

    def start(self, host: Host) -> Shown:
        """Draw the file."""
        self.window.follow(self.text, host.lines - 1)
        if len(self.text.lines) > host.lines - 1 and any(len(line) > host.columns - 8 for line in self.text.lines):
            self.doubt = self.doubt or "long lines in vim"
        many = f"{self.unseen + 1} files to edit\n" if self.unseen else ""
        return Shown(many + "\x1b[?1049h" + self._draw(host), unknown=self._unknown())

    def feed(self, text: str, host: Host) -> Shown:
        """Take keys."""
        self.text.clock, self.rows = host.now, host.lines - 1
        lead, held = "", self.paused[0] if self.paused and self.escaped == host.now else ""
        self.escaped, self.reloaded = -1, False
        was_visual = bool(self.visual)
        had = self.typed if self.mode == "normal" else ""
        self.paused = ()
        for key in _KEYS.findall(text):
            before_mode = "insert" if self.mode in ("insert", "replace") else self.mode
            before, changes = self._draw(host), self.text.changes
            warning = "" if self.warned or not self.readonly else self._plainly(host, _READ_ONLY)
            was_outside = self.outside
            over = self._key(key, host)
            if self.outside and not was_outside:
                lead += f"\x1b[?1049l\n{self._draw(host)}"
            elif was_outside and not self.outside:
                lead += "\n\x1b[?1049h"
            if warning and self.text.changes != changes:
                if self.mode == "insert":
                    warning = self._plainly(host, f"-- INSERT -- {_READ_ONLY}")
                self.warned, self.paused = True, (warning, warning)
            if over:
                self._remember(host)
                return Shown(f"{lead}\x1b[?1049l", ended=True, status=self.status, unknown=self.doubt)
        if self.outside:
            return Shown(lead, unknown=self._unknown())
        if self.paused:
            return Shown(lead + self.paused[0], unknown=self._unknown())
        if held and len(text) == 1 and text != "\x1b":
            # the key may still be part of a code that begins with Escape
            shown = text if text.isprintable() else f"^{chr(ord(text) ^ 64)}"
            place = held[held.rfind("\x1b[") :]
            inserted = shown if len(shown) == 1 else ""
            self.paused = (f"{held}{inserted}\x1b[{host.lines};{host.columns - 27}H^[{shown}{place}",)
            return Shown(lead + self.paused[0], unknown=self._unknown())
        if text == "\x1b" and (had or (before_mode == "normal" and not self.left_insert and not was_visual)):
            self.paused, self.escaped = (self._plainly_pending(host, f"{had}^["),), host.now
            return Shown(lead + self.paused[0], unknown=self._unknown())
        if text == "\x1b" and before.startswith("\x1b[H") and self.left_insert:
            # Escape may begin the code of a key: vim shows its effect when its clock, which counts whole seconds,
            # tells that no more comes.
            self.escaped = host.now
            if before_mode != "insert":
                self.paused = (before,)
                return Shown(before, unknown=self._unknown())
            kept = f"recording @{self.recording}" if self.recording else ""
            self.paused = (before, self._plainly(host, f"{kept:<{host.columns - 28}}^["))
            return Shown(before, unknown=self._unknown())
        waits = '"' if self.literal == "\x12" else ""  # stands at the cursor until the register is named
        return Shown(lead + self._draw(host) + waits, unknown=self._unknown())

    def resynchronise(self, rows: Sequence[str], host: Host) -> None:
        """Stand as a screen that was not foreseen shows."""
        waiting = rows[-1].startswith("Press ENTER") or "Press ENTER or type command to continue" in rows
        self.rows = host.lines - 1
        if waiting:
            self.overlay, self.outside = self.overlay or ("",), self.outside or not rows[-1].startswith("Press ENTER")
        else:
            self.overlay, self.outside = (), False
        if not waiting and self.escaped < 0:
            resynchronise_vim(self, rows, host.columns)

    def end_of_input(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def interrupt(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    @property
    def commanding(self) -> bool:
        """Whether the next key is a command, so that C-z stops it."""
        return self.mode == "normal" and not (self.typed or self.refused or self.overlay or self.asking)

    def _key(self, key: str, host: Host) -> bool:
        """Act on a key; true where it ends the program."""
        rows, before = host.lines - 1, self._shape()
        over = False
        self.left_insert, self.fresh = self.mode != "normal", False
        if self.refused or self.overlay or self.outside:
            self.refused, self.overlay, self.outside = "", (), False
            self.say("")
            if key in ("\r", "\n", " "):
                return False
        if self.asking is not None:
            confirm(self, key)
        elif self.mode in ("insert", "replace"):
            self._collect(key)
            self._insert(_NAMED.get(key, key) if key.startswith("\x1b") and len(key) > 1 else key, key)
        elif self.mode in ("command", "search"):
            self._collect(key)
            over = self._line(key, host)
        else:
            over = self._normal(_NAMED.get(key, key), host)
        self._settled(before[0])
        self.text.clamp(self.mode in ("insert", "replace") or bool(self.visual))
        shifted = self.window.follow(self.text, rows) or self._pushed(before, rows)
        if shifted and not self._keeps_message():
            self.say(f"recording @{self.recording}" if self.recording and self.mode == "normal" else "")
        return over

    def _collect(self, key: str) -> None:
        """Remember a key for a macro, and for repeating the command."""
        if not self.playing:
            self.tape += key if self.recording else ""
        self.keys += key

    def _settled(self, before: list[str]) -> None:
        """Let marks below a change move with their lines."""
        after = self.text.lines
        difference = len(after) - len(before)
        if not difference or not self.marks:
            return
        same = next((y for y, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        self.marks = {
            name: (max(y + difference, same), x) if y >= same + max(-difference, 0) else (y, x)
            for name, (y, x) in self.marks.items()
        }

    def _insert(self, command: str, key: str) -> None:
        text = self.text
        if self.literal:
            self._second(key)
        elif key in ("\x12", "\x0f"):
            self.literal = key
        elif key in ("\x1b", "\x03"):
            self._leave_insert()
        elif key in ("\r", "\n"):
            self._break()
        elif key in ("\x7f", "\b"):
            self._rub_out()
        elif key == "\x1b[3~":
            if text.x < len(text.line):
                text.lines[text.y] = text.line[: text.x] + text.line[text.x + 1 :]
            else:
                self.doubt = self.doubt or "joining lines while inserting in vim"
        elif key == "\x17" or key == "\x15":
            self._erase(key)
        elif len(key) > 1:
            self._insert_move(command)
        elif self.mode == "replace" and (key == "\t" or key.isprintable()):
            text.lines[text.y] = text.line[: text.x] + key + text.line[text.x + 1 :]
            text.x += 1
            text.wanted = text.virtual(text.y, text.x)
        elif key == "\t" and self.options.get("et", self.kind == "python"):
            width = self.options.get("sts", 0) or (WIDTH if self.kind == "python" else self.tab_stop)
            self._type(" " * (width - text.x % width))
        elif key == "\t" or key.isprintable():
            self._type(key)
        else:
            self.doubt = f"the key {key!r} in vim's insert mode"

    def _second(self, key: str) -> None:
        """The register after C-r, or the command after C-o."""
        kind, self.literal = self.literal, ""
        if kind == "\x12":
            parts, lines = self.named(key)
            for char in "\n".join(parts) + ("\n" if lines else ""):
                if char == "\n":
                    self._break()
                else:
                    self._type(char)
            return
        match = _COMMAND.fullmatch(_NAMED.get(key, key))
        if match is None or match["motion"] not in MOTIONS:
            self.doubt = self.doubt or "a command while inserting in vim"
            return
        move(self, match["motion"], 1, False)
        if match["motion"] == "$":
            self.text.x = len(self.text.line)
            self.text.wanted = self.text.virtual(self.text.y, self.text.x)

    def _erase(self, key: str) -> None:
        """C-w and C-u while inserting."""
        text = self.text
        head = text.line[: text.x]
        if not head:
            self._rub_out()
            return
        rest = "" if key == "\x15" else _ERASE_WORD.sub("", head)
        if key == "\x15" and self.kind != "plain":
            self.doubt = self.doubt or "C-u with an indent in vim"
        text.lines[text.y] = rest + text.line[text.x :]
        text.x = len(rest)
        text.wanted = text.virtual(text.y, text.x)

    def _leave_insert(self) -> None:
        text = self.text
        self._drop_blanks()
        typed = self.keys
        if self.repeats > 1 and not self.playing:
            self._insert_more()
        if self.block is not None:
            self._fill_block()
        self.mode = "normal"
        self.marks["^"] = (text.y, text.x)
        text.x = max(text.x - 1, 0)
        text.wanted = text.cursor_column(False)
        self.say(f"recording @{self.recording}" if self.recording else "")
        if not self.playing:
            self.change = typed

    def _insert_more(self) -> None:
        """What was inserted with a count comes once more for each of it."""
        match = re.match(r'(?:".)?\d*(?:[aAiIoO])', self.keys)
        inserted = self.keys[match.end() : -1] if match is not None else ""
        count, self.repeats = self.repeats, 1
        for _ in range(count - 1):
            if self.opened:
                self._break()
            for key in inserted:
                if key in ("\r", "\n"):
                    self._break()
                elif key.isprintable() or key == "\t":
                    self._type(key)
                else:
                    self.doubt = self.doubt or "a repeated insert in vim"

    def _fill_block(self) -> None:
        assert self.block is not None
        (first, last, column, appended), text = self.block, self.text
        self.block = None
        old = text.undos[-1].lines[first] if text.undos else ""
        start = len(old) if column < 0 else column
        word = text.lines[first][start : text.x]
        for y in range(first + 1, last + 1):
            line = text.lines[y]
            place = len(line) if column < 0 else column
            if len(line) >= place and (line or column < 0):
                text.lines[y] = line[:place] + word + line[place:]
        text.y, text.x = first, start + 1 if not appended else start + len(word)

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
        start = self.start_of(lines, text.y + 1, text.line)
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
            self.set_jump()
            self.find(1, self.backward)
            return False
        self.say(line)
        asked: Asked = run_command(self, line[1:], host)
        return asked == "leave"

    def _normal(self, key: str, host: Host) -> bool:
        if not self.typed:
            self.keys, self.failed = "", False
            self.begun = self.text.changes
        self._collect(key)
        if key in ("\x1b", "\x03") and not (self.visual and not self.typed):
            alone, self.typed, self.target = not self.typed, "", ""
            if key == "\x03" and alone:
                said = "Type  :qa!  and press <Enter> to abandon all changes and exit Vim"
                self.say(said if self.text.modified else said.replace("abandon all changes and exit", "exit"))
                if not self.text.modified:
                    self.say("Type  :qa  and press <Enter> to exit Vim")
            return False
        self.typed += key
        typed = self.typed
        part = _PARTS.fullmatch(typed)
        if part is not None and not self._whole(typed, part):
            return False
        match, self.typed = _COMMAND.fullmatch(typed), ""
        if match is None:
            self.failed = True
            return False
        self.target = match["register"] or self.target
        over = self._command(match, host)
        done = self.mode == "normal" and not self.visual and not self.typed
        changed = done and self.text.changes != self.begun and not self.playing
        if changed and match["motion"][0] not in "u\x12.:&@":
            self.change = self.keys if not self.selected else ""
        if done:
            self.target = ""
        return over

    def _whole(self, typed: str, part: re.Match[str]) -> bool:
        """Whether what could go on is a command already."""
        if part["rest"] == "q":
            return bool(self.recording)
        if part["rest"] and part["rest"] in "ia":
            return not (part["operator"] or self.visual)
        if self.visual and part["operator"]:
            return part["operator"] not in ("g",)
        return False

    def _command(self, match: re.Match[str], host: Host) -> bool:
        count = int(match["count"] or 1) * int(match["times"] or 1)
        given = bool(match["count"] or match["times"])
        operator, motion = match["operator"] or "", match["motion"] or ""
        self.selected = bool(self.visual)
        if motion in (":", "/", "?") and (not operator or self.visual):
            self.mode, self.typed = "command" if motion == ":" else "search", motion
            self.origin = (self.text.y, self.text.x, self.window.top)
            if motion == ":" and self.visual:
                leave(self)
                self.typed = ":'<,'>"
            elif motion != ":" and self.visual:
                self.doubt = self.doubt or "searching while text is selected in vim"
            return False
        if operator and motion in (":", "/", "?"):
            self.doubt = self.doubt or "an operator up to a pattern in vim"
            return False
        if self.visual:
            press(self, operator + motion, count, given)
            return False
        if operator:
            operate(self, operator, motion, count, given)
        elif motion in ("ZZ", "ZQ"):
            return run_command(self, "x" if motion == "ZZ" else "q!", host) == "leave"
        elif motion in ("v", "V", BLOCK):
            begin(self, motion)
            if given:
                self.doubt = self.doubt or "selecting by a count in vim"
        elif motion == "gv":
            select_again(self)
        elif motion in MOTIONS or motion[0] in "fFtT'`":
            self.failed = not move(self, motion, count, given) or self.failed
        elif motion in ("\x06", "\x02", "\x04", "\x15", "\x05", "\x19") or motion[0] == "z":
            for _ in range(count if motion in ("\x05", "\x19", "\x06", "\x02") else 1):
                self._scroll(motion, host.lines - 1)
        elif motion[0] == "m" and len(motion) == 2:
            self.marks[motion[1]] = (self.text.y, self.text.x)
        elif motion[0] in "q@" or motion == ".":
            return self._play(motion, count, given, host)
        elif motion in ("\x0f", "\t"):
            self._jump(motion)
        elif motion == "&":
            return run_command(self, "s", host) == "leave"
        else:
            self._change(motion, count)
        return False

    def _jump(self, key: str) -> None:
        """C-o and Tab: back and forth in the places from which jumps were made."""
        text = self.text
        if key == "\x0f":
            if self.jump < 0:
                place = (text.y, text.x)
                self.jumps = [one for one in self.jumps if one[0] != place[0]] + [place]
                self.jump = len(self.jumps) - 1
            target = self.jump - 1
        else:
            target = self.jump + 1
        if self.jump < 0 or not 0 <= target < len(self.jumps):
            self.failed = True
            return
        self.jump = target
        text.y = min(self.jumps[target][0], len(text.lines) - 1)
        text.x = min(self.jumps[target][1], max(len(text.line) - 1, 0))
        text.wanted = text.cursor_column(False)

    def _play(self, motion: str, count: int, given: bool, host: Host) -> bool:
        """Recording, macros, and `.`."""
        if motion[0] == "q":
            if self.recording:
                self.registers[self.recording] = ((self.tape[:-1],), False)
                self.recording, self.tape = "", ""
                self.say("")
            elif len(motion) == 2 and motion[1].isalnum():
                self.recording, self.tape = motion[1], ""
                self.say(f"recording @{motion[1]}")
            return False
        if motion == ".":
            if not self.change:
                if self.text.changes:
                    self.doubt = self.doubt or "repeating what was done to selected text"
                return False
            keys, kept = self.change, self.change
            if given:
                keys = str(count) + re.sub(r"^\d+", "", keys)
            over = self.type_again(keys, host)
            self.change = kept
            return over
        name = self.last_macro if motion[1:] == "@" else motion[1:]
        parts, lines = self.registers.get(name, ((), False)) if name != '"' else (self.text.register, False)
        if name == ":" or not parts:
            self.doubt = self.doubt or ("the last command again in vim" if name == ":" else "")
            self.failed = True
            return False
        self.last_macro = name
        keys = "\n".join(parts) + ("\n" if lines else "")
        for _ in range(count):
            if self.type_again(keys, host):
                return True
            if self.failed:
                break
        self.failed = False
        return False

    def type_again(self, keys: str, host: Host) -> bool:
        """Carry keys out as if they were typed, up to one that fails."""
        if self.playing > _MOST_PLAYED:
            self.failed = True
            return False
        self.playing += 1
        self.typed = ""
        try:
            for key in _KEYS.findall(keys):
                if self._key(key, host):
                    return True
                if self.failed and self.mode == "normal":
                    break
        finally:
            self.playing -= 1
        return False

    def _scroll(self, key: str, rows: int) -> None:
        text, window, last = self.text, self.window, len(self.text.lines) - 1
        if key[0] == "z":
            window.top = {
                **dict.fromkeys("t\r\n", max(text.y - 5, 0)),
                "b": max(min(text.y + 5, last) - rows + 1, 0),
            }.get(key[1], max(text.y - (rows - 1) // 2, 0))
            text.x = text.first_nonblank(text.y) if key[1] in ".\r\n" else text.x
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

    def _change(self, key: str, count: int) -> None:
        if key[0] == "r" and len(key) == 2:
            self.text.remember()
            line, x = self.text.line, self.text.x
            if x + count <= len(line):
                self.text.lines[self.text.y] = line[:x] + key[1] * count + line[x + count :]
                self.text.x = x + count - 1
            else:
                self.text.undos.pop()
                self.failed = True
        elif key in CHANGES:
            CHANGES[key](self, count)
            if key in "aAiIoO" and self.mode == "insert":
                self.repeats, self.opened = count, key in "oO"
        else:
            self.doubt = self.doubt or f"the key {key!r} in vim"
