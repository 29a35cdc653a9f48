"""The last line of vim: messages, what is typed there, patterns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.vim_indent import WIDTH, new_start
from worldline.kernels.screen.programs.vim_pattern import regex_of
from worldline.kernels.screen.programs.vim_screen import Window, draw
from worldline.kernels.screen.programs.vim_text import VimText
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["VimView"]


@dataclass
class VimView:
    """The editor."""

    name: ClassVar[str] = "vim"
    silent: ClassVar[bool] = False
    file: str
    text: VimText
    window: Window
    message: str = ""
    doubt: str = ""
    kind: str = "plain"
    """Kind of the file, which decides how new lines are indented; see `kind_of`."""
    automatic: bool = False
    """The blanks of the line were put there by vim, and go again where nothing follows them."""
    raw: bool = True
    readline: bool = False
    mode: str = "normal"
    """`normal`, `insert`, `replace`, `command`, `search`."""
    typed: str = ""
    """Keys of a command that is not complete, or what is typed after `:`, `/` or `?`."""
    pattern: str = ""
    backward: bool = False
    guessed: bool = False
    """The message tells a time, and is only a guess."""
    fresh: bool = False
    """The message was said by the last key."""
    origin: tuple[int, int, int] = (0, 0, 0)
    """Cursor and window before a pattern is typed."""
    found_char: tuple[str, str] = ("", "")
    inserted: int = 0
    seen: list[str] = field(default_factory=list)
    registers: dict[str, tuple[tuple[str, ...], bool]] = field(default_factory=dict)
    """By name: the parts, and whether they are whole lines."""
    target: str = ""
    """Name of the register that the next command uses."""
    marks: dict[str, tuple[int, int]] = field(default_factory=dict)
    jumps: list[tuple[int, int]] = field(default_factory=list)
    jump: int = -1
    """Place in the list of jumps while it is gone through; -1: behind its end."""
    recording: str = ""
    """Register into which keys are recorded."""
    tape: str = ""
    last_macro: str = ""
    playing: int = 0
    """How many macros and repetitions are being carried out."""
    failed: bool = False
    """The last command could not be carried out, which ends a macro."""
    keys: str = ""
    """Keys of the command that is being given."""
    change: str = ""
    """Keys of the last command that changed the text, for `.`."""
    rows: int = 39
    """Of the window."""
    begun: int = 0
    """Changes before the command that is being given."""
    selected: bool = False
    """The last command worked on selected text."""
    visual: str = ""
    """`v`, `V` or C-v while text is being selected."""
    anchor: tuple[int, int] = (0, 0)
    last_visual: tuple[str, tuple[int, int], tuple[int, int]] | None = None
    dollar: bool = False
    """The selected block goes to the ends of its lines."""
    block: tuple[int, int, int, bool] | None = None
    """First and last line, column of a text that is inserted in each of them, and whether it is appended."""
    repeats: int = 1
    """How often what is being inserted is put there."""
    opened: bool = False
    """It was begun with a new line."""
    options: dict[str, int] = field(default_factory=dict)
    asking: list[int] | None = None
    """While `:s` asks: line and column from which it goes on, its last line, how many matches it has replaced, in how
    many lines, the last of these, and how many changes there were before."""
    counted: tuple[int, int] = (0, 0)
    """What `:s` has replaced since this was reset, and in how many lines."""
    substitute: tuple[str, str, str] = ("", "", "")
    """Pattern, replacement and flags of the last `:s`."""
    alternate: str = ""
    """Name of the file that was edited before."""
    buffers: list[str] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where the cursor was in the files that were left."""
    overlay: tuple[str, ...] = ()
    """What was written below the last line, which asks for Enter."""
    outside: bool = False
    """It was written on the main screen by another program."""
    status: int = 0
    readonly: bool = False
    warned: bool = False
    """Of changing a file that is only to be read."""
    escaped: int = -1
    """The second at which an Escape came of which vim does not know yet that nothing follows it."""
    windows: int = 1
    reloaded: bool = False
    """The last key brought another text."""
    unseen: int = 0
    """Files of the command line that were not edited yet."""
    literal: str = ""
    """C-r or C-o while inserting, which wait for another key."""
    left_insert: bool = False
    """Text was being inserted before the last key."""
    paused: tuple[str, ...] = ()
    """What is drawn while vim waits for its clock, by the seconds since the last key."""
    refused: str = ""
    """A message of two rows below the text, which a key takes away."""

    # --- the protocol

    def _unknown(self) -> str:
        return self.doubt or ("how long ago a change was made" if self.guessed else "")

    def _remember(self, host: Host) -> None:
        """Leave behind where the cursor was, as vim does in its own file."""
        if not self.file:
            return
        place, head = (
            host.run("echo ~/.viminfo", keep=False).text.strip(),
            "# This viminfo file was generated by Vim 9.0.\n\n",
        )
        try:
            kept = host.read(place).decode().removeprefix(head)
        except (OSError, Unknown):
            kept = ""
        for name, (y, x) in {**self.places, self.file: (self.text.y, self.text.x)}.items():
            path = name if name.startswith("/") else f"{host.cwd}/{name}"
            kept = re.sub(rf"^> {re.escape(path)}\n.*\n", "", kept, flags=re.MULTILINE)
            kept = f'> {path}\n\t"\t{y + 1}\t{x}\n{kept}'
        try:
            host.write(place, f"{head}{kept}".encode())
        except OSError:
            return

    def _draw(self, host: Host) -> str:
        bottom, pending, typing = self.message, "", self.mode in ("command", "search")
        if typing:
            bottom = self.typed
        elif self.mode in ("insert", "replace"):
            name = "(insert)" if self.literal == "\x0f" else self.mode.upper()
            bottom = f"-- {name} --" + (f"recording @{self.recording}" if self.recording else "")
            pending = "^R" if self.literal == "\x12" else ""
        elif self.visual:
            kind = {"v": "VISUAL", "V": "VISUAL LINE", "\x16": "VISUAL BLOCK"}[self.visual]
            bottom = f"-- {kind} --" + (f"recording @{self.recording}" if self.recording else "")
            pending = self.typed or self._selected()
        else:
            pending = self.typed
        size = (host.columns, host.lines)
        if self.refused:
            first, second = self.refused.split("\n")
            asked = f"\x1b[{host.lines};1H\n{second}\nPress ENTER or type command to continue"
            return draw(self.text, self.window, size, first, "", ruler=False, inserting=False) + asked
        inserting = self.mode in ("insert", "replace") or (bool(self.visual) and bool(self.text.line))
        if self.overlay or self.outside:
            return self._asked(size)
        return draw(self.text, self.window, size, bottom, pending, ruler=not typing, inserting=inserting)

    def _asked(self, size: tuple[int, int]) -> str:
        """The text pushed up by several lines of messages."""
        prompt = "Press ENTER or type command to continue"
        if self.outside:
            return "\n".join([*self.overlay, "", prompt])
        plain = draw(self.text, self.window, size, self.overlay[0], "", ruler=False, inserting=False)
        rest = "".join(f"\n{line}" for line in self.overlay[1:])
        return f"{plain}\x1b[{size[1]};{len(self.overlay[0]) + 1}H{rest}\n{prompt}"

    def _selected(self) -> str:
        """How much is selected, as vim shows it beside the ruler."""
        (y, x), (other, column) = sorted((self.anchor, (self.text.y, self.text.x)))
        if self.visual == "V" or (self.visual == "v" and y != other):
            return str(other - y + 1)
        if self.visual == "v":
            size, bytes_ = column - x + 1, len(self.text.line[x : column + 1].encode())
            bytes_ += column >= len(self.text.line)
            return str(size) if size == bytes_ else f"{size}-{bytes_}"
        left, right = self.columns_of_block()
        return f"{other - y + 1}x{right - left + 1}"

    def columns_of_block(self) -> tuple[int, int]:
        """First and last column of the selected block."""
        text, (y, x) = self.text, self.anchor
        one, two = text.virtual(y, x), text.virtual(text.y, text.x)
        return min(one, two), max(one, two)

    def tick(self, seconds: int, host: Host) -> str:
        """What is drawn once the clock has moved on since the last key."""
        if not self.paused or not seconds:
            return ""
        if seconds < len(self.paused):
            return self.paused[seconds]
        self.paused = ()
        return self._draw(host)

    def _plainly(self, host: Host, bottom: str) -> str:
        """The text with only a message or keys in the last line."""
        return draw(self.text, self.window, (host.columns, host.lines), bottom, "", ruler=False, inserting=False)

    def _plainly_pending(self, host: Host, keys: str) -> str:
        """The text with keys of a command beside the ruler."""
        size = (host.columns, host.lines)
        return draw(self.text, self.window, size, self.message, keys, ruler=True, inserting=False)

    def say(self, text: str, *, guessed: bool = False) -> None:
        """Show a message in the last line."""
        self.message, self.guessed, self.fresh = text, guessed, bool(text)

    def _keeps_message(self) -> bool:
        """Whether the message belongs to what moved the lines."""
        said = self.fresh and self.message.endswith(("lines", "ago", "yanked", "--", " time", " times", "changed"))
        return said or self.reloaded or self.mode in ("command", "search")

    def _shape(self) -> tuple[list[str], int]:
        return list(self.text.lines), self.window.top

    def _pushed(self, before: tuple[list[str], int], rows: int) -> bool:
        """Whether lines that are shown were pushed up or down, which clears the last line."""
        old, top = before
        if self.window.numbers:
            return False  # lines whose numbers change are drawn anew
        new = self.text.lines
        if self.window.top != top:
            return abs(self.window.top - top) <= rows - 2
        if len(old) == len(new):
            return False
        if len(new) > len(old):
            below = len(new) - (self.text.y + len(new) - len(old))
        else:
            head = 0
            while head < len(new) and old[head] == new[head]:
                head += 1
            below = len(new) - head
        return below > 0 and len(new) - below < top + rows - 1

    def type_again(self, keys: str, host: Host) -> bool:
        """Carry keys out as if they were typed; true where they end the program."""
        raise NotImplementedError

    def begin_insert(self, *, remember: bool = True) -> None:
        """Go to insert mode."""
        if remember:
            empty = self.text.empty
            self.text.remember()
            self.text.empty = empty
        self.mode, self.repeats, self.opened, self.block = "insert", 1, False, None
        self.say("")

    # --- registers and settings

    def keep(self, operator: str) -> None:
        """A command is about to take text away or copy it into the register that was named."""
        self.seen = ["\n".join(self.text.register), str(self.text.linewise), operator]

    def kept(self) -> None:
        """Put what was taken where it was asked for."""
        text, name, before = self.text, self.target, self.seen
        self.target = ""
        if name == "_":
            text.register, text.linewise = tuple(before[0].split("\n")) if before[0] else (), before[1] == "True"
        elif name.isupper():
            parts, lines = self.registers.get(name.lower(), ((), False))
            if text.linewise or lines or not parts:
                self.registers[name.lower()] = ((*parts, *text.register), text.linewise or lines)
            else:
                joint = parts[-1] + text.register[0]
                self.registers[name.lower()] = ((*parts[:-1], joint, *text.register[1:]), False)
            text.register, text.linewise = self.registers[name.lower()]
        elif name:
            self.registers[name] = (text.register, text.linewise)
        elif before[2] == "y":
            self.registers["0"] = (text.register, text.linewise)

    def named(self, name: str) -> tuple[tuple[str, ...], bool]:
        """What a register holds."""
        if name == '"':
            return self.text.register, self.text.linewise
        if name in "0123456789-.:%#/*+":
            if name == "0" and "0" in self.registers:
                return self.registers["0"]
            self.doubt = self.doubt or f"the register {name} of vim"
        return self.registers.get(name.lower(), ((), False))

    @property
    def tab_stop(self) -> int:
        """Columns of a tab."""
        return self.options.get("ts", 8)

    @property
    def shift_width(self) -> int:
        """Columns by which lines are shifted."""
        return self.options.get("sw", WIDTH if self.kind == "python" else 8) or self.tab_stop

    def blanks(self, columns: int) -> str:
        """An indent."""
        if self.options.get("et", self.kind == "python"):
            return " " * columns
        return "\t" * (columns // self.tab_stop) + " " * (columns % self.tab_stop)

    def start_of(self, lines: Sequence[str], place: int, beside: str) -> str | None:
        """What a new line begins with, as :func:`new_start` tells; `beside` is the line it was opened from."""
        if self.kind == "plain" and self.options.get("ai"):
            return beside[: len(beside) - len(beside.lstrip(" \t"))]
        if self.kind in ("shell", "conf") and re.match(r"[ \t]*#", beside):
            return new_start(self.kind, [beside], 1)
        return new_start(self.kind, lines, place)

    def kept_indent(self, y: int) -> str:
        """What stays of a line that is changed as a whole."""
        if self.kind == "python":
            above = next((line for line in reversed(self.text.lines[:y]) if line.strip()), "")
            if re.match(r"\s*(?:return|break|continue|raise|pass)\b", above):
                return ""
            start = new_start(self.kind, self.text.lines[:y], y)
            if start is None:
                self.doubt = self.doubt or "how vim indents the line"
            return start or ""
        line = self.text.lines[y]
        if self.options.get("ai"):
            return line[: len(line) - len(line.lstrip(" \t"))]
        return ""

    def set_jump(self) -> None:
        """Remember where a jump begins."""
        place = (self.text.y, self.text.x)
        self.marks["'"] = place
        self.jumps = [one for one in self.jumps if one[0] != place[0]] + [place]
        self.jump = -1

    def _leave_line(self) -> None:
        if self.mode == "search":
            self.text.y, self.text.x, self.window.top = self.origin
        self.mode, self.typed = "normal", ""

    def _look_ahead(self, host: Host) -> None:
        """Show where the pattern would be found."""
        if self.mode != "search":
            return
        self.text.y, self.text.x, self.window.top = self.origin
        found = self.search(self.typed[1:], self.typed[0] == "?") if self.typed[1:] else None
        if found is not None:
            self.text.y, self.text.x = found[0], found[1]

    def search(self, pattern: str, backward: bool) -> tuple[int, int, bool] | None:
        """Find a pattern; the place, and whether the search went around the end."""
        regex = regex_of(pattern)
        if regex is None:
            self.doubt = self.doubt or "a pattern in vim"
            return None
        places = [(y, m.start()) for y, line in enumerate(self.text.lines) for m in regex.finditer(line)]
        here = (self.text.y, self.text.x)
        if not places:
            return None
        if backward:
            before = [place for place in places if place < here]
            return (*before[-1], False) if before else (*places[-1], True)
        after = [place for place in places if place > here]
        return (*after[0], False) if after else (*places[0], True)

    def find(self, count: int, backward: bool) -> None:
        """Go to a match."""
        if not self.pattern:
            self.say("E35: No previous regular expression")
            return
        wrapped = False
        for _ in range(count):
            found = self.search(self.pattern, backward)
            if found is None:
                self.failed = True
                self.say(f"E486: Pattern not found: {self.pattern}")
                return
            self.text.y, self.text.x = found[0], found[1]
            wrapped = wrapped or found[2]
        self.text.wanted = self.text.cursor_column(False)
        self.say(f"{'?' if backward else '/'}{self.pattern}")
        if wrapped:
            self.say("search hit TOP, continuing at BOTTOM" if backward else "search hit BOTTOM, continuing at TOP")
