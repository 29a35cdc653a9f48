"""Turning expressions into closures: each takes the frame and gives the value.

A closure sets `frame.pos` to its node just before the operation that may fail, so that a traceback points at
the same range as CPython's.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from . import access, order
from .builtin_names import BUILTINS, FrameCall
from .frames import Code, Frame, Noting, Source, abstain
from .scope import Scope

__all__ = ["INPLACE", "ExpressionCompiler", "Run", "checked_power"]

Run = Callable[[Frame], Any]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}  # fmt: skip
INPLACE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv, ast.Mod: operator.imod, ast.Pow: operator.ipow, ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift, ast.BitOr: operator.ior, ast.BitAnd: operator.iand, ast.BitXor: operator.ixor,
    ast.MatMult: operator.imatmul,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
_LARGEST_POWER_BITS = 1_000_000


def checked_power(left: Any, right: Any) -> Any:
    """`left ** right`, refusing what would take minutes inside one C call."""
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > _LARGEST_POWER_BITS:
        abstain("a power too large to compute here")
    return left**right


_BINARY[ast.Pow] = checked_power


class ExpressionCompiler:
    """Compiles the expressions of one source text."""

    def __init__(self, source: Source, scope: Scope, *, uses_sets: bool) -> None:
        self.source = source
        self.scope = scope
        self.uses_sets = uses_sets

    def expression(self, node: ast.expr) -> Run:
        """Compile any expression."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            abstain(f"{type(node).__name__} is not supported")
        compiled: Run = method(node)
        return compiled

    def function(self, node: ast.Lambda | ast.FunctionDef) -> Run:
        raise NotImplementedError

    def inner(self, scope: Scope) -> ExpressionCompiler:
        """A compiler for a block inside this one."""
        return type(self)(self.source, scope, uses_sets=self.uses_sets)

    # Names and constants

    def _Constant(self, node: ast.Constant) -> Run:
        value = node.value
        return lambda f: value

    def _Name(self, node: ast.Name) -> Run:
        name = self.scope.mangle(node.id)
        where, depth = self.scope.place(name)
        if where == "local":
            return _load_local(name, node)
        if where == "outer":
            return _load_outer(name, depth, node)
        top = _load_global(name, node)
        if where == "class":
            outer = _load_outer(name, depth, node) if depth else top
            return lambda f: f.vars[name] if name in f.vars else outer(f)
        return top

    def _NamedExpr(self, node: ast.NamedExpr) -> Run:
        value, store = self.expression(node.value), self.store(node.target)

        def run(f: Frame) -> Any:
            result = value(f)
            store(f, result)
            return result

        return run

    # Operators

    def _BinOp(self, node: ast.BinOp) -> Run:
        left, right, operate = self.expression(node.left), self.expression(node.right), _BINARY[type(node.op)]
        if isinstance(node.op, ast.Mult):
            operate = access.checked_repeat
        elif isinstance(node.op, ast.Mod):
            operate = order.checked_mod if self.uses_sets else operate

        def run(f: Frame) -> Any:
            a = left(f)
            b = right(f)
            f.pos = node
            return operate(a, b)

        return run

    def _UnaryOp(self, node: ast.UnaryOp) -> Run:
        operand, operate = self.expression(node.operand), _UNARY[type(node.op)]

        def run(f: Frame) -> Any:
            value = operand(f)
            f.pos = node
            return operate(value)

        return run

    def _BoolOp(self, node: ast.BoolOp) -> Run:
        first, *rest = [self.expression(value) for value in node.values]
        if isinstance(node.op, ast.And):

            def run(f: Frame) -> Any:
                value = first(f)
                for part in rest:
                    if not value:
                        return value
                    value = part(f)
                return value
        else:

            def run(f: Frame) -> Any:
                value = first(f)
                for part in rest:
                    if value:
                        return value
                    value = part(f)
                return value

        return run

    def _Compare(self, node: ast.Compare) -> Run:
        first = self.expression(node.left)
        rest = [self.expression(part) for part in node.comparators]
        operators = [_COMPARE[type(op)] for op in node.ops]
        if len(rest) == 1:
            second, compare = rest[0], operators[0]

            def run(f: Frame) -> Any:
                a = first(f)
                b = second(f)
                f.pos = node
                return compare(a, b)

            return run
        pairs = list(zip(operators, rest, strict=True))

        def chain(f: Frame) -> Any:
            left = first(f)
            result: Any = True
            for operate, part in pairs:
                right = part(f)
                f.pos = node
                result = operate(left, right)
                if not result:
                    return result
                left = right
            return result

        return chain

    def _IfExp(self, node: ast.IfExp) -> Run:
        test, then, other = self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
        return lambda f: then(f) if test(f) else other(f)

    # Displays

    def items(self, nodes: list[ast.expr]) -> Run:
        """Compile to a list of the values, stars unpacked."""
        if not any(isinstance(node, ast.Starred) for node in nodes):
            parts = [self.expression(node) for node in nodes]
            return lambda f: [part(f) for part in parts]
        marked = [(isinstance(n, ast.Starred), self.expression(n.value if isinstance(n, ast.Starred) else n), n)
                  for n in nodes]  # fmt: skip

        def run(f: Frame) -> list[Any]:
            result: list[Any] = []
            for starred, part, node in marked:
                value = part(f)
                if starred:
                    f.pos = node
                    order.check_iteration(value)
                    if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
                        name = type(value).__name__
                        raise TypeError(f"Value after * must be an iterable, not {name}")
                    result.extend(value)
                else:
                    result.append(value)
            return result

        return run

    def _List(self, node: ast.List) -> Run:
        return self.items(node.elts)

    def _Tuple(self, node: ast.Tuple) -> Run:
        items = self.items(node.elts)
        return lambda f: tuple(items(f))

    def _Set(self, node: ast.Set) -> Run:
        items = self.items(node.elts)

        def run(f: Frame) -> set[Any]:
            values = items(f)
            f.pos = node
            return set(values)

        return run

    def _Dict(self, node: ast.Dict) -> Run:
        pairs = [
            (None if key is None else self.expression(key), self.expression(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]

        def run(f: Frame) -> dict[Any, Any]:
            result: dict[Any, Any] = {}
            for key, value in pairs:
                if key is None:
                    mapping = value(f)
                    f.pos = node
                    if not hasattr(mapping, "keys"):
                        raise TypeError(f"'{type(mapping).__name__}' object is not a mapping")
                    result.update(mapping)
                else:
                    name = key(f)
                    item = value(f)
                    f.pos = node
                    result[name] = item
            return result

        return run

    # Text

    def _JoinedStr(self, node: ast.JoinedStr) -> Run:
        parts = [self.expression(value) for value in node.values]
        return lambda f: "".join([part(f) for part in parts])

    def _FormattedValue(self, node: ast.FormattedValue) -> Run:
        value = self.expression(node.value)
        spec = self.expression(node.format_spec) if node.format_spec else None
        convert = {-1: None, 115: str, 114: repr, 97: ascii}[node.conversion]
        uses_sets = self.uses_sets

        def run(f: Frame) -> str:
            result = value(f)
            wanted = spec(f) if spec else ""
            f.pos = node
            if uses_sets:
                order.check_text(result)
            if convert is not None:
                result = convert(result)
            access.check_width(wanted)
            return format(result, wanted)

        return run

    # Access

    def _Attribute(self, node: ast.Attribute) -> Run:
        value, name = self.expression(node.value), self.scope.mangle(node.attr)
        position = _attribute_position(node)
        if access.is_plain(name):

            def plain(f: Frame) -> Any:
                owner = value(f)
                f.pos = position
                return getattr(owner, name)

            return plain

        def guarded(f: Frame) -> Any:
            owner = value(f)
            f.pos = position
            return access.load(owner, name)

        return guarded

    def _Subscript(self, node: ast.Subscript) -> Run:
        value, index = self.expression(node.value), self.expression(node.slice)

        def run(f: Frame) -> Any:
            owner = value(f)
            key = index(f)
            f.pos = node
            return owner[key]

        return run

    def _Slice(self, node: ast.Slice) -> Run:
        lower, upper, step = (
            self.expression(part) if part is not None else (lambda f: None)
            for part in (node.lower, node.upper, node.step)
        )
        return lambda f: slice(lower(f), upper(f), step(f))

    # Calls

    def _Call(self, node: ast.Call) -> Run:
        callee, uses_sets = self.expression(node.func), self.uses_sets
        plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        position = _call_position(node)
        if plain:
            parts = [self.expression(argument) for argument in node.args]

            def simple(f: Frame) -> Any:
                function = callee(f)
                arguments = [part(f) for part in parts]
                f.pos = position
                if type(function) is FrameCall:
                    return function.run(f, arguments, {})
                if uses_sets:
                    return order.call(function, arguments, {})
                return function(*arguments)

            return simple
        items, keywords = self._arguments(node), self._keywords(node)

        def full(f: Frame) -> Any:
            function = callee(f)
            arguments = items(f, function)
            named = keywords(f, function)
            f.pos = position
            if type(function) is FrameCall:
                return function.run(f, arguments, named)
            if uses_sets:
                return order.call(function, arguments, named)
            return function(*arguments, **named)

        return full

    def _arguments(self, node: ast.Call) -> Callable[[Frame, Any], list[Any]]:
        parts = [(isinstance(n, ast.Starred), self.expression(n.value if isinstance(n, ast.Starred) else n))
                 for n in node.args]  # fmt: skip

        def run(f: Frame, function: Any) -> list[Any]:
            result: list[Any] = []
            for starred, part in parts:
                value = part(f)
                if not starred:
                    result.append(value)
                    continue
                f.pos = node
                order.check_iteration(value)
                if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
                    raise TypeError(
                        f"{_described(function)} argument after * must be an iterable, not {type(value).__name__}"
                    )
                result.extend(value)
            return result

        return run

    def _keywords(self, node: ast.Call) -> Callable[[Frame, Any], dict[str, Any]]:
        parts = [(keyword.arg, self.expression(keyword.value)) for keyword in node.keywords]

        def run(f: Frame, function: Any) -> dict[str, Any]:
            named: dict[str, Any] = {}
            for name, part in parts:
                value = part(f)
                if name is not None:
                    named[name] = value
                    continue
                f.pos = node
                what = _described(function)
                if not hasattr(value, "keys"):
                    raise TypeError(f"{what} argument after ** must be a mapping, not {type(value).__name__}")
                for key in value:
                    if key in named:
                        raise TypeError(f"{what} got multiple values for keyword argument '{key}'")
                    named[key] = value[key]
            return named

        return run

    def _Lambda(self, node: ast.Lambda) -> Run:
        return self.function(node)

    # Comprehensions

    def _ListComp(self, node: ast.ListComp) -> Run:
        return self._comprehension(node, "<listcomp>", node.elt, list)

    def _SetComp(self, node: ast.SetComp) -> Run:
        return self._comprehension(node, "<setcomp>", node.elt, set)

    def _GeneratorExp(self, node: ast.GeneratorExp) -> Run:
        return self._comprehension(node, "<genexpr>", node.elt, None)

    def _DictComp(self, node: ast.DictComp) -> Run:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        ast.copy_location(pair, node.key)
        return self._comprehension(node, "<dictcomp>", pair, dict)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        name: str,
        element: ast.expr,
        collect: Callable[[Iterator[Any]], Any] | None,
    ) -> Run:
        scope = Scope("comprehension", self.scope)
        for generator in node.generators:
            if generator.is_async:
                abstain("asynchronous comprehensions are not supported")
            scope.bind_targets(generator.target)
        inner = self.inner(scope)
        first = self.expression(node.generators[0].iter)
        loop = inner._loops(node.generators, inner.expression(element))
        code = Code(name, self.source)
        position = node
        skip = self.scope.kind in ("class", "module")

        def items(f: Frame, outer: Iterator[Any]) -> Iterator[Any]:
            with Noting(f):
                yield from loop(f, outer)

        def run(f: Frame) -> Any:
            source = first(f)
            f.pos = position
            order.check_iteration(source)
            outer = iter(source)
            f.pos = node
            frame = Frame(code, {}, f.up if skip else f, f.top)
            frame.pos = node
            frame.cell, frame.first = f.cell, f.first
            produced = items(frame, outer)
            return produced if collect is None else collect(produced)

        return run

    def _loops(
        self, generators: list[ast.comprehension], element: Run
    ) -> Callable[[Frame, Iterator[Any]], Iterator[Any]]:
        generator, rest = generators[0], generators[1:]
        store = self.store(generator.target)
        tests = [self.expression(test) for test in generator.ifs]
        if not rest:

            def innermost(f: Frame, source: Iterator[Any]) -> Iterator[Any]:
                for item in source:
                    store(f, item)
                    for test in tests:
                        if not test(f):
                            break
                    else:
                        yield element(f)

            return innermost
        next_iter, deeper = self.expression(rest[0].iter), self._loops(rest, element)
        position = rest[0].iter

        def outer(f: Frame, source: Iterator[Any]) -> Iterator[Any]:
            for item in source:
                store(f, item)
                if all(test(f) for test in tests):
                    values = next_iter(f)
                    f.pos = position
                    order.check_iteration(values)
                    yield from deeper(f, iter(values))

        return outer

    def store(self, target: ast.expr) -> Callable[[Frame, Any], None]:
        raise NotImplementedError


def _described(function: Any) -> str:
    """How CPython names a function in messages about the arguments of a call."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def _call_position(node: ast.Call) -> ast.expr:
    """The range CPython gives the call instruction: from the method's name where the call spans lines."""
    if not isinstance(node.func, ast.Attribute):
        return node
    return _from_name(node, node.func)


def _attribute_position(node: ast.Attribute) -> ast.expr:
    """The range CPython gives to reading an attribute: its name, where it stands on a later line."""
    return _from_name(node, node)


def _from_name(node: ast.expr, attribute: ast.Attribute) -> ast.expr:
    last = attribute.end_lineno or node.lineno
    if node.lineno == last:
        return node
    end = attribute.end_col_offset or 0
    place = ast.Constant(None)
    place.lineno, place.col_offset = last, end - len(attribute.attr)
    place.end_lineno = max(last, node.end_lineno or last)
    place.end_col_offset = max(place.col_offset, end)
    return place


def _load_local(name: str, node: ast.Name) -> Run:
    def run(f: Frame) -> Any:
        values = f.vars
        if name in values:
            return values[name]
        f.pos = node
        raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")

    return run


def _load_outer(name: str, depth: int, node: ast.Name) -> Run:
    def run(f: Frame) -> Any:
        frame: Any = f
        for _ in range(depth):
            frame = frame.up
        values = frame.vars
        if name in values:
            return values[name]
        f.pos = node
        raise NameError(
            f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope",
            name=name,
        )

    return run


def _load_global(name: str, node: ast.Name) -> Run:
    def run(f: Frame) -> Any:
        values = f.top
        if name in values:
            return values[name]
        if name in BUILTINS:
            return BUILTINS[name]
        f.pos = node
        access.missing_builtin(name)
        raise NameError(f"name '{name}' is not defined", name=name)

    return run
