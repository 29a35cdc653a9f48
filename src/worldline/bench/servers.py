"""Servers taken as unknown ones: the calls of one server in recorded sessions, without what the world file declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from worldline.domains.mcp.state import McpState
from worldline.types import Trajectory

__all__ = ["by_server"]


def by_server(trajectories: Iterable[Trajectory]) -> dict[str, list[Trajectory]]:
    """Return the sessions of each kind of server, with its calls and its tools alone.

    A session with several servers counts once for each of them. Tools lose the server's name before theirs, and worlds
    their initial state: what is left is what one sees of a server that no kernel knows.

    Args:
        trajectories: Sessions with MCP servers; those of other worlds are left out.

    Raises:
        pydantic.ValidationError: The initial state of a session is not one of MCP servers.
    """
    found: dict[str, list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        if not trajectory.world.initial_state.get("servers"):
            continue
        state = McpState.model_validate(trajectory.world.initial_state)
        for name, server in state.servers.items():
            if (alone := _alone(trajectory, name, several=len(state.servers) > 1)).turns:
                found[server.kind].append(alone)
    return dict(sorted(found.items()))


def _alone(trajectory: Trajectory, server: str, *, several: bool) -> Trajectory:
    start = f"{server}__" if several else ""
    tools = tuple(
        tool.model_copy(update={"name": tool.name.removeprefix(start)})
        for tool in trajectory.world.tools
        if tool.name.startswith(start)
    )
    turns = tuple(
        turn.model_copy(
            update={"action": turn.action.model_copy(update={"name": (turn.action.name or "").removeprefix(start)})}
        )
        for turn in trajectory.turns
        if (turn.action.name or "").startswith(start)
    )
    world = trajectory.world.model_copy(update={"tools": tools, "initial_state": {}})
    return trajectory.model_copy(update={"world": world, "turns": turns, "id": f"{trajectory.id}/{server}"})
