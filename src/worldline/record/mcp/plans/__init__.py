"""What is recorded of MCP servers: families of worlds, each with a few sessions."""

from __future__ import annotations

from worldline.record.mcp.plans.families import plans

__all__ = ["plans"]
