"""Real MCP servers in one box, as an environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from worldline.domains.mcp.state import CommandServer, McpState
from worldline.domains.terminal.state import DEFAULT_CLOCK
from worldline.errors import SessionError
from worldline.record.entered import Entered
from worldline.record.mcp.answers import observation
from worldline.record.mcp.client import Conversation, Reply
from worldline.record.mcp.hub import Hub
from worldline.record.mcp.launch import INSIDE, box_state, broker_config
from worldline.record.mcp.settings import PACKAGES, ServerSettings
from worldline.record.mcp.undeclared import with_undeclared
from worldline.record.sandbox import Surroundings
from worldline.types import Action, JsonDict, Observation, ToolSpec, WorldSpec

__all__ = ["McpEnvironment", "declared_servers"]


def declared_servers(world: WorldSpec, around: Surroundings) -> McpState:
    """Return what a world declares, its clock shifted where the world leaves it at its default."""
    state = McpState.model_validate(world.initial_state)
    if around.days_later and "clock" not in world.initial_state:
        return state.model_copy(update={"clock": DEFAULT_CLOCK + timedelta(days=around.days_later)})
    return state


class McpEnvironment(Entered):
    """The servers of a world, for real. Use it as a context manager, in one thread.

    Args:
        world: A world of the domain `mcp`.
        surroundings: What the world does not declare.
        settings: Where servers are installed; default: from the environment.
    """

    def __init__(
        self, world: WorldSpec, surroundings: Surroundings | None = None, settings: ServerSettings | None = None
    ) -> None:
        around = surroundings or Surroundings()
        self._settings = settings or ServerSettings.from_environment()
        self._declared = declared_servers(world, around)
        self._state = with_undeclared(self._declared, around)
        mounts = self._settings.mounts
        binds = [(mount, str(mount)) for mount in mounts]
        if any(server.kind in PACKAGES for server in self._state.servers.values()):
            binds.insert(0, (self._settings.home.resolve(), INSIDE))
        self._hub = Hub(box_state(self._state, mounts), around, binds)
        self._conversation: Conversation | None = None
        self.ended = False
        self.about: dict[str, JsonDict] = {}
        """What each server says of itself: `name`, `version`, `title`."""

    def start(self) -> None:
        """Start the servers and shake hands with each.

        Raises:
            SandboxError: A server is not installed or does not answer, or the box cannot be built.
        """
        try:
            self._hub.start(broker_config(self._state, self._settings))
            self._conversation = Conversation(self._hub, self._state.servers, self._settings.timeout)
            for name in self._state.servers:
                self.about[name] = self._conversation.initialize(name)
        except BaseException:
            self.close()
            raise

    def tools(self) -> tuple[ToolSpec, ...]:
        """Ask the servers for their tools, under the names by which they are called here.

        Raises:
            SandboxError: A server does not answer by the protocol.
        """
        return tuple(
            _tool(self._state.full_name(name, tool["name"]), tool)
            for name in self._state.servers
            for tool in self._talk().list_tools(name)
        )

    def step(self, action: Action) -> Observation:
        """Call a tool. A server that dies, hangs, floods or writes nonsense gives an error observation.

        Raises:
            SessionError: The environment has ended or was not started.
        """
        conversation = self._talk()
        place = self._state.split_tool(action.name)
        if place is None:
            return observation(Reply(code=-32602, message=f"Unknown tool: {action.name}"))
        reply = conversation.call(*place, dict(action.arguments))
        self.ended = conversation.ended
        return observation(reply)

    def versions(self) -> dict[str, str]:
        """Versions of the world's servers, by package.

        Raises:
            SandboxError: One is not installed.
        """
        found: dict[str, str] = {}
        for server in self._state.servers.values():
            if isinstance(server, CommandServer):
                found[" ".join(server.command)] = server.version or "unknown"
            else:
                found[PACKAGES[server.kind][1]] = self._settings.version(server.kind)
        return found

    def close(self) -> None:
        """End the servers and their box."""
        self.ended = True
        self._hub.close()

    def _talk(self) -> Conversation:
        if self._conversation is None or self.ended:
            raise SessionError("the servers have ended" if self._conversation else "the servers were not started")
        return self._conversation


def _tool(name: str, tool: dict[str, Any]) -> ToolSpec:
    description, schema = tool.get("description"), tool.get("inputSchema")
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=schema if isinstance(schema, dict) else {},
    )
