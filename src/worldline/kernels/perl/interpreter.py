"""Runs parsed Perl."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from worldline.kernels.perl.parser import Node
from worldline.kernels.perl.state import Die, Frame, Handle, Jump, Return, State
from worldline.kernels.perl.values import (
    Compiled,
    PerlGap,
    Reference,
    Value,
    arithmetic,
    number,
    regex,
    show,
    truth,
)

__all__ = ["Interpreter", "lists", "scalars"]

_STEPS = 400_000


class Interpreter:
    """Evaluates nodes.

    Args:
        state: The program's variables and files.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.ends: list[list[Node]] = []
        self.unordered = 0
        """Above 0 where the order of a hash does not matter (inside of `sort`)."""

    # --- statements

    def run(self, statements: list[Node]) -> None:
        """Run a program's statements."""
        self.declare(statements)
        self.block(statements, fresh=False)

    def declare(self, statements: list[Node]) -> None:
        """Make the functions of a program known before it runs."""
        for node in statements:
            if node.kind == "sub":
                self.state.subs[node.args[0]] = (node.args[1], self.state.root)

    def block(self, statements: list[Node], *, fresh: bool = True) -> list[Value]:
        """Run statements; returns the values of the last one."""
        state = self.state
        kept = state.frame
        if fresh:
            state.frame = Frame(kept)
        result: list[Value] = []
        try:
            for index, node in enumerate(statements):
                if index == len(statements) - 1 and node.kind not in ("while", "for", "foreach", "sub", "bare"):
                    result = self.statement(node, last=True)
                else:
                    self.statement(node)
        finally:
            state.frame = kept
        return result

    def statement(self, node: Node, *, last: bool = False) -> list[Value]:
        """Run one statement."""
        self._step()
        kind = node.kind
        if kind == "if":
            branches, otherwise = node.args
            for condition, body in branches:
                if truth(self.scalar(condition)):
                    return self.block(body)
            return self.block(otherwise)
        if kind == "while":
            self._while(node)
        elif kind == "for":
            self._for(node)
        elif kind == "foreach":
            self._foreach(node)
        elif kind == "bare":
            self._loop_body(node.args[0], "")
        elif kind == "sub":
            self.state.subs[node.args[0]] = (node.args[1], self.state.frame)
        elif kind == "warnings":
            self.state.warnings = True
        elif kind == "BEGIN":
            self.block(node.args[0])
        elif kind == "END":
            self.ends.insert(0, node.args[0])
        elif last:
            return self.values(node)
        else:
            self.scalar(node) if kind not in ("assign", "parens", "list", "blockfunc") else self.values(node)
        return []

    def _step(self) -> None:
        self.state.steps += 1
        if self.state.steps > _STEPS:
            raise PerlGap("a program that runs long")

    def _loop_body(self, body: list[Node], label: str) -> bool:
        """Run a loop's body once; False where the loop ends."""
        try:
            self.block(body)
        except Jump as jump:
            if jump.label and jump.label != label:
                raise
            return jump.kind != "last"
        return True

    def _while(self, node: Node) -> None:
        label, test, body, after, first = node.args
        if first:
            self.block(body[0].args[0])
            while truth(self.scalar(test)):
                self.block(body[0].args[0])
            return
        while truth(self.scalar(test)):
            self._step()
            if not self._loop_body(body, label):
                break
            self.block(after)

    def _for(self, node: Node) -> None:
        label, first, test, step, body = node.args
        kept = self.state.frame
        self.state.frame = Frame(kept)
        try:
            if first is not None:
                self.values(first)
            while test is None or truth(self.scalar(test)):
                self._step()
                if not self._loop_body(body, label):
                    break
                if step is not None:
                    self.values(step)
        finally:
            self.state.frame = kept

    def _foreach(self, node: Node) -> None:
        label, variable, values, body = node.args
        cells = self.cells(values)
        name = "$_" if variable is None else variable.args[0][0] if variable.kind == "my" else f"${variable.args[0]}"
        kept = self.state.frame
        frame = Frame(kept)
        try:
            for cell, put in cells:
                self._step()
                frame.names[name] = cell
                self.state.frame = frame
                going = self._loop_body(body, label)
                if put is not None:
                    put(cell[0])
                if not going:
                    break
        finally:
            self.state.frame = kept

    def cells(self, node: Node) -> list[tuple[list[Value], Callable[[Value], None] | None]]:
        """The values of a list as cells, and how a changed one gets back to where it came from."""
        if node.kind == "array" or (node.kind == "deref" and node.args[0] == "@"):
            array = self.array(node)

            def putter(index: int) -> Callable[[Value], None]:
                def put(value: Value) -> None:
                    if index < len(array):
                        array[index] = value

                return put

            return [([value], putter(index)) for index, value in enumerate(array)]
        if node.kind in ("parens", "list") and len(node.args[0]) == 1:
            return self.cells(node.args[0][0])
        if node.kind == "scalar":
            return [(self.state.cell(node.args[0]), None)]
        return [([value], None) for value in self.values(node)]

    # --- text and numbers

    def text(self, value: Value) -> str:
        """A value as a string; undef makes a warning where these are on."""
        if value is None and self.state.warnings:
            raise PerlGap("a warning about an undefined value")
        return show(value)

    def count(self, value: Value) -> int | float:
        """A value as a number; what is none makes a warning where these are on."""
        if self.state.warnings and (value is None or (isinstance(value, str) and not _NUMERIC.fullmatch(value))):
            raise PerlGap("a warning about what is no number")
        return number(value)

    # --- values

    def scalar(self, node: Node) -> Value:
        """Evaluate in scalar context."""
        self._step()
        method = _SCALARS.get(node.kind)
        if method is not None:
            return method(self, node)
        values = self.values(node)
        return values[-1] if values else None

    def values(self, node: Node) -> list[Value]:
        """Evaluate in list context."""
        method = _LISTS.get(node.kind)
        if method is not None:
            self._step()
            return method(self, node)
        return [self.scalar(node)]

    def array(self, node: Node) -> list[Value]:
        """The array that a node names."""
        if node.kind == "array":
            return self.state.array(node.args[0])
        if node.kind == "deref":
            return self._target(node.args[1], "ARRAY", list)  # type: ignore[no-any-return]
        if node.kind in ("my", "mylist"):
            self._declare_my(node)
            return self.state.array(node.args[0][0][1:])
        raise PerlGap("what is no array")

    def hash(self, node: Node) -> dict[str, Value]:
        """The hash that a node names."""
        if node.kind == "hash":
            return self.state.hash(node.args[0])
        if node.kind == "deref":
            return self._target(node.args[1], "HASH", dict)  # type: ignore[no-any-return]
        if node.kind in ("my", "mylist"):
            self._declare_my(node)
            return self.state.hash(node.args[0][0][1:])
        raise PerlGap("what is no hash")

    def _target(self, node: Node, kind: str, make: type) -> Any:
        value = self.scalar(node)
        if value is None:
            value = Reference(kind, make())
            self.assign(node, value)
        if not isinstance(value, Reference) or value.kind != kind:
            raise PerlGap("a reference of another kind")
        return value.target

    # --- assignment

    def assign(self, node: Node, value: Value) -> None:
        """Assign one value."""
        kind = node.kind
        if kind == "scalar":
            if node.args[0].isdigit() or node.args[0] in ("&", "."):
                raise PerlGap("assigning to a variable of the match")
            cell = self.state.cell(node.args[0])
            cell[0] = value
            self.state.positions.pop(id(cell), None)
        elif kind == "my" and node.args[0][0][0] == "$":
            self._declare_my(node)
            self.state.cell(node.args[0][0][1:])[0] = value
        elif kind == "elem":
            array = self.array(node.args[0])
            index = int(number(self.scalar(node.args[1])))
            index = index + len(array) if index < 0 else index
            if index > 100_000 or index < 0:
                raise PerlGap("a large array")
            array.extend([None] * (index + 1 - len(array)))
            array[index] = value
        elif kind == "helem":
            self.hash(node.args[0])[self.key(node.args[1])] = value
        elif kind == "deref" and node.args[0] == "$":
            self._target(node.args[1], "SCALAR", list)[0] = value
        elif kind == "cond":
            self.assign(node.args[1] if truth(self.scalar(node.args[0])) else node.args[2], value)
        elif kind == "local":
            self._localize(node.args[0])
            self.assign(node.args[0], value)
        elif kind == "parens" and len(node.args[0]) == 1:
            self.assign(node.args[0][0], value)
        elif kind == "last":
            array = self.array(node.args[0])
            length = int(number(value)) + 1
            del array[max(length, 0) :]
            array.extend([None] * (length - len(array)))
        else:
            raise PerlGap(f"assigning to {kind}")

    def _localize(self, node: Node) -> None:
        if node.kind != "scalar":
            raise PerlGap("local of an array or a hash")
        self.state.frame.names[f"${node.args[0]}"] = [None]

    def assign_list(self, node: Node, values: list[Value]) -> None:
        """Assign a list to a list, an array or a hash."""
        kind = node.kind
        if kind in ("array", "deref") or (kind == "my" and node.args[0][0][0] == "@"):
            if kind == "deref" and node.args[0] == "%":
                self._fill(self.hash(node), values)
                return
            self.array(node)[:] = values
        elif kind == "hash" or (kind == "my" and node.args[0][0][0] == "%"):
            self._fill(self.hash(node), values)
        elif kind == "mylist":
            self._declare_my(node)
            self._spread([_variable(name) for name in node.args[0]], values)
        elif kind == "parens":
            self._spread(node.args[0], values)
        elif kind == "slice":
            array = self.array(node.args[0])
            for place, index in enumerate(self.values(node.args[1])):
                spot = Node("elem", (Node("deref", ("@", _constant(Reference("ARRAY", array)))), _constant(index)))
                self.assign(spot, values[place] if place < len(values) else None)
        elif kind == "hslice":
            table = self.hash(node.args[0])
            for place, key in enumerate(self.values(node.args[1])):
                table[self.text(key)] = values[place] if place < len(values) else None
        else:
            raise PerlGap(f"assigning a list to {kind}")

    def _fill(self, table: dict[str, Value], values: list[Value]) -> None:
        if len(values) % 2:
            raise PerlGap("an odd number of values for a hash")
        pairs = [(self.text(values[place]), values[place + 1]) for place in range(0, len(values), 2)]
        table.clear()
        table.update(pairs)

    def _spread(self, targets: list[Node], values: list[Value]) -> None:
        rest = list(values)
        for target in targets:
            plural = target.kind in ("array", "hash") or (target.kind == "my" and target.args[0][0][0] in "@%")
            if plural:
                self.assign_list(target, rest)
                rest = []
            elif target.kind == "func" and target.args[0] == "undef":
                rest = rest[1:]
            else:
                self.assign(target, rest.pop(0) if rest else None)

    def _declare_my(self, node: Node) -> None:
        for name in node.args[0]:
            self.state.frame.names[name] = [None] if name[0] == "$" else [] if name[0] == "@" else {}

    def key(self, node: Node) -> str:
        """A hash's key."""
        if node.kind == "list":
            return self.text(self.state.cell(";")[0]).join(self.text(self.scalar(part)) for part in node.args[0])
        return self.text(self.scalar(node))

    # --- calls

    def call(self, name: str, arguments: list[Value]) -> list[Value]:
        """Call a named function."""
        if name not in self.state.subs:
            raise PerlGap(f"the function {name}")
        body, frame = self.state.subs[name]
        return self.apply(body, frame, arguments)

    def apply(self, body: list[Node], frame: Frame, arguments: list[Value] | None) -> list[Value]:
        """Run a function's body."""
        kept = self.state.frame
        inner = Frame(frame)
        if arguments is not None:
            inner.names["@_"] = arguments
        self.state.frame = inner
        try:
            return self.block(body, fresh=False)
        except Return as result:
            return result.values
        finally:
            self.state.frame = kept

    def match(self, pattern: Node, flags: str, text: str, start: int = 0) -> re.Match[str] | None:
        """Match a pattern; what it captured is remembered."""
        found = regex(self.pattern(pattern), flags).search(text, start)
        if found is not None:
            self.state.match = found
        return found

    def pattern(self, node: Node) -> str:
        """The source of a pattern."""
        value = self.scalar(node)
        text = value.source if isinstance(value, Compiled) else self.text(value)
        if not text and self.state.match is not None and node.kind == "str":
            return self.state.match.re.pattern
        return text

    def die(self, message: Value, line: int) -> None:
        """Raise what `die` does."""
        text = show(message) if not isinstance(message, Reference) else message
        if isinstance(text, str) and not text.endswith("\n"):
            text += self.state.place(line)
        raise Die(text)

    def handle(self, node: Node) -> Handle | None:
        """The file that a node names; None for standard output."""
        if node.kind == "handle":
            name = node.args[0]
            if name == "STDOUT":
                return None
            if name == "STDIN":
                return self.state.standard_input()
            if name in self.state.handles:
                return self.state.handles[name]
            raise PerlGap(f"the handle {name}")
        value = self.scalar(node)
        if isinstance(value, Handle):
            return value
        if isinstance(value, Reference) and isinstance(value.target, Handle):
            return value.target
        raise PerlGap("what is no file")

    def arithmetic(self, operator: str, left: Value, right: Value, line: int) -> Value:
        """Apply an operator of numbers or strings."""
        if operator in ("+", "-", "*", "/", "%", "**"):
            try:
                return arithmetic(operator, self.count(left), self.count(right))
            except ZeroDivisionError as error:
                kind = "Illegal modulus zero" if str(error) == "modulus" else "Illegal division by zero"
                self.die(kind, line)
        if operator == ".":
            return self.text(left) + self.text(right)
        if operator == "x":
            times = int(self.count(right))
            text = self.text(left)
            if times * len(text) > 10_000_000:
                raise PerlGap("a long string")
            return text * max(times, 0)
        if operator in _COMPARE:
            return _COMPARE[operator](self, left, right)
        if operator in ("&", "|", "^", "<<", ">>"):
            if isinstance(left, str) and isinstance(right, str):
                raise PerlGap("bits of strings")
            one, two = int(number(left)) & (2**64 - 1), int(number(right)) & (2**64 - 1)
            found = {"&": one & two, "|": one | two, "^": one ^ two}.get(operator)
            if found is None:
                found = (one << two) & (2**64 - 1) if operator == "<<" else one >> two
            return found
        raise PerlGap(f"the operator {operator}")


_NUMERIC = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")


def _variable(name: str) -> Node:
    return Node({"$": "scalar", "@": "array", "%": "hash"}[name[0]], (name[1:],))


def _constant(value: Value) -> Node:
    return Node("value", (value,))


def _bool(value: bool) -> Value:
    return 1 if value else ""


_COMPARE: dict[str, Callable[[Interpreter, Value, Value], Value]] = {
    "==": lambda i, a, b: _bool(i.count(a) == i.count(b)),
    "!=": lambda i, a, b: _bool(i.count(a) != i.count(b)),
    "<": lambda i, a, b: _bool(i.count(a) < i.count(b)),
    ">": lambda i, a, b: _bool(i.count(a) > i.count(b)),
    "<=": lambda i, a, b: _bool(i.count(a) <= i.count(b)),
    ">=": lambda i, a, b: _bool(i.count(a) >= i.count(b)),
    "<=>": lambda i, a, b: (i.count(a) > i.count(b)) - (i.count(a) < i.count(b)),
    "eq": lambda i, a, b: _bool(i.text(a) == i.text(b)),
    "ne": lambda i, a, b: _bool(i.text(a) != i.text(b)),
    "lt": lambda i, a, b: _bool(i.text(a) < i.text(b)),
    "gt": lambda i, a, b: _bool(i.text(a) > i.text(b)),
    "le": lambda i, a, b: _bool(i.text(a) <= i.text(b)),
    "ge": lambda i, a, b: _bool(i.text(a) >= i.text(b)),
    "cmp": lambda i, a, b: (i.text(a) > i.text(b)) - (i.text(a) < i.text(b)),
}
_SCALARS: dict[str, Callable[[Interpreter, Node], Value]] = {}
_LISTS: dict[str, Callable[[Interpreter, Node], list[Value]]] = {}


def scalars(kind: str) -> Callable[[Callable[[Interpreter, Node], Value]], Callable[[Interpreter, Node], Value]]:
    """Register how a kind of node is evaluated in scalar context."""

    def register(function: Callable[[Interpreter, Node], Value]) -> Callable[[Interpreter, Node], Value]:
        _SCALARS[kind] = function
        return function

    return register


def lists(
    kind: str,
) -> Callable[[Callable[[Interpreter, Node], list[Value]]], Callable[[Interpreter, Node], list[Value]]]:
    """Register how a kind of node is evaluated in list context."""

    def register(function: Callable[[Interpreter, Node], list[Value]]) -> Callable[[Interpreter, Node], list[Value]]:
        _LISTS[kind] = function
        return function

    return register
