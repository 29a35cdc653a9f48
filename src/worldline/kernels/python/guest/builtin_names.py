"""The builtin names of a script."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from . import access
from .frames import Frame, abstain

__all__ = ["BUILTINS", "FrameCall", "Volatile", "set_evaluator"]

_PLAIN = [
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "complex",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "hex",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "oct",
    "ord",
    "property",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
    "NotImplemented",
    "Ellipsis",
    "None",
    "True",
    "False",
    "__debug__",
]


class FrameCall:
    """A builtin that needs the calling frame."""

    def __init__(self, name: str, run: Callable[[Frame, list[Any], dict[str, Any]], Any]) -> None:
        self.__name__ = name
        self.run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        abstain(f"{self.__name__} called from library code")


_evaluator: list[Callable[[Any, Frame, dict[str, Any] | None, dict[str, Any] | None, str], Any]] = []


def set_evaluator(
    evaluate: Callable[[Any, Frame, dict[str, Any] | None, dict[str, Any] | None, str], Any],
) -> None:
    """Set what runs the text given to `eval` and `exec`."""
    _evaluator[:] = [evaluate]


def _super(f: Frame, args: list[Any], named: dict[str, Any]) -> Any:
    if args:
        return super(*args)
    if f.cell is None or f.first is None:
        raise RuntimeError("super(): no arguments")
    return super(f.cell.cell_contents, f.first)


def _eval(mode: str) -> Callable[[Frame, list[Any], dict[str, Any]], Any]:
    def run(f: Frame, args: list[Any], named: dict[str, Any]) -> Any:
        if named or not 1 <= len(args) <= 3:
            abstain(f"an unusual call of {mode}")
        text, top, local = [*args, None, None][:3]
        return _evaluator[0](text, f, top, local, mode)

    return run


def _vars(f: Frame, args: list[Any], named: dict[str, Any]) -> Any:
    if not args:
        return dict(f.vars)
    if not hasattr(args[0], "__dict__"):
        raise TypeError("vars() argument must have __dict__ attribute")
    return access.load(args[0], "__dict__")


def _dir(f: Frame, args: list[Any], named: dict[str, Any]) -> Any:
    return dir(args[0]) if args else sorted(f.vars)


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    if not isinstance(name, str):
        raise TypeError("attribute name must be string, not '" + type(name).__name__ + "'")
    if len(default) == 1:
        try:
            return access.load(owner, name)
        except AttributeError:
            return default[0]
    return access.load(owner, name)


def _hasattr(owner: Any, name: str) -> bool:
    return hasattr(owner, name)


def _setattr(owner: Any, name: str, value: Any) -> None:
    access.store(owner, name, value)


def _delattr(owner: Any, name: str) -> None:
    access.delete(owner, name)


def _input(prompt: Any = "") -> str:
    sys.stdout.write(str(prompt))
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line and sys.stdin.isatty():
        raise EOFError
    if not line:
        raise EOFError("EOF when reading a line")
    return line.rstrip("\n")


class Volatile(int):
    """A number that differs between runs (a hash, an id, a process id): good for comparing, not for showing."""

    def _refuse(self, *args: Any) -> Any:
        abstain("a number that differs between runs")

    __repr__ = __str__ = __format__ = __mod__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __and__ = _refuse
    __xor__ = __rxor__ = __or__ = __rshift__ = __floordiv__ = __index__ = _refuse

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return int.__eq__(self, other) is True


def _stable(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, tuple) and all(_stable(item) for item in value))


def _hash(f: Frame, args: list[Any], named: dict[str, Any]) -> int:
    result = hash(*args)
    return result if _stable(args[0]) or f.code.name == "__hash__" else Volatile(result)


def _pow(base: Any, exponent: Any, mod: Any = None) -> Any:
    if mod is not None:
        return pow(base, exponent, mod)
    from .expressions import checked_power

    return checked_power(base, exponent)


class _Helper:
    """`help`, whose texts are not known."""

    def __repr__(self) -> str:
        return "Type help() for interactive help, or help(object) for help about object."

    def __call__(self, *args: Any, **named: Any) -> None:
        abstain("what help() shows")


def _exit(code: Any = None) -> None:
    raise SystemExit(code)


def _renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


def _make() -> dict[str, Any]:
    names: dict[str, Any] = {name: getattr(builtins, name) for name in _PLAIN if hasattr(builtins, name)}
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            names[name] = value
    framed = {"super": _super, "eval": _eval("eval"), "exec": _eval("exec"), "vars": _vars, "dir": _dir, "hash": _hash}
    for name, run in framed.items():
        names[name] = FrameCall(name, run)
    names["locals"] = FrameCall("locals", lambda f, args, named: f.vars if f.vars is f.top else dict(f.vars))
    names["globals"] = FrameCall("globals", lambda f, args, named: f.top)
    replaced: dict[str, Callable[..., Any]] = {
        "getattr": _getattr,
        "hasattr": _hasattr,
        "setattr": _setattr,
        "delattr": _delattr,
        "input": _input,
        "pow": _pow,
        "id": lambda value, /: Volatile(id(value)),
        "exit": _exit,
        "quit": _exit,
    }
    for name, function in replaced.items():
        names[name] = _renamed(function, name)
    names["print"] = print
    names["help"] = _Helper()
    return names


BUILTINS: dict[str, Any] = _make()
"""Name to value; `open` is added when the files are there."""
