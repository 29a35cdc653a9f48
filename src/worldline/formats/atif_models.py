"""Strict models of ATIF, the agent trajectory format of Harbor, versions 1.0 to 1.8."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

__all__ = ["VERSION", "AtifStep", "AtifTrajectory", "is_iso_8601"]

VERSION = "ATIF-v1.8"
"""The version that is written; 1.0 to 1.8 are read."""

_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def is_iso_8601(text: str) -> bool:
    """Whether a text is a time as ATIF writes it."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _iso_8601(text: str) -> str:
    if not is_iso_8601(text):
        raise ValueError("not an ISO 8601 time")
    return text


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MediaSource(_Model):
    """Where the image or sound of a content part lies."""

    media_type: str
    path: str


class ContentPart(_Model):
    """A piece of a message: text, an image or a sound."""

    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: MediaSource | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _by_type(self) -> ContentPart:
        if (self.type == "text") != (self.text is not None) or (self.type == "text") == (self.source is not None):
            raise ValueError("a text part has `text`; an image or audio part has `source`, and neither has both")
        return self


Content = str | list[ContentPart]


class ToolCall(_Model):
    """A call the agent made."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class SubagentTrajectoryRef(_Model):
    """Points at the trajectory of a delegated agent."""

    trajectory_id: str | None = None
    trajectory_path: str | None = None
    session_id: str | None = None
    extra: dict[str, Any] | None = None


class ObservationResult(_Model):
    """One answer of the environment."""

    source_call_id: str | None = None
    content: Content | None = None
    subagent_trajectory_ref: list[SubagentTrajectoryRef] | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(_Model):
    """What the environment answered in a step."""

    results: list[ObservationResult]


class Metrics(_Model):
    """What a step's model call cost."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[Any] | None = None
    extra: dict[str, Any] | None = None


class FinalMetrics(_Model):
    """What a whole trajectory cost."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class AtifStep(_Model):
    """One message, with the calls it made and their answers."""

    step_id: Annotated[int, Field(ge=1)]
    timestamp: Annotated[str, AfterValidator(_iso_8601)] | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: Content
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: AtifObservation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: Annotated[int, Field(ge=0)] | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _rules(self) -> AtifStep:
        if self.source != "agent":
            for name in _AGENT_ONLY:
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} belongs to agent steps, this one is of source {self.source!r}")
        elif self.llm_call_count == 0 and (self.metrics is not None or self.reasoning_content is not None):
            raise ValueError("a step with llm_call_count 0 has neither metrics nor reasoning_content")
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(f"source_call_id {result.source_call_id!r} names no tool call of this step")
        return self


class Agent(_Model):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifTrajectory(_Model):
    """An ATIF document."""

    schema_version: Annotated[str, Field(pattern=r"^ATIF-v1\.[0-8]$")]
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: Annotated[list[AtifStep], Field(min_length=1)]
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: list[AtifTrajectory] | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _steps_count_up(self) -> AtifTrajectory:
        for expected, step in enumerate(self.steps, start=1):
            if step.step_id != expected:
                raise ValueError(f"step_id {step.step_id} where {expected} was expected")
        return self
