"""Worlds of MCP servers for the tests, and how their kernels are called."""

from __future__ import annotations

from typing import Any

from worldline.kernels import build_kernel
from worldline.kernels.tools.kernel import McpKernel
from worldline.types import Action, Observation, Turn, WorldSpec

ROOT = "/home/user/files"
REPO = "/home/user/repo"
PAGE = (
    "<html><head><title>T</title></head><body><h1>Title</h1><p>Para <a href='/x'>link</a> and <b>bold</b> a_b.</p>"
    "<ul><li>one</li><li>two</li></ul><table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>"
    "<blockquote>Said</blockquote><pre>x = 1</pre></body></html>"
)


def kernel_of(servers: dict[str, Any], **state: Any) -> McpKernel:
    """Build the kernel of a world that declares these servers."""
    kernel = build_kernel(WorldSpec(domain="mcp", initial_state={"servers": servers, **state}))
    assert isinstance(kernel, McpKernel)
    return kernel


def files_kernel(files: dict[str, Any] | None = None, **server: Any) -> McpKernel:
    """Build a filesystem server with some files below its root."""
    placed = {f"{ROOT}/{name}": content for name, content in (files or {}).items()}
    return kernel_of({"files": {"kind": "filesystem", "roots": [ROOT], **server}}, files=placed)


def everything_kernel(**state: Any) -> McpKernel:
    """Build a world in which each kind of server has something."""
    commits = [{"message": "init", "files": {"a.txt": "one\n"}}, {"message": "more", "files": {"b.txt": "two\n"}}]
    servers = {
        "files": {"kind": "filesystem", "roots": [ROOT]},
        "memory": {"kind": "memory", "entities": [{"name": "e", "entityType": "t", "observations": ["o"]}]},
        "git": {"kind": "git", "repositories": {REPO: {"commits": commits, "working": {"a.txt": "uno\n"}}}},
        "time": {"kind": "time"},
        "sqlite": {"kind": "sqlite", "setup": "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x')"},
        "duck": {"kind": "duckdb", "setup": "CREATE TABLE d(a INTEGER); INSERT INTO d VALUES (1)"},
        "every": {"kind": "everything"},
        "think": {"kind": "sequentialthinking"},
        "web": {"kind": "fetch", "pages": {"/": PAGE, "/t": {"body": "plain", "content_type": "text/plain"}}},
    }
    files = {f"{ROOT}/a.txt": "alpha\nbeta\n", f"{ROOT}/sub/b.md": "# b\n"}
    return kernel_of(servers, files=files, clock="2026-03-04T05:06:07Z", **state)


def ask(kernel: McpKernel, tool: str, **arguments: Any) -> str:
    """Call a tool, keep what it changes, and return the text; an error begins with `!`, a guess with `?`."""
    proposal = kernel.propose(Action(name=tool, arguments=arguments))
    kernel.accept()
    mark = "" if proposal.known else "?"
    return f"{mark}{'!' if proposal.observation.is_error else ''}{proposal.observation.text}"


def tell(kernel: McpKernel, tool: str, text: str, *, failed: bool = False, **arguments: Any) -> None:
    """Let the kernel absorb what reality answered."""
    observation = Observation.from_text(text, is_error=failed)
    kernel.absorb(Turn(action=Action(name=tool, arguments=arguments), observation=observation))
