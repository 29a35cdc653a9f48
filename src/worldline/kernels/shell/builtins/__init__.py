"""Commands of our own, a folder per kind: each module has a table `COMMANDS` of name -> function.

`base` says what a command gets and gives, `shared` holds what several commands need.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from worldline.kernels.shell.builtins.base import Builtin

__all__ = ["commands", "offers"]


@cache
def commands() -> dict[str, Builtin]:
    """Collect the commands of every module in this package, sorted by name; the first module to offer one wins."""
    found: dict[str, Builtin] = {}
    for offered in offers().values():
        found = {**offered, **found}
    return dict(sorted(found.items()))


@cache
def offers() -> dict[str, dict[str, Builtin]]:
    """The table of commands of each module, by module name."""
    names = sorted(module.name for module in pkgutil.walk_packages(__path__, f"{__name__}.") if not module.ispkg)
    return {name.removeprefix(f"{__name__}."): getattr(importlib.import_module(name), "COMMANDS", {}) for name in names}
