#!/usr/bin/env python3
"""Ask the installed MCP servers for their tools and write them to `domains/mcp/servers/KIND.json`."""

from __future__ import annotations

import json
from pathlib import Path

from worldline.record.mcp import environment
from worldline.record.mcp.settings import PACKAGES, ServerSettings
from worldline.types import WorldSpec

TARGET = Path(__file__).parents[1] / "src/worldline/domains/mcp/servers"


def main() -> None:
    """Write a file for each kind of server."""
    settings = ServerSettings.from_environment()
    for kind, (_, package) in PACKAGES.items():
        world = WorldSpec(domain="mcp", initial_state={"servers": {"only": {"kind": kind}}})
        with environment(world) as servers:
            tools = [tool.model_dump(mode="json") for tool in servers.tools()]
        listing = {"package": package, "version": settings.version(kind), "licence": "MIT", "tools": tools}
        (TARGET / f"{kind}.json").write_text(json.dumps(listing, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
