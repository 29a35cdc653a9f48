"""Servers of the Model Context Protocol: an agent calls their tools."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.domains.mcp.state import McpState
from worldline.domains.mcp.tools import world_tools
from worldline.domains.tools import ToolDomain
from worldline.types import JsonDict, WorldSpec

__all__ = ["MCP", "McpDomain", "McpState"]

_ERRORS = (
    r"(?:MCP error -?\d|Error executing tool |Input validation error: |Unknown tool: |Access denied - "
    r"|E[A-Z]{4,12}: |Error: |\s*\{\s*\"error\"|\d+ validation errors? for |Entity with name .* not found\Z"
    r"|Traceback \(most recent call last\))"
)
"""How the servers' errors begin. The SQL servers answer a failed statement (`Database error: ...`) without the flag."""


@dataclass(frozen=True)
class McpDomain(ToolDomain):
    """Tool worlds in which a world that lists no tools has those of its servers."""

    def _context(self, world: WorldSpec) -> JsonDict:
        if not world.tools:
            state = McpState.model_validate(world.initial_state)
            world = world.model_copy(update={"tools": world_tools(state)})
        return super()._context(world)


MCP = McpDomain(name="mcp", state=McpState, package="worldline.domains.mcp", error_pattern=_ERRORS)
"""The domain with its built-in prompts."""
