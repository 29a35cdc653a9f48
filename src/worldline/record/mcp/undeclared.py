"""What servers hold beyond the declaration of a world that says it is not complete.

It is drawn from the surroundings: the same in both recordings of a session, another in its variant, so that what
depends on it is found not to follow from the world.
"""

from __future__ import annotations

import random
from typing import Any

from worldline.domains.mcp.state import (
    Commit,
    DuckdbServer,
    Entity,
    FetchServer,
    FilesystemServer,
    GitServer,
    McpState,
    MemoryServer,
    Page,
    Server,
    SqliteServer,
)
from worldline.domains.terminal.state import FileSpec
from worldline.record.mcp.themes import THEMES, Theme
from worldline.record.sandbox import Surroundings
from worldline.types import content_id

__all__ = ["with_undeclared"]


def with_undeclared(state: McpState, around: Surroundings) -> McpState:
    """Add to each server that is not `complete` content that is drawn from the surroundings."""
    if all(server.complete for server in state.servers.values()):
        return state
    declared = content_id(state.model_dump(mode="json", exclude={"clock"}))
    chance = random.Random(f"{declared} {around.days_later} {around.order_seed}")
    theme = chance.choice(sorted(THEMES.values(), key=lambda theme: theme.name))
    files = dict(state.files)
    servers: dict[str, Any] = {}
    for name, server in state.servers.items():
        if isinstance(server, FilesystemServer) and not server.complete:
            files = {**_files(server, theme, chance), **files}
        servers[name] = server if server.complete else _more(server, theme, chance)
    return state.model_copy(update={"servers": servers, "files": files})


def _line(theme: Theme, chance: random.Random) -> str:
    return f"{chance.choice(theme.things)} {chance.choice(theme.traits)} {chance.randint(1, 999)}"


def _files(server: FilesystemServer, theme: Theme, chance: random.Random) -> dict[str, FileSpec]:
    found: dict[str, FileSpec] = {}
    for _ in range(chance.randint(1, 3)):
        folder = chance.choice((server.roots[0], f"{server.roots[0]}/{chance.choice(theme.places)}"))
        lines = [_line(theme, chance) for _ in range(chance.randint(1, 4))]
        found[f"{folder}/{chance.choice(theme.things)}.txt"] = FileSpec(content="\n".join(lines) + "\n")
    return found


def _more(server: Server, theme: Theme, chance: random.Random) -> Server:
    match server:
        case MemoryServer():
            known = {entity.name for entity in server.entities}
            names = [name for name in chance.sample(theme.things, chance.randint(1, 3)) if name not in known]
            more = [
                Entity(name=name, entityType=chance.choice(theme.kinds), observations=(_line(theme, chance),))
                for name in names
            ]
            return server.model_copy(update={"entities": (*server.entities, *more)})
        case SqliteServer() | DuckdbServer():
            table = f"{chance.choice(theme.places).replace('-', '_')}_{chance.choice(theme.kinds)}"
            rows = ", ".join(f"({number}, '{_line(theme, chance)}')" for number in range(1, chance.randint(3, 6)))
            setup = f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, line TEXT);\nINSERT INTO {table} VALUES {rows};\n"
            return server.model_copy(update={"setup": server.setup + setup})
        case GitServer():
            commit = Commit(message=_line(theme, chance), files={f"{theme.name}.txt": f"{_line(theme, chance)}\n"})
            repositories = {
                path: repository.model_copy(update={"commits": (commit, *repository.commits)})
                for path, repository in server.repositories.items()
            }
            return server.model_copy(update={"repositories": repositories})
        case FetchServer():
            paths = [f"/{thing}" for thing in chance.sample(theme.things, 4)]
            pages = {path: Page(body=f"<html><body><p>{_line(theme, chance)}</p></body></html>") for path in paths}
            return server.model_copy(update={"pages": {**pages, **server.pages}})
    return server
