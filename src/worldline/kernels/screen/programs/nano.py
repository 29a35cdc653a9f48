"""`nano` 7.2, as Debian 12 has it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from worldline.kernels.screen.programs.base import Host, Operator, Program, Shown
from worldline.kernels.screen.programs.nano_text import TextBuffer
from worldline.kernels.screen.programs.nano_view import NanoView
from worldline.kernels.screen.programs.rows import odd_text
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["Nano", "nano_program"]

_KEYS = re.compile(r"\x1b\[[\d;]*[~A-Z]|\x1bO[A-Z]|\x1b[^\x1b\[O]|[\s\S]")
_CURSOR = {"\x1b[A": "\x1bOA", "\x1b[B": "\x1bOB", "\x1b[C": "\x1bOC", "\x1b[D": "\x1bOD"}


@dataclass
class Nano(NanoView):
    """The editor."""

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


_PROMPTS = {"\x0f": "write", "\x17": "search", "\x1f": "goto"}


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
