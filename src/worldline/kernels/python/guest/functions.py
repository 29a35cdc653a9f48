"""Functions and classes of the script."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from .frames import Code, Frame, Noting, abstain
from .scope import Scope, contains_yield
from .suspending import Carried
from .targets import TargetCompiler

__all__ = ["GUEST_FUNCTIONS", "FunctionCompiler", "Signature", "bind", "signature_of"]

GUEST_FUNCTIONS: dict[int, tuple[Any, Signature]] = {}
"""The signature of each function of the script, by the id of the function (which is kept alive here)."""

_DEEPEST = 940
_depth = 0


@dataclass(slots=True)
class Signature:
    """What a function of the script takes."""

    qualname: str
    positional: tuple[str, ...]
    position_only: int
    keyword_only: tuple[str, ...]
    star: str | None
    stars: str | None
    defaults: tuple[Any, ...]
    keyword_defaults: dict[str, Any]


def signature_of(function: Any) -> Signature | None:
    """The signature of a function of the script; None for anything else."""
    known = GUEST_FUNCTIONS.get(id(function))
    return known[1] if known is not None and known[0] is function else None


class FunctionCompiler(TargetCompiler):
    """Adds `lambda`, `def` and `class`."""

    def body(self, nodes: list[ast.stmt]) -> Callable[[Frame], Any]:
        raise NotImplementedError

    def suspendable(self, nodes: list[ast.stmt]) -> Callable[[Frame], Iterator[Any]]:
        raise NotImplementedError

    def function(self, node: ast.Lambda | ast.FunctionDef) -> Callable[[Frame], Any]:
        """Compile to a closure that makes the function object, without decorators."""
        arguments = node.args
        scope = self._function_scope(node)
        inner = self.inner(scope)
        assert isinstance(inner, FunctionCompiler)
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        qualname = scope.prefix.removesuffix(".<locals>.")
        code = Code(name, self.source, tuple(scope.names))
        make_body = _body_maker(inner, node, code)
        defaults = [self.expression(default) for default in arguments.defaults]
        keyword_defaults = [
            (scope.mangle(a.arg), self.expression(d))
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if d is not None
        ]
        annotations = [] if isinstance(node, ast.Lambda) else self._annotations(node)
        document = None if isinstance(node, ast.Lambda) else ast.get_docstring(node, clean=False)
        positional = tuple(scope.mangle(a.arg) for a in arguments.posonlyargs + arguments.args)
        keyword_only = tuple(scope.mangle(a.arg) for a in arguments.kwonlyargs)
        star = scope.mangle(arguments.vararg.arg) if arguments.vararg else None
        stars = scope.mangle(arguments.kwarg.arg) if arguments.kwarg else None
        outside = self.scope.kind in ("class", "module")

        def make(f: Frame) -> Any:
            signature = Signature(
                qualname, positional, len(arguments.posonlyargs), keyword_only, star, stars,
                tuple(default(f) for default in defaults), {n: default(f) for n, default in keyword_defaults},
            )  # fmt: skip
            function = make_body(signature, f.up if outside else f, f.top, f.cell)
            function.__name__, function.__qualname__, function.__doc__ = name, qualname, document
            function.__module__ = f.top.get("__name__", "__main__")
            function.__annotations__ = {key: value(f) for key, value in annotations}
            GUEST_FUNCTIONS[id(function)] = (function, signature)
            return function

        return make

    def _function_scope(self, node: ast.Lambda | ast.FunctionDef) -> Scope:
        arguments = node.args
        names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
        scope = Scope("function", self.scope, body, [self.scope.mangle(name) for name in names])
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        scope.prefix = f"{self.scope.prefix}{name}.<locals>."
        return scope

    def _annotations(self, node: ast.FunctionDef) -> list[tuple[str, Callable[[Frame], Any]]]:
        arguments = node.args
        every = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        found = [(a.arg, self.annotation(a.annotation)) for a in every if a.annotation is not None]
        if node.returns is not None:
            found.append(("return", self.annotation(node.returns)))
        return found

    def annotation(self, node: ast.expr) -> Callable[[Frame], Any]:
        """Compile an annotation: evaluated, or its text under `from __future__ import annotations`."""
        if self.deferred_annotations:
            text = ast.unparse(node)
            return lambda f: text
        return self.expression(node)

    @property
    def deferred_annotations(self) -> bool:
        return self.source.deferred

    def _FunctionDef(self, node: ast.FunctionDef) -> Callable[[Frame], Any]:
        make, store = self.function(node), self._store_name(self.scope.mangle(node.name))
        decorators = [(self.expression(d), d) for d in node.decorator_list]

        def run(f: Frame) -> None:
            wrappers = [(decorator(f), place) for decorator, place in decorators]
            f.pos = node
            function = make(f)
            for wrapper, place in reversed(wrappers):
                f.pos = place
                function = wrapper(function)
            store(f, function)

        return run

    def _ClassDef(self, node: ast.ClassDef) -> Callable[[Frame], Any]:
        scope = Scope("class", self.scope, node.body)
        scope.owner, scope.prefix = node.name, f"{self.scope.prefix}{node.name}."
        inner = self.inner(scope)
        assert isinstance(inner, FunctionCompiler)
        body, code = inner.body(node.body), Code(node.name, self.source)
        bases, store = self.items(node.bases), self._store_name(self.scope.mangle(node.name))
        keywords = [(k.arg or "", self.expression(k.value)) for k in node.keywords]
        decorators = [(self.expression(d), d) for d in node.decorator_list]
        document, qualname = ast.get_docstring(node, clean=False), scope.prefix[:-1]
        outside = self.scope.kind in ("class", "module")

        def run(f: Frame) -> None:
            wrappers = [(decorator(f), place) for decorator, place in decorators]
            f.pos = node
            named = {name: value(f) for name, value in keywords}
            parents = tuple(bases(f))
            f.pos = node
            resolved = types.resolve_bases(parents)
            meta, namespace, named = types.prepare_class(node.name, resolved, named)
            namespace["__module__"] = f.top.get("__name__", "__main__")
            namespace["__qualname__"] = qualname
            if document is not None:
                namespace["__doc__"] = document
            frame = Frame(code, namespace, f.up if outside else f, f.top)
            frame.cell = namespace_cell = types.CellType()
            with Noting(frame):
                body(frame)
            if resolved is not parents:
                namespace["__orig_bases__"] = parents
            f.pos = node
            made: Any = meta(node.name, resolved, namespace, **named)
            namespace_cell.cell_contents = made
            for wrapper, place in reversed(wrappers):
                f.pos = place
                made = wrapper(made)
            store(f, made)

        return run


def _body_maker(compiler: FunctionCompiler, node: ast.Lambda | ast.FunctionDef, code: Code) -> Callable[..., Any]:
    """Return what makes the Python function that runs the body for one signature and surrounding frame."""
    if isinstance(node, ast.Lambda):
        value = compiler.expression(node.body)
        if contains_yield(node.body):
            abstain("yield in a lambda")
        return lambda signature, up, top, cell: _plain(signature, up, top, cell, code, value)
    if any(contains_yield(statement) for statement in node.body):
        suspending = compiler.suspendable(node.body)
        return lambda signature, up, top, cell: _generator(signature, up, top, cell, code, suspending)
    body = compiler.body(node.body)

    def value_of(f: Frame) -> Any:
        body(f)
        return f.result

    return lambda signature, up, top, cell: _plain(signature, up, top, cell, code, value_of)


def _plain(
    signature: Signature, up: Frame | None, top: dict[str, Any], cell: Any, code: Code, value: Callable[[Frame], Any]
) -> Callable[..., Any]:
    names = signature.positional
    simple = not (signature.keyword_only or signature.star or signature.stars)
    count = len(names)

    def function(*args: Any, **kwargs: Any) -> Any:
        global _depth
        if simple and not kwargs and len(args) == count:
            variables = dict(zip(names, args))  # noqa: B905
        else:
            variables = bind(signature, args, kwargs)
        frame = Frame(code, variables, up, top)
        frame.cell = cell
        if args:
            frame.first = args[0]
        _depth += 1
        if _depth > _DEEPEST:
            abstain("recursion close to the interpreter's limit")
        try:
            with Noting(frame):
                return value(frame)
        finally:
            _depth -= 1

    return function


def _generator(
    signature: Signature,
    up: Frame | None,
    top: dict[str, Any],
    cell: Any,
    code: Code,
    body: Callable[[Frame], Iterator[Any]],
) -> Callable[..., Any]:
    def steps(frame: Frame) -> Generator[Any, Any, Any]:
        try:
            with Noting(frame):
                yield from body(frame)
        except Carried as carried:
            raise carried.error from carried.error.__cause__
        return frame.result

    def function(*args: Any, **kwargs: Any) -> Any:
        frame = Frame(code, bind(signature, args, kwargs), up, top)
        frame.cell = cell
        if args:
            frame.first = args[0]
        made: Any = steps(frame)
        made.__name__, made.__qualname__ = code.name, signature.qualname
        return made

    return function


def bind(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Match the arguments of a call to a signature.

    Raises:
        TypeError: They do not fit; in the words of CPython 3.11.
    """
    names, count = signature.positional, len(signature.positional)
    values: dict[str, Any] = dict(zip(names, args))  # noqa: B905
    rest = {}
    for key, value in kwargs.items():
        if key in names[signature.position_only :] or key in signature.keyword_only:
            if key in values:
                raise TypeError(f"{signature.qualname}() got multiple values for argument '{key}'")
            values[key] = value
        elif signature.stars is not None:
            rest[key] = value
        else:
            _refuse_keyword(signature, key, kwargs)
    if len(args) > count and signature.star is None:
        _too_many(signature, len(args), values)
    missing = []
    first_default = count - len(signature.defaults)
    for index, name in enumerate(names):
        if name not in values:
            if index < first_default:
                missing.append(name)
            else:
                values[name] = signature.defaults[index - first_default]
    if missing:
        _missing(signature, missing, "positional")
    for name in signature.keyword_only:
        if name not in values:
            if name in signature.keyword_defaults:
                values[name] = signature.keyword_defaults[name]
            else:
                missing.append(name)
    if missing:
        _missing(signature, missing, "keyword-only")
    if signature.star is not None:
        values[signature.star] = args[count:]
    if signature.stars is not None:
        values[signature.stars] = rest
    return values


def _refuse_keyword(signature: Signature, key: str, kwargs: dict[str, Any]) -> None:
    only = [name for name in signature.positional[: signature.position_only] if name in kwargs]
    if only:
        raise TypeError(
            f"{signature.qualname}() got some positional-only arguments passed as keyword arguments: "
            f"'{', '.join(only)}'"
        )
    raise TypeError(f"{signature.qualname}() got an unexpected keyword argument '{key}'")


def _too_many(signature: Signature, given: int, values: dict[str, Any]) -> None:
    count, optional = len(signature.positional), len(signature.defaults)
    takes = f"from {count - optional} to {count}" if optional else str(count)
    plural = "s" if optional or count != 1 else ""
    extra = sum(1 for name in signature.keyword_only if name in values)
    if extra:
        given_text = (
            f"{given} positional argument{'s' if given != 1 else ''} "
            f"(and {extra} keyword-only argument{'s' if extra != 1 else ''}) were"
        )
    else:
        given_text = f"{given} {'was' if given == 1 else 'were'}"
    raise TypeError(f"{signature.qualname}() takes {takes} positional argument{plural} but {given_text} given")


def _missing(signature: Signature, names: list[str], kind: str) -> None:
    quoted = [f"'{name}'" for name in names]
    text = " and ".join(quoted) if len(quoted) < 3 else f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
    plural = "s" if len(quoted) != 1 else ""
    raise TypeError(f"{signature.qualname}() missing {len(quoted)} required {kind} argument{plural}: {text}")
