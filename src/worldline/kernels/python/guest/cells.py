"""Cells of a notebook: each runs with the names that the ones before it left, and its last expression is shown."""

# A cell may raise anything.

from __future__ import annotations

import ast
import datetime
import io
import random
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any, cast

from . import access, builtin_names, imports, order, tracebacks
from .files import World
from .frames import Abstain, Code, Frame, Noting, Source, abstain, abstained, forgive
from .parsing import parse
from .scope import Scope
from .statements import Compiler
from .streams import written
from .uncaught import attempt
from .warning import show_compiler_warnings

__all__ = ["Notebook"]

_SHOW = "__worldline_show__"
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements that leave the same behind whatever else a cell does."""


class Notebook:
    """The session: names that live on from cell to cell.

    Where a script would be given up because something differs between runs (random numbers without a seed, the order of
    a set or of a directory), a notebook goes on with a guess: the answer then says why it is unsure, and so do those of
    later cells that use what the cell bound.

    Args:
        world: The simulated files.
        evaluator: What `eval` and `exec` run with.
        uses: Whether a tree mentions one of some names.
    """

    def __init__(self, world: World, evaluator: Any, uses: Callable[[ast.AST, set[str]], bool]) -> None:
        self._world, self._uses = world, uses
        self._vague: set[str] = set()
        self._doubted: dict[str, str] = {}
        self._doubts: list[str] = []
        module = types.ModuleType("__main__")
        self._top = vars(module)
        self._top |= {"__name__": "__main__", "__doc__": None, "__annotations__": {}}
        sys.modules["__main__"] = module
        builtin_names.BUILTINS[_SHOW] = _show
        builtin_names.BUILTINS["compile"] = _compile
        builtin_names.set_evaluator(_with_compiled(evaluator))
        sys.stdout = _at_once(sys.stdout, "surrogateescape")
        sys.stderr = _at_once(sys.stderr, "backslashreplace")
        self._go_on_guessing()
        # suggestions are made where the interpreter itself shows an error, not where a session's tool does
        cast(Any, tracebacks).suggestion = lambda error, frame: ""

    def _go_on_guessing(self) -> None:
        """Doubt, instead of giving up, where something differs between runs."""
        rolls, orders = cast(Any, imports), cast(Any, order)

        def roll() -> None:
            self._doubts.append("random numbers without a seed")
            random.seed(0)

        rolls._guess_seed = roll
        orders._give_up = lambda: self._doubts.append("the result depends on the order of a set of strings")
        ask = self._world.ask

        def asking(operation: str, path: Any, *rest: Any, **options: Any) -> Any:
            found = ask(operation, path, *rest, **options)
            if operation == "list" and len(found) > 1 and not self._sorting:
                self._doubts.append("the order of a directory's entries")
            return found

        cast(Any, self._world).ask = asking
        self._world.sorts = True
        self._sorting = True

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
            access.set_clock(datetime.datetime.fromtimestamp(cell["now"], datetime.timezone.utc))  # noqa: UP017
            outcome = self._cell(cell, last=cell is cells[-1])
        text = b"".join(written).decode("latin-1")
        return {**outcome, "stdout": text, "slept": sum(imports.slept), "doubts": sorted(set(self._doubts))}

    def _cell(self, cell: dict[str, Any], *, last: bool) -> dict[str, Any]:
        self._doubts.clear()
        how: str = cell["how"]
        try:
            source, tree = _parsed(cell["source"], f"<cell {cell['number']}>")
        except SyntaxError as error:
            if sys.version_info[:2] != (3, 11):
                abstain("a syntax error, worded by another Python version")
            sys.stderr.write("".join(traceback.format_exception_only(error)))
            return {"status": 1, "error": type(error).__name__}
        bound, used = _names(tree)
        changed = _changed(tree)
        vague = used & self._vague
        if vague and how == "run":
            if last:
                abstain(f"{min(vague)} is not known")
            how = "skip"
        defined = {name for node in tree.body if isinstance(node, _DEFINITIONS) for name in _names(node)[0]}
        if how == "skip":
            self._define(source, tree)
            tree.body = []
        self._doubts += [self._doubted[name] for name in used if name in self._doubted]
        self._sorting = self._uses(tree, {"sorted", "sort"})
        outcome = self._attempt(source, tree, tolerant=how != "run")
        self._remember(how, bound - defined, changed)
        return outcome

    def _define(self, source: Source, tree: ast.Module) -> None:
        """Run the definitions of a cell, each for itself."""
        for node in tree.body:
            if isinstance(node, _DEFINITIONS):
                self._attempt(source, ast.Module([node], []), tolerant=True)

    def _remember(self, how: str, bound: set[str], changed: set[str]) -> None:
        """Note which names are vague or doubtful after a cell."""
        if how == "run":
            self._vague -= bound
        else:
            self._vague |= bound | changed
        for name in bound:
            self._doubted.pop(name, None)
        if self._doubts:
            self._doubted |= dict.fromkeys(bound | changed, self._doubts[0])

    def _attempt(self, source: Source, tree: ast.Module, *, tolerant: bool) -> dict[str, Any]:
        """Run a cell's statements; where `tolerant`, go on after what is not supported."""
        _hand_over(tree)
        frame = Frame(Code("<module>", source), self._top, None, self._top)
        error: BaseException | None = None

        def run() -> None:
            with Noting(frame):
                Compiler(source, Scope("module", None), uses_sets=True).body(tree.body)(frame)

        try:
            _, error = attempt(run)
        except Abstain:
            if not tolerant:
                raise
            forgive()
        if isinstance(error, SystemExit):
            sys.stderr.write(f"SystemExit: {error.code}\n" if error.code is not None else "SystemExit\n")
            return {"status": 0 if error.code in (None, 0) else 1, "error": "SystemExit"}
        if error is not None:
            if sys.version_info[:2] != (3, 11):
                abstain("a traceback, worded by another Python version")
            sys.stderr.write(tracebacks.format_error(error))
            return {"status": 1, "error": type(error).__name__}
        if abstained():
            if not tolerant:
                abstain(str(abstained()))
            forgive()
        return {"status": 0}


def _parsed(text: str, name: str) -> tuple[Source, ast.Module]:
    """Parse a cell and see whether it compiles: all but a last expression first, then that.

    Raises:
        SyntaxError: With the source line only where the parser itself gave it, as in reality.
    """
    source = Source(name, text.splitlines())
    tree, found = parse(text, name)
    show_compiler_warnings(found, source)
    _share_constants(tree)
    first = tree.body[0] if tree.body else None
    source.deferred = (
        isinstance(first, ast.ImportFrom)
        and first.module == "__future__"
        and any(alias.name == "annotations" for alias in first.names)
    )
    return source, tree


class _Compiled:
    """What `compile` gives; `eval` and `exec` take it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        abstain("how a code object shows itself")


def _compile(source: Any, filename: Any, mode: Any) -> _Compiled:
    if not isinstance(source, str) or mode not in ("eval", "exec"):
        abstain("an unusual call of compile")
    try:
        ast.parse(source.strip(" \t") if mode == "eval" else source, filename, mode)
    except SyntaxError as error:
        raise error.with_traceback(None) from None
    return _Compiled(source)


_compile.__name__ = _compile.__qualname__ = "compile"


def _with_compiled(evaluator: Any) -> Any:
    """What `eval` and `exec` run with, for texts and for what was compiled."""

    def evaluate(text: Any, *others: Any) -> Any:
        return evaluator(text.text if isinstance(text, _Compiled) else text, *others)

    return evaluate


def _share_constants(tree: ast.AST) -> None:
    """Let equal texts and numbers of a cell be one object, as the compiler does."""
    pool: dict[tuple[type, Any], Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes, int, float)):
            node.value = pool.setdefault((type(node.value), repr(node.value)), node.value)


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names that statements bind at their own level, and those of the module that they use anywhere."""
    scope = Scope("module", None)
    scope.bind_targets(cast(ast.expr, tree))
    used: set[str] = set()
    _collect(tree, frozenset(), used)
    return set(scope.names), used


_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _collect(node: ast.AST, local: frozenset[str], used: set[str]) -> None:
    """Collect the names that are read and are no local names of a function or comprehension."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
        used.add(node.id)
    if isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS)):
        inner = Scope("function", None)
        if isinstance(node, _FUNCTIONS):
            body = node.body if isinstance(node.body, list) else [node.body]
            arguments = [one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)]
            inner = Scope("function", None, body, arguments)
        else:
            for part in node.generators:
                inner.bind_targets(part.target)
        local = local | frozenset(inner.names)
    for child in ast.iter_child_nodes(node):
        _collect(child, local, used)


def _changed(tree: ast.AST) -> set[str]:
    """Names whose objects a cell may change: a method is called or a part is set."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Subscript):
            base: ast.AST = node
            while isinstance(base, ast.Attribute | ast.Subscript | ast.Call):
                if isinstance(base, ast.Call) and isinstance(base.func, ast.Name):
                    break  # what a function gives is not what its name stands for
                base = base.func if isinstance(base, ast.Call) else base.value
            if isinstance(base, ast.Name) and base.id not in imports.MODULES and base.id not in builtin_names.BUILTINS:
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
    sys.stdout.write(_shown(value) + "\n")
    builtin_names.BUILTINS["_"] = value


def _shown(value: Any) -> str:
    """The text of a value; what stands for a builtin shows itself as that."""
    name = getattr(value, "__name__", None)
    if isinstance(value, types.ModuleType):
        abstain("how a module shows itself")
    if isinstance(name, str) and builtin_names.BUILTINS.get(name) is value and not isinstance(value, type):
        if name in ("exit", "quit"):
            return f"Use {name}() or Ctrl-D (i.e. EOF) to exit"
        return f"<built-in function {name}>"
    order.check_text(value)
    return repr(value)


def _at_once(stream: Any, errors: str) -> Any:
    """A stream that writes at once, as Python's own do with `-u`."""
    return io.TextIOWrapper(cast(Any, stream.sink), "utf-8", errors, write_through=True)
