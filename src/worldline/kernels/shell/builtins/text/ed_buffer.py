"""The lines that `ed` edits, and its addresses: `3`, `$`, `.`, `/RE/`, `?RE?`, `+2`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Buffer", "EdError", "Scanner"]


class EdError(Exception):
    """A command fails; `str()` is what `h` says about it."""


@dataclass(slots=True)
class Buffer:
    """Lines and the current one."""

    lines: list[str] = field(default_factory=list)
    current: int = 0
    """From 1; 0 where there is none."""
    modified: bool = False
    pattern: str | None = None
    """The last regular expression."""
    undo: tuple[list[str], int] | None = None

    def save(self) -> None:
        """Remember the lines for `u`."""
        self.undo = (list(self.lines), self.current)

    def regex(self, text: str) -> re.Pattern[str]:
        """Translate a basic regular expression; an empty one is the last one.

        Raises:
            EdError: It is wrong, or there is no last one.
        """
        if not text:
            if self.pattern is None:
                raise EdError("No previous pattern")
            text = self.pattern
        self.pattern = text
        try:
            return re.compile(_basic(text))
        except re.error as error:
            raise EdError("Invalid regular expression") from error

    def search(self, text: str, *, back: bool) -> int:
        """Find the next line that matches, going round."""
        pattern = self.regex(text)
        count = len(self.lines)
        step = -1 if back else 1
        for distance in range(1, count + 1):
            index = (self.current - 1 + step * distance) % count
            if pattern.search(self.lines[index]):
                return index + 1
        raise EdError("No match")


def _basic(text: str) -> str:
    """Translate a basic regular expression of POSIX to Python's."""
    out: list[str] = []
    index = 0
    while index < len(text):
        letter = text[index]
        if letter == "\\" and index + 1 < len(text):
            index += 1
            follower = text[index]
            if follower in "(){}+?|":
                out.append(follower)
            elif follower in "<>":
                out.append(r"\b")
            elif follower in "wWsSbB" or follower.isdigit():
                out.append("\\" + follower)
            else:
                out.append(re.escape(follower))
        elif letter == "[":
            bracket = re.match(r"\[\^?\]?(?:\[:\w+:\]|[^\]])*\]", text[index:])
            if bracket is None:
                raise EdError("Unbalanced brackets ([])")
            out.append(_bracket(bracket[0]))
            index += len(bracket[0]) - 1
        elif letter == "*" and (not out or out == ["^"] or out[-1] in ("(", "|")):
            out.append(r"\*")
        elif letter == "^" and out and out[-1] not in ("(", "|"):
            out.append(r"\^")
        elif letter == "$" and index + 1 < len(text) and not text.startswith(("\\)", "\\|"), index + 1):
            out.append(r"\$")
        elif letter in "(){}+?|":
            out.append("\\" + letter)
        else:
            out.append(letter)
        index += 1
    return "".join(out)


_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


def _bracket(text: str) -> str:
    inner = text[1:-1].replace("\\", "\\\\")
    negated = inner.startswith("^")
    inner = inner[1:] if negated else inner
    inner = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], ""), inner)
    if inner.startswith("]"):
        inner = "\\]" + inner[1:]
    return f"[{'^' if negated else ''}{inner}]"


class Scanner:
    """Reads addresses off the front of a command.

    Args:
        text: The command.
        buffer: Whose lines are meant.
    """

    def __init__(self, text: str, buffer: Buffer) -> None:
        self.text = text
        self.index = 0
        self._buffer = buffer

    @property
    def rest(self) -> str:
        """What has not been read."""
        return self.text[self.index :]

    def addresses(self) -> list[int]:
        """Read addresses; at most the last two count.

        Raises:
            EdError: One is wrong.
        """
        found: list[int] = []
        kept = self._buffer.current
        first = self._address()
        if first is not None:
            found.append(first)
        while self.rest[:1] in (",", ";", "%") and self.rest:
            mark = self.rest[0]
            self.index += 1
            if not found:
                found.append(1 if mark in ",%" else kept)
            if mark == ";":
                self._buffer.current = found[-1]
            following = self._address() if mark != "%" else None
            if following is None:
                following = len(self._buffer.lines) if len(found) == 1 and first is None else found[-1]
            found.append(following)
        if found and not all(0 <= line <= len(self._buffer.lines) for line in found):
            raise EdError("Invalid address")
        pair = found[-2:]
        if len(pair) == 2 and pair[0] > pair[1]:
            raise EdError("Invalid address")
        return pair

    def _address(self) -> int | None:
        self._blanks()
        value = self._base()
        while True:
            self._blanks()
            match = re.match(r"([+-])(\d*)|(\d+)", self.rest)
            if match is None or (match[3] and value is None):
                return value
            self.index += len(match[0])
            start = self._buffer.current if value is None else value
            amount = int(match[2] or match[3] or 1)
            value = start - amount if match[1] == "-" else start + amount

    def _base(self) -> int | None:
        letter = self.rest[:1]
        if letter.isdigit():
            match = re.match(r"\d+", self.rest)
            assert match is not None
            self.index += len(match[0])
            return int(match[0])
        if letter == ".":
            self.index += 1
            return self._buffer.current
        if letter == "$":
            self.index += 1
            return len(self._buffer.lines)
        if letter in ("/", "?") and letter:
            self.index += 1
            return self._buffer.search(self.delimited(letter), back=letter == "?")
        if letter == "'":
            raise EdError("Invalid address")
        return None

    def _blanks(self) -> None:
        while self.rest[:1] in (" ", "\t") and self.rest:
            self.index += 1

    def delimited(self, mark: str) -> str:
        """Read up to a delimiter, which is left out."""
        out = []
        while self.index < len(self.text):
            letter = self.text[self.index]
            self.index += 1
            if letter == "\\" and self.index < len(self.text):
                follower = self.text[self.index]
                self.index += 1
                out.append(follower if follower == mark else letter + follower)
            elif letter == mark:
                return "".join(out)
            else:
                out.append(letter)
        return "".join(out)
