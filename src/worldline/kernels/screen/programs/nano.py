"""`nano` 7.2, as Debian 12 has it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.nano_screen import draw
from worldline.kernels.screen.programs.nano_text import TextBuffer
from worldline.kernels.screen.programs.rows import odd_text
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["Nano", "nano_program"]

_KEYS = re.compile(r"\x1b\[[\d;]*[~A-Z]|\x1bO[A-Z]|\x1b[^\x1b\[O]|[\s\S]")
_CURSOR = {"\x1b[A": "\x1bOA", "\x1b[B": "\x1bOB", "\x1b[C": "\x1bOC", "\x1b[D": "\x1bOD"}
_LASTING = 20
"""Keys after which a message goes."""


@dataclass
class Nano:
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
    left: int = _LASTING
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

    def start(self, host: Host) -> Shown:
        """Draw the file."""
        self._show(host, centre=True)
        return Shown("\x1b[?1049h" + self._draw(host), unknown=self.doubt)

    def feed(self, text: str, host: Host) -> Shown:
        """Take keys."""
        keys = [_CURSOR.get(key, key) for key in _KEYS.findall(self.escape + text)]
        self.escape = keys.pop() if keys and keys[-1] == "\x1b" else ""
        for key in keys:
            if self._key(key, host):
                return Shown("\x1b[?1049l", ended=True, unknown=self.doubt)
        return Shown(self._draw(host), unknown=self.doubt)

    def end_of_input(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    def interrupt(self, host: Host) -> Shown:
        """Not called: it reads keys."""
        return Shown()

    # --- drawing

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
        self.status, self.left = text, _LASTING

    def _show(self, host: Host, *, centre: bool = False) -> None:
        """Bring the cursor's line into the window, in its middle or by as little as needed."""
        rows, y = host.lines - 4, self.text.y
        if self.top <= y < self.top + rows:
            return
        if centre:
            self.top = max(y - rows // 2, 0)
        else:
            self.top = y if y < self.top else y - rows + 1

    # --- keys

    def _key(self, key: str, host: Host) -> bool:
        """Act on a key; true where it ends the program."""
        if self.asking:
            return self._asked(key, host)
        self.left -= 1
        if self.left <= 0:
            self.status = ""
        if key not in ("\x0b", "\x1b6"):
            self.text.cutting = False
        if key == "\x18":
            if not self.text.modified:
                return True
            self.asking, self.leaving = "save", True
        elif key in _PROMPTS:
            self.asking, self.answer, self.leaving = _PROMPTS[key], "", False
            if self.asking == "write":
                self.answer = self.file
        else:
            self._edit(key, host)
        return False

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

    # --- moving

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

    # --- questions

    def _asked(self, key: str, host: Host) -> bool:
        key = key[1] if len(key) == 2 else key
        if key == "\x03":
            self.asking = ""
            self._say("Cancelled")
        elif self.asking in ("save", "different", "exists"):
            return self._decided(key.lower(), host)
        elif key in "\r":
            return self._answered(host)
        elif key in ("\x7f", "\b"):
            self.answer = self.answer[:-1]
        elif key == "\x15":
            self.answer = ""
        elif len(key) == 1 and key.isprintable():
            self.answer += key
        else:
            self.doubt = f"the key {key!r} at a question of nano"
        return False

    def _decided(self, key: str, host: Host) -> bool:
        """Take the answer to a question of yes or no."""
        if key not in "yn":
            return False
        asked, self.asking = self.asking, ""
        if asked == "save":
            if key == "n":
                return True
            self.asking, self.answer = "write", self.file
        elif key == "n":
            self.asking = "write"
        else:
            return self._write(host)
        return False

    def _answered(self, host: Host) -> bool:
        asked, self.asking, answer = self.asking, "", self.answer
        self.status = ""
        if asked == "write":
            if not answer:
                self._say("Cancelled")
                return False
            if answer != self.file:
                exists = self._exists(answer, host)
                if exists or self.file:
                    self.asking = "exists" if exists else "different"
                    return False
            return self._write(host)
        if asked == "search":
            self.pattern = answer or self.pattern
            if self.pattern:
                self._search(host)
            else:
                self._say("Cancelled")
        elif asked == "goto":
            self._goto(answer, host)
        return False

    def _exists(self, path: str, host: Host) -> bool:
        try:
            host.read(path)
        except Unknown:
            return True
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def _write(self, host: Host) -> bool:
        written = self.text.text()
        try:
            host.write(self.answer, written.encode("utf-8", "surrogateescape"))
        except Unknown as error:
            self.doubt = str(error) or "whether the file may be written"
        except OSError as error:
            self._say(f"Error writing {self.answer}: {error.strerror}")
            return False
        count = written.count("\n")
        self.file, self.text.modified = self.answer, False
        self._say(f"Wrote {count} line{'' if count == 1 else 's'}")
        return self.leaving

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
        self._show(host, centre=True)


_PROMPTS = {"\x0f": "write", "\x17": "search", "\x1f": "goto"}
_MOVES = {
    "\x1bOA": "up", "\x10": "up", "\x1bOB": "down", "\x0e": "down", "\x1bOC": "right", "\x06": "right",
    "\x1bOD": "left", "\x02": "left", "\x01": "home", "\x1b[1~": "home", "\x1b[H": "home", "\x1bOH": "home",
    "\x05": "end", "\x1b[4~": "end", "\x1b[F": "end", "\x1bOF": "end", "\x19": "pageup", "\x1b[5~": "pageup",
    "\x16": "pagedown", "\x1b[6~": "pagedown", "\x1b\\": "first", "\x1b/": "last",
}  # fmt: skip


def nano_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `nano` with at most one file."""
    if any(isinstance(word, Operator) for word in words):
        return None
    files, doubt, numbers, line = list[str](), "", False, ""
    for word in words[1:]:
        if word in ("-l", "--linenumbers"):
            numbers = True
        elif word in ("-h", "--help", "-V", "--version"):
            return None
        elif re.fullmatch(r"\+\d+(,\d+)?", word):
            line = word[1:]
        elif word.startswith("-") and len(word) > 1:
            doubt = f"the option {word} of nano"
        else:
            files.append(word)
    if len(files) > 1:
        doubt = "nano with several files"
    if not files:
        return Nano("", TextBuffer([""]), "Welcome to nano.  For basic help, type Ctrl+G.", numbers, doubt=doubt)
    found = _opened(files[0], host, numbers)
    found.doubt = found.doubt or doubt
    if line:
        found._goto(line, host)
        found.text.wanted = found.text.column
    return found


def _opened(path: str, host: Host, numbers: bool) -> Nano:
    try:
        text = host.read(path).decode("utf-8", "surrogateescape")
    except Unknown as error:
        return Nano(path, TextBuffer([""]), doubt=str(error) or "the content of the file")
    except FileNotFoundError:
        place = posixpath.dirname(path)
        known = not place or not host.run(f"test -d '{place}'", keep=False).status
        return Nano(path, TextBuffer([""]), "New File" if known else f"Directory '{place}' does not exist", numbers)
    except IsADirectoryError:
        return Nano("", TextBuffer([""]), f'"{path}" is a directory', numbers)
    except OSError as error:
        return Nano(
            path,
            TextBuffer([""]),
            f"Error reading {path}: {error.strerror}",
            numbers,
            doubt="a file that may not be read",
        )
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    if lines[-1] != "":
        lines.append("")
    found = Nano(path, TextBuffer(lines), f"Read {count} line{'' if count == 1 else 's'}", numbers)
    if odd_text(text):
        found.doubt = "a text with control characters in nano"
    return found
