"""Servers taken as unknown ones: the calls of one server in recorded sessions, without what the world file declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from worldline.bench.learned import LearnedReport, LearnedScores, score_learned
from worldline.domains.mcp.state import McpState
from worldline.engines import EngineOptions
from worldline.errors import ConfigError
from worldline.types import Trajectory

__all__ = ["ALL", "SERVER_ENGINES", "by_server", "measure_servers"]

SERVER_ENGINES = ("schemas", "nearest", "kernel")
"""Rows for a server taken as unknown: what the schemas of its tools suggest, the nearest recorded, what is learned."""
ALL = "all"
"""Name of all servers together."""


def measure_servers(
    trajectories: Iterable[Trajectory],
    names: Sequence[str] = SERVER_ENGINES,
    *,
    journal: Path | None = None,
    options: EngineOptions | None = None,
    seed: int = 0,
    only: Sequence[str] = (),
    on_task: Callable[[str], None] | None = None,
) -> dict[str, LearnedReport]:
    """Measure what can be learned of each kind of server from all tasks but one, and of all kinds together.

    Args:
        trajectories: Sessions with MCP servers. Servers with a single task are left out: nothing is left to learn from.
        names: Engines and baselines, as in :func:`worldline.bench.learned.score_learned`.
        journal: Stem of the journal files; the server's name is added.
        options: Thresholds.
        seed: Seed of the bootstrap.
        only: Tasks to measure on.
        on_task: Called with a task's name when it is done, for each server.

    Returns:
        A report by kind of server, the last one of :data:`ALL` of them.

    Raises:
        ConfigError: No server has two tasks, or none that was asked for.
    """
    scored = {}
    for kind, alone in by_server(trajectories).items():
        tasks = {trajectory.family for trajectory in alone}
        wanted = [task for task in only if task in tasks]
        if len(tasks) > 1 and (wanted or not only):
            stem = journal.with_name(f"{journal.name}.{kind}") if journal is not None else None
            scored[kind] = score_learned(alone, names, journal=stem, options=options, only=wanted, on_task=on_task)
    if not scored:
        raise ConfigError("no server with two tasks or more", hint="check the tasks and the file")
    return {kind: one.report(seed) for kind, one in {**scored, ALL: _together(scored)}.items()}


def _together(scored: Mapping[str, LearnedScores]) -> LearnedScores:
    parts = list(scored.values())
    return LearnedScores(
        domain=parts[0].domain,
        tasks=sum(part.tasks for part in parts),
        trajectories=sum(part.trajectories for part in parts),
        n_errors=sum(part.n_errors for part in parts),
        n_recorded=sum(part.n_recorded for part in parts),
        by_engine={name: [score for part in parts for score in part.by_engine[name]] for name in parts[0].by_engine},
    )


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
