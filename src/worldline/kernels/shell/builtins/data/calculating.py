"""`expr`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.regex import translate
from worldline.kernels.shell.builtins.shared.textio import curly

__all__ = ["COMMANDS"]

_INTEGER = re.compile(r"-?\d+")


class _ExprError(Exception):
    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def expr(call: Call) -> Result:
    """Evaluate an expression given as words."""
    words = list(call.argv)
    if words == ["--help"] or words == ["--version"]:
        call.unknown("the help text")
    if words[:1] == ["--"]:
        words.pop(0)
    if not words:
        return Result(stderr="expr: missing operand\nTry 'expr --help' for more information.\n", status=2)
    reader = _Expr(call, words)
    try:
        value = reader.alternative()
        if reader.words:
            raise _ExprError(f"syntax error: unexpected argument {curly(call, reader.words[0])}")
    except _ExprError as error:
        return Result(stderr=f"expr: {error}\n", status=error.status)
    return Result(f"{value}\n", status=int(_null(value)))


def _null(value: str) -> bool:
    return value == "" or re.fullmatch(r"-?0+", value) is not None


class _Expr:
    def __init__(self, call: Call, words: list[str]) -> None:
        self.call, self.words, self.last = call, words, ""

    def peek(self) -> str | None:
        return self.words[0] if self.words else None

    def take(self) -> str:
        if not self.words:
            raise _ExprError(f"syntax error: missing argument after {curly(self.call, self.last)}")
        self.last = self.words.pop(0)
        return self.last

    def alternative(self) -> str:
        left = self.conjunction()
        while self.peek() == "|":
            self.take()
            right = self.conjunction()
            if _null(left):
                left = "0" if _null(right) else right
        return left

    def conjunction(self) -> str:
        left = self.comparison()
        while self.peek() == "&":
            self.take()
            right = self.comparison()
            if _null(left) or _null(right):
                left = "0"
        return left

    def comparison(self) -> str:
        left = self.sum()
        while self.peek() in ("<", "<=", "=", "==", "!=", ">=", ">"):
            sign = self.take()
            right = self.sum()
            if _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
                order = (int(left) > int(right)) - (int(left) < int(right))
            else:
                order = (left.encode() > right.encode()) - (left.encode() < right.encode())
            truth = {"<": order < 0, "<=": order <= 0, "=": order == 0, "==": order == 0, "!=": order != 0,
                     ">=": order >= 0, ">": order > 0}[sign]  # fmt: skip
            left = str(int(truth))
        return left

    def number(self, text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise _ExprError("non-integer argument")
        return int(text)

    def sum(self) -> str:
        left = self.product()
        while self.peek() in ("+", "-"):
            sign = self.take()
            right = self.product()
            a, b = self.number(left), self.number(right)
            left = str(a + b if sign == "+" else a - b)
        return left

    def product(self) -> str:
        left = self.match()
        while self.peek() in ("*", "/", "%"):
            sign = self.take()
            right = self.match()
            a, b = self.number(left), self.number(right)
            if sign == "*":
                left = str(a * b)
                continue
            if b == 0:
                raise _ExprError("division by zero")
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            left = str(quotient if sign == "/" else a - quotient * b)
        return left

    def match(self) -> str:
        left = self.keyword()
        while self.peek() == ":":
            self.take()
            left = self.matched(left, self.keyword())
        return left

    def matched(self, text: str, pattern: str) -> str:
        compiled = translate(self.call, pattern)
        found = compiled.match(text)
        if compiled.groups:
            return (found[1] or "") if found else ""
        return str(found.end() if found else 0)

    def keyword(self) -> str:
        word = self.peek()
        if word == "+":
            self.take()
            return self.take()
        if word == "length":
            self.take()
            return str(len(self.keyword()))
        if word == "match":
            self.take()
            text = self.keyword()
            return self.matched(text, self.keyword())
        if word == "index":
            self.take()
            text, chars = self.keyword(), self.keyword()
            return str(next((place for place, char in enumerate(text, 1) if char in chars), 0))
        if word == "substr":
            self.take()
            text, start, length = self.keyword(), self.keyword(), self.keyword()
            if not _INTEGER.fullmatch(start) or not _INTEGER.fullmatch(length):
                return ""
            first, size = int(start), int(length)
            return text[first - 1 : first - 1 + size] if first > 0 and size > 0 else ""
        if word == "(":
            self.take()
            value = self.alternative()
            if not self.words:
                raise _ExprError(f"syntax error: expecting ')' after {curly(self.call, self.last)}")
            if self.take() != ")":
                raise _ExprError(f"syntax error: expecting ')' instead of {curly(self.call, self.last)}")
            return value
        if word == ")":
            raise _ExprError("syntax error: unexpected ')'")
        return self.take()


COMMANDS: dict[str, Builtin] = {"expr": expr}
