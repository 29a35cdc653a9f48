"""`less`: a text page by page on the second screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Shown
from worldline.kernels.screen.programs.rows import Layout, Row, lay_out, odd_text

__all__ = ["Less", "LessOptions", "Text"]

_MESSAGE = "  (press RETURN)"
_FORWARD = {"j": 1, "\r": 1, "\n": 1, "e": 1, "\x0e": 1, "\x05": 1, "\x1bOB": 1}
_BACK = {"k": 1, "y": 1, "\x0b": 1, "\x10": 1, "\x19": 1, "\x1bOA": 1}
_WINDOW = (" ", "f", "\x06", "\x16", "z", "\x1b[6~", "\x1b ")
_WINDOW_BACK = ("b", "\x02", "w", "\x1b[5~", "\x1bv")
_TO_START, _TO_END = ("g", "<", "\x1b<"), ("G", ">", "\x1b>")
_PLAIN = re.compile(r"[\w ,:;@#%&!\"'/<>=~-]*")
_CURSOR = {"\x1b[A": "\x1bOA", "\x1b[B": "\x1bOB"}
"""Cursor keys, which the terminal sends in their other form to programs that ask for it."""
_KEYS = re.compile(r"\x1b\[[\d;]*[~A-Z]|\x1bO[A-Z]|\x1b[<>v ]|[\s\S]")


@dataclass(frozen=True)
class Text:
    """What is paged."""

    name: str
    """Empty for a pipe."""
    text: str


@dataclass
class LessOptions:
    """Options of the command line, which keys can change."""

    numbers: int = 1
    """0: lines are not even counted, 1: they are, 2: their numbers are shown."""
    chop: bool = False
    case: int = 0
    """1: letters of either case match unless the pattern has capitals, 2: always."""
    prompt: int = 0
    """0 short, 1 medium, 2 long."""
    main_screen: bool = False
    """`-X`: no second screen."""
    one_page: bool = False
    """`-F`: ends at once where all fits on the screen."""
    at_end: int = 0
    """1: `-e`, ends at the second end of file; 2: `-E`, at the first."""


@dataclass
class Less:
    """The pager."""

    name: ClassVar[str] = "less"
    silent: ClassVar[bool] = False
    files: list[Text]
    options: LessOptions
    first_command: str = ""
    """Keys of `+...`."""
    raw: bool = True
    readline: bool = False
    current: int = 0
    top: int = 0
    """Row at the top; negative where empty rows stand above the text."""
    fresh: bool = True
    """The next prompt names the file."""
    short: bool = False
    """A text shorter than the screen stands at its top, the prompt right below it."""
    entering: str = ""
    """What is being typed at the bottom: begins with `/`, `?`, `&`, `-`, `:`, `m`, `'` or a digit."""
    message: str = ""
    pattern: str = ""
    backward: bool = False
    only: str = ""
    """Pattern of the lines that are shown (`&`)."""
    window: int = 0
    half: int = 0
    marks: dict[str, int] = field(default_factory=dict)
    before: int = 0
    """Where the last long jump began."""
    waiting: bool = False
    """`F` waits for the file to grow."""
    escape: str = ""
    later: str = ""
    """An option that takes effect when its message goes."""
    doubt: str = ""

    # --- the protocol

    def start(self, host: Host) -> Shown:
        """Show the first page."""
        self.window, self.half = host.lines - 1, host.lines // 2
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

    # --- drawing

    def _rows(self, host: Host) -> tuple[Row, ...]:
        layout = Layout(host.columns, self.options.chop, self.options.numbers == 2)
        text = self.files[self.current].text
        wanted = None
        if self.only:
            found = re.compile(self._regex(self.only))
            wanted = frozenset(number for number, line in enumerate(text.split("\n"), 1) if found.search(line))
        return lay_out(text, layout, wanted)

    def _over(self, host: Host) -> bool:
        """Whether the end of the text is on the screen."""
        return self.top + host.lines - 1 >= len(self._rows(host))

    def _visible(self, host: Host) -> list[str]:
        rows, room = self._rows(host), host.lines - 1
        if self.short:
            return [row.text for row in rows[max(self.top, 0) :]]
        return [rows[index].text if 0 <= index < len(rows) else "~" for index in range(self.top, self.top + room)]

    def _draw(self, host: Host) -> str:
        lines = self._visible(host)
        body = "".join(f"\x1b[{number};1H{text}" for number, text in enumerate(lines, 1) if text)
        return f"\x1b[H\x1b[2J{body}\x1b[{len(lines) + 1};1H{self._prompt(host)}"

    def _change(self, top: int, short: bool, host: Host) -> str:
        """What a key changes on the main screen, where lines scroll up from the bottom."""
        rows, room = self._rows(host), host.lines - 1
        if short == self.short and top <= self.top <= top + room:
            new = [rows[index].text if index < len(rows) else "~" for index in range(top + room, self.top + room)]
            return "\r\x1b[K" + "".join(f"{text}\n" for text in new) + self._prompt(host)
        return self._draw(host)

    def _prompt(self, host: Host) -> str:
        if self.waiting:
            return "Waiting for data... (interrupt to abort)"
        if self.message:
            return f"{self.message}{_MESSAGE}"
        if self.entering:
            return f":{self.entering}" if self.entering[0].isdigit() else self.entering.replace("\x1b", "ESC")
        text = self._status(host)
        self.fresh = False
        return ("& " if self.only else "") + text if not self.only or text != ":" else "& "

    def _status(self, host: Host) -> str:
        file, style, rows = self.files[self.current], self.options.prompt, self._rows(host)
        over = self._over(host)
        words = []
        if file.name and (self.fresh or style == 2):
            words.append(file.name)
        if len(self.files) > 1 and (self.fresh or style == 2):
            words.append(f"(file {self.current + 1} of {len(self.files)})")
        bottom = rows[min(self.top + host.lines - 1, len(rows)) - 1] if rows else None
        size = len(file.text.encode("utf-8", "surrogateescape"))
        if style == 2 and bottom is not None:
            if self.options.numbers:
                words.append(f"lines {rows[max(self.top, 0)].line}-{bottom.line}/{rows[-1].line}")
            else:
                words.append(f"byte {bottom.end}/{size}")
        if over:
            words.append("(END)")
            if self.current + 1 < len(self.files):
                words.append(f"- Next: {self.files[self.current + 1].name}")
        elif style and bottom is not None:
            words.append(f"{(bottom.end * 100 + size // 2) // size}%")
        return " ".join(words) or ":"

    # --- keys

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
        self._search(1, self.backward, host)

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
        step = {"n": 1, "p": -1, "x": -self.current, "d": 0}.get(key)
        if step is None or key == "d":
            if key in "fd":
                self.doubt = f":{key} in less"
            return False
        if not 0 <= self.current + step < len(self.files):
            self.message = "No next file" if key == "n" else "No previous file"
            return False
        self.doubt = self.doubt or ("a file that was left before in less" if key in "px" else "")
        self.current += step
        self.top, self.short, self.fresh = 0, False, True
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

    # --- moving

    def _forward(self, count: int, host: Host, *, past: bool = False) -> bool:
        most = max(len(self._rows(host)) - (host.lines - 1), self.top, 0)
        if self.options.at_end == 1 and self._over(host):
            return self.current + 1 >= len(self.files)
        if not self.short or past:
            self.top = self.top + count if past else min(self.top + count, most)
        return self.options.at_end == 2 and self._over(host)

    def _back(self, count: int, host: Host) -> None:
        self.short = False
        self.top = max(self.top - count, min(self.top, 0))

    def _jump(self, top: int, host: Host, *, mark: bool = True) -> None:
        if mark and not self.top <= top < self.top + host.lines - 1:
            self.before = self.top
        self.short, self.top = False, top

    def _to_line(self, number: int, host: Host) -> None:
        rows = self._rows(host)
        found = [index for index, row in enumerate(rows) if row.line == number and row.first]
        if found:
            self._jump(found[0], host)
        else:
            self.message = f"Cannot seek to line number {number}"

    def _to_end(self, host: Host) -> None:
        self._jump(len(self._rows(host)) - (host.lines - 1), host)

    def _percent(self, count: int, host: Host) -> None:
        rows = self._rows(host)
        size = rows[-1].end if rows else 0
        place = size * min(count, 100) // 100
        found = [index for index, row in enumerate(rows) if row.end > place and row.first]
        if count >= 100 or not found:
            self._to_end(host)
        else:
            self._jump(found[0], host)

    def _follow(self, host: Host) -> None:
        self._to_end(host)
        self.waiting = True

    def _info(self, host: Host) -> None:
        style, self.options.prompt = self.options.prompt, 2
        rows, file = self._rows(host), self.files[self.current]
        over, size = self._over(host), len(file.text.encode("utf-8", "surrogateescape"))
        words = [file.name] if file.name else []
        if len(self.files) > 1:
            words.append(f"(file {self.current + 1} of {len(self.files)})")
        bottom = rows[min(self.top + host.lines - 1, len(rows)) - 1]
        words.append(f"lines {rows[max(self.top, 0)].line}-{bottom.line}/{rows[-1].line}")
        words.append(f"byte {bottom.end}/{size}")
        words.append("(END)" if over else f"{(bottom.end * 100 + size // 2) // size}%")
        self.options.prompt = style
        self.message = " ".join(words)

    # --- patterns and options

    def _regex(self, pattern: str) -> str:
        if not _PLAIN.fullmatch(re.sub(r"[.^$*]|\[[\w-]+\]", "", pattern)):
            self.doubt = "a pattern in less"
            pattern = re.escape(pattern)
        ignore = self.options.case == 2 or (self.options.case == 1 and pattern.lower() == pattern)
        return f"(?i){pattern}" if ignore else pattern

    def _search(self, count: int, backward: bool, host: Host) -> None:
        if not self.pattern:
            self.message = "No previous regular expression"
            return
        rows = self._rows(host)
        lines = self.files[self.current].text.split("\n")
        regex = re.compile(self._regex(self.pattern))
        places = range(min(self.top, len(rows)) - 1, -1, -1) if backward else range(max(self.top, 0) + 1, len(rows))
        found = [index for index in places if rows[index].first and regex.search(lines[rows[index].line - 1])]
        self.short = False
        if len(found) < count:
            self.message = "Pattern not found"
            return
        self._jump(found[count - 1], host)

    def _filter(self, words: str, host: Host) -> None:
        rows = self._rows(host)
        line = rows[min(max(self.top, 0), len(rows) - 1)].line if rows else 1
        self.only = words
        later = [index for index, row in enumerate(self._rows(host)) if row.line >= line]
        self._jump(later[0] if later else 0, host)

    def _option(self, key: str, host: Host, *, change: bool) -> None:
        """Change an option, or (`_`) show it."""
        options = self.options
        if key in "nN":
            value = options.numbers
            if change:
                value = (2 if value != 2 else 0) if key == "N" else int(value != 1)
            self.message = ("Don't use line numbers", "Use line numbers", "Constantly display line numbers")[value]
        elif key == "S":
            self.message = "Chop long lines" if options.chop != change else "Fold long lines"
        elif key in _TRIPLES:
            name, letters, words = _TRIPLES[key]
            value = getattr(options, name)
            if change:
                value = (0 if value == 1 else 1) if key == letters[0] else (0 if value == 2 else 2)
            setattr(options, name, value)
            self.message = words[value]
        else:
            self.doubt = f"the option -{key} in less"
        self.later = key if change and key in "nNS" else ""

    def _settle(self, host: Host) -> None:
        """Let an option take effect whose message has just gone."""
        key, self.later = self.later, ""
        if not key:
            return
        options, before = self.options, self._rows(host)
        line = before[max(self.top, 0)].line if before else 1
        if key == "S":
            options.chop = not options.chop
        else:
            options.numbers = (2 if options.numbers != 2 else 0) if key == "N" else int(options.numbers != 1)
        if self.top >= 0:
            self.top = next((index for index, row in enumerate(self._rows(host)) if row.line == line), 0)
        self.short = False


_TRIPLES = {
    **dict.fromkeys("iI", ("case", "iI", ("Case is significant in searches", "Ignore case in searches",
                                          "Ignore case in searches and in patterns"))),
    **dict.fromkeys("mM", ("prompt", "mM", ("Short prompt", "Medium prompt", "Long prompt"))),
}  # fmt: skip
"""Options of three values: attribute, the letters for the second and the third, and what is said."""
