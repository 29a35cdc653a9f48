"""`more` of util-linux: a text page by page, scrolling up on the main screen."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.replay import command_line
from worldline.kernels.screen.programs.rows import Layout, Row, lay_out, odd_text
from worldline.kernels.screen.programs.said import Said
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["More", "more_program"]


@dataclass
class More:
    """The pager."""

    name: ClassVar[str] = "more"
    silent: ClassVar[bool] = False
    text: str
    piped: bool
    page: int = 0
    """Rows of a page; 0 until it is known how large the screen is."""
    at_end: bool = False
    """`-e`: ends at the end of the text."""
    row: int = 0
    """The row after the last one shown."""
    source: str = ""
    """The command whose output is shown; it has run for good when the pager starts."""
    raw: bool = True
    readline: bool = False
    count: str = ""
    pattern: str = ""
    """What is typed after `/`, with it."""
    sent: int = 0
    """When it was begun."""
    doubt: str = ""

    def start(self, host: Host) -> Shown:
        """Show the first page."""
        if self.source:
            host.run(self.source)
        self.page = self.page or host.lines - 1
        if odd_text(self.text):
            self.doubt = self.doubt or "a text with control characters in more"
        return self._show(self.page, host, "")

    def feed(self, text: str, host: Host) -> Shown:
        """Take keys."""
        out = ""
        for key in text:
            if self.pattern or key == "/":
                out += self._pattern(key, host).text
                continue
            if key.isdigit():
                self.count += key
                continue
            count, self.count = int(self.count or "0"), ""
            shown = self._key(key, count, host)
            out += shown.text
            if shown.ended:
                return Shown(out, ended=True, unknown=self.doubt)
        return Shown(out, unknown=self.doubt)

    def end_of_input(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def interrupt(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def _rows(self, host: Host) -> tuple[Row, ...]:
        return lay_out(self.text, Layout(host.columns))

    def _key(self, key: str, count: int, host: Host) -> Shown:
        if key in "qQ\x03":
            return Shown("\r\x1b[K", ended=True)
        if key == " " or key == "z":
            self.page = count if key == "z" and count else self.page
            return self._show(count or self.page, host)
        if key in "\r\n":
            self.page = count or self.page
            return self._show(count or 1, host)
        if key in "d\x04":
            return self._show(count or host.lines // 2 - 1, host)
        if key in "b\x02" and not self.piped:
            self.row = max(min(self.row, len(self._rows(host))) - self.page * (max(count, 1) + 1) - 1, 0)
            return self._show(self.page, host, "\r\x1b[K...back 1 page\n")
        if key in "sf":
            return self._skip((count or 1) * (self.page if key == "f" else 1), host)
        if key == "=":
            rows = self._rows(host)
            return Shown(f"\r\x1b[K{rows[min(self.row, len(rows)) - 1].line if rows else 0}")
        if key not in "b\x02":
            self.doubt = f"the key {key!r} in more"
        return Shown()

    def _pattern(self, key: str, host: Host) -> Shown:
        """Take a key of a pattern.

        Of one that is sent with its Enter in one go only the digits count, as the number of lines that Enter brings.
        """
        if not self.pattern:
            self.pattern, self.sent = key, host.entries
            return Shown("\r\x1b[K/")
        if key in "\r\n":
            words, self.pattern = self.pattern[1:], ""
            if self.sent == host.entries:
                if len(words) > 6 and re.search(r"\d", words):
                    self.doubt = self.doubt or "digits late in what is sent to more"
                return self._key("\n", int(re.sub(r"\D", "", words) or 0), host)
            return self._search(words, host)
        self.pattern += key
        return Shown(key)

    def _search(self, words: str, host: Host) -> Shown:
        try:
            regex = re.compile(words)
        except re.error:
            self.doubt = self.doubt or "a pattern in more"
            return Shown()
        rows = self._rows(host)
        lines = self.text.split("\n")
        found = next((i for i in range(self.row, len(rows)) if regex.search(lines[rows[i].line - 1])), None)
        if found is None:
            self.doubt = self.doubt or "a pattern in more that is not found"
            return Shown()
        self.row = max(found - 2, 0)
        return self._show(self.page - 1, host, "\r\x1b[K...skipping\n")

    def _skip(self, count: int, host: Host) -> Shown:
        before = f"\r\x1b[K\n...skipping {count} line{'' if count == 1 else 's'}\n"
        if self.row >= len(self._rows(host)):
            return Shown(before, ended=True)
        self.row += count
        return self._show(self.page, host, before)

    def _show(self, count: int, host: Host, before: str = "\r\x1b[K") -> Shown:
        """Write rows, empty ones past the end, and the prompt."""
        rows = self._rows(host)
        if self.at_end and self.row + count >= len(rows):
            rest = "".join(f"{row.text}\n" for row in rows[self.row :])
            return Shown(before + rest, ended=True, unknown=self.doubt)
        shown = [rows[index].text if index < len(rows) else "" for index in range(self.row, self.row + count)]
        self.row += count
        over = self.row >= len(rows)
        size = max(len(self.text.encode()), 1)
        mark = "(END)" if over else "--More--" + ("" if self.piped else f"({rows[self.row - 1].end * 100 // size}%)")
        return Shown(before + "".join(f"{text}\n" for text in shown) + f"\x1b[7m{mark}\x1b[27m", unknown=self.doubt)


def more_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `more` over a file, or at the end of a pipe."""
    own, piped = list(words), ""
    if any(isinstance(word, Operator) for word in words):
        place = max(
            (index for index, word in enumerate(words) if isinstance(word, Operator) and word == "|"), default=0
        )
        own, piped = list(words[place + 1 :]), command_line(words[:place])
        if not place or any(isinstance(word, Operator) for word in own):
            return None
    names, page, at_end, doubt, rest, first = list[str](), 0, False, "", own[1:], 0
    while rest:
        word = rest.pop(0)
        if word == "-e":
            at_end = True
        elif word == "-n" and rest and rest[0].isdigit():
            page = int(rest.pop(0))
        elif word.startswith("-") and word[1:].isdigit():
            page = int(word[1:])
        elif word in ("--help", "--version", "-h", "-V"):
            return None
        elif re.fullmatch(r"\+\d+", word):
            first = max(int(word[1:]) - 1, 0)
        elif word.startswith(("-", "+")):
            doubt = f"the option {word} of more"
        else:
            names.append(word)
    if piped and not names:
        run = host.run(piped, keep=False)
        why = doubt or ("" if run.known else run.why)
        return More(run.text, True, page, at_end, source=piped, doubt=why)
    if not names:
        return Said("more: bad usage\nTry 'more --help' for more information.\n", 1)
    try:
        text = host.read(names[0]).decode("utf-8", "replace")
    except Unknown as error:
        return More("", False, page, at_end, doubt=str(error) or "the content of the file")
    except IsADirectoryError:
        return Said(f"\n*** {names[0]}: directory ***\n\n")
    except OSError as error:
        return Said(f"more: cannot open {names[0]}: {os.strerror(error.errno or 5)}\n", 1)
    return More(text, False, page, at_end, first, doubt=doubt or ("more over several files" if names[1:] else ""))
