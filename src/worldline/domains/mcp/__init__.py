"""Servers of the Model Context Protocol: an agent calls their tools."""

from __future__ import annotations

from worldline.domains.mcp.state import McpState
from worldline.domains.tools import ToolDomain

__all__ = ["MCP", "McpState"]

MCP = ToolDomain(name="mcp", state=McpState, package="worldline.domains.mcp")
"""The domain with its built-in prompts."""
