"""Domains: one package per kind of environment, looked up by name."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import cast

from worldline.domains.base import Comparison, Domain
from worldline.errors import ConfigError
from worldline.registry import Registry

__all__ = ["DOMAINS", "Comparison", "Domain", "get_domain"]

DOMAINS = Registry(
    "domain",
    "worldline.domains",
    {
        "code": "worldline.domains.code:CODE",
        "database": "worldline.domains.database:DATABASE",
        "mcp": "worldline.domains.mcp:MCP",
        "search": "worldline.domains.search:SEARCH",
        "swe": "worldline.domains.swe:SWE",
        "terminal": "worldline.domains.terminal:TERMINAL",
    },
)

_BRIEF, _FULL = Path("brief"), Path("full")
"""In place of a folder of prompts: the domain's prompt for small models, and its own."""


@cache
def get_domain(name: str, prompts: Path | None = None) -> Domain:
    """Return the domain called `name`.

    Args:
        name: A domain of ours or of a plug-in.
        prompts: Folder whose templates replace the domain's own; `brief` for its prompt for small models, `full`
            for its own.

    Raises:
        ConfigError: There is none, the hint lists those there are; or its prompts cannot be replaced.
    """
    domain = cast(Domain, DOMAINS.load(name))
    if prompts is None or prompts == _FULL:
        return domain
    brief = prompts == _BRIEF and hasattr(domain, "brief")
    if not brief and not prompts.is_dir():
        raise ConfigError(f"there is no folder {prompts}", hint="give a folder that holds prompt templates")
    if not hasattr(domain, "with_prompts"):
        raise ConfigError(f"the domain {name} has no prompt templates to replace")
    return cast(Domain, domain.with_prompts(prompts))
