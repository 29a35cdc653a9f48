"""The language of `bc`: tokens and a syntax tree of tuples."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["BcSyntaxError", "Parser", "Token", "tokenize"]

_TOKEN = re.compile(
    r"(?P<skip>[ \t\r]+|\\\n|/\*.*?\*/|#[^\n]*)|(?P<number>(?:[0-9A-F](?:\\\n)?)+(?:\.(?:[0-9A-F])*)?|\.[0-9A-F]+)"
    r'|(?P<string>"[^"]*")|(?P<name>[a-z][a-z0-9_]*)|(?P<newline>\n)'
    r"|(?P<op>\+\+|--|<=|>=|==|!=|&&|\|\||[-+*/%^]=|[-+*/%^=<>!(){}\[\],;.])",
    re.DOTALL,
)
_KEYWORDS = frozenset(
    ["auto", "break", "continue", "define", "else", "for", "halt", "if", "length", "limits", "print", "quit", "read",
     "return", "scale", "sqrt", "void", "warranty", "while", "ibase", "obase", "last", "random"]
)  # fmt: skip

Token = tuple[str, str, int]
Tree = tuple[Any, ...]


class BcSyntaxError(Exception):
    """A line does not parse; `line` is where bc notices it."""

    def __init__(self, line: int, text: str = "syntax error") -> None:
        super().__init__(text)
        self.line = line


def tokenize(text: str) -> list[Token]:
    """Split a program into (kind, text, line)."""
    tokens: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            tokens.append(("bad", text[at], line))
            at += 1
            continue
        kind, value = found.lastgroup or "", found[0]
        if kind == "name" and value in _KEYWORDS:
            kind = "key"
        if kind == "number":
            value = value.replace("\\\n", "")
        if kind != "skip":
            tokens.append((kind, value, line))
        line += found[0].count("\n")
        at = found.end()
    return tokens


class Parser:
    """Reads one input item after the other.

    Args:
        tokens: From :func:`tokenize`.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def done(self) -> bool:
        """Whether all was read."""
        return self.at >= len(self.tokens)

    def peek(self, offset: int = 0) -> str:
        """The text of a token ahead; empty at the end, `"` for a string."""
        if self.at + offset >= len(self.tokens):
            return ""
        return self.tokens[self.at + offset][1]

    def kind(self, offset: int = 0) -> str:
        """The kind of a token ahead."""
        return self.tokens[self.at + offset][0] if self.at + offset < len(self.tokens) else "end"

    def take(self, text: str | None = None) -> str:
        """Take a token, which must be `text` if that is given."""
        if self.at >= len(self.tokens):
            raise BcSyntaxError((self.tokens[-1][2] + 1) if self.tokens else 1)
        kind, value, line = self.tokens[self.at]
        if text is not None and value != text:
            raise BcSyntaxError(line + (kind == "newline"))
        self.at += 1
        return value

    def fail(self) -> BcSyntaxError:
        """The error at the present token."""
        if self.at >= len(self.tokens):
            return BcSyntaxError((self.tokens[-1][2] + 1) if self.tokens else 1)
        kind, _, line = self.tokens[self.at]
        return BcSyntaxError(line + (kind == "newline"))

    def skip_line(self) -> None:
        """Go past the end of the line, as bc does after an error."""
        while not self.done and self.kind() != "newline":
            self.at += 1
        self.at += 1

    def item(self) -> list[Tree]:
        """Read what stands before the next newline, which is run as one: statements, or a definition."""
        if self.peek() == "define":
            return [self.definition()]
        statements: list[Tree] = []
        while not self.done and self.kind() != "newline":
            if self.peek() == ";":
                self.take()
                continue
            statements.append(self.statement())
            if not self.done and self.kind() != "newline" and self.peek() != ";":
                raise self.fail()
        if not self.done:
            self.take()
        return statements

    def newlines(self) -> None:
        """Skip newlines."""
        while self.kind() == "newline":
            self.at += 1

    def definition(self) -> Tree:
        self.take("define")
        if self.peek() == "void":
            self.take()
        if self.kind() != "name":
            raise self.fail()
        name = self.take()
        self.take("(")
        parameters = self.names(")")
        self.take(")")
        self.newlines()
        self.take("{")
        autos: list[tuple[str, bool]] = []
        body: list[Tree] = []
        while True:
            while self.kind() == "newline" or self.peek() == ";":
                self.at += 1
            if self.peek() == "auto":
                self.take()
                autos += self.names("")
            elif self.peek() == "}":
                self.take()
                break
            else:
                body.append(self.statement())
        return ("define", name, parameters, autos, body)

    def names(self, end: str) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        while self.peek() != end and self.kind() == "name":
            name, array = self.take(), False
            if self.peek() == "[":
                self.take()
                self.take("]")
                array = True
            found.append((name, array))
            if self.peek() != ",":
                break
            self.take()
        return found

    def statement(self) -> Tree:
        word = self.peek()
        if self.kind() == "string":
            return ("string", self.take()[1:-1])
        if word == "{":
            return self.block()
        if word == "if":
            return self.conditional()
        if word == "while":
            self.take()
            self.take("(")
            test = self.expression()
            self.take(")")
            self.newlines()
            return ("while", test, self.statement())
        if word == "for":
            return self.loop()
        if word == "return":
            self.take()
            if self.kind() in ("newline", "end") or self.peek() in (";", "}"):
                return ("return", None)
            return ("return", self.expression())
        if word == "print":
            return self.printing()
        if word in ("break", "continue", "quit", "halt"):
            self.take()
            return (word,)
        if word in ("limits", "warranty", "auto", "define"):
            raise self.fail()
        return ("expression", self.expression())

    def block(self) -> Tree:
        self.take("{")
        body: list[Tree] = []
        while self.peek() != "}":
            if self.kind() == "newline" or self.peek() == ";":
                self.at += 1
                continue
            if self.done:
                raise self.fail()
            body.append(self.statement())
        self.take("}")
        return ("block", body)

    def conditional(self) -> Tree:
        self.take("if")
        self.take("(")
        test = self.expression()
        self.take(")")
        self.newlines()
        then = self.statement()
        if self.peek() == "else":
            self.take()
            self.newlines()
            return ("if", test, then, self.statement())
        return ("if", test, then, None)

    def loop(self) -> Tree:
        self.take("for")
        self.take("(")
        parts: list[Tree | None] = []
        for end in (";", ";", ")"):
            parts.append(None if self.peek() == end else self.expression())
            self.take(end)
        self.newlines()
        return ("for", *parts, self.statement())

    def printing(self) -> Tree:
        self.take("print")
        parts: list[Tree] = []
        while True:
            if self.kind() == "string":
                parts.append(("string", self.take()[1:-1]))
            else:
                parts.append(("expression", self.expression()))
            if self.peek() != ",":
                return ("print", parts)
            self.take()

    # --- expressions, loosest first

    def expression(self) -> Tree:
        left = self.conjunction()
        while self.peek() == "||":
            self.take()
            left = ("or", left, self.conjunction())
        return left

    def conjunction(self) -> Tree:
        left = self.negation()
        while self.peek() == "&&":
            self.take()
            left = ("and", left, self.negation())
        return left

    def negation(self) -> Tree:
        if self.peek() == "!":
            self.take()
            return ("not", self.negation())
        return self.relation()

    def relation(self) -> Tree:
        left = self.assignment()
        while self.peek() in ("<", ">", "<=", ">=", "==", "!=") and self.kind() == "op":
            left = (self.take(), left, self.assignment())
        return left

    def assignment(self) -> Tree:
        start = self.at
        if self.is_place():
            place = self.place()
            if self.kind() == "op" and re.fullmatch(r"[-+*/%^]?=", self.peek()):
                operator = self.take()
                return ("assign", operator[:-1], place, self.assignment())
            self.at = start
        return self.sum()

    def is_place(self) -> bool:
        if self.kind() == "name":
            return self.peek(1) != "("
        return self.peek() in ("scale", "ibase", "obase", "last", ".") and self.peek(1) != "("

    def place(self) -> Tree:
        name = self.take()
        if self.peek() == "[" and name not in ("scale", "ibase", "obase", "last", "."):
            self.take()
            index = self.expression()
            self.take("]")
            return ("element", name, index)
        return ("variable", "last" if name == "." else name)

    def sum(self) -> Tree:
        left = self.product()
        while self.peek() in ("+", "-") and self.kind() == "op":
            left = (self.take(), left, self.product())
        return left

    def product(self) -> Tree:
        left = self.sign()
        while self.peek() in ("*", "/", "%") and self.kind() == "op":
            left = (self.take(), left, self.sign())
        return left

    def sign(self) -> Tree:
        return self.power()

    def power(self) -> Tree:
        left = self.unary()
        if self.peek() == "^":
            self.take()
            return ("^", left, self.power())
        return left

    def unary(self) -> Tree:
        if self.peek() == "-" and self.kind() == "op":
            self.take()
            return ("negate", self.unary())
        return self.primary()

    def primary(self) -> Tree:
        kind, word = self.kind(), self.peek()
        if kind == "number":
            return ("number", self.take())
        if word in ("++", "--"):
            self.take()
            if not self.is_place():
                raise self.fail()
            return ("before", word, self.place())
        if word == "(":
            self.take()
            inner = self.expression()
            self.take(")")
            return ("group", inner)
        if word in ("length", "sqrt", "scale", "read", "random") and self.peek(1) == "(":
            return self.call()
        if kind == "name" and self.peek(1) == "(":
            return self.call()
        if self.is_place():
            place = self.place()
            if self.peek() in ("++", "--"):
                return ("after", self.take(), place)
            return place
        raise self.fail()

    def call(self) -> Tree:
        name = self.take()
        self.take("(")
        arguments: list[Tree] = []
        while self.peek() != ")":
            if self.kind() == "name" and self.peek(1) == "[" and self.peek(2) == "]":
                arguments.append(("array", self.take()))
                self.at += 2
            else:
                arguments.append(self.expression())
            if self.peek() != ",":
                break
            self.take()
        self.take(")")
        return ("call", name, arguments)
