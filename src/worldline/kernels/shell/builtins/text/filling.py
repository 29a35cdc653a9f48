"""`fmt`: paragraphs filled by the least total cost of their lines, as GNU's version weighs them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import shell_quote
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly

__all__ = ["COMMANDS"]

_LEEWAY = 187
"""Two hundredths of the width that a good line takes."""
_LONGEST = 2500
_MOST_WORDS, _MOST_BYTES = 900, 4500
"""A paragraph beyond these is cut in parts by the real program."""
_LINE, _SENTENCE, _NOBREAK, _MARK = 70**2, 50**2, 600**2, 40**2
_WIDOW, _ORPHAN = 200**2, 150**2
_SPACES = b" \t\n\v\f\r"
_PUNCTUATION = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


@dataclass
class _Word:
    text: bytes
    space: int = 1
    final: bool = False
    """It ends a sentence."""
    period: bool = False
    cost: int = 0
    length: int = 0
    """Of the best line that starts here."""
    next: int = 0
    """Where the line after that one starts."""

    @property
    def opens(self) -> bool:
        return self.text[:1] in (b"(", b"[", b"'", b"`", b'"')

    @property
    def marked(self) -> bool:
        return self.text[-1] in _PUNCTUATION


@dataclass
class _Plan:
    width: int = 75
    goal: int = 70
    crown: bool = False
    tagged: bool = False
    split: bool = False
    uniform: bool = False
    prefix: bytes = b""
    lead: int = 0
    full: int = 0
    """Length of the prefix with the blanks at its end."""


class _Filler:
    """Reads one file and writes it filled."""

    def __init__(self, call: Call, plan: _Plan, data: bytes, out: Output) -> None:
        self.call, self.plan, self.data, self.out = call, plan, data, out
        self.at = 0
        self.tabs = False
        self.column = 0
        self.prefix_indent = self.next_prefix_indent = 0
        self.first_indent = self.other_indent = 0
        self.words: list[_Word] = []
        self.last_length = 0
        self.out_column = 0

    def run(self) -> None:
        char = self._prefix()
        while True:
            self.last_length = 0
            char = self._skip(char)
            if char is None:
                return
            char = self._paragraph(char)
            if len(self.words) > _MOST_WORDS or sum(len(word.text) for word in self.words) > _MOST_BYTES:
                self.call.unknown("a paragraph of this length")
            self._choose()
            self._write()

    def _get(self) -> int | None:
        if self.at >= len(self.data):
            return None
        self.at += 1
        return self.data[self.at - 1]

    def _space(self, char: int | None) -> int | None:
        while char in (32, 9):
            if char == 9:
                self.tabs = True
                self.column = (self.column // 8 + 1) * 8
            else:
                self.column += 1
            char = self._get()
        return char

    def _prefix(self) -> int | None:
        self.column = 0
        char = self._space(self._get())
        prefix = self.plan.prefix
        if not prefix:
            self.next_prefix_indent = min(self.plan.lead, self.column)
            return char
        self.next_prefix_indent = self.column
        for wanted in prefix:
            if char != wanted:
                return char
            self.column += 1
            char = self._get()
        return self._space(char)

    def _skip(self, char: int | None) -> int | None:
        """Copy blank lines and those without the prefix; returns the first character of a paragraph."""
        while (
            char in (10, None)
            or self.next_prefix_indent < self.prefix_indent
            or self.column < self.next_prefix_indent + self.plan.full
        ):
            char = self._copied(char)
            if char is None:
                return None
            self.out.write(b"\n")
            char = self._prefix()
        return char

    def _copied(self, char: int | None) -> int | None:
        self.out_column = 0
        if self.column > self.next_prefix_indent or char not in (10, None):
            self._put_space(self.next_prefix_indent)
            for byte in self.plan.prefix:
                if self.out_column == self.column:
                    break
                self.out.write(bytes([byte]))
                self.out_column += 1
            if char not in (10, None):
                self._put_space(self.column - self.out_column)
            if char is None and self.column >= self.next_prefix_indent + len(self.plan.prefix):
                self.out.write(b"\n")
        while char not in (10, None):
            assert char is not None
            self.out.write(bytes([char]))
            char = self._get()
        return char

    def _same(self, char: int | None) -> bool:
        return (
            self.next_prefix_indent == self.prefix_indent
            and self.column >= self.next_prefix_indent + self.plan.full
            and char not in (10, None)
        )

    def _indent(self, same: bool) -> None:
        plan = self.plan
        if plan.split:
            self.other_indent = self.first_indent
        elif plan.crown:
            self.other_indent = self.column if same else self.first_indent
        elif plan.tagged:
            if same and self.column != self.first_indent:
                self.other_indent = self.column
            elif self.other_indent == self.first_indent:
                self.other_indent = 3 if self.first_indent == 0 else 0
        else:
            self.other_indent = self.first_indent

    def _paragraph(self, char: int | None) -> int | None:
        self.prefix_indent, self.first_indent = self.next_prefix_indent, self.column
        self.words = []
        char = self._line(char)
        self._indent(self._same(char))
        plan = self.plan
        more = not plan.split and self._same(char)
        if plan.tagged and not plan.crown:
            more = more and self.column != self.first_indent
        elif not plan.crown:
            more = more and self.column == self.other_indent
        while more:
            char = self._line(char)
            more = self._same(char) and self.column == self.other_indent
        self.words[-1].period = self.words[-1].final = True
        return char

    def _line(self, char: int | None) -> int | None:
        while True:
            start = self.at - 1
            char = self._get()
            while char is not None and char not in _SPACES:
                char = self._get()
            word = _Word(self.data[start : self.at if char is None else self.at - 1])
            self.column += len(word.text)
            body = word.text[:1] + word.text[1:].rstrip(b")]'\"")
            word.period = body[-1:] in (b".", b"?", b"!")
            before = self.column
            char = self._space(char)
            word.space = self.column - before
            word.final = char is None or (word.period and (char == 10 or word.space > 1))
            if char in (10, None) or self.plan.uniform:
                word.space = 2 if word.final else 1
            self.words.append(word)
            if char in (10, None):
                return self._prefix()

    def _choose(self) -> None:
        """Find the breaks of the least cost, from the last word back."""
        words, plan = self.words, self.plan
        for start in range(len(words) - 1, -1, -1):
            best: int | None = None
            length = (self.first_indent if start == 0 else self.other_indent) + len(words[start].text)
            at = start
            while True:
                at += 1
                cost = self._line_cost(at, length) + (words[at].cost if at < len(words) else 0)
                if start == 0 and self.last_length > 0:
                    cost += (10 * (length - self.last_length)) ** 2 // 2
                if best is None or cost < best:
                    best = cost
                    words[start].next, words[start].length = at, length
                if at == len(words):
                    break
                length += words[at - 1].space + len(words[at].text)
                if length >= plan.width:
                    break
            words[start].cost = best + self._base_cost(start)

    def _line_cost(self, after: int, length: int) -> int:
        if after == len(self.words):
            return 0
        cost = (10 * (self.plan.goal - length)) ** 2
        if self.words[after].next != len(self.words):
            cost += (10 * (length - self.words[after].length)) ** 2 // 2
        return cost

    def _base_cost(self, at: int) -> int:
        cost, words = _LINE, self.words
        if at > 0:
            before = words[at - 1]
            if before.period:
                cost += -_SENTENCE if before.final else _NOBREAK
            elif before.marked:
                cost -= _MARK
            elif at > 1 and words[at - 2].final:
                cost += _WIDOW // (len(before.text) + 2)
        if words[at].opens:
            cost -= _MARK
        elif words[at].final:
            cost += _ORPHAN // (len(words[at].text) + 2)
        return cost

    def _write(self) -> None:
        at, indent = 0, self.first_indent
        while at < len(self.words):
            self.out_column = 0
            self._put_space(self.prefix_indent)
            self.out.write(self.plan.prefix)
            self.out_column += len(self.plan.prefix)
            self._put_space(indent - self.out_column)
            end = self.words[at].next
            for index in range(at, end):
                word = self.words[index]
                self.out.write(word.text)
                self.out_column += len(word.text)
                if index < end - 1:
                    self._put_space(word.space)
            self.last_length = self.out_column
            self.out.write(b"\n")
            at, indent = end, self.other_indent

    def _put_space(self, space: int) -> None:
        target = self.out_column + space
        if self.tabs:
            stop = target // 8 * 8
            if self.out_column + 1 < stop:
                while self.out_column < stop:
                    self.out.write(b"\t")
                    self.out_column = (self.out_column // 8 + 1) * 8
        if self.out_column < target:
            self.out.write(b" " * (target - self.out_column))
            self.out_column = target


@command()
def fmt(call: Call) -> Result:
    """Fill paragraphs."""
    argv = list(call.argv)
    if argv and re.match(r"-\d", argv[0]):
        argv[:1] = ["-w", argv[0][1:]]
    options, names = parse(
        call, "0123456789cstuw:p:g:",
        ("crown-margin", "prefix=", "split-only", "tagged-paragraph", "uniform-spacing", "width=", "goal="),
        same={"--crown-margin": "-c", "--prefix": "-p", "--split-only": "-s", "--tagged-paragraph": "-t",
              "--uniform-spacing": "-u", "--width": "-w", "--goal": "-g"},
        argv=argv,
    )  # fmt: skip
    for name, _ in options:
        if name[1].isdigit():
            raise UsageError(
                f"invalid option -- {name[1]}; -WIDTH is recognized only when it is the first\noption; use -w N instead"
            )
    plan = _plan(call, dict(options))
    out = Output(call)
    for name in names or ["-"]:
        wording = f"cannot open {shell_quote(name)} for reading".replace("{", "{{").replace("}", "}}")
        data = out.open(name, wording, directory="!read error")
        if data is not None:
            _Filler(call, plan, data, out).run()
    return out.result()


def _plan(call: Call, given: dict[str, str]) -> _Plan:
    plan = _Plan(crown="-c" in given, tagged="-t" in given, split="-s" in given, uniform="-u" in given)
    if "-w" in given:
        plan.width = _number(call, given["-w"], _LONGEST)
    plan.goal = plan.width * _LEEWAY // 200
    if "-g" in given:
        plan.goal = _number(call, given["-g"], plan.width)
        if "-w" not in given:
            plan.width = plan.goal + 10
    prefix = given.get("-p", "").encode()
    plan.lead = len(prefix) - len(prefix.lstrip(b" "))
    plan.full = len(prefix) - plan.lead
    plan.prefix = prefix.strip(b" ")
    return plan


def _number(call: Call, text: str, largest: int) -> int:
    if not re.fullmatch(r"\+?\d+", text):
        raise UsageError(f"invalid width: {curly(call, text)}", hint=False)
    if int(text) > largest:
        raise UsageError(f"invalid width: {curly(call, text)}: Numerical result out of range", hint=False)
    return int(text)


COMMANDS: dict[str, Builtin] = {"fmt": fmt}
