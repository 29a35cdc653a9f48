"""`bc`: the calculator with arbitrary precision."""

from __future__ import annotations

import operator
from typing import Any

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.data.bc_functions import FUNCTIONS, call_function
from worldline.kernels.shell.builtins.data.bc_numbers import (
    Number,
    add,
    divide,
    multiply,
    negate,
    parse,
    power,
    remainder,
    show,
    square_root,
)
from worldline.kernels.shell.builtins.data.bc_parser import BcSyntaxError, Parser, tokenize
from worldline.kernels.shell.builtins.shared.options import UsageError
from worldline.kernels.shell.builtins.shared.options import parse as parse_options
from worldline.kernels.shell.builtins.shared.textio import Output, read, stdin

__all__ = ["COMMANDS"]

_ZERO, _ONE = Number(0), Number(1)
_COMPARE = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq,
            "!=": operator.ne}  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "q": '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "e": "\\"}
_STEPS = 400_000
_BITS = 14_000
"""Numbers with more bits are not printed: Python refuses to turn them into digits."""


class _Quit(Exception):
    """The program ends."""


class _Break(Exception):
    """Leaves a loop."""


class _Continue(Exception):
    """Goes on with the next round of a loop."""


class _Return(Exception):
    def __init__(self, value: Number) -> None:
        super().__init__()
        self.value = value


class _Failure(Exception):
    """A runtime error."""


def bc(call: Call) -> Result:
    """Calculate."""
    try:
        options, names = parse_options(
            call, "chilqsvw", ("mathlib", "quiet", "standard", "warn", "interactive", "compile"),
            same={"--mathlib": "-l", "--quiet": "-q", "--standard": "-s", "--warn": "-w", "--interactive": "-i"},
        )  # fmt: skip
    except UsageError as error:
        call.unknown(error.message)
    flags = {name for name, _ in options}
    if flags - {"-l", "-q"}:
        call.unknown("these options")
    out = Output(call)
    machine = _Machine(call, out, library="-l" in flags)
    try:
        for name in names:
            try:
                text = read(call, name).decode()
            except OSError:
                out.raw(f"File {name} is unavailable.\n")
                out.status = 1
                return out.result()
            machine.run(text, name)
        machine.run(stdin(call).decode(), "(standard_in)")
    except _Quit:
        pass
    return out.result()


class _Machine:
    def __init__(self, call: Call, out: Output, *, library: bool) -> None:
        self.call, self.out, self.library = call, out, library
        self.settings = {"scale": Number(20 if library else 0), "ibase": Number(10), "obase": Number(10),
                         "last": _ZERO}  # fmt: skip
        self.scopes: list[dict[str, Number]] = [{}]
        self.arrays: list[dict[str, dict[int, Number]]] = [{}]
        self.functions: dict[str, Any] = {}
        self.steps = 0
        self.column = 0

    @property
    def scale(self) -> int:
        return self.settings["scale"].at(0)

    # --- running

    def run(self, text: str, source: str) -> None:
        parser = Parser(tokenize(text))
        while not parser.done:
            start = parser.at
            try:
                statements = parser.item()
            except BcSyntaxError as error:
                words = [token for token in parser.tokens if token[2] == error.line and token[0] != "newline"]
                bad = [token[1] for token in words if token[0] == "bad"]
                if len(bad) > 1 or (bad and len(words) > 2):
                    self.call.unknown("several faults in one line")
                fault = f"illegal character: {bad[0]}" if bad else "syntax error"
                self.out.raw(f"{source} {error.line}: {fault}\n")
                parser.at = max(parser.at, start)
                parser.skip_line()
                if not parser.done:
                    self.call.unknown("going on after a syntax error")
                return
            self.line(statements)

    def line(self, statements: list[Any]) -> None:
        for index, tree in enumerate(statements):
            try:
                self.execute(tree)
            except _Failure as error:
                address = _address(tree) if index == 0 and len(statements) == 1 else None
                if address is None:
                    self.call.unknown("where in its code an error happens")
                self.out.raw(f"Runtime error (func=(main), adr={address}): {error}\n")
                return
            except (_Break, _Continue, _Return):
                self.call.unknown("a statement outside its place")

    def execute(self, tree: Any) -> None:
        self.steps += 1
        if self.steps > _STEPS:
            self.call.unknown("a long calculation")
        kind = tree[0]
        if kind == "expression":
            value = self.value(tree[1])
            if tree[1][0] != "assign":
                self.show(value)
        elif kind == "string":
            self.write(tree[1])
        elif kind == "print":
            self.print_list(tree[1])
        elif kind == "block":
            for item in tree[1]:
                self.execute(item)
        elif kind == "if":
            if self.value(tree[1]).value:
                self.execute(tree[2])
            elif tree[3] is not None:
                self.execute(tree[3])
        elif kind in ("while", "for"):
            self.loop(tree)
        elif kind == "define":
            self.functions[tree[1]] = tree
        elif kind == "return":
            raise _Return(_ZERO if tree[1] is None else self.value(tree[1]))
        elif kind == "break":
            raise _Break
        elif kind == "continue":
            raise _Continue
        else:
            raise _Quit

    def loop(self, tree: Any) -> None:
        first, test, step, body = (None, tree[1], None, tree[2]) if tree[0] == "while" else tree[1:]
        if first is not None:
            self.value(first)
        while test is None or self.value(test).value:
            self.steps += 1
            if self.steps > _STEPS:
                self.call.unknown("a long calculation")
            try:
                self.execute(body)
            except _Break:
                return
            except _Continue:
                pass
            if step is not None:
                self.value(step)

    # --- output

    def write(self, text: str) -> None:
        self.out.write(text.encode())
        tail = text.rpartition("\n")
        self.column = len(tail[2]) if tail[1] else self.column + len(text)

    def show(self, number: Number, *, newline: bool = True) -> None:
        self.settings["last"] = number
        base = self.settings["obase"].at(0)
        if number.value.bit_length() > _BITS:
            self.call.unknown("a huge number")
        text = show(number, base)
        limit = int(self.call.env.get("BC_LINE_LENGTH", "70"))
        if limit == 0 or len(text) + self.column < limit:
            self.write(text)
        elif base > 16 or self.column:
            self.call.unknown("where a long line breaks")
        else:
            step = limit - 2
            self.write("\\\n".join(text[at : at + step] for at in range(0, len(text), step)))
        if newline:
            self.write("\n")

    def print_list(self, parts: list[Any]) -> None:
        for part in parts:
            if part[0] == "expression":
                self.show(self.value(part[1]), newline=False)
                continue
            text, characters = "", iter(part[1])
            for char in characters:
                if char != "\\":
                    text += char
                    continue
                after = next(characters, "")
                text += _ESCAPES.get(after, "")
            self.write(text)

    # --- values

    def value(self, tree: Any) -> Number:
        kind = tree[0]
        if kind == "number":
            return parse(tree[1], self.settings["ibase"].at(0))
        if kind == "group":
            return self.value(tree[1])
        if kind in ("variable", "element"):
            return self.load(tree)
        if kind == "negate":
            return negate(self.value(tree[1]))
        if kind == "assign":
            operation, place, source = tree[1:]
            value = self.value(source)
            if operation:
                value = self.binary(operation, self.load(place), value)
            self.store(place, value)
            return value
        if kind in ("before", "after"):
            old = self.load(tree[2])
            new = add(old, _ONE if tree[1] == "++" else Number(-1))
            self.store(tree[2], new)
            return new if kind == "before" else old
        if kind == "not":
            return _ZERO if self.value(tree[1]).value else _ONE
        if kind in ("and", "or"):
            left, right = self.value(tree[1]).value != 0, self.value(tree[2]).value != 0
            return _ONE if ((left and right) if kind == "and" else (left or right)) else _ZERO
        if kind in _COMPARE:
            compared = self.value(tree[1]).compare(self.value(tree[2]))
            return _ONE if _COMPARE[kind](compared, 0) else _ZERO
        if kind == "call":
            return self.function(tree[1], tree[2])
        return self.binary(kind, self.value(tree[1]), self.value(tree[2]))

    def binary(self, operation: str, left: Number, right: Number) -> Number:
        if operation == "+":
            return add(left, right)
        if operation == "-":
            return add(left, negate(right))
        if operation == "*":
            return multiply(left, right, self.scale)
        try:
            if operation == "/":
                return divide(left, right, self.scale)
            if operation == "%":
                return remainder(left, right, self.scale)
            if right.scale and right.value % 10**right.scale:
                self.call.unknown("a power with a fraction")
            exponent = right.at(0)
            if abs(exponent) * max(1, left.value.bit_length()) > 20 * _BITS:
                self.call.unknown("a huge power")
            return power(left, exponent, self.scale)
        except ZeroDivisionError as error:
            if operation == "^":
                self.call.unknown("zero to a negative power")
            raise _Failure("Divide by zero" if operation == "/" else "Modulo by zero") from error

    def index(self, tree: Any) -> int:
        index = self.value(tree).at(0)
        if index < 0:
            self.call.unknown("a negative index")
        return index

    def load(self, place: Any) -> Number:
        if place[0] == "element":
            return self.array(place[1]).get(self.index(place[2]), _ZERO)
        if place[1] in self.settings:
            return self.settings[place[1]]
        return self.scope(place[1]).get(place[1], _ZERO)

    def scope(self, name: str) -> dict[str, Number]:
        return next((scope for scope in reversed(self.scopes) if name in scope), self.scopes[0])

    def array(self, name: str) -> dict[int, Number]:
        for scope in reversed(self.arrays):
            if name in scope:
                return scope[name]
        return self.arrays[0].setdefault(name, {})

    def store(self, place: Any, value: Number) -> None:
        name = place[1]
        if place[0] == "element":
            self.array(name)[self.index(place[2])] = value
        elif name == "last":
            self.settings["last"] = value
        elif name in self.settings:
            number = value.at(0)
            if number < (0 if name == "scale" else 2) or (name == "ibase" and number > 16) or number > 10**6:
                self.call.unknown(f"this value of {name}")
            if name == "scale" and number > 4000:
                self.call.unknown("so many places")
            self.settings[name] = Number(number)
        else:
            self.scope(name)[name] = value

    def function(self, name: str, arguments: list[Any]) -> Number:
        if name in ("length", "scale", "sqrt") and len(arguments) == 1:
            number = self.value(arguments[0])
            if name == "scale":
                return Number(number.scale)
            if name == "length":
                if number.value.bit_length() > _BITS:
                    self.call.unknown("a huge number")
                return Number(max(len(str(abs(number.value))), number.scale, 1))
            if number.value < 0:
                raise _Failure("Square root of a negative number")
            return square_root(number, self.scale)
        if name in self.functions:
            return self.user_function(self.functions[name], arguments)
        if self.library and name in FUNCTIONS and len(arguments) == 1:
            try:
                return call_function(name, self.value(arguments[0]), self.scale)
            except ValueError:
                self.call.unknown(f"{name}() of this number")
        self.call.unknown(f"the function {name}")

    def user_function(self, definition: Any, arguments: list[Any]) -> Number:
        _, name, parameters, autos, body = definition
        if len(arguments) != len(parameters) or any(array for _, array in parameters):
            self.call.unknown(f"the arguments of {name}")
        values = {parameter: self.value(item) for (parameter, _), item in zip(parameters, arguments, strict=True)}
        self.scopes.append({**values, **{auto: _ZERO for auto, array in autos if not array}})
        self.arrays.append({auto: {} for auto, array in autos if array})
        if len(self.scopes) > 150:
            self.call.unknown("deep recursion")
        try:
            for item in body:
                self.execute(item)
        except _Return as result:
            return result.value
        except _Failure:
            self.call.unknown("where in its code an error happens")
        finally:
            self.scopes.pop()
            self.arrays.pop()
        return _ZERO


def _address(tree: Any) -> int | None:
    """Where bc's code stands after the last operation of a simple expression."""
    return _code(tree[1]) if tree[0] == "expression" else None


def _code(tree: Any) -> int | None:
    kind = tree[0]
    if kind == "number":
        return 1 if tree[1] in ("0", "1") else len(tree[1]) + 2
    if kind == "group":
        return _code(tree[1])
    if kind == "negate":
        inner = _code(tree[1])
        return None if inner is None else inner + 1
    if kind in ("+", "-", "*", "/", "%", "^"):
        left, right = _code(tree[1]), _code(tree[2])
        return None if left is None or right is None else left + right + 1
    if kind == "call" and tree[1] == "sqrt":
        inner = _code(tree[2][0])
        return None if inner is None else inner + 2
    return None


COMMANDS: dict[str, Builtin] = {"bc": bc}
