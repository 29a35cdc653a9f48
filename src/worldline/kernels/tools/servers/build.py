"""Builds the machine and the servers that a world declares."""

from __future__ import annotations

from dataclasses import replace

from worldline.domains.mcp.state import (
    HOME,
    DuckdbServer,
    EverythingServer,
    FetchServer,
    FilesystemServer,
    GitServer,
    McpState,
    MemoryServer,
    SequentialThinkingServer,
    Server,
    SqliteServer,
    TimeServer,
)
from worldline.domains.terminal.state import FileSpec
from worldline.errors import ConfigError
from worldline.kernels.shell.table import STANDARD_DIRECTORIES, STANDARD_LINKS
from worldline.kernels.tools.base import ServerKernel
from worldline.kernels.tools.servers.duckdb import DuckdbKernel
from worldline.kernels.tools.servers.everything import EverythingKernel
from worldline.kernels.tools.servers.fetch import FetchKernel
from worldline.kernels.tools.servers.filesystem import FilesystemKernel
from worldline.kernels.tools.servers.git import GitKernel
from worldline.kernels.tools.servers.git.declared import GIT_CONFIG
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.memory import MemoryKernel
from worldline.kernels.tools.servers.sequential import SequentialKernel
from worldline.kernels.tools.servers.sqlite import SqliteKernel
from worldline.kernels.tools.servers.time_server import TimeKernel
from worldline.kernels.tools.servers.tree import Node, Tree, spec_content

__all__ = ["build_host", "build_server", "settle_roots"]


_SYSTEM_FILES = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/hosts", "/etc/hostname", "/etc/profile")
"""Files that every system has, but whose content is not known."""


def build_host(state: McpState, *, declared_clock: bool = True) -> Host:
    """Build the machine: declared files, roots, and what preparing the servers leaves behind."""
    tree = Tree((HOME, "/tmp"), state.clock)
    for top in STANDARD_DIRECTORIES:
        tree.declare(top, Node("directory", None, 0o755, None, open=top != "/tmp"))
    for path, target in STANDARD_LINKS.items():
        tree.declare(path, Node("symlink", None, 0o777, None, target))
    for path in _SYSTEM_FILES:
        tree.declare(path, Node("file"))
    tree.declare(HOME, Node("directory", None, 0o755, state.clock))
    for path, spec in state.files.items():
        _declare(tree, path, spec)
    host = Host(tree, state.clock, declared_clock, dict(state.env), HOME)
    for name, server in state.servers.items():
        _prepare(host, name, server)
    return host


def _declare(tree: Tree, path: str, spec: FileSpec) -> None:
    mtime = spec.mtime or tree.now
    if spec.kind == "directory":
        mode = int(spec.mode or "755", 8)
        known = spec.complete or path == HOME or path.startswith((HOME + "/", "/tmp/"))
        names = tree.node(path)
        if names is None or names.kind != "directory":
            tree.declare(path, Node("directory", None, mode, mtime, open=not known))
    elif spec.kind == "symlink":
        tree.declare(path, Node("symlink", None, 0o777, mtime, spec.target or ""))
    else:
        tree.declare(path, Node("file", spec_content(spec), int(spec.mode or "644", 8), mtime))


def _prepare(host: Host, name: str, server: Server) -> None:
    tree = host.tree
    match server:
        case FilesystemServer():
            for root in server.roots:
                if tree.node(root) is None:
                    tree.declare(root, Node("directory", None, 0o755, tree.now))
        case MemoryServer():
            tree.declare(f"{HOME}/.memory", Node("directory", None, 0o755, tree.now))
            if server.entities or server.relations:
                tree.declare(f"{HOME}/.memory/{name}.jsonl", Node("file", None, 0o644, None))
        case GitServer():
            if tree.node(f"{HOME}/.gitconfig") is None:
                tree.declare(f"{HOME}/.gitconfig", Node("file", GIT_CONFIG.encode(), 0o644, tree.now))
        case SqliteServer() | DuckdbServer():
            tree.declare(server.path, Node("file", None, 0o644, None))
        case _:
            pass


def settle_roots(state: McpState, host: Host) -> None:
    """Say of the directories below the roots whether they may hold more than is declared, once all of it is there."""
    whole = {path for path, spec in state.files.items() if spec.complete}
    for server in state.servers.values():
        if isinstance(server, FilesystemServer):
            for root in server.roots:
                _settle(host.tree, root, whole, complete=server.complete)


def _settle(tree: Tree, root: str, whole: set[str], *, complete: bool) -> None:
    for path in list(tree.paths()):
        node = tree.node(path)
        if node is None or node.kind != "directory" or not (path == root or path.startswith(root + "/")):
            continue
        opened = not complete and path not in whole and ".git" not in path.split("/")
        if node.open != opened:
            tree.declare(path, replace(node, open=opened))


def build_server(declared: Server, host: Host) -> ServerKernel:
    """Build the kernel of a declared server.

    Raises:
        ConfigError: There is none for its kind.
        KernelError: What it declares cannot be set up.
    """
    match declared:
        case FilesystemServer():
            return FilesystemKernel(host, declared.roots)
        case MemoryServer():
            return MemoryKernel(declared)
        case TimeServer():
            return TimeKernel(host)
        case EverythingServer():
            return EverythingKernel(host)
        case SequentialThinkingServer():
            return SequentialKernel()
        case SqliteServer():
            return SqliteKernel(host, declared)
        case GitServer():
            return GitKernel(host, declared)
        case DuckdbServer():
            return DuckdbKernel(declared)
        case FetchServer():
            return FetchKernel(declared)
    raise ConfigError(f"there is no kernel of {declared.kind} servers")
