"""Where the servers are installed on this machine, and how long they may take: from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from worldline.errors import ConfigError, SandboxError

__all__ = ["HOME_VARIABLE", "MOUNTS_VARIABLE", "PACKAGES", "TIMEOUT_VARIABLE", "ServerSettings"]

HOME_VARIABLE = "WORLDLINE_MCP_HOME"
"""Directory in which `scripts/install_mcp_servers.py` put the servers."""
MOUNTS_VARIABLE = "WORLDLINE_MCP_MOUNTS"
"""Further host directories that the servers' box sees, read-only, at their own paths; separated by colons."""
TIMEOUT_VARIABLE = "WORLDLINE_MCP_TIMEOUT"
"""Seconds that a call may take."""

PACKAGES = {
    "filesystem": ("node", "@modelcontextprotocol/server-filesystem"),
    "memory": ("node", "@modelcontextprotocol/server-memory"),
    "everything": ("node", "@modelcontextprotocol/server-everything"),
    "sequentialthinking": ("node", "@modelcontextprotocol/server-sequential-thinking"),
    "time": ("python", "mcp-server-time"),
    "git": ("python", "mcp-server-git"),
    "fetch": ("python", "mcp-server-fetch"),
    "sqlite": ("python1", "mcp-server-sqlite"),
    "duckdb": ("python1", "mcp-server-duckdb"),
}
"""Folder of the server home and package, by kind of server."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How servers are found and how long they may take."""

    home: Path
    mounts: tuple[Path, ...] = ()
    timeout: float = 30.0

    @classmethod
    def from_environment(cls) -> ServerSettings:
        """Read the settings.

        Raises:
            ConfigError: A value is wrong.
        """
        default = Path(platformdirs.user_data_dir("worldline")) / "mcp-servers"
        mounts = [Path(part) for part in os.environ.get(MOUNTS_VARIABLE, "").split(":") if part]
        for mount in mounts:
            if not mount.is_absolute() or not mount.exists():
                raise ConfigError(f"{MOUNTS_VARIABLE}: {mount} is no absolute path of something that exists")
        try:
            timeout = float(os.environ.get(TIMEOUT_VARIABLE, "30"))
        except ValueError as exc:
            raise ConfigError(f"{TIMEOUT_VARIABLE} is not a number of seconds") from exc
        return cls(Path(os.environ.get(HOME_VARIABLE) or default), tuple(mounts), timeout)

    def version(self, kind: str) -> str:
        """Return the installed version of a kind of server.

        Raises:
            SandboxError: It is not installed.
        """
        version = _version(self.home, kind)
        if version is None:
            raise SandboxError(
                f"the {kind} server is not installed in {self.home}",
                hint=f"python3 scripts/install_mcp_servers.py, or set {HOME_VARIABLE}",
            )
        return version

    def program(self, kind: str) -> Path:
        """Return the program of this machine that runs a kind of server; it need not exist."""
        folder, _ = PACKAGES[kind]
        if folder != "node":
            return self.home / folder / "bin/python"
        own = self.home / "node/bin/node"
        return own if own.exists() else Path("/usr/bin/node")


@cache
def _version(home: Path, kind: str) -> str | None:
    folder, package = PACKAGES[kind]
    if folder == "node":
        import json

        manifest = home / folder / "node_modules" / package / "package.json"
        return str(json.loads(manifest.read_text("utf-8"))["version"]) if manifest.exists() else None
    pattern = f"lib/python3*/site-packages/{package.replace('-', '_')}-*.dist-info"
    found = sorted((home / folder).glob(pattern))
    return found[-1].name.removesuffix(".dist-info").rpartition("-")[2] if found else None
