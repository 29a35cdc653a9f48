"""A training row: a chat, and how much each message counts in the loss."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from worldline.types import Frozen, JsonDict, Source, content_id

__all__ = ["ASKED", "STAGES", "Asked", "Stage", "TrainingMessage", "TrainingRow"]

Stage = Literal["cpt", "sft", "rl"]
STAGES: tuple[Stage, ...] = ("cpt", "sft", "rl")

Asked = Literal["model", "grounded", "both"]
"""Whose questions rows of SFT and RL hold: those of a model by itself, which is asked at every turn; those of a
grounded engine, which asks where nothing else is sure and tells what it knows; or rows of both kinds."""
ASKED: tuple[Asked, ...] = ("model", "grounded", "both")


class TrainingMessage(Frozen):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str
    reasoning: str | None = None
    """What an assistant message thinks before its content (SFT); trained on with it."""
    weight: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the message's tokens in the loss; 0: context only. Exporters map it to each trainer's own flag."""
    label: str | None = None
    """Class of the turn by the information-theoretic mask (paper section 6), where one was given."""


class TrainingRow(Frozen):
    """One row of a training set."""

    schema_version: Literal[1] = 1
    stage: Stage
    domain: str
    source: Source
    """Observed or simulated; a set says which it holds."""
    messages: tuple[TrainingMessage, ...]
    """For RL the prompt only."""
    family: str = ""
    trajectory: str = ""
    """Id of the trajectory it is made of; empty for specialised corpora."""
    turn: int | None = None
    """Position (from 0) of the target turn, where there is one (SFT, RL)."""
    truth: JsonDict | None = None
    """RL: the true observation (as :class:`worldline.types.Observation` serialises), kept from the model."""
    checks: tuple[JsonDict, ...] = ()
    """RL: rule checks of the turn (see `bench/rules`)."""
    target: JsonDict | None = None
    """State change and reward beside the observation, where the target carries them."""
    teacher: str | None = None
    """Who wrote the reasoning: `executed` (kernel steps in words) or `endpoint:NAME`."""
    extra: JsonDict = Field(default_factory=dict)

    @property
    def id(self) -> str:
        """Content hash."""
        return content_id(self.model_dump(mode="json", exclude={"extra"}))
