"""Which modules the packages of the library hold, so that one that does not exist is known to be missing."""

from __future__ import annotations

import pkgutil
import sys
import types
from collections.abc import Sequence

__all__ = ["note", "refuse_missing"]

_known: set[str] = set()
"""Full names."""


def note(module: types.ModuleType) -> None:
    """Note the modules of a package; done before the process is closed off."""
    _known.update(f"{module.__name__}.{inner.name}" for inner in pkgutil.iter_modules(getattr(module, "__path__", ())))


def refuse_missing(name: str, importable: Sequence[str]) -> None:
    """Raise what importing a library module that does not exist raises; return where that cannot be told.

    Args:
        name: Full name of the module.
        importable: Names of the library modules that can be imported.

    Raises:
        ModuleNotFoundError: Its package, which can be imported, holds no such module.
    """
    parent = name.rpartition(".")[0]
    if parent not in importable or name in _known:
        return
    whole = hasattr(sys.modules[parent], "__path__")
    more = "" if whole else f"; '{parent}' is not a package"
    raise ModuleNotFoundError(f"No module named '{name}'{more}", name=name)
