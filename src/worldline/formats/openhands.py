"""OpenHands: events of the agent SDK (`kind`) and of the older kind (`action` or `observation`).

They come as a list, one a line, in the `history` of evaluation rows, or as a folder of event files. Every action that
the environment answered is a turn, in the order of the actions: that is how they were carried out, whatever branch of
the conversation they belong to. Thoughts, messages, delegation and other steps of the agent's own are kept without
being turns; the turn after a delegation says so, for a sub-agent may have changed what is there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.coding import coding_world
from worldline.formats.folder import InputFolder
from worldline.formats.openhands_events import OPENHANDS_V0, OPENHANDS_V1, Answer, Asked, Dialect
from worldline.formats.salvage import whole_or_part
from worldline.formats.skeleton import batch_note, mapping_of, parts_text, tool_specs
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import JsonDict, Source, ToolSpec, Trajectory, Turn, WorldSpec, content_id

__all__ = ["OPENHANDS", "OpenHands"]

_EVENTS = "events"
_BASE_STATE = "base_state.json"
_SUB_AGENTS = "subagents"
_DEEPEST = 5
"""How deep sub-agents of sub-agents are followed."""
_EVENT_FILE = re.compile(r"(?:event-)?(\d{1,12})(?:-[0-9A-Za-z-]+)?\.json")
_USER = re.compile(r"[a-z_][a-z0-9_-]*")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")


class OpenHands:
    """Event streams of OpenHands, as files or folders."""

    name = "openhands"
    suffixes = (".json", ".jsonl")

    def sniff(self, value: Any) -> str | None:
        """Recognise events, a list of them, or rows with a `history` of them."""
        if isinstance(value, dict) and isinstance(value.get("history"), list):
            found = self.sniff(value["history"])
            return f"rows with a `history` of events: {found}" if found else None
        events = value if isinstance(value, list) else [value]
        if events and isinstance(events[0], list):
            events = events[0]
        for event in events[:1]:
            dialect = _dialect(event)
            if dialect is not None:
                return dialect.why
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each list or row; events that stand one a line are one trajectory."""
        loose = _Stream()
        for record in whole_or_part(file, whole_list=_is_event):
            if isinstance(record, SkippedRecord):
                yield record
            elif _is_event(record.value):
                loose.events.append(record.value)
            else:
                try:
                    yield from _of_record(record.value, source, file, record.line)
                except ValueError as exc:
                    yield file.skipped(reason_of(exc), record.line)
        if loose.events:
            try:
                yield _trajectory(loose, source, {"file": file.path.name})
            except ValueError as exc:
                yield file.skipped(reason_of(exc))

    def claims(self, folder: InputFolder) -> str | None:
        """Claim a folder that holds a conversation: `events` with numbered files, or those files themselves."""
        if folder.has_folder(_EVENTS):
            if _numbered(folder.folder(_EVENTS)):
                return "a conversation: `events` with numbered event files"
        elif folder.path.name == _EVENTS and _numbered(folder):
            return "numbered event files"
        return None

    def read_folder(self, folder: InputFolder, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the conversation of a folder, then those of its sub-agents.

        An event file that cannot be read is a notice; the others count.
        """
        yield from _conversation(folder, source, {"folder": folder.path.name})
        yield from _sub_agents(folder, source, depth=1)


def _sub_agents(folder: InputFolder, source: Source, depth: int) -> Iterator[Trajectory | SkippedRecord]:
    if not folder.has_folder(_SUB_AGENTS) or depth > _DEEPEST:
        return
    for inner in folder.folder(_SUB_AGENTS).folders():
        if inner.has_folder(_EVENTS):
            yield from _conversation(inner, source, {"folder": inner.path.name, "sub_agent_of": folder.path.name})
            yield from _sub_agents(inner, source, depth + 1)


def _conversation(folder: InputFolder, source: Source, origin: JsonDict) -> Iterator[Trajectory | SkippedRecord]:
    inner = folder.folder(_EVENTS) if folder.has_folder(_EVENTS) else folder
    stream = _Stream()
    for name in _numbered(inner):
        record = inner.file(name).document()
        if isinstance(record, SkippedRecord):
            yield record
        elif _is_event(record.value):
            stream.events.append(record.value)
        else:
            yield inner.file(name).skipped("an event with `kind`, `action` or `observation` was expected", 1)
    if folder.has_file(_BASE_STATE):
        state = folder.file(_BASE_STATE).document()
        if isinstance(state, SkippedRecord):
            yield state
        else:
            stream.rest = {"base_state": state.value}
    try:
        yield _trajectory(stream, source, origin)
    except ValueError as exc:
        yield folder.skipped(reason_of(exc))


def _numbered(folder: InputFolder) -> list[str]:
    """Return the names of a folder's event files in the order of their numbers."""
    found = [
        (match, name)
        for name, kind in folder.entries.items()
        if kind == "file" and (match := _EVENT_FILE.fullmatch(name))
    ]
    return [name for _, name in sorted(found, key=lambda item: (int(item[0].group(1)), item[1]))]


def _dialect(event: Any) -> Dialect | None:
    return next((dialect for dialect in (OPENHANDS_V1, OPENHANDS_V0) if dialect.knows(event)), None)


def _is_event(value: Any) -> bool:
    return _dialect(value) is not None


@dataclass(slots=True)
class _Stream:
    """The events of one conversation, and what came with them."""

    events: list[JsonDict] = field(default_factory=list)
    rest: JsonDict = field(default_factory=dict)


def _of_record(value: Any, source: Source, file: InputFile, line: int) -> Iterator[Trajectory | SkippedRecord]:
    """Yield the trajectory of a list of events or of a row with a `history`, and a notice where it stops being one."""
    listed = value if isinstance(value, list) else mapping_of(value).get("history")
    if not isinstance(listed, list):
        raise ValueError("an event, a list of events or a row with a `history` of events was expected")
    flat = [event for item in listed for event in (item if isinstance(item, list) else [item])]
    stream = _Stream(rest={key: item for key, item in mapping_of(value).items() if key != "history"})
    problem = None
    for number, event in enumerate(flat):
        if not isinstance(event, dict):
            problem = f"event {number}: an object was expected; the events before it are kept"
            break
        stream.events.append(event)
    if stream.events or not problem:
        yield _trajectory(stream, source, {"file": file.path.name})
    if problem:
        yield file.skipped(problem, line)


@dataclass(slots=True)
class _Pairing:
    """Actions and answers of a stream, matched."""

    asked: list[Asked] = field(default_factory=list)
    answers: dict[int, tuple[int, Answer]] = field(default_factory=dict)
    """By place in `asked`: where the answer stands among the events, and the answer."""
    waiting: dict[str, list[int]] = field(default_factory=dict)
    """Places in `asked` by the names an answer may use."""

    def ask(self, asked: Asked) -> None:
        """Add an action."""
        for name in asked.names:
            self.waiting.setdefault(name, []).append(len(self.asked))
        self.asked.append(asked)

    def answer(self, place: int, answer: Answer) -> None:
        """Give an answer to the latest action it names that has none yet; without names, to the one just before."""
        for name in answer.names:
            places = self.waiting.get(name, [])
            while places and places[-1] in self.answers:
                places.pop()
            if places:
                self.answers[places[-1]] = (place, answer)
                return
        last = len(self.asked) - 1
        if not answer.names and last >= 0 and last not in self.answers and self.asked[last].place in (place - 1, place):
            self.answers[last] = (place, answer)


def _same(event: JsonDict, other: JsonDict) -> bool:
    try:
        return event == other
    except RecursionError:  # nested as deeply as JSON may be
        return False


def _paired(events: list[JsonDict]) -> _Pairing:
    pairing = _Pairing()
    seen: dict[str, JsonDict] = {}
    for place, event in enumerate(events):
        dialect = _dialect(event)
        if dialect is None:
            continue
        name = repr(event.get("id"))
        if "id" in event and seen.setdefault(name, event) is not event and _same(seen[name], event):
            continue  # the same event logged twice
        if (asked := dialect.asked(event, place)) is not None:
            pairing.ask(asked)
        if (answer := dialect.answer(event)) is not None:
            pairing.answer(place, answer)
    return pairing


def _trajectory(stream: _Stream, source: Source, origin: JsonDict) -> Trajectory:
    if not stream.events:
        raise ValueError("there are no events")
    pairing = _paired(stream.events)
    turns, used = _turns(stream.events, pairing)
    task = _task(stream)
    name = stream.rest.get("instance_id")
    kept: JsonDict = {**stream.rest} if stream.rest else {}
    kept["other_events"] = [{"place": place, **event} for place, event in enumerate(stream.events) if place not in used]
    return Trajectory(
        source=source,
        world=_world(stream.events, turns, task),
        turns=tuple(turns),
        family=f"openhands-{name if isinstance(name, str) and name else content_id(task, 8)}",
        origin={"format": "openhands", **origin},
        extra={"openhands": kept},
    )


def _turns(events: list[JsonDict], pairing: _Pairing) -> tuple[list[Turn], set[int]]:
    """Return the turns, and the places of the events that are all in them."""
    sizes = Counter(asked.response for asked in pairing.asked if asked.response)
    members: Counter[str] = Counter()
    turns, used = [], set()
    delegated = False
    for index, asked in enumerate(pairing.asked):
        number = members[asked.response]
        members[asked.response] += 1
        if asked.delegates:
            delegated = True
        if asked.action is None or index not in pairing.answers:
            continue
        place, answer = pairing.answers[index]
        if answer.observation is None:
            continue
        extra = batch_note(number, sizes[asked.response])
        if delegated:
            extra["after_delegation"] = True
            delegated = False
        turns.append(
            Turn(
                action=asked.action,
                observation=answer.observation,
                thought=asked.thought,
                timestamp=asked.timestamp,
                extra={**answer.extra, **asked.extra, **extra},
            )
        )
        used |= {asked.place, place}
    return turns, used


def _task(stream: _Stream) -> str:
    for event in stream.events:
        dialect = _dialect(event)
        said = dialect.said(event) if dialect is not None else ""
        if said:
            return said
    return str(parts_text(stream.rest.get("instruction")))


def _world(events: list[JsonDict], turns: list[Turn], task: str) -> WorldSpec:
    """Build the world; input to a running program and a reset of the terminal are no shell commands."""
    world = coding_world(turns, task=task, tools=_tools(events))
    if world.domain != "terminal":
        return world
    if any(turn.action.arguments.get(key) in (True, "true") for turn in turns for key in ("is_input", "reset")):
        return world.model_copy(update={"domain": "swe", "initial_state": {}})
    state: JsonDict = {}
    for turn in turns:
        metadata = mapping_of(turn.extra.get("metadata"))
        user, host = metadata.get("username"), metadata.get("hostname")
        if isinstance(user, str) and _USER.fullmatch(user) and isinstance(host, str) and _HOST.fullmatch(host):
            state = {"user": str(user), "hostname": str(host)}
            break
    # Commands are typed at one bash on a terminal.
    state["shell"] = {"mode": "interactive", "merged": True}
    return world.model_copy(update={"initial_state": {**world.initial_state, **state}})


def _tools(events: list[JsonDict]) -> list[ToolSpec]:
    """Return the tools that the system prompt's event declares."""
    for event in events:
        declared = event.get("tools", mapping_of(event.get("args")).get("tools"))
        if not isinstance(declared, list) or not declared:
            continue
        found = tool_specs(declared)
        if found:
            return found
        plain = [
            {"name": tool.get("name", tool.get("title")), "description": tool.get("description")}
            for tool in declared
            if isinstance(tool, dict)
        ]
        return tool_specs(plain)
    return []


OPENHANDS = OpenHands()
