"""Perturbation rules: seeded, reproducible answers that replace what the environment would have said."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from worldline.types import Action, Frozen, Observation, drawn

__all__ = ["ControlSpec", "Rule", "compiles", "fired_rule"]


def compiles(pattern: str) -> str:
    """Check that a pattern is a regular expression.

    Raises:
        ValueError: It is not.
    """
    try:
        re.compile(pattern)
    except re.error as exc:
        raise ValueError(f"not a regular expression: {exc}") from exc
    return pattern


class Rule(Frozen):
    """One perturbation. All given conditions must hold."""

    name: str
    match: Annotated[str, AfterValidator(compiles)] | None = None
    """Regular expression searched in the rendered action."""
    turns: tuple[int, ...] = ()
    """Turn numbers, 1-based."""
    every: Annotated[int, Field(ge=1)] | None = None
    """Every n-th turn."""
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Chance to fire where the conditions hold; drawn from the session's seed, turn and rule name."""
    answer: Observation
    """What is answered instead."""
    effect: bool = False
    """Whether the action takes effect all the same (a lost answer) or not (a refused call)."""

    @model_validator(mode="after")
    def _some_condition(self) -> Rule:
        if self.match is None and not self.turns and self.every is None and self.probability == 1.0:
            raise ValueError("a rule needs a condition: match, turns, every or probability")
        return self


class ControlSpec(Frozen):
    """The `control` part of a world file."""

    instruction: str = ""
    """Simulation instruction for a model (paper section 3)."""
    rules: tuple[Rule, ...] = ()


def fired_rule(spec: ControlSpec, action: Action, turn: int, seed: int) -> Rule | None:
    """Return the first rule that fires on `action` at `turn` (1-based), or None."""
    for rule in spec.rules:
        if rule.turns and turn not in rule.turns:
            continue
        if rule.every is not None and turn % rule.every:
            continue
        if rule.match is not None and not re.search(rule.match, action.render()):
            continue
        if rule.probability < 1.0 and drawn(f"{seed}\0{turn}\0{rule.name}") >= rule.probability:
            continue
        return rule
    return None
