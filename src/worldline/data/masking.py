r"""The turn-level information-theoretic loss mask of continued pre-training (Qwen-AgentWorld, section on CPT).

With Wa and Wo the sets of lower-cased words of action and observation::

    OL  = |Wa ∩ Wo| / |Wa|        Nov = |Wo \ Wa| / |Wo|
    R   = chars(observation) / chars(action)

A turn's class says which share of such turns stays in the loss; the others remain as context. The paper leaves open how
words are told apart, in which order the classes are tested, what counts as a short observation, whether turns or tokens
are drawn, and what empty sets mean. Here: words are runs of word characters; the classes are tested in the order of
:data:`CLASSES`, the narrowest first; an observation of at most :attr:`MaskSettings.short` characters is short; whole
turns are drawn, by a hash, so that a set is the same whatever is built beside it; an action without words has OL 0, an
observation without words Nov 0 and the class `action`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from worldline.types import Action, Frozen, Turn, drawn

__all__ = ["CLASSES", "MaskSettings", "TurnClass", "TurnMeasures", "classify", "kept", "measures"]

TurnClass = Literal["echo", "boilerplate", "transform", "retrieval", "expansion", "action", "other"]
CLASSES: tuple[TurnClass, ...] = ("echo", "boilerplate", "transform", "retrieval", "expansion", "action", "other")

Share = Annotated[float, Field(ge=0, le=1)]

_WORD = re.compile(r"\w+")


def _kept_shares() -> dict[TurnClass, float]:
    return {"echo": 0.05, "boilerplate": 0.1, "transform": 0.5}


class MaskSettings(Frozen):
    """Thresholds of the classes, and the share of each class that stays in the loss."""

    echo_overlap: Share = 0.7
    echo_novelty: Share = 0.3
    boilerplate_overlap: Share = 0.5
    boilerplate_novelty: Share = 0.5
    transform_novelty: Share = 0.5
    retrieval_novelty: Share = 0.6
    expansion_ratio: float = 1.5
    short: Annotated[int, Field(ge=0)] = 40
    """Characters up to which an observation is short."""
    keep: dict[TurnClass, Share] = Field(default_factory=_kept_shares)
    """Share of each class; all of a class that is not named."""


@dataclass(frozen=True, slots=True)
class TurnMeasures:
    """What a turn's class is told by."""

    overlap: float
    """OL: share of the action's words that stand in the observation, 0..1."""
    novelty: float
    """Nov: share of the observation's words that do not stand in the action, 0..1."""
    jaccard: float
    """Jac; no class is told by it."""
    ratio: float
    """R: characters of the observation by those of the action."""
    characters: int
    """Of the observation."""


def measures(turn: Turn) -> TurnMeasures:
    """Measure a turn. Names of tools do not count as words of the action."""
    acted = _action_text(turn.action)
    seen = turn.observation.text
    of_action, of_observation = _words(acted), _words(seen)
    common = len(of_action & of_observation)
    union = len(of_action | of_observation)
    return TurnMeasures(
        overlap=common / len(of_action) if of_action else 0.0,
        novelty=(len(of_observation) - common) / len(of_observation) if of_observation else 0.0,
        jaccard=common / union if union else 0.0,
        ratio=len(seen) / max(1, len(acted)),
        characters=len(seen),
    )


def classify(turn: Turn, settings: MaskSettings | None = None) -> TurnClass:
    """Return a turn's class: the first of :data:`CLASSES` whose condition holds."""
    how = settings or MaskSettings()
    told = measures(turn)
    if not _words(turn.observation.text):
        return "action"
    if told.overlap >= how.echo_overlap and told.novelty < how.echo_novelty:
        return "echo"
    if told.overlap >= how.boilerplate_overlap and told.novelty < how.boilerplate_novelty:
        return "boilerplate"
    if told.novelty < how.transform_novelty and told.ratio < 1:
        return "transform"
    if told.novelty >= how.retrieval_novelty and told.ratio > 1:
        return "retrieval"
    if told.overlap >= 0.5 and told.novelty >= 0.5 and told.ratio > how.expansion_ratio:
        return "expansion"
    if (told.novelty >= 0.5 and told.ratio <= 1) or told.characters <= how.short:
        return "action"
    return "other"


def kept(trajectory: str, turn: int, label: TurnClass, settings: MaskSettings | None = None, seed: int = 0) -> bool:
    """Whether a turn of a class stays in the loss: drawn by a hash of its place.

    Args:
        trajectory: Id of the trajectory.
        turn: Position of the turn, from 0.
        label: The turn's class.
        settings: Shares.
        seed: Of the draw.
    """
    share = (settings or MaskSettings()).keep.get(label, 1.0)
    return drawn(f"{seed}:{trajectory}:{turn}") < share


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _action_text(action: Action) -> str:
    """What the action says, without the tool's name."""
    return action.model_copy(update={"name": ""}).render()
