"""Spans in OTLP JSON and as SDKs print them: read into one shape, and told apart by agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.skeleton import mapping_of, merged_text
from worldline.types import Action, JsonDict, Observation, canonical_json

__all__ = ["Span", "agents", "is_span", "parsed", "spans_of", "without_messages"]

_MESSAGE_KEYS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.tools.",
)
"""Attributes whose content goes into turns and world; the rest is kept."""
_KINDS = {"chat": "chat", "text_completion": "chat", "generate_content": "chat", "execute_tool": "tool"}
_KINDS |= {"invoke_agent": "agent", "create_agent": "agent", "llm": "chat", "tool": "tool", "agent": "agent"}
_INFERENCE_EVENT = "gen_ai.client.inference.operation.details"


@dataclass(frozen=True, slots=True)
class Span:
    """One span."""

    trace: str
    id: str
    parent: str
    kind: str
    """`chat`, `tool`, `agent` or what else it says."""
    start: int
    """Nanoseconds since 1970."""
    attributes: JsonDict
    value: JsonDict
    line: int
    index: int
    """Place in the file."""

    @property
    def agent(self) -> str:
        """The agent's name where it says one."""
        for key in ("gen_ai.agent.name", "agent.name", "gen_ai.agent.id"):
            if isinstance(name := self.attributes.get(key), str) and name:
                return str(name)
        return ""

    @property
    def timestamp(self) -> str | None:
        """When it began, ISO 8601."""
        if not 0 < self.start < 1 << 62:
            return None
        return datetime.fromtimestamp(self.start // 1_000_000_000, UTC).isoformat()

    @property
    def action(self) -> Action:
        """The call that a tool span ran."""
        given = self.attributes
        raw = given.get("gen_ai.tool.call.arguments", given.get("tool.parameters", given.get("input.value")))
        name = given.get("gen_ai.tool.name", given.get("tool.name", self.value.get("name")))
        call_id = given.get("gen_ai.tool.call.id", given.get("tool_call.id"))
        arguments = parsed(raw)
        return Action(
            name=str(name) if isinstance(name, str) else "",
            arguments=mapping_of(arguments),
            text=str(raw) if isinstance(raw, str) and not isinstance(arguments, dict) else None,
            call_id=str(call_id) if isinstance(call_id, str) else None,
        )

    @property
    def observation(self) -> Observation | None:
        """What the tool of a tool span answered, or None where the span does not say."""
        given = self.attributes
        result = given.get("gen_ai.tool.call.result", given.get("output.value"))
        if result is None:
            return None
        text = result if isinstance(result, str | list) else canonical_json(result)
        if isinstance(text, list) and not all(isinstance(mapping_of(part).get("text"), str) for part in text):
            text = canonical_json(text)
        code = mapping_of(self.value.get("status")).get("code", mapping_of(self.value.get("status")).get("status_code"))
        failed = code in (2, "STATUS_CODE_ERROR", "ERROR") or "error.type" in given
        return merged_text(text).model_copy(update={"is_error": failed})


def parsed(value: Any) -> Any:
    """Return what an attribute's JSON text says, or the value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value)
    except JsonTextError:
        return value


def is_span(value: JsonDict) -> bool:
    """Whether a JSON object is a span: it has attributes and the ids of trace and span."""
    context = mapping_of(value.get("context")) or value
    ids = any(key in context for key in ("spanId", "span_id")) and any(
        key in context for key in ("traceId", "trace_id")
    )
    return ids and isinstance(value.get("attributes"), dict | list)


def spans_of(value: Any, line: int, index: int) -> Iterator[Span]:
    """Yield the spans of one JSON value.

    Args:
        value: OTLP JSON, or one span.
        line: Line it starts on.
        index: How many spans came before it.

    Raises:
        ValueError: It is neither.
    """
    if not isinstance(value, dict):
        raise ValueError(f"spans were expected, found {type(value).__name__}")
    resources = value.get("resourceSpans", value.get("resource_spans"))
    if not isinstance(resources, list):
        if not is_span(value):
            raise ValueError("a span was expected: ids of trace and span, and `attributes`")
        yield _span(value, line, index)
        return
    for resource in map(mapping_of, resources):
        scopes = resource.get("scopeSpans", resource.get("scope_spans", resource.get("instrumentationLibrarySpans")))
        for scope in map(mapping_of, scopes if isinstance(scopes, list) else ()):
            found = scope.get("spans")
            for span in found if isinstance(found, list) else ():
                if isinstance(span, dict):
                    yield _span(span, line, index)
                    index += 1


def _span(value: JsonDict, line: int, index: int) -> Span:
    context = mapping_of(value.get("context")) or value
    attributes = _attributes(value.get("attributes"))
    events = value.get("events")
    for event in map(mapping_of, events if isinstance(events, list) else ()):
        if event.get("name") == _INFERENCE_EVENT:
            attributes = {**_attributes(event.get("attributes")), **attributes}
    operation = attributes.get("gen_ai.operation.name", attributes.get("openinference.span.kind", ""))
    word = str(operation).lower()
    kind = _KINDS.get(word, word)
    if not kind and any(key.startswith(("gen_ai.prompt.", "gen_ai.input.messages")) for key in attributes):
        kind = "chat"
    return Span(
        trace=_text(context, "traceId", "trace_id"),
        id=_text(context, "spanId", "span_id"),
        parent=_text(value, "parentSpanId", "parent_span_id", "parent_id"),
        kind=kind,
        start=_nanoseconds(value),
        attributes=attributes,
        value=value,
        line=line,
        index=index,
    )


def _text(value: JsonDict, *keys: str) -> str:
    return next((str(value[key]) for key in keys if isinstance(value.get(key), str)), "")


def _nanoseconds(value: JsonDict) -> int:
    for key in ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"):
        given = value.get(key)
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        if isinstance(given, str) and given.isdecimal() and given.isascii() and len(given) < 30:
            return int(given)
        if isinstance(given, str):
            try:
                return int(datetime.fromisoformat(given).timestamp() * 1_000_000) * 1_000
            except (ValueError, OverflowError):
                continue
    return 0


def _attributes(given: Any) -> JsonDict:
    """Read attributes: a mapping, or a list of `{key, value: {stringValue: ...}}`."""
    if isinstance(given, dict):
        return given
    found = {}
    for item in map(mapping_of, given if isinstance(given, list) else ()):
        if isinstance(item.get("key"), str):
            found[str(item["key"])] = _any_value(item.get("value"))
    return found


def _any_value(value: Any) -> Any:
    """Undo OTLP's `AnyValue`."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind in ("arrayValue", "array_value"):
        values = mapping_of(inner).get("values")
        return [_any_value(item) for item in values] if isinstance(values, list) else []
    if kind in ("kvlistValue", "kvlist_value"):
        return _attributes(mapping_of(inner).get("values"))
    if kind in ("intValue", "int_value") and isinstance(inner, str) and len(inner) < 30:
        return int(inner) if inner.lstrip("-").isdecimal() and inner.isascii() else inner
    return inner if kind.endswith(("Value", "_value")) else value


def agents(spans: list[Span]) -> dict[tuple[str, ...], list[Span]]:
    """Sort spans by the agent that they belong to, in the order of first spans; spans about no model are left out.

    An agent is a span that names one, or the topmost agent span. Spans outside any belong to their trace, and with
    a conversation id the traces of one conversation belong together.
    """
    by_id = {(span.trace, span.id): span for span in spans}
    conversations: dict[str, str] = {}
    for span in spans:
        for attribute in ("gen_ai.conversation.id", "session.id"):
            name = span.attributes.get(attribute)
            if isinstance(name, str) and name:
                conversations.setdefault(span.trace, str(name))
    found: dict[tuple[str, ...], list[Span]] = {}
    for span in spans:
        if span.kind not in ("chat", "tool", "agent"):
            continue
        owner = _owner(span, by_id)
        root = conversations.get(span.trace, span.trace)
        below = owner is not None and _owner(owner, by_id, above=True) is not None
        found.setdefault((root, *_agent_key(owner, below)), []).append(span)
    spoken = ("chat", "tool")
    return {key: group for key, group in found.items() if any(span.kind in spoken for span in group)}


def _agent_key(owner: Span | None, below: bool) -> tuple[str, ...]:
    """Return what tells an agent apart: one below another by its span, a topmost one by its name."""
    if owner is None:
        return ()
    return (owner.trace, owner.id) if below else (owner.agent,)


def _owner(span: Span, by_id: dict[tuple[str, str], Span], *, above: bool = False) -> Span | None:
    """Return the agent span that a span belongs to: the nearest that names its agent, or the topmost."""
    here: Span | None = by_id.get((span.trace, span.parent)) if above or span.kind == "tool" else span
    seen = {(span.trace, span.id)} if above or span.kind == "tool" else set()
    last = None
    while here is not None and (here.trace, here.id) not in seen:
        seen.add((here.trace, here.id))
        if here.kind == "agent":
            last = here
            if here.agent:
                return here
        here = by_id.get((here.trace, here.parent))
    return last


def without_messages(span: Span) -> JsonDict:
    """Return a span's record without what went into the turns."""
    given = span.value.get("attributes")
    if isinstance(given, dict):
        attributes: Any = {key: item for key, item in given.items() if not key.startswith(_MESSAGE_KEYS)}
    else:
        items = given if isinstance(given, list) else []
        attributes = [item for item in items if not str(mapping_of(item).get("key")).startswith(_MESSAGE_KEYS)]
    return {**span.value, "attributes": attributes}
