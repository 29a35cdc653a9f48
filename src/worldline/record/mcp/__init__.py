"""Recording real servers of the Model Context Protocol, spoken to over stdio in a box without network."""

from __future__ import annotations

from worldline.record.mcp.environment import McpEnvironment as environment
from worldline.record.mcp.explore import McpExplorer as explorer
from worldline.record.mcp.plans import plans
from worldline.record.mcp.written import reads_back

__all__ = ["environment", "explorer", "plans", "reads_back"]
