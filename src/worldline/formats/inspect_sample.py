"""A sample of an Inspect log as trajectories.

- Each tool event with a result is a turn, in the order of the events; a sample without events is read from its
  messages. Calls of one message are a batch, its text is the first one's thought.
- What a tool called in turn (a sub-agent) is a trajectory of its own, of the same family.
- The sandbox actions within a tool call stand in the turn's `extra`; if it was one command, its status is the exit
  code. Where a sample has no tool calls, the sandbox actions of its solvers are the turns themselves; Inspect shows
  their outputs in at most 20 lines.
- `bash` with `cmd` is written as `bash` with `command`. A refused call counts nothing in training.
- The sample's score is the reward of its last turn: C, P, I and N are 1, 0.5, 0 and 0, numbers are themselves; the
  first score that says a number counts. All scores, errors, limits and earlier tries stay in `extra["inspect"]`.

Texts that stand elsewhere (`attachment://...`, in older logs `tc://...`) are put back. Model calls, spans and changes
of the state are left out.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.coding import nested_deeply, other_parts, text_or_none
from worldline.formats.inspect_events import Step, message_steps, steps_of
from worldline.formats.skeleton import (
    batch_note,
    mapping_of,
    merged_text,
    parts_text,
    plain_json,
    tool_specs,
    world_of,
)
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, Trajectory, Turn, content_id

__all__ = ["sample_trajectories"]

_PROTOCOLS = ("attachment://", "tc://")
_LEFT_OUT = frozenset({"events", "messages", "attachments", "events_data", "message_pool", "call_pool", "message_refs"})
_NO_LAYOUT = frozenset({"tool", "model", "state", "store", "span_begin", "span_end", "step", "sample_init", "sandbox"})
_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_REFUSED = frozenset({"approval", "cancelled"})
_USED = frozenset(
    {"event", "type", "id", "function", "arguments", "result", "error", "truncated", "timestamp", "view", "events"}
    | {"uuid", "span_id", "working_start", "pending"}
)


@dataclass(slots=True)
class _Attachments:
    """Puts texts back that stand elsewhere, up to a limit."""

    texts: JsonDict
    left: int

    def resolved(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value) if value.startswith(_PROTOCOLS) else value
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in value.items()}
        return value

    def _text(self, value: str) -> str:
        text = self.texts.get(value.partition("://")[2])
        if not isinstance(text, str):
            return value
        self.left -= len(text)
        if self.left < 0:
            raise ValueError("its attachments are longer than a document may be")
        return text


def sample_trajectories(
    sample: Any, header: JsonDict, file: InputFile, source: Source, place: str
) -> Iterator[Trajectory | SkippedRecord]:
    """Yield the main line of a sample and those of its sub-agents.

    Args:
        sample: As it stands in the log.
        header: The log's header.
        file: The log.
        source: What its trajectories are.
        place: What messages call the sample.
    """
    if not isinstance(sample, dict) or not ("id" in sample or "messages" in sample or "events" in sample):
        yield file.skipped(f"{place}: a sample was expected")
        return
    if nested_deeply(sample):
        yield file.skipped(f"{place}: nested too deeply")
        return
    header = {} if nested_deeply(header) else header
    try:
        yield from list(_trajectories(sample, header, file, source))
    except (ValueError, RecursionError) as exc:
        yield file.skipped(f"{place}: {reason_of(exc)}")


def _trajectories(sample: JsonDict, header: JsonDict, file: InputFile, source: Source) -> Iterator[Trajectory]:
    if isinstance(sample.get("transcript"), dict):  # logs of 2024
        older = sample["transcript"]
        sample = {**sample, "events": older.get("events"), "attachments": older.get("content")}
    attachments = _Attachments(mapping_of(sample.get("attachments")), file.limits.document)
    events = [event for event in _list(sample.get("events")) if isinstance(event, dict)]
    messages = attachments.resolved(_messages(sample))
    lines = steps_of([_resolved(event, attachments) for event in events], messages)
    if not any(lines.values()):
        lines = {"": message_steps(messages)}
    rest = attachments.resolved({key: value for key, value in sample.items() if key not in _LEFT_OUT})
    spec = mapping_of(header.get("eval"))
    for name, steps in lines.items():
        turns = [_turn(step) for step in steps]
        layout: JsonDict = {"sample": rest, "messages": _laid_out(messages, turns)} if not name else {}
        if not name:
            kept = [
                attachments.resolved(event) for event in events if text_or_none(event.get("event")) not in _NO_LAYOUT
            ]
            layout |= {"events": kept} if kept else {}
            layout |= {"eval": spec} if spec else {}
            turns = _rewarded(turns, sample)
        elif not turns:
            continue
        tools = tool_specs(_tools(events, attachments))
        origin = {"task": spec.get("task"), "model": spec.get("model"), "version": _version(spec), "agent": name}
        origin |= {"sample": sample.get("id"), "epoch": sample.get("epoch")}
        yield Trajectory(
            source=source,
            world=world_of(turns, task=_task(attachments.resolved(sample.get("input")), messages), tools=tools),
            turns=tuple(turns),
            family=f"inspect-{content_id([spec.get('task'), sample.get('id')], 8)}",
            origin={"format": "inspect", "file": file.path.name, **{k: v for k, v in origin.items() if v}},
            extra={"inspect": layout} if layout else {},
        )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _messages(sample: JsonDict) -> list[JsonDict]:
    """Return the conversation, from the pool where it stands there as ranges."""
    found = _list(sample.get("messages"))
    pool = sample.get("message_pool")
    if not found and isinstance(pool, list):
        for span in _list(sample.get("message_refs")):
            if isinstance(span, list) and len(span) == 2 and all(isinstance(end, int) for end in span):
                found = [*found, *pool[max(span[0], 0) : max(span[1], 0)]]
                if len(found) > len(pool) + 100_000:
                    raise ValueError("its messages repeat without end")
    return [message for message in found if isinstance(message, dict)]


def _resolved(event: JsonDict, attachments: _Attachments) -> JsonDict:
    """Put back an event's texts; of model calls only what they answered is needed."""
    if event.get("event") == "model":
        return {"event": "model", "output": attachments.resolved(event.get("output"))}
    if event.get("event") in ("tool", "sandbox", "span_begin"):
        found: JsonDict = attachments.resolved(event)
        return found
    return {"event": event.get("event")}


def _tools(events: list[JsonDict], attachments: _Attachments) -> Any:
    first = next((event["tools"] for event in events if event.get("event") == "model" and event.get("tools")), None)
    return attachments.resolved(first)


def _laid_out(messages: list[JsonDict], turns: list[Turn]) -> list[JsonDict]:
    """Return the messages without the results that stand in turns."""
    results: dict[str | None, deque[int]] = {}
    for number, turn in enumerate(turns):
        results.setdefault(turn.action.call_id, deque()).append(number)
    layout = []
    for message in messages:
        call = message.get("tool_call_id") if message.get("role") == "tool" else None
        waiting = results.get(call) if isinstance(call, str) else None
        if waiting and parts_text(message.get("content")) == turns[waiting[0]].observation.text:
            rest = {key: value for key, value in message.items() if key != "content"}
            others = other_parts(message.get("content"))
            message = {**rest, "$result": waiting.popleft(), **({"content": others} if others else {})}
        layout.append(message)
    return layout


def _version(spec: JsonDict) -> Any:
    return mapping_of(spec.get("packages")).get("inspect_ai")


def _task(given: Any, messages: list[JsonDict]) -> str:
    if isinstance(given, str):
        return str(given)
    asked = [mapping_of(message) for message in (*_list(given), *messages)]
    texts = (str(parts_text(message.get("content"))) for message in asked if message.get("role") == "user")
    return next((text for text in texts if text), "")


def _turn(step: Step) -> Turn:
    event = step.event
    name, given = event.get("function"), event.get("arguments")
    arguments = given if isinstance(given, dict) else {}
    extra: JsonDict = {
        **batch_note(*step.batch),
        **{k: v for k, v in event.items() if k not in _USED and v is not None},
    }
    if name == "bash" and arguments.keys() == {"cmd"} and isinstance(arguments["cmd"], str):
        extra["arguments"], arguments = arguments, {"command": arguments["cmd"]}
    error = mapping_of(event.get("error"))
    if error:
        extra["error"] = error
    observation = merged_text(_text(event.get("result")) or text_or_none(error.get("message")) or "")
    fields: JsonDict = {"is_error": True} if error or event.get("failed") is True else {}
    if step.sandbox:
        extra["sandbox"] = step.sandbox
        codes = [action.get("result") for action in step.sandbox if action.get("action") == "exec"]
        if len(codes) == 1 and isinstance(codes[0], int) and not isinstance(codes[0], bool):
            fields = {"is_error": codes[0] != 0, **fields, "exit_code": codes[0]}
    if event.get("truncated"):
        extra["truncated"], fields["truncated"] = event["truncated"], True
    if others := other_parts(event.get("result")):
        if isinstance(event.get("result"), list):
            extra["parts"] = others
        else:
            fields["data"] = event["result"]
    return Turn(
        action=Action(
            name=str(name) if isinstance(name, str) else "",
            arguments=arguments,
            text=text_or_none(given),
            call_id=text_or_none(event.get("id")),
        ),
        observation=observation.model_copy(update=fields),
        thought=step.thought,
        train=0.0 if text_or_none(error.get("type")) in _REFUSED else 1.0,
        timestamp=text_or_none(event.get("timestamp")),
        extra=extra,
    )


def _text(result: Any) -> str:
    if isinstance(result, str | list):
        return parts_text(result)
    if isinstance(result, dict) and isinstance(result.get("text"), str):
        return parts_text([result])
    return "" if result is None else plain_json(result)


def _rewarded(turns: list[Turn], sample: JsonDict) -> list[Turn]:
    scores = sample.get("scores")
    found = list(scores.values()) if isinstance(scores, dict) else []
    values = [_value(mapping_of(score).get("value")) for score in (*found, sample.get("score"))]
    reward = next((value for value in values if value is not None), None)
    if not turns or reward is None:
        return turns
    return [*turns[:-1], turns[-1].model_copy(update={"reward": reward, "done": True})]


def _value(value: Any) -> float | None:
    if isinstance(value, str):
        return _VALUES.get(value)
    if not isinstance(value, bool | int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
