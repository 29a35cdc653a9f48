"""The events of an Inspect sample, sorted: tool calls, who made them, and what they did in the sandbox."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from worldline.formats.coding import text_or_none
from worldline.formats.skeleton import mapping_of, parts_text
from worldline.types import JsonDict

__all__ = ["Step", "message_steps", "steps_of"]

_NOT_SOLVED = frozenset({"init", "scorers", "scorer"})
"""Spans outside of what the agent did."""
_CUT = "Output truncated ("


@dataclass(slots=True)
class Step:
    """A tool call with its result, in the form of a tool event."""

    event: JsonDict
    sandbox: list[JsonDict] = field(default_factory=list)
    """What it did in the sandbox."""
    thought: str | None = None
    batch: tuple[int, int] = (0, 1)
    """Its place among the calls of its message, and how many they are."""


@dataclass(slots=True)
class _Spans:
    """The spans begun so far."""

    parents: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def begin(self, event: JsonDict) -> None:
        name, parent, kind = event.get("id"), event.get("parent_id"), event.get("type")
        if isinstance(name, str) and name not in self.types:
            self.types[name] = kind if isinstance(kind, str) else ""
            if isinstance(parent, str):
                self.parents[name] = parent

    def tool(self, span: Any) -> str | None:
        """Return the tool call's span that a span is or lies in, or None."""
        return next((name for name in self._up(span) if self.types.get(name) == "tool"), None)

    def outside(self, span: Any) -> bool:
        """Whether a span lies outside of what the agent did."""
        return any(self.types.get(name) in _NOT_SOLVED for name in self._up(span))

    def _up(self, span: Any) -> list[str]:
        found: list[str] = []
        while isinstance(span, str) and span not in found and len(found) < 100:
            found.append(span)
            span = self.parents.get(span)
        return found


def steps_of(events: list[JsonDict], messages: list[JsonDict]) -> dict[str, list[Step]]:
    """Return the steps of the main line (named by an empty text) and of each sub-agent.

    Args:
        events: The sample's events in order.
        messages: The sample's messages, which say what calls were made together.
    """
    spans = _Spans()
    lines: dict[str, list[Step]] = {"": []}
    owners: dict[str, Step] = {}
    latest: dict[Any, Step] = {}
    opened: dict[Any, deque[str]] = {}
    loose: list[Step] = []
    for event in events:
        kind = event.get("event")
        if kind == "span_begin":
            spans.begin(event)
            if event.get("type") == "tool" and isinstance(event.get("id"), str):
                opened.setdefault(_hashable(event.get("parent_id")), deque()).append(event["id"])
        elif kind == "tool" and event.get("pending") is not True:
            step = Step(event)
            around = _hashable(event.get("span_id"))
            latest[around] = step
            if waiting := opened.get(around):
                owners[waiting.popleft()] = step
            lines.setdefault(spans.tool(around) or "", []).append(step)
            _nested(event, step, lines)
        elif kind == "sandbox":
            span = spans.tool(event.get("span_id"))
            owner = (owners.get(span) or latest.get(spans.parents.get(span))) if span is not None else None
            if owner is not None:
                owner.sandbox.append(_action(event))
            elif not spans.outside(event.get("span_id")):
                loose.append(_sandbox_step(event))
    if loose and not any(lines.values()):
        return {"": loose}
    asked = _asked([*messages, *_answers(events)])
    for steps in lines.values():
        _told(steps, asked)
    return lines


def _hashable(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _nested(event: JsonDict, step: Step, lines: dict[str, list[Step]]) -> None:
    """Take the events inside a tool event (older logs): its sandbox actions, and what it called in turn."""
    stack = [(event, step)]
    while stack:
        outer, owner = stack.pop()
        inside = outer.get("events")
        for inner in inside if isinstance(inside, list) else ():
            if not isinstance(inner, dict):
                continue
            if inner.get("event") == "sandbox":
                owner.sandbox.append(_action(inner))
            elif inner.get("event") == "tool" and inner.get("pending") is not True:
                called = Step(inner)
                lines.setdefault(str(outer.get("id")) or "?", []).append(called)
                stack.append((inner, called))


def _action(event: JsonDict) -> JsonDict:
    """What a sandbox event says, without what it has in common with all events."""
    general = ("event", "uuid", "span_id", "working_start", "timestamp", "completed")
    return {key: value for key, value in event.items() if key not in general and value not in (None, {})}


def _sandbox_step(event: JsonDict) -> Step:
    """Take a sandbox action for a call."""
    action = event.get("action")
    call: JsonDict = {"timestamp": event.get("timestamp"), "result": event.get("output"), "shown": True}
    if action == "exec":
        call |= {"function": "bash", "arguments": {"command": event.get("cmd")}}
        call |= {key: event[key] for key in ("input", "options") if event.get(key)}
    else:
        given = {key: event[key] for key in ("file", "input") if event.get(key) is not None}
        call |= {"function": str(action), "arguments": given}
    output = event.get("output")
    call["truncated"] = isinstance(output, str) and _CUT in output
    return Step(call, [{"action": "exec", "result": event.get("result")}] if action == "exec" else [])


def _answers(events: list[JsonDict]) -> list[JsonDict]:
    """Return the messages that the model answered."""
    found = []
    for event in events:
        choices = mapping_of(event.get("output")).get("choices") if event.get("event") == "model" else None
        for choice in choices if isinstance(choices, list) else ():
            found.append(mapping_of(mapping_of(choice).get("message")))
    return found


def _asked(messages: list[JsonDict]) -> dict[str, tuple[JsonDict, int]]:
    """Index the messages that made calls by the ids of the calls, with each message's number."""
    asked: dict[str, tuple[JsonDict, int]] = {}
    for number, message in enumerate(messages):
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            name = mapping_of(call).get("id")
            if isinstance(name, str):
                asked.setdefault(name, (message, number))
    return asked


def _told(steps: list[Step], asked: dict[str, tuple[JsonDict, int]]) -> None:
    """Note each step's thought and batch."""
    together: dict[int, list[Step]] = {}
    for step in steps:
        name = step.event.get("id")
        if isinstance(name, str) and name in asked:
            message, number = asked[name]
            if number not in together:
                step.thought = text_or_none(parts_text(message.get("content")))
            together.setdefault(number, []).append(step)
    for batch in together.values():
        for place, step in enumerate(batch):
            step.batch = (place, len(batch))


def message_steps(messages: list[JsonDict]) -> list[Step]:
    """Return the steps of a sample without events: the calls of its messages that a tool message answers."""
    waiting: dict[str, deque[JsonDict]] = {}
    steps: list[Step] = []
    for message in messages:
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        for call in calls if isinstance(calls, list) else ():
            name = mapping_of(call).get("id")
            if isinstance(name, str):
                waiting.setdefault(name, deque()).append(call)
        answers = waiting.get(str(message.get("tool_call_id"))) if message.get("role") == "tool" else None
        if answers:
            result: JsonDict = {"result": message.get("content"), "error": message.get("error")}
            steps.append(Step({**answers.popleft(), **result}))
    _told(steps, _asked(messages))
    return steps
