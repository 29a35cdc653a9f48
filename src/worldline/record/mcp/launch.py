"""How each kind of server is prepared and started inside the box."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from worldline.domains.mcp.state import (
    FIRST_COMMIT,
    HOME,
    CommandServer,
    DuckdbServer,
    FetchServer,
    FilesystemServer,
    GitServer,
    McpState,
    MemoryServer,
    Repository,
    Server,
    SqliteServer,
    TimeServer,
)
from worldline.domains.terminal.state import FileSpec, TerminalState
from worldline.errors import SandboxError
from worldline.kernels.tools.servers.git.declared import GIT_CONFIG
from worldline.record.mcp.settings import PACKAGES, ServerSettings
from worldline.types import JsonDict

__all__ = ["INSIDE", "box_state", "broker_config"]

INSIDE = "/opt/mcp"
"""Where the box sees the installed servers."""

_SQLITE = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.stdin.read()); c.close()"
_DUCKDB = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); c.execute(sys.stdin.read() or 'select 1'); c.close()"


def box_state(state: McpState, mounts: tuple[Path, ...] = ()) -> TerminalState:
    """Return files, clock and user of the box that holds the servers."""
    files = dict(state.files)
    for server in state.servers.values():
        for root in server.roots if isinstance(server, FilesystemServer) else ():
            files.setdefault(root, FileSpec(kind="directory"))
        if isinstance(server, CommandServer) and server.cwd is not None:
            files.setdefault(server.cwd, FileSpec(kind="directory"))
    for parent in sorted({parent for mount in mounts for parent in mount.parents}):  # what is mounted must be reached
        if str(parent) not in ("/", "/tmp", "/home", HOME) and not any(map(parent.is_relative_to, mounts)):
            files.setdefault(str(parent), FileSpec(kind="directory", mode="755", owner="root"))
    if any(isinstance(server, GitServer) for server in state.servers.values()):
        files.setdefault(f"{HOME}/.gitconfig", FileSpec(content=GIT_CONFIG))
    return TerminalState(files=files, clock=state.clock, env=state.env)


def broker_config(state: McpState, settings: ServerSettings) -> JsonDict:
    """Return what the broker is told: steps of the preparation, servers, pages.

    Raises:
        SandboxError: A server is not installed.
    """
    steps: list[JsonDict] = []
    servers: list[JsonDict] = []
    pages: dict[str, JsonDict] = {}
    for name, server in state.servers.items():
        if server.kind in PACKAGES:
            settings.version(server.kind)
        if isinstance(server, FetchServer):
            if str(server.port) in pages:
                raise SandboxError(f"two servers of the world serve pages on port {server.port}")
            pages[str(server.port)] = {path: page.model_dump(mode="json") for path, page in server.pages.items()}
        prepare = _PREPARE.get(server.kind)
        if prepare is not None:
            steps += prepare(name, server)
        servers.append({"name": name, **_launched(name, server, settings)})
    return {"steps": steps, "servers": servers, "pages": pages}


def _launched(name: str, server: Server, settings: ServerSettings) -> JsonDict:
    env: dict[str, str] = {}
    cwd = HOME
    arguments: list[str] = []
    match server:
        case CommandServer():
            return {"argv": list(server.command), "cwd": server.cwd or HOME, "env": server.env}
        case FilesystemServer():
            arguments = list(server.roots)
        case MemoryServer():
            env = {"MEMORY_FILE_PATH": _graph(name)}
        case GitServer():
            arguments = [] if server.only is None else ["--repository", server.only]
        case TimeServer():
            arguments = ["--local-timezone", server.local_timezone]
        case SqliteServer():
            arguments = ["--db-path", server.path]
        case DuckdbServer():
            arguments = ["--db-path", server.path, *(["--readonly"] if server.readonly else [])]
        case FetchServer():
            env = {"PATH": f"{INSIDE}/python/bin"}  # with Node in reach its HTML extractor would install packages
            arguments = ["--allow-private-ips", *(["--ignore-robots-txt"] if server.ignore_robots else [])]
    return {"argv": [*_program(server.kind, settings), *arguments], "cwd": cwd, "env": env}


def _program(kind: str, settings: ServerSettings) -> list[str]:
    folder, package = PACKAGES[kind]
    program, home = settings.program(kind), settings.home
    inside = f"{INSIDE}/{program.relative_to(home)}" if program.is_relative_to(home) else str(program)
    if folder == "node":
        return [inside, f"{INSIDE}/node/node_modules/{package}/dist/index.js"]
    module = package.replace("-", "_")
    return [inside, "-c", f"from {module} import main; main()"]


def _graph(name: str) -> str:
    return f"{HOME}/.memory/{name}.jsonl"


def _prepare_memory(name: str, server: Any) -> list[JsonDict]:
    import json

    entities = [{"type": "entity", **entity.model_dump(mode="json")} for entity in server.entities]
    relations = [{"type": "relation", **relation.model_dump(mode="json")} for relation in server.relations]
    lines = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in (*entities, *relations)]
    steps: list[JsonDict] = [{"run": ["/usr/bin/mkdir", "-p", f"{HOME}/.memory"]}]
    return [*steps, {"write": {_graph(name): "\n".join(lines)}}] if lines else steps


def _prepare_sqlite(_: str, server: Any) -> list[JsonDict]:
    return [{"run": ["/usr/bin/python3", "-c", _SQLITE, server.path], "stdin": server.setup}]


def _prepare_duckdb(_: str, server: Any) -> list[JsonDict]:
    return [{"run": [f"{INSIDE}/python1/bin/python", "-c", _DUCKDB, server.path], "stdin": server.setup}]


def _prepare_git(_: str, server: Any) -> list[JsonDict]:
    return [step for path, repository in server.repositories.items() for step in _repository(path, repository)]


def _repository(path: str, repository: Repository) -> list[JsonDict]:
    def git(*words: str, **env: str) -> JsonDict:
        return {"run": ["/usr/bin/git", *words], "cwd": path, "env": env}

    def write(files: dict[str, str | None]) -> list[JsonDict]:
        return [{"write": {f"{path}/{name}": text for name, text in files.items()}}] if files else []

    steps: list[JsonDict] = [{"run": ["/usr/bin/git", "init", "-q", "-b", repository.branch, path]}]
    branches, branch = {repository.branch}, repository.branch
    for number, commit in enumerate(repository.commits):
        wanted = commit.branch or branch
        if wanted != branch:
            steps.append(git("checkout", "-q", *(() if wanted in branches else ("-b",)), wanted))
            branches.add(wanted)
            branch = wanted
        date = (commit.date or FIRST_COMMIT + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%S%z")
        author, _, mail = commit.author.rstrip(">").partition(" <")
        env = {"NAME": author, "EMAIL": mail, "DATE": date}
        env = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in env.items()}
        steps += [*write(commit.files), git("add", "-A")]
        steps.append(git("commit", "-q", "--allow-empty", "-m", commit.message, **env))
    if repository.checkout is not None and repository.checkout != branch:
        steps.append(git("checkout", "-q", *(() if repository.checkout in branches else ("-b",)), repository.checkout))
    steps += [*write(repository.staged), git("add", "-A")] if repository.staged else []
    return steps + write(repository.working)


_PREPARE = cast(
    dict[str, Callable[[str, Any], list[JsonDict]]],
    {"memory": _prepare_memory, "sqlite": _prepare_sqlite, "duckdb": _prepare_duckdb, "git": _prepare_git},
)
