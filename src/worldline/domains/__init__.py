"""Domains: one package per kind of environment, looked up by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from worldline.domains.base import Comparison, Domain
from worldline.errors import unknown_name

__all__ = ["Comparison", "Domain", "domain_names", "get_domain"]

_BUILT_IN = {"terminal": "worldline.domains.terminal:TERMINAL"}
ENTRY_POINT_GROUP = "worldline.domains"


def domain_names() -> list[str]:
    """Return the names of all domains, built in and from plug-ins."""
    return sorted({*_BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))})


@cache
def get_domain(name: str) -> Domain:
    """Return the domain called `name`.

    Raises:
        ConfigError: There is none; the hint lists those there are.
    """
    if name in _BUILT_IN:
        module, attribute = _BUILT_IN[name].split(":")
        return cast(Domain, getattr(import_module(module), attribute))
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name == name:
            return cast(Domain, point.load())
    raise unknown_name("domain", name, domain_names())
