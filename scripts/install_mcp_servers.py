#!/usr/bin/env python3
"""Install the MCP servers that `worldline record mcp` records, in the versions of the shipped recordings.

    python3 scripts/install_mcp_servers.py [DIRECTORY]

The directory is that of `WORLDLINE_MCP_HOME`, by default `mcp-servers` in the user's data folder. Packages come from
wherever this user's pip and npm take theirs. The servers run in a box that sees `/usr` only, so that Python must be
there (`apt-get install python3-venv`); a Node that is not `/usr/bin/node` is copied. `--only python` leaves the Node
servers out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = Path("/usr/bin/python3")
SYSTEM_NODE = Path("/usr/bin/node")
VENVS = {
    "python": [
        *["mcp==2.3.0", "mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"],
        # what shapes answers: words of errors, time zones, diffs, pages as Markdown
        *["pydantic==2.14.4", "tzdata==2026.6", "GitPython==3.2.1", "httpx==0.28.1", "markdownify==1.2.3"],
        *["readabilipy==0.3.0", "beautifulsoup4==4.15.0", "html5lib==1.1", "lxml==6.1.3"],
    ],
    "python1": [  # these two break with mcp 2
        *["mcp==1.30.0", "mcp-server-sqlite==2025.4.25", "mcp-server-duckdb==1.1.0"],
        *["duckdb==2.0.1", "jsonschema==4.26.0"],
    ],
}
NODE = [
    *(f"@modelcontextprotocol/server-{name}@2026.8.31" for name in ("filesystem", "memory", "everything")),
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    *["@modelcontextprotocol/sdk@1.32.2", "zod@4.6.7", "diff@8.0.4", "minimatch@10.2.6"],
]


def main() -> None:
    """Install what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, default=_default())
    parser.add_argument("--only", choices=["python", "node"])
    args = parser.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    if args.only != "node":
        if not PYTHON.exists():
            sys.exit(f"{PYTHON} is missing: apt-get install python3-venv")
        for name, packages in VENVS.items():
            place = args.directory / name
            subprocess.run([PYTHON, "-m", "venv", place], check=True)
            subprocess.run([place / "bin/pip", "install", "--quiet", *packages], check=True)
    if args.only != "python":
        _install_node(args.directory / "node")
    print(args.directory)


def _default() -> Path:
    given = os.environ.get("WORLDLINE_MCP_HOME")
    if given:
        return Path(given)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local/share") / "worldline" / "mcp-servers"


def _install_node(place: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        sys.exit("node and npm are missing: apt-get install nodejs npm (Node 20 or newer)")
    place.mkdir(exist_ok=True)
    (place / "package.json").write_text('{"private": true}\n')
    subprocess.run([npm, "install", "--no-audit", "--no-fund", "--loglevel=error", *NODE], cwd=place, check=True)
    if Path(node).resolve() != SYSTEM_NODE.resolve():
        (place / "bin").mkdir(exist_ok=True)
        shutil.copy(Path(node).resolve(), place / "bin/node")


if __name__ == "__main__":
    main()
