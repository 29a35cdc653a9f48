"""Python's prompt: statements are read from the terminal, run one by one, and expressions shown."""

# A statement may raise anything.

from __future__ import annotations

import ast
import codeop
import sys
import types
import warnings
from collections.abc import Iterable
from typing import Any, cast

from . import builtin_names, programs, tracebacks
from .frames import Abstain, Code, Frame, Noting, Source, abstain, abstained, forgive
from .scope import Scope
from .statements import Compiler
from .terminal import TypedInput, note_unsure
from .uncaught import attempt

__all__ = ["interact"]

_vague: set[str] = set()
"""Names of which it is not known what they stand for."""
_SHOW = "__worldline_show__"
_EXITS = {"exit": "Use exit() or Ctrl-D (i.e. EOF) to exit", "quit": "Use quit() or Ctrl-D (i.e. EOF) to exit"}


def interact(top: dict[str, Any]) -> int:
    """Read and run statements until the end of the input or `exit()`; give the exit status.

    Args:
        top: The names of `__main__`.
    """
    builtin_names.BUILTINS[_SHOW] = _show
    read = codeop.CommandCompiler()
    while True:
        try:
            text = _statement(read)
        except KeyboardInterrupt:
            _say("\nKeyboardInterrupt\n")
            continue
        except (SyntaxError, OverflowError, ValueError) as error:
            _complain(error)
            continue
        if text is None:
            _say("\n")
            return 0
        status = _run(text, top)
        if status is not None:
            return status


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _line(prompt: str) -> str:
    _say(prompt)
    assert isinstance(sys.stdin, TypedInput)
    return sys.stdin.readline()


def _statement(read: codeop.CommandCompiler) -> str | None:
    """Read lines until they are a whole statement; None at the end of the input."""
    lines = ""
    while True:
        line = _line("... " if lines else ">>> ")
        if not line:
            if not lines:
                return None
            _say("\n")
            return lines
        if not lines and (not line.strip() or line.lstrip().startswith("#")):
            continue
        lines += line
        if _whole(lines, read):
            return lines


def _whole(lines: str, read: codeop.CommandCompiler) -> bool:
    """Whether lines are a whole statement.

    Raises:
        SyntaxError: They never will be.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(lines.removesuffix("\n"), "<stdin>", "single") is not None
        except SyntaxError:
            ast.parse(lines, "<stdin>", "single")  # shows the place as it is with the end of the line
            raise


def _complain(error: BaseException) -> None:
    if sys.version_info[:2] != (3, 11) or not isinstance(error, SyntaxError):
        abstain("a syntax error, worded by another Python version")
    sys.stderr.write(tracebacks.format_syntax_error(error))


def _run(text: str, top: dict[str, Any]) -> int | None:
    """Run one statement; give the exit status where it leaves."""
    source = Source("<stdin>", [])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, "<stdin>", "single")
            compile(tree, "<stdin>", "single", dont_inherit=True)
    except SyntaxError as error:
        if error.text is None and error.lineno and error.lineno <= text.count("\n"):
            error.text = text.splitlines(keepends=True)[error.lineno - 1]
        _complain(error.with_traceback(None))
        return None
    said = [_EXITS[name] for name in _bare_names(tree) if name in _EXITS and name not in top]
    if said and len(tree.body) > 1:
        abstain("exit among other statements")
    if said:
        _say(f"{said[0]}\n")
        return None
    tree = ast.fix_missing_locations(_Showing().visit(tree))
    bound, loaded = _names(tree)
    if loaded & _vague:
        _give_up(bound)
        return None
    frame = Frame(Code("<module>", source), top, None, top)

    def run() -> None:
        with Noting(frame):
            Compiler(source, Scope("module", None), uses_sets=True).body(tree.body)(frame)

    try:
        _, ended = attempt(run)
    except Abstain:
        _give_up(bound)
        return None
    if isinstance(ended, SystemExit):
        sys.stdout.flush()
        return programs.status_of(ended.code)
    if ended is not None:
        sys.stdout.flush()
        shown = tracebacks.format_error(ended)
        reading = isinstance(ended, KeyboardInterrupt) and not hasattr(ended, "asleep")
        sys.stderr.write(("\n" if reading else "") + shown)
    sys.stdout.flush()
    if abstained():
        _give_up(bound)
    else:
        _vague.difference_update(bound)
    return None


def _give_up(names: Iterable[str]) -> None:
    """Go on after a statement of which it is not known what it does: the names that it binds are vague."""
    forgive()
    sys.stdout.flush()
    note_unsure()
    _vague.update(names)


def _names(tree: ast.Interactive) -> tuple[set[str], set[str]]:
    """The names that statements bind, and those that they use."""
    scope = Scope("module", None)
    scope.bind_targets(cast(ast.expr, tree))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return set(scope.names), used


def _bare_names(tree: ast.Interactive) -> list[str]:
    """Names that stand alone as statements."""
    values = [node.value for node in tree.body if isinstance(node, ast.Expr)]
    return [value.id for value in values if isinstance(value, ast.Name)]


class _Showing(ast.NodeTransformer):
    """Hands the value of each expression statement of the prompt to what shows it."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = ast.Call(ast.copy_location(ast.Name(_SHOW, ast.Load()), node.value), [node.value], [])
        return ast.copy_location(ast.Expr(ast.copy_location(call, node.value)), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def _show(value: Any) -> None:
    if value is None:
        return
    builtin_names.BUILTINS.pop("_", None)
    if isinstance(value, (types.BuiltinFunctionType, types.ModuleType)):
        abstain("how a built-in object shows itself")
    sys.stdout.write(repr(value) + "\n")
    builtin_names.BUILTINS["_"] = value
