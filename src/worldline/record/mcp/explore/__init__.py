"""Exploring worlds of MCP servers."""

from __future__ import annotations

from worldline.record.mcp.explore.explorer import McpExplorer

__all__ = ["McpExplorer"]
