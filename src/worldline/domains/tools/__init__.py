"""Worlds whose agents call tools and read text: what `mcp`, `search`, `swe`, `database` and `code` share."""

from __future__ import annotations

from worldline.domains.tools.domain import ToolDomain

__all__ = ["ToolDomain"]
