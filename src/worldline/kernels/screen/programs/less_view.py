"""What `less` shows, and moving through it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host
from worldline.kernels.screen.programs.rows import Layout, Row, lay_out

__all__ = ["LessOptions", "LessView", "Text"]

_MESSAGE = "  (press RETURN)"
_PLAIN = re.compile(r"[\w ,:;@#%&!\"'/<>=~-]*")


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
class LessView:
    """The pager."""

    name: ClassVar[str] = "less"
    silent: ClassVar[bool] = False
    files: list[Text]
    options: LessOptions
    first_command: str = ""
    """Keys of `+...`."""
    source: str = ""
    """The command whose output is shown; it has run for good when the pager starts."""
    raw: bool = True
    readline: bool = False
    current: int = 0
    top: int = 0
    """Row at the top; negative where empty rows stand above the text."""
    fresh: bool = True
    """The next prompt names the file."""
    short: bool = False
    begin: int = 0
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
    tops: dict[int, int] = field(default_factory=dict)
    """Rows at the top of the files that were left."""
    before: int = 0
    """Where the last long jump began."""
    waiting: bool = False
    """`F` waits for the file to grow."""
    escape: str = ""
    later: str = ""
    """An option that takes effect when its message goes."""
    doubt: str = ""

    # --- the protocol

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
        # a text that does not fill the screen is written from where the cursor stood
        first = 1 + (max(min(self.begin, host.lines - 1 - len(lines)), 0) if self.short else 0)
        body = "".join(f"\x1b[{number};1H{text}" for number, text in enumerate(lines, first) if text)
        return f"\x1b[H\x1b[2J{body}\x1b[{first + len(lines)};1H{self._prompt(host)}"

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
        if not self.files[self.current].name:
            return  # a pipe that is at its end
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

    def _regex(self, pattern: str) -> str:
        odd = not _PLAIN.fullmatch(
            re.sub(r"[.^$*+?|()]|\[\^?[\w-]+\]|\{\d+(?:,\d*)?\}|\\[.wsbWSB*+?/\[\]()|$^-]", "", pattern)
        )
        try:
            re.compile(pattern)
        except re.error:
            odd = True
        if odd:
            self.doubt = "a pattern in less"
            pattern = re.escape(pattern)
        ignore = self.options.case == 2 or (self.options.case == 1 and pattern.lower() == pattern)
        return f"(?i){pattern}" if ignore else pattern

    def _search(self, count: int, backward: bool, host: Host, *, fresh: bool = False) -> None:
        """Go to a match; a fresh search begins at the edge of the screen, one that goes on at the line on top."""
        if not self.pattern:
            self.message = "No previous regular expression"
            return
        rows = self._rows(host)
        lines = self.files[self.current].text.split("\n")
        regex = re.compile(self._regex(self.pattern))
        if backward:
            start = min(self.top + host.lines - 1 if fresh else self.top, len(rows))
            places = range(start - 1, -1, -1)
        else:
            places = range(max(self.top, 0) + (0 if fresh else 1), len(rows))
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
