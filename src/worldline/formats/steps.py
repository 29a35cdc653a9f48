"""`*.steps.jsonl`: one tool step a line, with the text of the task it belongs to (read only).

Rows of one task, in file order, form a trajectory; a repeat of its first action starts a new trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worldline.formats.base import first_problem
from worldline.formats.skeleton import merged_text, world_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, Trajectory, Turn, canonical_json, content_id

__all__ = ["STEPS", "Steps"]

_SHELL: JsonDict = {"program": "sh", "mode": "command", "persist": False, "merged": True}
"""How the shell steps of this format were run: `sh -c`, fresh for each step, both streams together."""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class _StepAction(_Row):
    kind: str
    name: str | None = None
    arguments: JsonDict | None = None
    content: str | None = None


class _StepObservation(_Row):
    content: str | None = None
    is_error: bool | None = None
    reward: float | None = None
    metadata: JsonDict | None = None


class _Step(_Row):
    action: _StepAction
    observation: _StepObservation
    task: str
    state_before: Any = None
    raw_span_ids: list[Any] = Field(default_factory=list)


@dataclass(slots=True)
class _Trial:
    task: str
    number: int
    first: str
    turns: list[Turn] = field(default_factory=list)


class Steps:
    """The step files of world-model-harness."""

    name = "steps"
    suffixes = (".steps.jsonl",)

    def sniff(self, value: Any) -> str | None:
        """Recognise `action.kind`, `observation` and `task` side by side."""
        if not isinstance(value, dict) or not isinstance(value.get("action"), dict):
            return None
        if "kind" in value["action"] and "observation" in value and "task" in value:
            return "rows with `action.kind`, `observation` and `task`"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield trajectories in the order of their first rows; the whole file is held, tasks may interleave."""
        trials: list[_Trial] = []
        current: dict[str, _Trial] = {}
        for record in file.json_lines():
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                step = _Step.model_validate(record.value)
            except ValidationError as exc:
                yield file.skipped(f"not a step: {first_problem(exc)}", record.line)
                continue
            turn = _turn(step, record.value)
            action = canonical_json(turn.action.model_dump(exclude={"call_id"}))
            trial = current.get(step.task)
            if trial is None or trial.first == action:
                trial = _Trial(step.task, trial.number + 1 if trial else 1, action)
                current[step.task] = trial
                trials.append(trial)
            trial.turns.append(turn)
        for trial in trials:
            try:
                yield _trajectory(trial, source, file.path.name)
            except ValueError as exc:  # nested too deeply
                yield file.skipped(f"the trajectory of {trial.task[:40]!r} cannot be used: {exc}")


def _turn(step: _Step, value: JsonDict) -> Turn:
    content = value["observation"].get("content") or ""
    observation = merged_text(content).model_copy(update={"is_error": step.observation.is_error})
    extra: JsonDict = {}
    if step.raw_span_ids:
        extra["raw_span_ids"] = step.raw_span_ids
    if step.observation.metadata:
        extra["metadata"] = step.observation.metadata
    if isinstance(step.state_before, dict) and any(step.state_before.values()):
        extra["state_before"] = step.state_before
    if step.action.kind != "tool_call":
        extra["kind"] = step.action.kind
    unknown = {**(step.model_extra or {}), **{f"action.{k}": v for k, v in (step.action.model_extra or {}).items()}}
    unknown |= {f"observation.{key}": item for key, item in (step.observation.model_extra or {}).items()}
    return Turn(
        action=Action(name=step.action.name or "", arguments=step.action.arguments or {}, text=step.action.content),
        observation=observation,
        state_before=step.state_before if isinstance(step.state_before, str) else None,
        reward=step.observation.reward,
        extra={**extra, **unknown},
    )


def _trajectory(trial: _Trial, source: Source, file: str) -> Trajectory:
    world = world_of(trial.turns, task=trial.task, shell=_SHELL)
    if world.domain == "terminal":
        world = world.model_copy(update={"initial_state": {"user": "root", **world.initial_state}})
    return Trajectory(
        source=source,
        world=world,
        turns=tuple(trial.turns),
        family=f"steps-{content_id(trial.task, 8)}",
        origin={"format": "steps", "file": file, "trial": trial.number},
    )


STEPS = Steps()
