"""The tools of the known kinds of servers, as the real servers list them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from worldline.domains.mcp.state import CommandServer, McpState, Server, TimeServer
from worldline.types import ToolSpec

__all__ = ["listed_version", "server_tools", "world_tools"]


def world_tools(state: McpState) -> tuple[ToolSpec, ...]:
    """Return the tools of all servers under the names by which an agent calls them.

    A server of kind `command` has none here: only it knows them, and a world file lists them.
    """
    return tuple(
        tool.model_copy(update={"name": state.full_name(name, tool.name)})
        for name, server in state.servers.items()
        for tool in server_tools(server)
    )


def server_tools(server: Server) -> tuple[ToolSpec, ...]:
    """Return the tools of a server under its own names."""
    if isinstance(server, CommandServer):
        return ()
    tools = _listed(server.kind)[1]
    if isinstance(server, TimeServer) and server.local_timezone != "UTC":
        text = json.dumps([tool.model_dump(mode="json") for tool in tools])
        text = text.replace("Use 'UTC' as", f"Use '{server.local_timezone}' as")
        return tuple(ToolSpec.model_validate(tool) for tool in json.loads(text))
    return tools


def listed_version(kind: str) -> str:
    """Return the version of the server whose tools are listed here."""
    return _listed(kind)[0]


@cache
def _listed(kind: str) -> tuple[str, tuple[ToolSpec, ...]]:
    listing = json.loads(files("worldline.domains.mcp").joinpath("servers", f"{kind}.json").read_text("utf-8"))
    return listing["version"], tuple(ToolSpec.model_validate(tool) for tool in listing["tools"])
