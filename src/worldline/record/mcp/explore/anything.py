"""Exploring a server of which nothing is known but its tools."""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldline.record.mcp.explore.base import Move, Player, Scene, Weighted
from worldline.record.mcp.explore.schema import arguments_for
from worldline.types import Action, ToolSpec

__all__ = ["SchemaPlayer"]

_MAKES = re.compile(r"create|add|new|insert|write|save|put|set|register|append|store|start|make|upload|import", re.I)
_LOOKS = re.compile(r"list|get|read|show|search|find|query|export|describe|view|count|status|all|fetch|open", re.I)
_ENDS = re.compile(r"delete|remove|drop|clear|reset|destroy|archive|close", re.I)
_FIRST = 2


class SchemaPlayer(Player):
    """Makes things, looks at them, changes them by the names and numbers that came back, removes them, looks again."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._begun = 0

    def moves(self) -> Sequence[Weighted]:
        """Chains by what the names of the tools promise; the first two make something, where that can be told."""
        tools = list(self.scene.tools.values())
        makes, looks = _named(tools, _MAKES), _named(tools, _LOOKS)
        ends = _named(tools, _ENDS)
        others = [tool for tool in tools if tool not in makes and tool not in looks and tool not in ends]

        def chain(*groups: list[ToolSpec]) -> Weighted:
            return float(len([group for group in groups if group]) == len(groups)), lambda: self._chain(groups)

        self._begun += 1
        if makes and self._begun <= _FIRST:
            return [(1.0, lambda: self._chain((makes, looks) if looks else (makes,)))]
        found = [chain(makes, looks), chain(others, looks), chain(makes, others, looks), chain(ends, looks)]
        found += [chain(looks), chain(tools)]
        return [
            (weight * share, move)
            for (weight, move), share in zip(found, (3, 2, 1.5, 0.7, 1, 1), strict=True)
            if weight
        ]

    def _compose(self, tool: ToolSpec) -> Action:
        scene = self.scene
        return scene.call_with(tool.name, arguments_for(tool, scene.random, scene.seen, scene.theme.things))

    def _chain(self, groups: tuple[list[ToolSpec], ...]) -> Move:
        for group in groups:
            action = self._compose(self.scene.pick(group))
            yield action
            if self.scene.chance(0.1):
                yield action


def _named(tools: Sequence[ToolSpec], words: re.Pattern[str]) -> list[ToolSpec]:
    """Tools whose name begins with such a word, or holds it where no other word does better."""
    return [tool for tool in tools if words.match(tool.name) or words.match(tool.name.rpartition("_")[2])]
