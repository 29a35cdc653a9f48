"""Recording real servers of the Model Context Protocol, spoken to over stdio in a box without network."""

from __future__ import annotations

from worldline.record.mcp.environment import McpEnvironment as environment

__all__ = ["environment"]
