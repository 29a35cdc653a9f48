"""Turning statements into closures: each takes the frame and gives None, or how control leaves the block.

A program's `except`, `finally` and `with` see every error it may raise, so they are broad `except` clauses of the host
here and in :mod:`suspending`, all but :class:`Abstain`, which is ours. What their handlers raise needs the error as its
context, as the host sets it: therefore they run inside the clause, and not behind a function that returns the error.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import imports, order
from .expressions import INPLACE
from .frames import Abstain, Exit, Frame, abstain, fresh, note, remember
from .functions import FunctionCompiler
from .patterns import PatternCompiler
from .scope import contains_yield
from .suspending import SuspendingCompiler

__all__ = ["BREAK", "CONTINUE", "RETURN", "Compiler"]

BREAK, CONTINUE, RETURN = Exit("break"), Exit("continue"), Exit("return")
Step = Callable[[Frame], Exit | None]


def _nothing(f: Frame) -> None:
    return None


def _asserted(test: ast.expr) -> ast.expr | None:
    """The comparison that CPython takes for the place of a failed `assert`: the last one that its branches end in."""
    if isinstance(test, ast.Compare):
        return test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asserted(test.operand)
    parts = test.values if isinstance(test, ast.BoolOp) else []
    if isinstance(test, ast.IfExp):
        parts = [test.test, test.body, test.orelse]
    return next((place for part in reversed(parts) if (place := _asserted(part)) is not None), None)


class StatementCompiler(PatternCompiler, FunctionCompiler):
    """Adds statements."""

    def statement(self, node: ast.stmt) -> Step:
        """Compile any statement."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            abstain(f"{type(node).__name__} is not supported")
        compiled: Step = method(node)
        return compiled

    def body(self, nodes: list[ast.stmt]) -> Step:
        """Compile statements that run one after another."""
        steps = [self.statement(node) for node in nodes if not isinstance(node, (ast.Pass, ast.Global, ast.Nonlocal))]
        if not steps:
            return _nothing
        if len(steps) == 1:
            return steps[0]

        def run(f: Frame) -> Exit | None:
            for step in steps:
                left = step(f)
                if left is not None:
                    return left
            return None

        return run

    def _Pass(self, node: ast.Pass) -> Step:
        return _nothing

    def _Expr(self, node: ast.Expr) -> Step:
        if isinstance(node.value, ast.Constant):
            return _nothing
        value = self.expression(node.value)

        def run(f: Frame) -> None:
            value(f)

        return run

    def _Assign(self, node: ast.Assign) -> Step:
        value = self.expression(node.value)
        stores = [self.store(target) for target in node.targets]
        if len(stores) == 1:
            store = stores[0]

            def single(f: Frame) -> None:
                store(f, value(f))

            return single

        def run(f: Frame) -> None:
            result = value(f)
            for store in stores:
                store(f, result)

        return run

    def _AnnAssign(self, node: ast.AnnAssign) -> Step:
        value = self.expression(node.value) if node.value is not None else None
        store = self.store(node.target) if value is not None else None
        keeps = self.scope.kind in ("class", "module") and isinstance(node.target, ast.Name) and node.simple
        annotation = self.annotation(node.annotation) if keeps else None
        name = node.target.id if isinstance(node.target, ast.Name) else ""

        def run(f: Frame) -> None:
            if value is not None and store is not None:
                store(f, value(f))
            if annotation is not None:
                f.pos = node.annotation
                f.vars.setdefault("__annotations__", {})[self.scope.mangle(name)] = annotation(f)

        return run

    def _AugAssign(self, node: ast.AugAssign) -> Step:
        value, operate = self.expression(node.value), INPLACE[type(node.op)]
        load, store = self.update(node.target)

        def run(f: Frame) -> None:
            place, old = load(f)
            new = value(f)
            f.pos = node
            store(f, place, operate(old, new))

        return run

    def update(self, target: ast.expr) -> tuple[Callable[[Frame], tuple[Any, Any]], Callable[[Frame, Any, Any], None]]:
        """Compile reading `target` and writing it back, its parts evaluated once."""
        if isinstance(target, ast.Subscript):
            owner, index = self.expression(target.value), self.expression(target.slice)

            def load_item(f: Frame) -> tuple[Any, Any]:
                subject = owner(f)
                key = index(f)
                f.pos = target
                return (subject, key), subject[key]

            def store_item(f: Frame, place: Any, result: Any) -> None:
                f.pos = target
                place[0][place[1]] = result

            return load_item, store_item
        if isinstance(target, ast.Attribute):
            holder = ast.Name(".owner", ast.Load())
            inner = self.expression(target.value)
            reading = ast.copy_location(ast.Attribute(holder, target.attr, ast.Load()), target)
            ast.copy_location(holder, target.value)
            load, write = self.expression_on(reading), self.store_on(reading)

            def load_attribute(f: Frame) -> tuple[Any, Any]:
                subject = inner(f)
                return subject, load(f, subject)

            return load_attribute, write
        assert isinstance(target, ast.Name)
        name = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        read, put = self.expression(name), self.store(target)
        return lambda f: (None, read(f)), lambda f, place, result: put(f, result)

    def expression_on(self, node: ast.Attribute) -> Callable[[Frame, Any], Any]:
        """Compile reading an attribute of a value that is already there."""
        from . import access

        name = self.scope.mangle(node.attr)

        def run(f: Frame, subject: Any) -> Any:
            f.pos = node
            return access.load(subject, name)

        return run

    def store_on(self, node: ast.Attribute) -> Callable[[Frame, Any, Any], None]:
        """Compile writing an attribute of a value that is already there."""
        from . import access

        name = self.scope.mangle(node.attr)

        def run(f: Frame, subject: Any, result: Any) -> None:
            f.pos = node
            access.store(subject, name, result)

        return run

    def _Delete(self, node: ast.Delete) -> Step:
        parts = [self.delete(target) for target in node.targets]

        def run(f: Frame) -> None:
            for part in parts:
                part(f)

        return run

    # Leaving

    def _Return(self, node: ast.Return) -> Step:
        value = self.expression(node.value) if node.value is not None else _nothing

        def run(f: Frame) -> Exit:
            f.result = value(f)
            return RETURN

        return run

    def _Break(self, node: ast.Break) -> Step:
        return lambda f: BREAK

    def _Continue(self, node: ast.Continue) -> Step:
        return lambda f: CONTINUE

    def _Raise(self, node: ast.Raise) -> Step:
        value = self.expression(node.exc) if node.exc is not None else None
        cause = self.expression(node.cause) if node.cause is not None else None

        def run(f: Frame) -> Exit | None:
            f.pos = node
            if value is None:
                current = sys.exc_info()[1]
                if current is None:
                    raise RuntimeError("No active exception to reraise")
                raise current
            error = value(f)
            origin = cause(f) if cause is not None else None
            f.pos = node
            if isinstance(error, type) and issubclass(error, BaseException):
                error = error()
            if not isinstance(error, BaseException):
                raise TypeError("exceptions must derive from BaseException")
            fresh(error)
            if cause is None:
                raise error
            raise error from origin

        return run

    def _Assert(self, node: ast.Assert) -> Step:
        place = _asserted(node.test) or node
        test = self.expression(node.test)
        message = self.expression(node.msg) if node.msg is not None else None

        def run(f: Frame) -> None:
            if test(f):
                return
            arguments = [message(f)] if message is not None else []
            f.pos = place
            raise AssertionError(*arguments)

        return run

    # Branches and loops

    def _If(self, node: ast.If) -> Step:
        test, then, other = self.expression(node.test), self.body(node.body), self.body(node.orelse)
        return lambda f: then(f) if test(f) else other(f)

    def _While(self, node: ast.While) -> Step:
        test, body, other = self.expression(node.test), self.body(node.body), self.body(node.orelse)

        def run(f: Frame) -> Exit | None:
            while test(f):
                left = body(f)
                if left is not None:
                    if left is BREAK:
                        return None
                    if left is not CONTINUE:
                        return left
            return other(f)

        return run

    def _For(self, node: ast.For) -> Step:
        source, store = self.expression(node.iter), self.store(node.target)
        body, other, position = self.body(node.body), self.body(node.orelse), node

        def run(f: Frame) -> Exit | None:
            items = source(f)
            f.pos = position
            order.check_iteration(items)
            for item in items:
                store(f, item)
                left = body(f)
                if left is not None:
                    if left is BREAK:
                        return None
                    if left is not CONTINUE:
                        return left
                f.pos = position
            return other(f)

        return run

    # Exceptions and contexts

    def _Try(self, node: ast.Try) -> Step:
        body, other = self.body(node.body), self.body(node.orelse)
        handlers = [self.handler(handler) for handler in node.handlers]
        final = self.body(node.finalbody) if node.finalbody else None

        def guarded(f: Frame) -> Exit | None:
            try:
                left = body(f)
            except Abstain:
                raise
            except BaseException as error:
                note(error, f)
                for matches, handle in handlers:
                    if matches(f, error):
                        return handle(f, error)
                raise
            return other(f) if left is None else left

        if final is None:
            return guarded

        def run(f: Frame) -> Exit | None:
            try:
                left = guarded(f)
            except Abstain:
                raise
            except BaseException as error:
                note(error, f)
                leaving = final(f)
                if leaving is None:
                    raise
                return leaving
            result = f.result
            leaving = final(f)
            if leaving is None:
                f.result = result
                return left
            return leaving

        return run

    def handler(
        self, node: ast.ExceptHandler
    ) -> tuple[Callable[[Frame, BaseException], bool], Callable[[Frame, BaseException], Exit | None]]:
        """Compile an `except` clause to a test and what it does."""
        body, name = self.body(node.body), node.name
        store = self._store_name(self.scope.mangle(name)) if name else None
        target = ast.copy_location(ast.Name(name, ast.Del()), node) if name else None

        def handle(f: Frame, error: BaseException) -> Exit | None:
            if store is None or target is None:
                return body(f)
            store(f, error)
            try:
                return body(f)
            finally:
                self.forget(f, name or "")

        return self.matcher(node), handle

    def matcher(self, node: ast.ExceptHandler) -> Callable[[Frame, BaseException], bool]:
        """Compile the test of an `except` clause."""
        kinds = self.expression(node.type) if node.type is not None else None
        return lambda f, error: kinds is None or catches(f, error, kinds(f), node)

    def forget(self, f: Frame, name: str) -> None:
        """Unbind the name of an `except ... as name` clause."""
        where, depth = self.scope.place(name)
        frame: Any = f
        for _ in range(depth if where == "outer" else 0):
            frame = frame.up
        (f.top if where == "global" else frame.vars).pop(name, None)

    def _With(self, node: ast.With) -> Step:
        run = self.body(node.body)
        for item in reversed(node.items):
            run = self._with_item(item, run, node)
        return run

    def _with_item(self, item: ast.withitem, body: Step, position: ast.With) -> Step:
        context = self.expression(item.context_expr)
        store = self.store(item.optional_vars) if item.optional_vars is not None else None

        def run(f: Frame) -> Exit | None:
            manager = context(f)
            f.pos = position
            leave = enter(manager)
            value = type(manager).__enter__(manager)
            try:
                if store is not None:
                    store(f, value)
                left = body(f)
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

    # Imports

    def _Import(self, node: ast.Import) -> Step:
        stores = [self._store_name(a.asname or a.name.partition(".")[0]) for a in node.names]
        pairs = list(zip(node.names, stores, strict=True))

        def run(f: Frame) -> None:
            for alias, store in pairs:
                f.pos = node
                store(f, imports.load(alias.name, whole=alias.asname is not None))

        return run

    def _ImportFrom(self, node: ast.ImportFrom) -> Step:
        if node.module == "__future__":
            return _nothing
        if any(alias.name == "*" for alias in node.names):
            return self._import_all(node)
        pairs = [(alias.name, self._store_name(alias.asname or alias.name)) for alias in node.names]

        def run(f: Frame) -> None:
            f.pos = node
            module = imports.load(imports.absolute(node.module, node.level, f.top), whole=True)
            for name, store in pairs:
                store(f, imports.member(module, name))

        return run

    def _import_all(self, node: ast.ImportFrom) -> Step:
        def run(f: Frame) -> None:
            f.pos = node
            f.top.update(imports.everything(imports.load(imports.absolute(node.module, node.level, f.top), whole=True)))

        return run


def catches(f: Frame, error: BaseException, kinds: Any, node: ast.ExceptHandler) -> bool:
    """Whether an `except kinds` clause catches `error`."""
    f.pos = node.type
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in every):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return isinstance(error, every)


def enter(manager: Any) -> Callable[..., Any]:
    """The manager's exit method, both being there."""
    kind = type(manager)
    if not hasattr(kind, "__enter__"):
        raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol")
    if not hasattr(kind, "__exit__"):
        raise TypeError(
            f"'{kind.__name__}' object does not support the context manager protocol (missed __exit__ method)"
        )
    leave: Callable[..., Any] = kind.__exit__
    return leave


class Compiler(SuspendingCompiler, StatementCompiler):
    """Compiles everything."""

    def suspendable(self, nodes: list[ast.stmt]) -> Callable[[Frame], Iterator[Any]]:
        """Compile the body of a generator function."""
        return self.suspending_body(nodes)

    def needs_suspension(self, node: ast.AST) -> bool:
        """Whether running `node` may suspend."""
        return contains_yield(node)
