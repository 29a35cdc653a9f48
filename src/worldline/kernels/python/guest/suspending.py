"""Bodies of generator functions: the statements that contain a `yield`, as host generators.

Whatever contains no `yield` runs through the ordinary closures.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from . import order
from .frames import Abstain, Frame, abstain, note, remember
from .scope import contains_yield

if TYPE_CHECKING:
    from .statements import StatementCompiler as _Base
else:
    _Base = object

__all__ = ["Carried", "SuspendingCompiler"]

Steps = Callable[[Frame], Any]
_BRANCHES = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Carried(BaseException):
    """A StopIteration on its way through our own generators, which may not raise it themselves."""

    def __init__(self, error: StopIteration) -> None:
        super().__init__(error)
        self.error = error


def _carrying(step: Callable[[Frame], Any]) -> Callable[[Frame], Any]:
    def run(f: Frame) -> Any:
        try:
            return step(f)
        except StopIteration as error:
            note(error, f)
            raise Carried(error) from None

    return run


class SuspendingCompiler(_Base):
    """Adds generator bodies."""

    def suspending_body(self, nodes: list[ast.stmt]) -> Steps:
        """Compile statements to a closure that gives a host generator; its result says how control left."""
        steps: list[tuple[bool, Any]] = []
        for node in nodes:
            if isinstance(node, (ast.Pass, ast.Global, ast.Nonlocal)):
                continue
            suspends = contains_yield(node)
            steps.append((suspends, self.suspending_statement(node) if suspends else _carrying(self.statement(node))))

        def run(f: Frame) -> Generator[Any, Any, Any]:
            for suspends, step in steps:
                left = (yield from step(f)) if suspends else step(f)
                if left is not None:
                    return left
            return None

        return run

    def suspending_statement(self, node: ast.stmt) -> Steps:
        """Compile one statement that contains a `yield`."""
        method = getattr(self, f"_suspending_{type(node).__name__}", None)
        if method is not None:
            compiled: Steps = method(node)
            return compiled
        if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert)):
            return self._simple(node)
        abstain(f"yield inside {type(node).__name__}")

    def _simple(self, node: ast.stmt) -> Steps:
        """Run the yields of a simple statement first, then the statement with their results in place."""
        prepare, replaced = self._hoist(node)
        step = _carrying(self.statement(replaced))

        def run(f: Frame) -> Generator[Any, Any, Any]:
            yield from prepare(f)
            return step(f)

        return run

    def _value(self, node: ast.expr) -> Steps:
        """Compile an expression; its generator's result is the value."""
        if not contains_yield(node):
            plain = _carrying(self.expression(node))

            def at_once(f: Frame) -> Generator[Any, Any, Any]:
                return plain(f)
                yield

            return at_once
        if isinstance(node, ast.Yield):
            return self._yield(node)
        if isinstance(node, ast.YieldFrom):
            return self._yield_from(node)
        prepare, replaced = self._hoist(node)
        value = _carrying(self.expression(replaced))

        def run(f: Frame) -> Generator[Any, Any, Any]:
            yield from prepare(f)
            return value(f)

        return run

    def _yield(self, node: ast.Yield) -> Steps:
        value = self._value(node.value) if node.value is not None else None

        def run(f: Frame) -> Generator[Any, Any, Any]:
            result = (yield from value(f)) if value is not None else None
            f.pos = node
            received = yield result
            return received

        return run

    def _yield_from(self, node: ast.YieldFrom) -> Steps:
        value = self._value(node.value)

        def run(f: Frame) -> Generator[Any, Any, Any]:
            source = yield from value(f)
            f.pos = node
            order.check_iteration(source)
            result = yield from source
            return result

        return run

    def _hoist(self, node: Any) -> tuple[Steps, Any]:
        """Replace the outermost yields below `node` by names; give what runs them and the new node."""
        replaced = copy.copy(node)
        steps: list[tuple[str, Steps]] = []

        def replace(parent: Any) -> Any:
            parent = copy.copy(parent)
            for field, value in ast.iter_fields(parent):
                if isinstance(value, list):
                    setattr(parent, field, [visit(item) for item in value])
                elif isinstance(value, ast.AST):
                    setattr(parent, field, visit(value))
            return parent

        def visit(item: Any) -> Any:
            if not isinstance(item, ast.AST) or not contains_yield(item):
                return item
            if isinstance(item, (ast.Yield, ast.YieldFrom)):
                name = f".yield{id(item)}"
                steps.append((name, self._value(item)))
                self.scope.bind(name)
                return ast.copy_location(ast.Name(name, ast.Load()), item)
            if isinstance(item, (*_BRANCHES, ast.Await)):
                abstain(f"yield inside {type(item).__name__}")
            return replace(item)

        replaced = replace(node)

        def run(f: Frame) -> Generator[Any, Any, Any]:
            for name, step in steps:
                f.vars[name] = yield from step(f)

        return run, replaced

    def _suspending_If(self, node: ast.If) -> Steps:
        test = self._value(node.test)
        then, other = self.suspending_body(node.body), self.suspending_body(node.orelse)

        def run(f: Frame) -> Generator[Any, Any, Any]:
            chosen = then if (yield from test(f)) else other
            return (yield from chosen(f))

        return run

    def _suspending_While(self, node: ast.While) -> Steps:
        test = self._value(node.test)
        body, other = self.suspending_body(node.body), self.suspending_body(node.orelse)

        def run(f: Frame) -> Generator[Any, Any, Any]:
            while (yield from test(f)):
                left = yield from body(f)
                if left is not None:
                    if left.name == "break":
                        return None
                    if left.name != "continue":
                        return left
            return (yield from other(f))

        return run

    def _suspending_For(self, node: ast.For) -> Steps:
        source, store = self._value(node.iter), self.store(node.target)
        body, other = self.suspending_body(node.body), self.suspending_body(node.orelse)

        def run(f: Frame) -> Generator[Any, Any, Any]:
            items = yield from source(f)
            f.pos = node
            order.check_iteration(items)
            for item in items:
                store(f, item)
                left = yield from body(f)
                if left is not None:
                    if left.name == "break":
                        return None
                    if left.name != "continue":
                        return left
                f.pos = node
            return (yield from other(f))

        return run

    def _suspending_Try(self, node: ast.Try) -> Steps:
        body, other = self.suspending_body(node.body), self.suspending_body(node.orelse)
        handlers = [(self.matcher(h), self.suspending_body(h.body), h.name) for h in node.handlers]
        final = self.suspending_body(node.finalbody) if node.finalbody else None

        def handle(f: Frame, error: BaseException, block: Steps, name: str | None) -> Generator[Any, Any, Any]:
            if name is None:
                return (yield from block(f))
            self._store_name(self.scope.mangle(name))(f, error)
            try:
                return (yield from block(f))
            finally:
                self.forget(f, name)

        def dispatch(f: Frame, error: BaseException) -> Generator[Any, Any, Any]:
            for matches, block, name in handlers:
                if matches(f, error):
                    return True, (yield from handle(f, error, block, name))
            return False, None

        def guarded(f: Frame) -> Generator[Any, Any, Any]:
            try:
                left = yield from body(f)
            except Abstain:
                raise
            except Carried as carried:
                context = carried.error.__context__
                try:
                    raise carried.error
                except StopIteration as error:
                    error.__context__ = context
                    handled, left = yield from dispatch(f, error)
                    if not handled:
                        raise Carried(error) from None
                    return left
            except BaseException as error:
                note(error, f)
                handled, left = yield from dispatch(f, error)
                if not handled:
                    raise
                return left
            return (yield from other(f)) if left is None else left

        if final is None:
            return guarded

        def run(f: Frame) -> Generator[Any, Any, Any]:
            try:
                left = yield from guarded(f)
            except Abstain:
                raise
            except BaseException as error:
                note(error, f)
                leaving = yield from final(f)
                if leaving is None:
                    raise
                return leaving
            result = f.result
            leaving = yield from final(f)
            if leaving is None:
                f.result = result
                return left
            return leaving

        return run

    def _suspending_With(self, node: ast.With) -> Steps:
        run = self.suspending_body(node.body)
        for item in reversed(node.items):
            run = self._suspending_with_item(item, run, node)
        return run

    def _suspending_with_item(self, item: ast.withitem, body: Steps, position: ast.With) -> Steps:
        from .statements import enter

        context = self._value(item.context_expr)
        store = self.store(item.optional_vars) if item.optional_vars is not None else None

        def run(f: Frame) -> Generator[Any, Any, Any]:
            manager = yield from context(f)
            f.pos = position
            leave = enter(manager)
            value = type(manager).__enter__(manager)
            try:
                if store is not None:
                    store(f, value)
                left = yield from body(f)
            except Abstain:
                raise
            except BaseException as error:
                note(error, f)
                f.pos = position
                restore = remember(error)
                if not leave(manager, type(error), error, None):
                    restore()
                    raise
                return None
            f.pos = position
            result = f.result
            leave(manager, None, None, None)
            f.result = result
            return left

        return run
