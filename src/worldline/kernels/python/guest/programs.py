"""Modules of the library that are programs: `python3 -m json.tool` and its like."""

from __future__ import annotations

import importlib
import sys
import types
import unittest
import unittest.loader
from collections.abc import Callable
from typing import Any

from . import imports, tracebacks
from .files import write_cache
from .frames import abstain
from .uncaught import attempt

__all__ = ["PROGRAMS", "run", "status_of"]

PROGRAMS = ("json.tool", "calendar", "base64", "py_compile", "unittest")


def run(name: str, parse: Callable[[str, str, bool], Any]) -> int:
    """Run a program of the library; give its exit status.

    Args:
        name: One of `PROGRAMS`.
        parse: Compiles a source text of a file, raising SyntaxError.
    """
    status, error = attempt(lambda: _run(name, parse))
    if isinstance(error, SystemExit):
        return status_of(error.code)
    if error is not None:
        abstain(f"{type(error).__name__} in {name}")
    return status or 0


def _run(name: str, parse: Callable[[str, str, bool], Any]) -> int:
    if name == "py_compile":
        return _py_compile(parse)
    if name == "unittest":
        _unittest()
    else:
        importlib.import_module(name).main(*([sys.argv] if name == "calendar" else []))
    return 0


def status_of(code: Any) -> int:
    """The exit status for what was given to `sys.exit`; a text is shown."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _py_compile(parse: Callable[[str, str, bool], Any]) -> int:
    names = sys.argv[1:]
    if not names or any(name.startswith("-") for name in names):
        abstain("an unusual call of py_compile")
    for name in names:
        try:
            with open(name, encoding="utf-8") as file:  # noqa: PTH123
                text = file.read()
            parse(text, name, True)
        except OSError as error:
            sys.stderr.write(str(error))
            return 1
        except SyntaxError as error:
            if type(error) is SyntaxError:
                sys.stderr.write(tracebacks.format_syntax_error(error))
            else:
                sys.stderr.write(f"Sorry: {type(error).__name__}: {error}")
            return 1
        write_cache(name, text)
    return 0


def _load(name: str) -> None:
    """Import a module, each package before what is in it."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        imports.load(".".join(parts[:count]), whole=True)


def _unittest() -> None:
    def find(name: str, *unused: Any) -> Any:
        _, error = attempt(lambda: _load(name))
        if isinstance(error, ModuleNotFoundError) and name.startswith(f"{error.name}"):
            raise error
        if error is not None:
            abstain(f"{type(error).__name__} while a test module is imported")
        return sys.modules[name.partition(".")[0]] if unused else sys.modules[name]

    loader: Any = unittest.loader
    loader.__dict__["__import__"] = lambda name, *rest: find(name, True)
    # Text of a failed import, which the loader prepares for each name that may be an attribute instead.
    loader.traceback = types.SimpleNamespace(format_exc=lambda: imports.MARKER)
    loader.TestLoader._get_module_from_name = lambda self, name: find(name)
    sys.argv[0] = "python3 -m unittest"
    unittest.main(module=None)
