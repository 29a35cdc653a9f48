"""OpenTelemetry spans of agents: GenAI semantic conventions, OpenInference, and the flattened keys of older kinds.

A file holds OTLP JSON (`resourceSpans`), or one span a line as SDKs print them. The spans of one agent in one trace,
or in one conversation where they name it, are one trajectory; an agent below another is one of its own. Every chat
span repeats the history, so a message counts as often as the one span that shows it most often does; tool spans add
what the messages do not say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from worldline.formats.otel_messages import Event, events_of, system_of, tools_of
from worldline.formats.otel_spans import Span, agents, is_span, spans_of, without_messages
from worldline.formats.pairing import Calls
from worldline.formats.skeleton import tool_specs, world_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, Observation, Source, Trajectory, Turn, canonical_json

__all__ = ["OTEL_GENAI", "OtelGenAi"]


class OtelGenAi:
    """Traces of agents as OpenTelemetry writes them."""

    name = "otel_genai"
    suffixes = (".otlp.jsonl", ".otlp.json", ".spans.jsonl")

    def sniff(self, value: Any) -> str | None:
        """Recognise `resourceSpans`, or a span by its ids and attributes."""
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict):
            return None
        if isinstance(value.get("resourceSpans", value.get("resource_spans")), list):
            return "OTLP JSON: `resourceSpans`"
        return "spans with ids and `attributes`" if is_span(value) else None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield trajectories in the order of their first spans; the whole file is held, traces may interleave."""
        spans: list[Span] = []
        for record in file.values(whole_list=lambda first: False):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                spans.extend(spans_of(record.value, record.line, len(spans)))
            except ValueError as exc:
                yield file.skipped(str(exc), record.line)
        for key, group in agents(spans).items():
            try:
                yield _trajectory(key, group, source, file.path.name)
            except ValueError as exc:
                yield file.skipped(str(exc), group[0].line)


def _trajectory(key: tuple[str, ...], spans: list[Span], source: Source, file: str) -> Trajectory:
    ordered = sorted(spans, key=lambda span: (span.start, span.index))
    events = list(_merged(ordered))
    turns = _turns(events, ordered)
    asked = (event for event in events if event.role == "user" and event.kind == "text" and event.text)
    first = next(asked, None)
    tools = next((found for span in ordered if (found := tool_specs(tools_of(span)))), [])
    world = world_of(turns, task=first.text if first else _agent_input(ordered), tools=tools)
    system = next((text for span in ordered if (text := system_of(span))), "")
    agent = next((name for span in ordered if (name := span.agent)), "")
    return Trajectory(
        source=source,
        world=world.model_copy(update={"extra": {"system": system}}) if system else world,
        turns=tuple(turns),
        origin={"format": "otel_genai", "file": file, "trace": key[0], **({"agent": agent} if agent else {})},
        extra={"otel_genai": {"spans": [without_messages(span) for span in spans]}},
    )


def _agent_input(spans: list[Span]) -> str:
    """Return what an agent span says that it was given."""
    for span in spans:
        value = span.attributes.get("input.value")
        if span.kind == "agent" and isinstance(value, str):
            return str(value)
    return ""


def _merged(spans: list[Span]) -> Iterator[Event]:
    """Yield what the chat spans say, each thing as often as the span that says it most often."""
    seen: dict[str, int] = {}
    for span in spans:
        here: dict[str, int] = {}
        for event in events_of(span):
            here[event.key] = here.get(event.key, 0) + 1
            if here[event.key] > seen.get(event.key, 0):
                seen[event.key] = here[event.key]
                yield event


def _turns(events: list[Event], spans: list[Span]) -> list[Turn]:
    """Match calls with results and with the spans of the tools that ran."""
    calls, ran = Calls(), _ToolSpans(span for span in spans if span.kind == "tool")
    times: list[tuple[int, int]] = []
    told: set[int] = set()
    sizes = Counter(event.message for event in events if event.kind == "call")
    places: Counter[tuple[int, int]] = Counter()
    for place, event in enumerate(events):
        if event.kind == "call":
            span = ran.take(event.action)
            batch = (places[event.message], sizes[event.message])
            places[event.message] += 1
            thought = _thought_before(events, place) if batch[0] == 0 else None
            timestamp = span.timestamp if span else None
            number = calls.call(event.action, thought=thought, timestamp=timestamp, batch=batch)
            times.append((event.start, number))
            if span is not None and span.observation is not None:
                calls.answer(number, span.observation)
        elif event.kind == "result":
            found = calls.find(event.action.call_id)
            # What a later span says otherwise about the same call is a shortened history.
            if found is not None and found not in told:
                told.add(found)
                calls.answer(found, _with_error(event.observation, calls.observation(found)))
    for span in ran.left():  # those that no message tells of
        if span.observation is not None:
            times.append((span.start, calls.call(span.action, timestamp=span.timestamp)))
            calls.answer(times[-1][1], span.observation)
    indices, turns = calls.places(), calls.turns()
    return [turns[indices[number]] for _, number in sorted(times) if number in indices]


class _ToolSpans:
    """The spans of tools that ran, to be taken by the calls that they belong to."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = list(spans)
        self._taken: set[int] = set()
        self._by_key: dict[str, list[int]] = {}
        for number in range(len(self._spans) - 1, -1, -1):
            for key in self._keys(self._spans[number].action):
                self._by_key.setdefault(key, []).append(number)

    @staticmethod
    def _keys(action: Action) -> list[str]:
        call = canonical_json([action.name, action.arguments, action.text])
        return [call] if action.call_id is None else [f"id {action.call_id}", call]

    def take(self, action: Action) -> Span | None:
        """Take a call's span out: by id, or by name and arguments where one of the two has no id."""
        for key in self._keys(action):
            numbers = self._by_key.get(key, [])
            while numbers and numbers[-1] in self._taken:
                numbers.pop()
            if numbers and (key.startswith("id ") or None in (action.call_id, self._spans[numbers[-1]].action.call_id)):
                self._taken.add(numbers[-1])
                return self._spans[numbers.pop()]
        return None

    def left(self) -> list[Span]:
        """Return the spans that nobody took."""
        return [span for number, span in enumerate(self._spans) if number not in self._taken]


def _thought_before(events: list[Event], place: int) -> str | None:
    """Return what the agent said in the same message before its first call."""
    texts: list[str] = []
    for event in reversed(events[max(0, place - 20) : place]):
        if event.message != events[place].message or event.kind not in ("text", "reasoning"):
            break
        texts.insert(0, event.text)
    return "\n".join(text for text in texts if text) or None


def _with_error(said: Observation, ran: Observation | None) -> Observation:
    """Return what the agent was told, with what the tool's span knows about failure."""
    return said if ran is None or ran.is_error is None else said.model_copy(update={"is_error": ran.is_error})


OTEL_GENAI = OtelGenAi()
