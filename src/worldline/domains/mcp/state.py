"""What a world file of the domain `mcp` declares."""

from __future__ import annotations

from worldline.types import Frozen

__all__ = ["McpState"]


class McpState(Frozen):
    """`initial_state` of a world of this domain."""
