"""Parsing a source text as the compiler does, with the warnings that it gives."""

from __future__ import annotations

import ast
import warnings

from . import seal
from .frames import abstain

__all__ = ["parse"]


def parse(text: str, name: str) -> tuple[ast.Module, list[warnings.WarningMessage]]:
    """Parse a text and see whether it compiles.

    Args:
        text: The source.
        name: The file's name, for errors.

    Raises:
        SyntaxError: With the source line only where the parser itself gave it.
        Abstain: It is too deep or odd to parse.
    """
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            seal.parsing.on = True
            tree = ast.parse(text, name)
            compile(tree, name, "exec", dont_inherit=True)
        except SyntaxError as error:
            raise error.with_traceback(None) from None
        except (RecursionError, MemoryError, ValueError):
            abstain("a source too deep or odd to parse")
        finally:
            seal.parsing.on = False
    return tree, found
