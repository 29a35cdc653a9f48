"""Look-up of built-in and plugged-in parts by name, importing a part only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from worldline.errors import unknown_name

__all__ = ["Registry"]


@cache
def _plugged_in(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; looked up once, for that reads the records of all packages."""
    return {point.name: point for point in entry_points(group=group)}


class Registry:
    """Parts of one kind: built in as `module:attribute` strings, plugged in through an entry point group.

    Args:
        kind: What one part is called in messages ("domain").
        group: Entry point group of third-party packages ("worldline.domains").
        built_in: Name to `module:attribute`.
    """

    def __init__(self, kind: str, group: str, built_in: Mapping[str, str]) -> None:
        self.kind = kind
        self.group = group
        self._built_in = dict(built_in)

    def names(self) -> list[str]:
        """Return all known names, sorted."""
        return sorted({*self._built_in, *_plugged_in(self.group)})

    def load(self, name: str) -> Any:
        """Import and return the part called `name`.

        Raises:
            ConfigError: There is none; the hint lists those there are.
        """
        if name in self._built_in:
            module, attribute = self._built_in[name].split(":")
            return getattr(import_module(module), attribute)
        if name in _plugged_in(self.group):
            return _plugged_in(self.group)[name].load()
        raise unknown_name(self.kind, name, self.names())
