"""Assigning to and deleting names, attributes, items and tuples of them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from . import access, order
from .expressions import ExpressionCompiler
from .frames import Frame, abstain

__all__ = ["Store", "TargetCompiler"]

Store = Callable[[Frame, Any], None]


class TargetCompiler(ExpressionCompiler):
    """Adds assignment targets to expressions."""

    def store(self, target: ast.expr) -> Store:
        """Compile assignment to `target`."""
        if isinstance(target, ast.Name):
            return self._store_name(self.scope.mangle(target.id))
        if isinstance(target, ast.Attribute):
            return self._store_attribute(target)
        if isinstance(target, ast.Subscript):
            return self._store_item(target)
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._store_many(target)
        abstain(f"assignment to {type(target).__name__}")

    def _store_name(self, name: str) -> Store:
        where, depth = self.scope.place(name)
        if where in ("local", "class"):

            def local(f: Frame, value: Any) -> None:
                f.vars[name] = value

            return local
        if where == "outer":

            def outer(f: Frame, value: Any) -> None:
                frame: Any = f
                for _ in range(depth):
                    frame = frame.up
                frame.vars[name] = value

            return outer

        def top(f: Frame, value: Any) -> None:
            f.top[name] = value

        return top

    def _store_attribute(self, target: ast.Attribute) -> Store:
        owner, name = self.expression(target.value), self.scope.mangle(target.attr)

        def run(f: Frame, value: Any) -> None:
            subject = owner(f)
            f.pos = target
            access.store(subject, name, value)

        return run

    def _store_item(self, target: ast.Subscript) -> Store:
        owner, index = self.expression(target.value), self.expression(target.slice)

        def run(f: Frame, value: Any) -> None:
            subject = owner(f)
            key = index(f)
            f.pos = target
            subject[key] = value

        return run

    def _store_many(self, target: ast.Tuple | ast.List) -> Store:
        stars = [i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        stores = [self.store(part.value if isinstance(part, ast.Starred) else part) for part in target.elts]
        count = len(stores)
        if not stars:

            def run(f: Frame, value: Any) -> None:
                f.pos = target
                for store, item in zip(stores, _unpack(value, count), strict=True):
                    store(f, item)

            return run
        before, after = stars[0], count - stars[0] - 1

        def starred(f: Frame, value: Any) -> None:
            f.pos = target
            order.check_iteration(value)
            items = list(_iterable(value))
            if len(items) < count - 1:
                expected = f"not enough values to unpack (expected at least {count - 1}, got {len(items)})"
                raise ValueError(expected)
            middle = items[before : len(items) - after]
            parts = [*items[:before], middle, *items[len(items) - after :]]
            for store, item in zip(stores, parts, strict=True):
                store(f, item)

        return starred

    def delete(self, target: ast.expr) -> Callable[[Frame], None]:
        """Compile `del target`."""
        if isinstance(target, ast.Name):
            return self._delete_name(target)
        if isinstance(target, ast.Attribute):
            owner, name = self.expression(target.value), self.scope.mangle(target.attr)

            def attribute(f: Frame) -> None:
                subject = owner(f)
                f.pos = target
                access.delete(subject, name)

            return attribute
        if isinstance(target, ast.Subscript):
            owner, index = self.expression(target.value), self.expression(target.slice)

            def item(f: Frame) -> None:
                subject = owner(f)
                key = index(f)
                f.pos = target
                del subject[key]

            return item
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = [self.delete(part) for part in target.elts]

            def many(f: Frame) -> None:
                for part in parts:
                    part(f)

            return many
        abstain(f"del of {type(target).__name__}")

    def _delete_name(self, target: ast.Name) -> Callable[[Frame], None]:
        name = self.scope.mangle(target.id)
        where, _ = self.scope.place(name)
        if where == "outer":
            abstain("del of a name of an outer function")

        def run(f: Frame) -> None:
            values = f.top if where == "global" else f.vars
            if name in values:
                del values[name]
                return
            f.pos = target
            if where == "local":
                raise UnboundLocalError(
                    f"cannot access local variable '{name}' where it is not associated with a value"
                )
            raise NameError(f"name '{name}' is not defined", name=name)

        return run


def _iterable(value: Any) -> Any:
    if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
        raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object")
    return iter(value)


def _unpack(value: Any, count: int) -> list[Any]:
    if type(value) in (tuple, list) and len(value) == count:
        return list(value)
    order.check_iteration(value)
    source = _iterable(value)
    items = []
    for item in source:
        items.append(item)
        if len(items) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    return items
