"""Domains: one package per kind of environment, looked up by name."""

from __future__ import annotations

from functools import cache
from typing import cast

from worldline.domains.base import Comparison, Domain
from worldline.registry import Registry

__all__ = ["DOMAINS", "Comparison", "Domain", "get_domain"]

DOMAINS = Registry("domain", "worldline.domains", {"terminal": "worldline.domains.terminal:TERMINAL"})


@cache
def get_domain(name: str) -> Domain:
    """Return the domain called `name`.

    Raises:
        ConfigError: There is none; the hint lists those there are.
    """
    return cast(Domain, DOMAINS.load(name))
