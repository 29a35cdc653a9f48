"""Cells of a notebook: each runs with the names that the ones before it left, and its last expression is shown."""

# A cell may raise anything.
# ruff: noqa: BLE001

from __future__ import annotations

import ast
import datetime
import io
import sys
import types
from collections.abc import Callable
from typing import Any, cast

from . import access, builtin_names, imports, tracebacks
from .files import World
from .frames import Abstain, Code, Frame, Noting, Source, abstain, abstained, forgive
from .scope import Scope
from .statements import Compiler
from .streams import written

__all__ = ["Notebook"]

_SHOW = "__worldline_show__"
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that leave the same behind whatever else a cell does."""


class Notebook:
    """The session: names that live on from cell to cell.

    Args:
        world: The simulated files.
        parse: Parses a text under a file name, with the lines that tracebacks show.
        evaluator: What `eval` and `exec` run with.
        uses: Whether a tree mentions one of some names.
    """

    def __init__(
        self,
        world: World,
        parse: Callable[[str, str, bool], tuple[Source, ast.Module]],
        evaluator: Any,
        uses: Callable[[ast.AST, set[str]], bool],
    ) -> None:
        self._world, self._parse, self._uses = world, parse, uses
        self._vague: set[str] = set()
        module = types.ModuleType("__main__")
        self._top = vars(module)
        self._top |= {"__name__": "__main__", "__doc__": None, "__annotations__": {}}
        sys.modules["__main__"] = module
        builtin_names.BUILTINS[_SHOW] = _show
        builtin_names.set_evaluator(evaluator)
        sys.stdout = _at_once(sys.stdout, "surrogateescape")
        sys.stderr = _at_once(sys.stderr, "backslashreplace")

    def run(self, cells: list[dict[str, Any]]) -> dict[str, Any]:
        """Run cells in order; give what the last one wrote, whether it failed, and how long it slept.

        Args:
            cells: Each with its `number`, `source` and `now` (seconds), and `how` it takes part: `run`; `doubt`, where
                it did something else in reality, so that the names it binds are vague; `skip`, where only its
                definitions are known.
        """
        outcome: dict[str, Any] = {}
        for cell in cells:
            written.clear()
            imports.slept.clear()
            self._world.sorts = True
            access.set_clock(datetime.datetime.fromtimestamp(cell["now"], datetime.timezone.utc))  # noqa: UP017
            outcome = self._cell(cell, last=cell is cells[-1])
        text = b"".join(written).decode("latin-1")
        return {**outcome, "stdout": text, "stderr": "", "merged": None, "slept": sum(imports.slept)}

    def _cell(self, cell: dict[str, Any], *, last: bool) -> dict[str, Any]:
        name, how = f"<cell {cell['number']}>", cell["how"]
        try:
            source, tree = self._parse(cell["source"], name, True)
        except SyntaxError as error:
            if sys.version_info[:2] != (3, 11) or "non-printable" in str(error.msg):
                abstain("a syntax error, worded by another Python version")
            sys.stderr.write(tracebacks.format_syntax_error(error))
            return {"status": 1}
        self._world.sorts = self._uses(tree, {"sorted", "sort"})
        bound, used = _names(tree)
        changed = _changed(tree)
        if how == "skip":
            tree.body = [node for node in tree.body if isinstance(node, _DEFINITIONS)]
        elif last and used & self._vague:
            abstain(f"{min(used & self._vague)} is not known")
        if how == "run" and used & self._vague and not last:
            self._vague |= bound
        outcome = self._attempt(source, tree, tolerant=how != "run")
        if how != "run":
            defined = {name for node in tree.body if isinstance(node, _DEFINITIONS) for name in _names(node)[0]}
            self._vague |= (bound | changed) - defined
        elif not used & self._vague:
            self._vague -= bound
        return outcome

    def _attempt(self, source: Source, tree: ast.Module, *, tolerant: bool) -> dict[str, Any]:
        """Run a cell's statements; where `tolerant`, go on after what is not supported."""
        _hand_over(tree)
        frame = Frame(Code("<module>", source), self._top, None, self._top)
        try:
            with Noting(frame):
                Compiler(source, Scope("module", None), uses_sets=True).body(tree.body)(frame)
        except SystemExit as leaving:
            sys.stderr.write(f"SystemExit: {leaving.code}\n" if leaving.code is not None else "SystemExit\n")
            return {"status": 0 if leaving.code in (None, 0) else 1, "error": "SystemExit"}
        except Abstain:
            if not tolerant:
                raise
            forgive()
        except BaseException as error:
            if sys.version_info[:2] != (3, 11):
                abstain("a traceback, worded by another Python version")
            sys.stderr.write(tracebacks.format_error(error))
            return {"status": 1, "error": type(error).__name__}
        if abstained():
            if not tolerant:
                abstain(str(abstained()))
            forgive()
        return {"status": 0}


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names that statements bind at their own level, and those that they use anywhere."""
    scope = Scope("module", None)
    scope.bind_targets(cast(ast.expr, tree))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return set(scope.names), used


def _changed(tree: ast.AST) -> set[str]:
    """Names whose objects a cell may change: a method is called or a part is set."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript):
            base: ast.AST = node
            while isinstance(base, ast.Attribute | ast.Subscript | ast.Call):
                base = base.func if isinstance(base, ast.Call) else base.value
            if isinstance(base, ast.Name) and base.id not in imports.MODULES:
                found.add(base.id)
    return found


def _hand_over(tree: ast.Module) -> None:
    """Hand the value of the last statement, where it is an expression, to what shows it."""
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        node = tree.body[-1]
        call = ast.Call(ast.copy_location(ast.Name(_SHOW, ast.Load()), node.value), [node.value], [])
        tree.body[-1] = ast.copy_location(ast.Expr(ast.copy_location(call, node.value)), node)


def _show(value: Any) -> None:
    if value is None:
        return
    builtin_names.BUILTINS.pop("_", None)
    if isinstance(value, (types.BuiltinFunctionType, types.ModuleType)):
        abstain("how a built-in object shows itself")
    sys.stdout.write(repr(value) + "\n")
    builtin_names.BUILTINS["_"] = value


def _at_once(stream: Any, errors: str) -> Any:
    """A stream that writes at once, as Python's own do with `-u`."""
    return io.TextIOWrapper(cast(Any, stream.sink), "utf-8", errors, write_through=True)
