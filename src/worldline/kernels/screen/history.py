"""The history of an interactive bash: what is remembered, listed and recalled with `!`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["EventNotFound", "History", "joined"]

_WORD = re.compile(r"(?:[^\s'\"\\|&;<>()]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^)]*\))+|[|&;<>()]+")
_EVENT = re.compile(r"!(?:(?P<again>!)|(?P<number>-?\d+)|\?(?P<inside>[^?\n]+)\??|(?P<word>(?=[$^*:])))")
_DESIGNATOR = re.compile(r":?(?P<plain>[$^*])|:(?P<first>\d+)(?:-(?P<last>\d+|\$))?")
_MODIFIER = re.compile(
    r":(?:(?P<letter>[hterpq])|(?P<all>g?)s(?P<mark>[/^,|])(?P<old>.*?)(?P=mark)(?P<new>.*?)(?:(?P=mark)|$))"
)
_NO_SPACE = re.compile(r"(?:^|[\s;&|(])(?:do|then|else|elif|in|while|until|if)\s*$|[{(&|;]\s*$")


class EventNotFound(Exception):
    """A `!` names no line; the message is what bash says after its name."""


@dataclass(slots=True)
class History:
    """Lines that were entered, oldest first."""

    lines: list[str] = field(default_factory=list)
    first: int = 1
    """Number of the oldest line."""

    def add(self, line: str) -> None:
        """Remember a line, unless it is empty."""
        if line:
            self.lines.append(line)

    def replace_last(self, line: str) -> None:
        """Put a longer text in the last line's place."""
        if self.lines:
            self.lines[-1] = line

    def listing(self, last: int | None = None) -> str:
        """What `history` prints."""
        start = 0 if last is None else max(0, len(self.lines) - last)
        numbered = enumerate(self.lines[start:], self.first + start)
        return "".join(f"{number:5d}  {line}\n" for number, line in numbered)

    def expand(self, text: str, quote: str = "") -> tuple[str, bool]:
        """Expand `!` as bash does with a line just entered.

        Args:
            text: The line.
            quote: A quote that an earlier line left open.

        Returns:
            The line, and whether it is only to be shown (`:p`).

        Raises:
            EventNotFound: With the message.
        """
        quick = re.match(r"\^([^^\n]+)\^([^^\n]*)(?:\^|$)", text)
        if quick is not None and not quote:
            if not self.lines or quick[1] not in self.lines[-1]:
                raise EventNotFound(f":s{quick[0]}: substitution failed")
            return self.lines[-1].replace(quick[1], quick[2], 1) + text[quick.end() :], False
        if "!" not in text:
            return text, False
        return _Expansion(self, text, quote).run()

    def find(self, match: re.Match[str], text: str, place: int, quoted: bool) -> tuple[str, int]:
        """The line that an event names, and where the event ends."""
        if match["again"]:
            found, shown = self.at(-1), "!!"
        elif match["number"]:
            found, shown = self.at(int(match["number"])), f"!{match['number']}"
        elif match["inside"]:
            found = next((line for line in reversed(self.lines) if match["inside"] in line), None)
            shown = match[0]
        else:
            found, shown = self.at(-1), match[0]
        if found is None:
            raise EventNotFound(f"{shown}: event not found")
        return found, match.end()

    def at(self, number: int) -> str | None:
        """The line of a number, counted from the end where it is negative."""
        index = len(self.lines) + number if number < 0 else number - self.first
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def by_start(self, word: str) -> str | None:
        """The youngest line that begins with a text."""
        return next((line for line in reversed(self.lines) if line.startswith(word)), None)


class _Expansion:
    """One line on its way through the expansion."""

    def __init__(self, history: History, text: str, quote: str) -> None:
        self.history = history
        self.text = text
        self.quote = quote
        self.out: list[str] = []
        self.print_only = False

    def run(self) -> tuple[str, bool]:
        text, place = self.text, 0
        while place < len(text):
            letter = text[place]
            if self.quote == "'":
                self.quote = "" if letter == "'" else "'"
            elif letter == "\\" and place + 1 < len(text):
                self.out.append(text[place : place + 2])
                place += 2
                continue
            elif letter == '"':
                self.quote = "" if self.quote == '"' else '"'
            elif letter == "'" and not self.quote:
                self.quote = "'"
            elif letter == "!" and self._is_event(place):
                place = self._event(place)
                continue
            self.out.append(letter)
            place += 1
        return "".join(self.out), self.print_only

    def _is_event(self, place: int) -> bool:
        text = self.text
        after = text[place + 1 : place + 2]
        if not after or after in " \t\n\r=" or (self.quote == '"' and after == '"'):
            return False
        before = text[place - 1 : place] if place else ""
        if before == "$" or (before == "[" and "]" in text[place:]):
            return False
        return not (before == "{" and text[place - 2 : place - 1] == "$") and after != "("

    def _event(self, place: int) -> int:
        text, history = self.text, self.history
        match = _EVENT.match(text, place)
        if match is not None:
            line, end = history.find(match, text, place, self.quote == '"')
        elif text.startswith("#", place + 1) and len(text) == place + 2:
            line, end = "".join(self.out), place + 2
        else:
            end = place + 1
            while end < len(text) and text[end] not in " \t\n:;&|()<>" and not (self.quote == '"' and text[end] == '"'):
                end += 1
            word = text[place + 1 : end]
            found = history.by_start(word)
            if found is None:
                raise EventNotFound(f"!{word}: event not found")
            line = found
        words = _WORD.findall(line)
        chosen = _DESIGNATOR.match(text, end)
        if chosen is not None:
            end = chosen.end()
            line = _chosen(words, chosen, chosen[0])
        while (modifier := _MODIFIER.match(text, end)) is not None:
            end = modifier.end()
            line = self._modified(line, modifier)
        self.out.append(line)
        return end

    def _modified(self, line: str, modifier: re.Match[str]) -> str:
        letter = modifier["letter"]
        if letter == "p":
            self.print_only = True
        elif letter == "h":
            return line.rpartition("/")[0]
        elif letter == "t":
            return line.rpartition("/")[2]
        elif letter == "r":
            return re.sub(r"\.[^./]*$", "", line)
        elif letter == "e":
            return line[line.rindex(".") :] if "." in line else line
        elif letter == "q":
            return "'" + line.replace("'", "'\\''") + "'"
        elif modifier["old"]:
            if modifier["old"] not in line:
                raise EventNotFound(f"{modifier[0]}: substitution failed")
            return line.replace(modifier["old"], modifier["new"], -1 if modifier["all"] else 1)
        return line


def _chosen(words: list[str], match: re.Match[str], shown: str) -> str:
    plain = match["plain"]
    if plain == "*":
        return " ".join(words[1:])
    if plain == "^" or plain == "$":
        index = 1 if plain == "^" else len(words) - 1
        if not 0 <= index < len(words):
            raise EventNotFound(f"{shown}: bad word specifier")
        return words[index]
    first = int(match["first"])
    last = first if match["last"] is None else len(words) - 1 if match["last"] == "$" else int(match["last"])
    if last >= len(words) or first > last:
        raise EventNotFound(f"{shown}: bad word specifier")
    return " ".join(words[first : last + 1])


def joined(before: str, kind: str, line: str) -> str:
    """Add a line to the history entry of a command that goes on.

    Args:
        before: The entry so far.
        kind: What was open, as :class:`~worldline.domains.terminal.syntax.Incomplete` says.
        line: The line.
    """
    if kind == "backslash":
        return before[:-1] + line
    if kind == "array":
        return f"{before} {line}"
    if kind in ("'", '"', "`", "heredoc", "("):
        return f"{before}\n{line}"
    if not line.strip():
        return before
    if _NO_SPACE.search(before):
        return f"{before} {line}"
    return f"{before}; {line}"
