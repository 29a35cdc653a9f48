"""A rule check: one executable demand on the prediction of one turn, and what it was validated on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator

from worldline.bench.rules.checks import read_check
from worldline.formats.skeleton import result_text
from worldline.types import Action, Frozen, JsonDict, Observation, Trajectory, Turn, WorldSpec, content_id

__all__ = ["AXES", "Agreement", "Axis", "RuleCheck", "anchor", "turns_anchor", "varied"]

AXES = ("controllability", "error_handling", "long_context")
"""The three axes of the rule set (paper Appendix C)."""
Axis = Literal["controllability", "error_handling", "long_context"]

_Check = Annotated[
    Any,
    PlainValidator(lambda value: read_check(value) if isinstance(value, dict) else value),
    PlainSerializer(lambda check: check.model_dump(mode="json", exclude_defaults=False)),
]


class Agreement(Frozen):
    """How the check's verdict went with what is known of the answers it was tried on."""

    right: int = 0
    """Answers known to be right, the truth among them."""
    right_passed: int = 0
    wrong: int = 0
    wrong_failed: int = 0
    missed: tuple[str, ...] = ()
    """Wrong answers that the check let pass."""


class RuleCheck(Frozen):
    """One demand on one prediction."""

    key: str
    """Content hash of everything but the agreement."""
    axis: Axis
    kind: str
    """Which generator made it."""
    domain: str
    trajectory: str
    cluster: str
    """Unit of resampling: the task family, or the trajectory."""
    turn: Annotated[int, Field(ge=1)]
    anchor: str
    """Hash of the turns up to this one: finds the benchmark row that asks the same."""
    why: str
    """What is demanded, in a sentence."""
    check: _Check
    evidence_turn: int | None = None
    """The earlier turn that the answer follows from."""
    control: JsonDict | None = None
    """Control that the world gets for this rule."""
    replace: dict[str, str] = Field(default_factory=dict)
    """Words of the world and its history that stand in for others in this rule."""
    expected: Observation | None = None
    """The right answer where the rule changes the world; otherwise it is the truth."""
    agreement: Agreement = Agreement()

    @property
    def variation(self) -> str:
        """Hash of how the rule changes the world: rules of equal variation can be run together."""
        return content_id([self.control, self.replace]) if self.control or self.replace else ""


def varied(trajectory: Trajectory, rule: RuleCheck) -> tuple[WorldSpec, tuple[Turn, ...]]:
    """Return the world and the turns that a rule is asked in."""
    world, turns = trajectory.world, trajectory.turns[: rule.turn]
    if rule.replace:
        world = WorldSpec.model_validate(_replaced(world.model_dump(mode="json"), rule.replace))
        turns = tuple(Turn.model_validate(_replaced(turn.model_dump(mode="json"), rule.replace)) for turn in turns)
    if rule.control is not None:
        world = world.model_copy(update={"control": {**world.control, **rule.control}})
    return world, turns


def _replaced(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, dict):
        return {key: _replaced(item, words) for key, item in value.items()}
    return [_replaced(item, words) for item in value] if isinstance(value, list) else value


def anchor(domain: str, turns: Sequence[tuple[Action, str]]) -> str:
    """Hash of actions and what they were answered, up to and with the turn that is asked about."""
    return content_id([domain, [[action.render(), text] for action, text in turns]], length=32)


def turns_anchor(domain: str, turns: Sequence[Turn]) -> str:
    """The anchor of a trajectory's turns."""
    return anchor(domain, [(turn.action, result_text(turn.observation)) for turn in turns])
