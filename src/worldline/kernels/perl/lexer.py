"""Reads Perl source into tokens; what a slash means depends on what stands before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.perl.values import PerlGap

__all__ = ["Token", "tokens"]

_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPERATORS = tuple(
    r"""<=> **= ||= &&= //= ... <<= >>= => -> ++ -- ** =~ !~ == != <= >= && || // .. :: += -= *= /= .= %= x= |= &= ^= <<
    >> + - * / % = < > ! ~ \ ? : . , ; ( ) [ ] { } & | ^""".split()  # noqa: SIM905
)
_BLANK = re.compile(r"[ \t\r]+|#[^\n]*|\n(?:=\w.*?\n=cut[^\n]*(?:\n|$))?", re.DOTALL)
_QUOTE_FOLLOWS = re.compile(r"\s*[^\s\w,;)=]|\s+[^\s\w,;)=]|\s*=[^=>~]")
_VARIABLE = re.compile(
    r"[$@%&]?\$*(?:\{\^?\w+\}|(?:::)?[A-Za-z_]\w*(?:::\w+)*|\d+|[&!@/\\,;.0_|\"'+](?![\w{(\[])|[&!@/\\,;.0|\"+])"
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]\w*(?:(?:::|')[A-Za-z_]\w*)*")
_QUOTES = frozenset(("q", "qq", "qw", "m", "qr", "s", "tr", "y"))
_EXPECT_TERM = frozenset(
    """split grep map join push unshift if unless while until and or not xor return print x lt gt le ge eq ne cmp when
    die warn foreach for say my our local keys values each delete exists defined scalar ref reverse
    sprintf splice unlink sum max min first uniq any all none""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token."""

    kind: str
    """`num str interp words match subst trans qr var word op read heredoc end`."""
    text: str
    line: int
    extra: tuple[str, ...] = ()
    spaced: bool = False
    """Whether blanks stand before it."""


def tokens(source: str) -> list[Token]:
    """Split source into tokens.

    Raises:
        PerlGap: It cannot be read.
    """
    return _Lexer(source).run()


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.index = 0
        self.found: list[Token] = []
        self.pending: list[tuple[int, str, bool]] = []
        self.line_of = 1

    def run(self) -> list[Token]:
        while True:
            spaced = self._skip()
            if self.index >= len(self.source):
                self.found.append(Token("end", "", self._line()))
                return self.found
            start = len(self.found)
            if self._stop():
                self.found.append(Token("end", "", self._line()))
                return self.found
            self._next()
            for place in range(start, len(self.found)):
                token = self.found[place]
                self.found[place] = Token(token.kind, token.text, token.line, token.extra, spaced)

    def _line(self) -> int:
        return self.source.count("\n", 0, self.index) + 1

    def _stop(self) -> bool:
        return re.compile(r"__(?:END|DATA)__\b").match(self.source, self.index) is not None

    def _skip(self) -> bool:
        start = self.index
        while self.index < len(self.source):
            match = re.compile(r"[ \t\r]+|#[^\n]*|\n(?:=\w.*?\n=cut[^\n]*(?:\n|$))?", re.S).match(
                self.source, self.index
            )
            if match is None:
                break
            self.index = match.end()
            if match[0].startswith("\n") and self.pending:
                self._heredocs()
        return self.index > start

    def _heredocs(self) -> None:
        for place, mark, _ in self.pending:
            lines = []
            while self.index < len(self.source):
                end = self.source.find("\n", self.index)
                end = len(self.source) if end < 0 else end
                line = self.source[self.index : end]
                self.index = end + 1
                if line == mark:
                    break
                lines.append(line + "\n")
            token = self.found[place]
            self.found[place] = Token(token.kind, "".join(lines), token.line)
        self.pending = []

    def _add(self, kind: str, text: str, *extra: str) -> None:
        self.found.append(Token(kind, text, self._line(), extra))

    def _wants_term(self) -> bool:
        if not self.found:
            return True
        last = self.found[-1]
        if last.kind == "word":
            return last.text in _EXPECT_TERM
        return last.kind == "op" and last.text not in (")", "]", "}")

    def _after_block(self) -> bool:
        """Whether a closing brace before may end a block, so that a term may follow."""
        return bool(self.found) and self.found[-1].text == "}"

    def _reads(self) -> bool:
        """Whether `<...>` after a word or a block is a file that is read."""
        after = self.found[-1].kind == "word" or self.found[-1].text == "}"
        return after and re.compile(r"<\$?\w*>").match(self.source, self.index) is not None

    def _next(self) -> None:
        source, index = self.source, self.index
        letter = source[index]
        term = self._wants_term()
        sign = letter in "$@" or (letter in "%&" and term and re.match(r"[%&][\w{$:]", source[index : index + 2]))
        if sign and self._variable():
            return
        if letter.isdigit() or (letter == "." and term and source[index + 1 : index + 2].isdigit()):
            match = _NUMBER.match(source, index)
            assert match is not None
            text = re.match(r"\d[\d_]*(?=\.\.)", source[index:])
            found = text[0] if text else match[0]
            self.index += len(found)
            self._add("num", found.replace("_", ""))
        elif letter.isalpha() or letter == "_":
            self._word()
        elif letter in "\"'`":
            self.index += 1
            body = self._until(letter, letter)
            if letter == "`":
                raise PerlGap("a command in backticks")
            self._add("interp" if letter == '"' else "str", body if letter == '"' else _single(body))
        elif letter == "/" and (term or self._after_block()):
            self.index += 1
            self._add("match", self._until("/", "/"), self._flags())
        elif letter == "<" and (term or self._reads()):
            self._angle()
        else:
            self._operator()

    def _variable(self) -> bool:
        source = self.source
        if source.startswith("$#", self.index):
            match = re.compile(r"\$#(\{|\$?\w+)").match(source, self.index)
            if match is not None:
                if match[1] == "{":
                    self.index += 2
                    self._add("op", "$#")
                else:
                    self.index = match.end()
                    self._add("lastindex", match[1])
                return True
        match = _VARIABLE.match(source, self.index)
        if match is None or (match[0][0] == "@" and not re.match(r"@\$*[\w{:]|@\{", match[0])):
            if re.match(r"[$@%&]\$*\{", source[self.index :]) or re.match(r"[$@%]\$", source[self.index :]):
                self._add("op", source[self.index])
                self.index += 1
                return True
            return False
        text = match[0]
        if re.match(r"[$@%&]\$+[\w{]", text):
            self._add("op", text[0])
            self.index += 1
            return True
        self.index = match.end()
        self._add("var", re.sub(r"\{(\^?\w+)\}", r"\1", text))
        return True

    def _word(self) -> None:
        match = _WORD.match(self.source, self.index)
        assert match is not None
        word = match[0]
        follows = self.source[match.end() : match.end() + 40]
        arrow = re.match(r"\s*=>", follows) is not None
        previous = self.found[-1] if self.found else None
        inside = previous is not None and (
            previous.text == "->" or (previous.text == "{" and re.match(r"\s*\}", follows) is not None)
        )
        if previous is not None and previous.text == "-" and self.source[self.index - 1] == "-":
            inside = True
        if word in _QUOTES and not arrow and not inside and _QUOTE_FOLLOWS.match(follows):
            operator = (not self._wants_term() and (word == "y" and re.match(r"\s*[-+*/<>]", follows))) or (
                word in ("s", "y", "q", "m") and re.match(r"\s*=", follows)
            )
            if not operator:
                self.index = match.end()
                self._quote(word)
                return
        if word == "x" and not self._wants_term() and not arrow:
            self.index = match.end()
            self._add("op", "x")
            return
        if re.match(r"x\d+$", word) and not self._wants_term():
            self.index += 1
            self._add("op", "x")
            return
        self.index = match.end()
        self._add("word", word)

    def _quote(self, word: str) -> None:
        while self.source[self.index].isspace():
            self.index += 1
        opening = self.source[self.index]
        self.index += 1
        closing = _PAIRS.get(opening, opening)
        body = self._until(opening, closing)
        if word in ("s", "tr", "y"):
            if closing != opening:
                while self.source[self.index : self.index + 1].isspace():
                    self.index += 1
                opening = self.source[self.index]
                self.index += 1
                closing = _PAIRS.get(opening, opening)
            second = self._until(opening, closing)
            self._add("subst" if word == "s" else "trans", body, second, self._flags(), opening)
        elif word in ("m", "qr"):
            self._add("match" if word == "m" else "qr", body, self._flags(), opening)
        elif word == "qw":
            self._add("words", body)
        else:
            self._add("interp" if word == "qq" else "str", body if word == "qq" else _single(body))

    def _flags(self) -> str:
        match = re.compile(r"[a-z]*").match(self.source, self.index)
        assert match is not None
        self.index = match.end()
        return match[0]

    def _until(self, opening: str, closing: str) -> str:
        """Read up to a delimiter; escaped delimiters lose their backslash."""
        out: list[str] = []
        depth = 1
        while self.index < len(self.source):
            letter = self.source[self.index]
            self.index += 1
            if letter == "\\" and self.index < len(self.source):
                follower = self.source[self.index]
                self.index += 1
                plain = follower == closing and closing == opening and closing in "/,#!|@%:;'\"~"
                out.append(follower if plain and follower not in "|" else letter + follower)
                continue
            if letter == closing:
                depth -= 1
                if not depth:
                    return "".join(out)
            elif letter == opening and closing != opening:
                depth += 1
            out.append(letter)
        raise PerlGap("a string that does not end")

    def _angle(self) -> None:
        match = re.compile(r"<(\$?\w*)>").match(self.source, self.index)
        if match is not None:
            self.index = match.end()
            self._add("read", match[1])
            return
        match = re.compile(r"<<(~?)(?:\"(\w+)\"|'(\w+)'|(\w+))").match(self.source, self.index)
        if match is None or match[1]:
            raise PerlGap("a glob in angle brackets")
        self.index = match.end()
        self.pending.append((len(self.found), match[2] or match[3] or match[4], match[3] is None))
        self._add("str" if match[3] else "interp", "")

    def _operator(self) -> None:
        for operator in _OPERATORS:
            if self.source.startswith(operator, self.index):
                self.index += len(operator)
                self._add("op", operator)
                return
        raise PerlGap(f"the character {self.source[self.index]}")


def _single(body: str) -> str:
    return re.sub(r"\\([\\'])", r"\1", body)
