"""What a chat span says: its messages in any of the ways that instrumentations write them down, as events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from worldline.formats.otel_spans import Span, parsed
from worldline.formats.skeleton import mapping_of, merged_text, parts_text
from worldline.types import Action, JsonDict, Observation, canonical_json

__all__ = ["Event", "events_of", "system_of", "tools_of"]

_DEPTH = 12
"""Steps of a flattened key that are followed."""


@dataclass(frozen=True, slots=True)
class Event:
    """A part of a message: a text, a call or a result."""

    kind: str
    """`text`, `reasoning`, `call` or `result`."""
    role: str
    text: str = ""
    action: Action = field(default_factory=Action)
    """The call; of a result, only its `call_id`."""
    observation: Observation = field(default_factory=Observation)
    start: int = 0
    """When the span began, nanoseconds since 1970."""
    message: tuple[int, int] = (0, 0)
    """Which message it is part of: the span's place in the file and the message's in the span."""
    key: str = ""
    """Equal for equal parts, wherever they are repeated."""


def events_of(span: Span) -> Iterator[Event]:
    """Yield the parts of a chat span's input and output messages, in order."""
    if span.kind != "chat":
        return
    given = span.attributes
    flat = _flattened(given)
    sources = (
        given.get("gen_ai.input.messages", flat.get("gen_ai.prompt", flat.get("llm.input_messages"))),
        given.get("gen_ai.output.messages", flat.get("gen_ai.completion", flat.get("llm.output_messages"))),
    )
    number = 0
    for fallback, source in zip(("user", "assistant"), sources, strict=True):
        messages = parsed(source)
        for message in messages if isinstance(messages, list) else ():
            inner = mapping_of(mapping_of(message).get("message")) or mapping_of(message)
            yield from _message(inner, fallback, span, number)
            number += 1


def _message(message: JsonDict, fallback: str, span: Span, number: int) -> Iterator[Event]:
    role = message.get("role")
    role = str(role) if isinstance(role, str) else fallback
    parts = message.get("parts")
    if not isinstance(parts, list):
        parts = list(_parts(message, role))
    for part in parts:
        event = _event(mapping_of(part) if not isinstance(part, str) else {"type": "text", "content": part}, role)
        if event is not None:
            key = canonical_json([role, event.kind, event.text, event.action.model_dump(), event.observation.text])
            yield Event(
                event.kind,
                role,
                event.text,
                event.action,
                event.observation,
                start=span.start,
                message=(span.index, number),
                key=key,
            )


def _parts(message: JsonDict, role: str) -> Iterator[JsonDict]:
    """Lay out an OpenAI-like or OpenInference message as GenAI parts."""
    content = message.get("content", message.get("contents"))
    if isinstance(content, list):  # OpenInference: [{"message_content": {"type": "text", "text": ...}}]
        content = [mapping_of(mapping_of(item).get("message_content")) or item for item in content]
    call_id = message.get("tool_call_id", message.get("id"))
    if role == "tool":
        yield {"type": "tool_call_response", "id": call_id, "response": content}
        return
    if content:
        yield {"type": "text", "content": content}
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        fields = mapping_of(mapping_of(call).get("tool_call")) or mapping_of(call)
        function = mapping_of(fields.get("function")) or fields
        yield {
            "type": "tool_call",
            "id": fields.get("id"),
            "name": function.get("name"),
            "arguments": function.get("arguments"),
        }


def _event(part: JsonDict, role: str) -> Event | None:
    kind = part.get("type")
    call_id = part.get("id")
    call_id = str(call_id) if isinstance(call_id, str) else None
    if kind in ("text", "reasoning", "thinking"):
        text = str(parts_text(part.get("content", part.get("text"))))
        return Event("text" if kind == "text" else "reasoning", role, text)
    if kind == "tool_call" and isinstance(part.get("name"), str):
        raw = part.get("arguments")
        arguments = parsed(raw)
        plain = str(raw) if isinstance(raw, str) and not isinstance(arguments, dict) else None
        action = Action(name=str(part["name"]), arguments=mapping_of(arguments), text=plain, call_id=call_id)
        return Event("call", role, action=action)
    if kind == "tool_call_response":
        result = part.get("response", part.get("result", part.get("content")))
        texts = isinstance(result, list) and all(isinstance(mapping_of(item).get("text"), str) for item in result)
        said = result if isinstance(result, str) or result is None or texts else canonical_json(result)
        return Event("result", role, action=Action(call_id=call_id), observation=merged_text(said))
    return None


def _flattened(attributes: JsonDict) -> dict[str, list[Any]]:
    """Build the lists that keys such as `llm.input_messages.0.message.role` spell out."""
    found: dict[str, JsonDict] = {}
    for key, value in attributes.items():
        for prefix in ("gen_ai.prompt", "gen_ai.completion", "llm.input_messages", "llm.output_messages", "llm.tools"):
            if key.startswith(f"{prefix}."):
                _put(found.setdefault(prefix, {}), key[len(prefix) + 1 :].split(".", _DEPTH), value)
    return {prefix: _listed(tree) for prefix, tree in found.items()}


def _put(tree: JsonDict, path: list[str], value: Any) -> None:
    for step in path[:-1]:
        below = tree.get(step)
        if not isinstance(below, dict):
            below = tree[step] = {}
        tree = below
    tree[path[-1]] = value


def _listed(tree: Any) -> Any:
    """Turn mappings whose keys are all numbers into lists."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdecimal() and key.isascii() and len(key) < 9 for key in tree):
        return [_listed(tree[key]) for key in sorted(tree, key=int)]
    return {key: _listed(item) for key, item in tree.items()}


def system_of(span: Span) -> str:
    """Return the system instructions that a chat span gives, where they stand apart from the messages."""
    value = parsed(span.attributes.get("gen_ai.system_instructions"))
    if isinstance(value, str):
        return str(value)
    parts = (mapping_of(part).get("content") for part in value) if isinstance(value, list) else ()
    return "\n".join(str(part) for part in parts if isinstance(part, str))


def tools_of(span: Span) -> Any:
    """Return the tool definitions that a span gives, OpenAI-like."""
    value = parsed(span.attributes.get("gen_ai.tool.definitions"))
    if isinstance(value, list):
        return [parsed(item) for item in value]
    tools = _flattened(span.attributes).get("llm.tools", [])
    schemas = (mapping_of(mapping_of(item).get("tool")) for item in tools) if isinstance(tools, list) else ()
    return [parsed(tool.get("json_schema")) for tool in schemas]
