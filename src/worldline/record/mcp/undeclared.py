"""What servers hold beyond the declaration of a world that says it is not complete."""

from __future__ import annotations

from worldline.domains.mcp.state import McpState
from worldline.record.sandbox import Surroundings

__all__ = ["with_undeclared"]


def with_undeclared(state: McpState, around: Surroundings) -> McpState:
    """Add to each server that is not `complete` content that is drawn from the surroundings."""
    return state
