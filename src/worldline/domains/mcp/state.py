r"""What a world file of the domain `mcp` declares: servers, each with the content it starts with.

```yaml
initial_state:
  files:                                # one file system, which all servers of the world share
    /home/user/notes/today.md: "- buy bread\n"
  servers:
    files: {kind: filesystem, roots: [/home/user/notes]}
    clock: {kind: time}
```

The tools of a world with one server keep their names; with several each is called `SERVER__TOOL`
(:func:`split_tool`). What a server holds beyond its declaration is unknown where it says `complete: false`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from worldline.domains.terminal.state import DEFAULT_CLOCK, AbsolutePath, FileSpec, PlainText, Variables
from worldline.domains.tools.collections import CollectionsSpec
from worldline.types import Frozen, JsonDict

__all__ = [
    "FIRST_COMMIT",
    "HOME",
    "SEPARATOR",
    "CommandServer",
    "Commit",
    "DuckdbServer",
    "Entity",
    "EverythingServer",
    "FetchServer",
    "FilesystemServer",
    "GitServer",
    "McpState",
    "MemoryServer",
    "Page",
    "Relation",
    "Repository",
    "SequentialThinkingServer",
    "Server",
    "SqliteServer",
    "TimeServer",
    "as_plain",
]

HOME = "/home/user"
"""Home of the user that the servers run as."""

FIRST_COMMIT = datetime(2025, 12, 1, 9, tzinfo=UTC)
"""Date of a repository's first commit that has no date of its own."""

SEPARATOR = "__"
"""Between the name of a server and that of its tool, in a world of several servers."""


def _file(value: Any) -> Any:
    return {"content": value} if isinstance(value, str) else value


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Files = dict[AbsolutePath, Annotated[FileSpec, BeforeValidator(_file)]]


class _Server(Frozen):
    version: str | None = None
    """Version of the server; the one that `scripts/install_mcp_servers.py` installs where left out."""
    complete: bool = True
    """Whether what is declared is all that the server holds. False: it may hold more (open world)."""


class FilesystemServer(_Server):
    """`@modelcontextprotocol/server-filesystem`: reads and writes the world's `files` below its roots.

    With `complete: true` nothing lies below the roots but what `files` declares.
    """

    kind: Literal["filesystem"]
    roots: tuple[AbsolutePath, ...] = (f"{HOME}/files",)
    """The allowed directories, in the order of the command line; they exist even where no file lies in them."""


class Entity(Frozen):
    """A node of the memory server's graph."""

    name: str
    entityType: str
    observations: tuple[str, ...] = ()


class Relation(Frozen):
    """A directed edge of the memory server's graph."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    from_: str = Field(alias="from")
    to: str
    relationType: str


class MemoryServer(_Server):
    """`@modelcontextprotocol/server-memory`: a knowledge graph, kept in the order of declaration."""

    kind: Literal["memory"]
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()


class Commit(Frozen):
    """A commit of a declared repository; it is made from its files alone, so its hash follows from the declaration."""

    message: str
    files: dict[str, str | None] = Field(default_factory=dict)
    """Content by path below the repository; None removes the file."""
    branch: str | None = None
    """Branch to commit on, created at the present commit where it is new; default: the present branch."""
    author: str = "User <user@example.com>"
    date: Annotated[datetime, AfterValidator(_aware)] | None = None
    """Of author and committer; default: 2025-12-01T09:00:00Z, an hour later for each commit before it."""


class Repository(Frozen):
    """A git repository: commits, then what was staged, then what lies in the working tree."""

    commits: tuple[Commit, ...] = ()
    branch: str = "main"
    """Initial branch."""
    checkout: str | None = None
    """Branch that is checked out at the end; default: that of the last commit."""
    staged: dict[str, str | None] = Field(default_factory=dict)
    """Changes put into the index (and the working tree) on top of the last commit."""
    working: dict[str, str | None] = Field(default_factory=dict)
    """Changes made to the working tree only."""


class GitServer(_Server):
    """`mcp-server-git`, started with `--repository` where `only` says so; repositories are made by real git.

    The user's git configuration names `User <user@example.com>` and the initial branch `main`, and nothing else.
    """

    kind: Literal["git"]
    repositories: dict[AbsolutePath, Repository] = Field(default_factory=dict)
    only: AbsolutePath | None = None
    """The repository that the server is restricted to (`--repository PATH`); None: any path may be given."""


class TimeServer(_Server):
    """`mcp-server-time`: tells the world's clock, converts between time zones."""

    kind: Literal["time"]
    local_timezone: str = "UTC"


class SqliteServer(_Server):
    """`mcp-server-sqlite`: a database that `setup` filled before the server started."""

    kind: Literal["sqlite"]
    path: AbsolutePath = f"{HOME}/data.db"
    setup: str = ""
    """SQL statements, run by SQLite's `executescript` in an empty database."""


class DuckdbServer(_Server):
    """`mcp-server-duckdb`: a database that `setup` filled before the server started."""

    kind: Literal["duckdb"]
    path: AbsolutePath = f"{HOME}/data.duckdb"
    setup: str = ""
    """SQL statements, run by DuckDB in an empty database."""
    readonly: bool = False
    """Started with `--readonly`."""


class EverythingServer(_Server):
    """`@modelcontextprotocol/server-everything`: a tool of each kind, hardly any state."""

    kind: Literal["everything"]


class SequentialThinkingServer(_Server):
    """`@modelcontextprotocol/server-sequential-thinking`: counts the thoughts it is told."""

    kind: Literal["sequentialthinking"]


class Page(Frozen):
    """What the web server on the loopback answers at a path."""

    body: str = ""
    content_type: str = "text/html; charset=utf-8"
    status: Annotated[int, Field(ge=100, le=599)] = 200
    location: str | None = None
    """Target of a redirect (status 301, 302, 307, 308)."""


def _page(value: Any) -> Any:
    return {"body": value} if isinstance(value, str) else value


class FetchServer(_Server):
    """`mcp-server-fetch` (`--ignore-robots-txt --allow-private-ips`): reads pages of a web server on the loopback.

    The pages lie at `http://localhost:PORT/PATH`. With `complete: true` any other path answers 404 with the body
    `Not Found`; nothing else can be reached. The server sees no Node, so that its own extractor simplifies pages.
    """

    kind: Literal["fetch"]
    port: Annotated[int, Field(ge=1024, le=65535)] = 8000
    pages: dict[str, Annotated[Page, BeforeValidator(_page)]] = Field(default_factory=dict)
    """By path and query, beginning with a slash."""
    ignore_robots: bool = True
    """Whether the server is started with `--ignore-robots-txt`; otherwise it asks `/robots.txt` first."""


class CommandServer(_Server):
    """Any other server that speaks the protocol over stdio, by its command line."""

    kind: Literal["command"]
    command: tuple[PlainText, ...] = Field(min_length=1)
    cwd: AbsolutePath | None = None
    """Directory it is started in; default: the user's home."""
    env: Variables = Field(default_factory=dict)
    complete: bool = False


Server = Annotated[
    FilesystemServer
    | MemoryServer
    | GitServer
    | TimeServer
    | SqliteServer
    | DuckdbServer
    | EverythingServer
    | SequentialThinkingServer
    | FetchServer
    | CommandServer,
    Field(discriminator="kind"),
]

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")]


class McpState(Frozen):
    """`initial_state` of a world of this domain.

    Everything runs in one box as user `user` (home /home/user, host `box`, LC_ALL C.UTF-8, TZ UTC). Home and /tmp
    hold nothing but what is declared; what lies elsewhere is unknown.
    """

    servers: dict[Name, Server] = Field(default_factory=dict)
    files: Files = Field(default_factory=dict)
    """By absolute path, shared by all servers: what a filesystem server shows, databases and repositories apart."""
    clock: Annotated[datetime, AfterValidator(_aware)] = DEFAULT_CLOCK
    """The wall clock, which stands still unless something sleeps. Left out, a recorder may use another day."""
    env: Variables = Field(default_factory=dict)
    """Environment of all servers."""
    collections: CollectionsSpec | None = None
    """Tools that no server above owns, described by records and rules (docs/tool-worlds.md)."""

    @model_validator(mode="after")
    def _names_are_apart(self) -> McpState:
        for name in self.servers:
            if SEPARATOR in name or name.endswith("_"):
                raise ValueError(f"a server's name holds no {SEPARATOR!r} and does not end in '_': {name!r}")
        return self

    def split_tool(self, tool: str) -> tuple[str, str] | None:
        """Return the server that a tool name means and the tool's name there; None where it means none.

        An unknown tool of the only server is that server's business: its name is returned as it is.
        """
        if len(self.servers) == 1:
            return next(iter(self.servers)), tool
        server, separator, name = tool.partition(SEPARATOR)
        return (server, name) if separator and server in self.servers else None

    def full_name(self, server: str, tool: str) -> str:
        """Return the name under which an agent calls a server's tool."""
        return tool if len(self.servers) == 1 else f"{server}{SEPARATOR}{tool}"


def as_plain(state: McpState) -> JsonDict:
    """Return the state as a world file writes it, defaults left out."""
    return state.model_dump(mode="json", exclude_defaults=True)
