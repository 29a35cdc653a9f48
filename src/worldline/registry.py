"""Look-up of built-in and plugged-in parts by name, importing a part only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from worldline.errors import unknown_name

__all__ = ["Registry"]


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
        return sorted({*self._built_in, *(point.name for point in entry_points(group=self.group))})

    def load(self, name: str) -> Any:
        """Import and return the part called `name`.

        Raises:
            ConfigError: There is none; the hint lists those there are.
        """
        if name in self._built_in:
            module, attribute = self._built_in[name].split(":")
            return getattr(import_module(module), attribute)
        for point in entry_points(group=self.group):
            if point.name == name:
                return point.load()
        raise unknown_name(self.kind, name, self.names())
