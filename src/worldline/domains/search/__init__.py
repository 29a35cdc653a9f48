"""A search engine: an agent searches, opens pages and keeps notes."""

from __future__ import annotations

from worldline.domains.search.state import SearchState
from worldline.domains.tools import ToolDomain

__all__ = ["SEARCH", "SearchState"]

SEARCH = ToolDomain(name="search", state=SearchState, package="worldline.domains.search")
"""The domain with its built-in prompts."""
