"""Traces of tools as tests write them: calls with what they answered."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.types import Action, JsonDict, Observation, Source, ToolSpec, Trajectory, Turn, WorldSpec

Call = tuple[str, JsonDict, str, bool]
"""Tool, arguments, answer, and whether that is an error."""


def trace(family: str, calls: Sequence[Call], tools: tuple[ToolSpec, ...] = ()) -> Trajectory:
    turns = tuple(
        Turn(action=Action(name=tool, arguments=arguments), observation=Observation.from_text(text, is_error=error))
        for tool, arguments, text, error in calls
    )
    return Trajectory(source=Source.OBSERVED, family=family, world=WorldSpec(domain="mcp", tools=tools), turns=turns)
