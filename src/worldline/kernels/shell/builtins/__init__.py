"""Commands of our own: one module per family, each with a table `COMMANDS` of name -> function."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from worldline.kernels.shell.builtins.base import Builtin

__all__ = ["commands"]


@cache
def commands() -> dict[str, Builtin]:
    """Collect the commands of every module in this package, sorted by name.

    Raises:
        ValueError: Two modules offer the same command.
    """
    found: dict[str, Builtin] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda entry: entry.name):
        offered: dict[str, Builtin] = getattr(importlib.import_module(f"{__name__}.{module.name}"), "COMMANDS", {})
        doubled = sorted(found.keys() & offered.keys())
        if doubled:
            raise ValueError(f"{module.name} offers {', '.join(doubled)}, which another module offers too")
        found.update(offered)
    return dict(sorted(found.items()))
