"""The explorer of worlds of MCP servers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from worldline.domains.mcp.state import McpState
from worldline.record.mcp.explore.anything import SchemaPlayer
from worldline.record.mcp.explore.base import Move, Player, Scene
from worldline.record.mcp.explore.players import PLAYERS
from worldline.record.mcp.explore.schema import arguments_for, break_call
from worldline.record.mcp.themes import theme_of
from worldline.types import Action, ToolSpec, Turn, WorldSpec

__all__ = ["McpExplorer"]

_BROKEN = 0.22
"""Share of the moves that are a call which breaks its tool's schema."""


class McpExplorer:
    """Acts on the servers of a world, kind by kind: what came back decides what is called next.

    Args:
        world: With the tools that it offers.
        seed: The same seed and answers give the same calls.
    """

    def __init__(self, world: WorldSpec, seed: int) -> None:
        state = McpState.model_validate(world.initial_state)
        self._random = random.Random(seed)
        self._state = state
        self._theme = theme_of(world.name)
        self._players: dict[str, Player] = {}
        self._move: Move | None = None
        for name, server in state.servers.items():
            tools = _own_tools(state, name, world.tools)
            scene = Scene(state, name, tools, self._theme, self._random)
            self._players[name] = PLAYERS.get(server.kind, SchemaPlayer)(scene)

    def next(self, turns: Sequence[Turn]) -> Action | None:
        """Return the next call; None where nothing can be tried."""
        if turns:
            self._learn(turns[-1])
        if self._move is not None:
            try:
                return self._move.send(turns[-1])
            except StopIteration:
                self._move = None
        for _ in range(50):
            self._move = self._begin(turns)
            try:
                return next(self._move)
            except StopIteration:
                self._move = None
        return None

    def _learn(self, turn: Turn) -> None:
        place = self._state.split_tool(turn.action.name)
        if place is not None:
            self._players[place[0]].scene.seen.learn(turn)

    def _begin(self, turns: Sequence[Turn]) -> Move:
        player = self._players[self._random.choice(sorted(self._players))]
        if player.scene.tools and self._random.random() < _BROKEN:
            return self._break(player, turns)
        moves = player.moves()
        if not moves:
            return self._break(player, turns)
        weights = [weight for weight, _ in moves]
        return self._random.choices([move for _, move in moves], weights)[0]()

    def _break(self, player: Player, turns: Sequence[Turn]) -> Move:
        """A call that is wrong in one way, made from one that was right where there was any."""
        scene = player.scene
        if not scene.tools:
            return
        mine = {scene.state.full_name(scene.server, name): tool for name, tool in scene.tools.items()}
        right = [turn.action for turn in turns if not turn.observation.is_error and turn.action.name in mine]
        if right and scene.chance(0.7):
            action = scene.pick(right)
        else:
            tool = scene.pick(list(scene.tools.values()))
            action = scene.call_with(tool.name, arguments_for(tool, scene.random, scene.seen, scene.theme.things))
        yield break_call(action, mine[action.name], scene.random)


def _own_tools(state: McpState, server: str, tools: Sequence[ToolSpec]) -> dict[str, ToolSpec]:
    found: dict[str, ToolSpec] = {}
    for tool in tools:
        place = state.split_tool(tool.name)
        if place is not None and place[0] == server:
            found[place[1]] = tool.model_copy(update={"name": place[1]})
    return found
