"""The kernel of the domain `mcp`: gives each call to the server that owns the tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from worldline.domains.comparing import compare
from worldline.domains.mcp.state import CommandServer, McpState
from worldline.domains.tools.collections import CollectionsSpec
from worldline.errors import KernelError
from worldline.kernels.base import GUESSED, Kernel, Proposal
from worldline.kernels.tools.base import ServerKernel
from worldline.kernels.tools.collections import CollectionServer, collection_server
from worldline.kernels.tools.collections.kernel import collection_kernel
from worldline.kernels.tools.servers.build import build_host, build_server, settle_roots
from worldline.kernels.tools.servers.host import Host
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec, content_id

__all__ = ["McpKernel", "mcp_kernel"]

_VERSION = 1
_LONGEST, _WIDEST, _DEEPEST = 2000, 100, 8
"""Characters, items and levels of a description."""
_UNFORESEEN = (OSError, ValueError, ArithmeticError)
"""What hostile values (a NUL, a name too long, a number too large) raise where no server kernel words it."""
_OTHERS = ""
"""Name under which the rules and records of other servers are kept."""


def mcp_kernel(world: WorldSpec) -> Kernel:
    """Build the kernel of a world of MCP servers; one that declares no server is a world of collections.

    Raises:
        KernelError: The declared state cannot be set up.
    """
    return McpKernel(world) if world.initial_state.get("servers") else collection_kernel(world)


@dataclass(slots=True)
class _State:
    """Servers by name, and the machine they share."""

    host: Host
    servers: Mapping[str, ServerKernel]

    def fork(self, name: str) -> _State:
        """A copy in which one server, and the machine, can be changed."""
        host = self.host.fork()
        return _State(host, {**self.servers, name: _moved(self.servers[name].fork(), host)})

    def settled(self) -> _State:
        """The same with every server on this machine."""
        return _State(self.host, {name: _moved(server, self.host) for name, server in self.servers.items()})


@dataclass(slots=True)
class _Trial:
    action: Action
    proposal: Proposal
    after: _State


class McpKernel:
    """Satisfies :class:`worldline.kernels.Kernel`.

    Args:
        world: Its `initial_state` is a :class:`McpState`.

    Raises:
        pydantic.ValidationError: The initial state is not one of MCP servers.
        KernelError: It cannot be set up.
    """

    domain = "mcp"

    def __init__(self, world: WorldSpec) -> None:
        self.state = McpState.model_validate(world.initial_state)
        host = build_host(self.state, declared_clock="clock" in world.initial_state)
        servers: dict[str, ServerKernel] = {}
        for name, declared in self.state.servers.items():
            if not isinstance(declared, CommandServer):
                servers[name] = build_server(declared, host)
        settle_roots(self.state, host)
        # What no kernel of a known server answers is a matter of rules and records, under its whole name.
        servers[_OTHERS] = collection_server(world) or CollectionServer(CollectionsSpec(), world.tools)
        self._state = _State(host, servers)
        self._trial: _Trial | None = None

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Run the call on a copy of the server."""
        self.reject()
        place = self._place(action.name)
        if place is None:
            text = f"MCP error -32602: Unknown tool: {action.name}"
            return Proposal(Observation.from_text(text, is_error=True), known=True, classes=("?",), why="no such tool")
        name, tool = place
        if not _sendable(action.arguments):
            return _abstained("unsent", "no client can write these arguments as JSON")
        after = self._state.fork(name)
        try:
            proposal = after.servers[name].call(tool, action.arguments)
        except RecursionError:
            return _abstained("deep", "the arguments are nested too deep")
        except _UNFORESEEN as exc:
            return _abstained("unworded", f"how the server words this is not known: {exc}")
        self._trial = _Trial(action, proposal, after)
        return proposal

    def _place(self, tool: str) -> tuple[str, str] | None:
        """The server that answers a tool, and the tool's name there; None for a tool that no server can have."""
        place = self.state.split_tool(tool)
        if place is not None and place[0] in self._state.servers:
            return place
        return (_OTHERS, tool) if place is not None or self._state.servers[_OTHERS].serves(tool) else None

    def accept(self) -> None:
        """Keep the copy."""
        if self._trial is not None:
            self._state = self._trial.after.settled()
            self._trial = None

    def reject(self) -> None:
        """Forget the copy."""
        self._trial = None

    def absorb(self, turn: Turn) -> None:
        """Keep the copy where its answer was right; otherwise let the server follow the answer."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        trial = self._trial
        if trial is None:
            return
        told, seen = trial.proposal.observation, turn.observation
        agrees = seen.is_error is None or bool(told.is_error) == seen.is_error
        if turn.extra.get(GUESSED) or (trial.proposal.known and agrees and compare(told, seen).exact):
            self.accept()  # of a guess, only the likely effects are kept: what is not known stays so
            return
        self.reject()
        place = self._place(turn.action.name)
        if place is not None and _sendable(turn.action.arguments):
            after = self._state.fork(place[0])
            with suppress(RecursionError, *_UNFORESEEN):
                after.servers[place[0]].observe(place[1], turn.action.arguments, seen)
            self._state = after.settled()

    # --- views

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """What the server of the tool would read, with the server's kind."""
        place = self._place(action.name)
        if place is None:
            return {}
        name, tool = place
        if not _sendable(action.arguments):
            return {}
        try:
            found = self._state.servers[name].footprint(tool, action.arguments)
        except (RecursionError, *_UNFORESEEN):
            return None
        return None if found is None else {"server": self.state.servers[name].kind if name else name, **found}

    def describe(self) -> JsonDict:
        """The state of every server."""
        servers = {name or "others": server.describe() for name, server in self._state.servers.items()}
        return {"clock": self._state.host.clock.isoformat(), "servers": _clipped(servers)}

    # --- copies

    def fork(self) -> McpKernel:
        """Return an independent copy."""
        twin = object.__new__(McpKernel)
        twin.state = self.state
        host = self._state.host.fork()
        servers = {name: _moved(server.fork(), host) for name, server in self._state.servers.items()}
        twin._state, twin._trial = _State(host, servers), None
        return twin

    def dump(self) -> bytes:
        """Write everything down."""
        servers = {name: server.dump() for name, server in self._state.servers.items()}
        data = {"version": _VERSION, "world": self._world_id(), "host": self._state.host.dump(), "servers": servers}
        return json.dumps(data).encode()

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged, or from another version or world.
        """
        try:
            read = json.loads(data)
            if read["version"] != _VERSION or read["world"] != self._world_id():
                raise KernelError("the dumped state is that of another world or version")
            host = self._state.host.fork()
            host.load(read["host"])
            servers = {}
            for name, server in self._state.servers.items():
                servers[name] = _moved(server.fork(), host)
                servers[name].load(read["servers"][name])
        except (ValueError, TypeError, LookupError, AttributeError) as exc:
            raise KernelError("damaged state of a world of MCP servers") from exc
        self._state, self._trial = _State(host, servers), None

    def _world_id(self) -> str:
        return content_id(self.state.model_dump(mode="json"))

    def close(self) -> None:
        """Free the servers. Forks live on."""
        self._trial = None
        for server in self._state.servers.values():
            server.close()


def _sendable(arguments: Mapping[str, Any]) -> bool:
    """Whether arguments can go to a server at all: as JSON, in UTF-8."""
    try:
        json.dumps(dict(arguments), allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        return True  # JSON sets no limit
    except (ValueError, TypeError):
        return False
    return True


def _abstained(kind: str, why: str) -> Proposal:
    return Proposal(Observation(), known=False, classes=(kind,), why=why)


def _clipped(value: Any, depth: int = 0) -> Any:
    """A view of bounded size: long texts and lists are cut."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, dict):
        return {key[:_LONGEST]: _clipped(one, depth + 1) for key, one in list(value.items())[:_WIDEST]}
    if isinstance(value, list | tuple):
        return [_clipped(one, depth + 1) for one in value[:_WIDEST]]
    return value


def _moved(server: ServerKernel, host: Host) -> ServerKernel:
    """Let a server run on a machine; one that uses none stays as it is."""
    if hasattr(server, "host"):
        cast(Any, server).host = host
    return server
