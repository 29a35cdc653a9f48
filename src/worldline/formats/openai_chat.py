"""OpenAI chat messages with tool calls: `{"messages": [...], "tools": [...]}`, or a bare list of messages.

Every tool call with a result is a turn; calls made at once become one turn each, with a note. All other
messages, unknown fields and the order stay in `extra["openai"]`, so that a record comes out as it went in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from worldline.errors import FormatError
from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.skeleton import (
    batch_note,
    fits,
    mapping_of,
    merged_text,
    parts_text,
    plain_json,
    result_text,
    tool_definition,
    tool_specs,
    world_of,
)
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, Trajectory, Turn

__all__ = ["OPENAI_CHAT", "OpenAIChat", "chat_messages", "read_chat"]

TURN = "$turn"
"""Mark of a call taken out of an assistant message: the turn's index."""
RESULT = "$result"
"""Mark of a tool message whose content was taken out."""
THOUGHT = "$thought"
"""Mark of an assistant message whose text is the turn's thought."""
KEPT = "$kept"
"""Content or arguments that are not the usual string: a list of the value, or an empty list where absent."""
_MARKS = frozenset({TURN, RESULT, THOUGHT, KEPT})
_OWN = "worldline"
"""Key under which our own export keeps what the format has no place for."""


@dataclass(slots=True)
class _Call:
    action: Action
    extra: JsonDict
    message: int
    thought: str | None
    result: Any = None
    answered: bool = False


@dataclass(slots=True)
class Chat:
    """A chat taken apart: its turns, and the messages with marks where the turns were."""

    turns: list[Turn] = field(default_factory=list)
    layout: list[Any] = field(default_factory=list)
    task: str = ""


class OpenAIChat:
    """The chat completions message format."""

    name = "openai"
    suffixes = (".openai.jsonl",)

    def sniff(self, value: Any) -> str | None:
        """Recognise a `messages` list, or a list of messages, by the messages' roles."""
        if isinstance(value, list) and value:
            if _is_message(value[0]):
                return "a list of chat messages with roles"
            value = value[0]
        if isinstance(value, dict):
            messages = value.get("messages")
            if isinstance(messages, list) and (not messages or _is_message(messages[0])):
                return "an object with chat `messages`"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each conversation."""
        for record in file.values(whole_list=_is_message):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                yield _trajectory(record.value, source, file.path.name)
            except ValueError as exc:
                yield file.skipped(str(exc), record.line)

    def line(self, trajectory: Trajectory) -> str:
        """Lay out a trajectory as one conversation.

        Raises:
            FormatError: It holds NaN or something that is not JSON.
        """
        kept = mapping_of(trajectory.extra.get("openai"))
        messages = chat_messages(trajectory, kept.get("messages"))
        if kept.get("bare"):
            record: Any = messages
        else:
            record = {"messages": messages, **mapping_of(kept.get("rest"))}
            if "tools" not in record and trajectory.world.tools:
                record["tools"] = [tool_definition(tool) for tool in trajectory.world.tools]
            if "openai" not in trajectory.extra or trajectory.source is Source.SIMULATED:
                record[_OWN] = _own(trajectory)
        try:
            return plain_json(record)
        except (ValueError, TypeError) as exc:
            raise FormatError(f"trajectory {trajectory.id} cannot be written as JSON: {exc}") from exc


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def _own(trajectory: Trajectory) -> JsonDict:
    return {"source": trajectory.source.value, "domain": trajectory.world.domain, "family": trajectory.family}


def _trajectory(value: Any, source: Source, file: str) -> Trajectory:
    bare = isinstance(value, list)
    record = {"messages": value} if bare else value
    if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
        raise ValueError("a conversation was expected: an object with a `messages` list, or a list of messages")
    chat = read_chat(record["messages"])
    rest = {key: item for key, item in record.items() if key != "messages"}
    own = mapping_of(rest.get(_OWN))
    tools = tool_specs(rest.get("tools"))
    if tools and [tool_definition(tool) for tool in tools] == rest.get("tools"):
        del rest["tools"]
    world = world_of(chat.turns, task=chat.task, tools=tools)
    if isinstance(own.get("domain"), str):
        world = world.model_copy(update={"domain": own["domain"]})
    kept = {"messages": chat.layout, **({"rest": rest} if rest else {}), **({"bare": True} if bare else {})}
    family = own.get("family")
    return Trajectory(
        source=Source(own["source"]) if own.get("source") in list(Source) else source,
        world=world,
        turns=tuple(chat.turns),
        family=family if isinstance(family, str) else "",
        origin={"format": "openai", "file": file},
        extra={"openai": kept},
    )


def read_chat(messages: list[Any]) -> Chat:
    """Take a conversation apart into turns and a layout.

    Args:
        messages: Chat messages; calls are matched with results by id, the latest unanswered call first.

    Raises:
        ValueError: Something is not a message, or a call has no function name.
    """
    chat = Chat()
    calls: list[_Call] = []
    places: dict[tuple[int, int], int] = {}
    results: dict[int, int] = {}
    for number, message in enumerate(messages):
        if not _is_message(message):
            raise ValueError(f"messages.{number}: an object with a `role` was expected")
        if not _MARKS.isdisjoint(message):
            raise ValueError(f"messages.{number}: the keys {', '.join(sorted(_MARKS))} are reserved")
        if message["role"] == "user" and not chat.task:
            chat.task = str(parts_text(message.get("content")))
        if message["role"] == "assistant" and isinstance(message.get("tool_calls"), list):
            for position, call in enumerate(message["tool_calls"]):
                places[number, position] = len(calls)
                calls.append(_call(call, message, number, position))
        elif message["role"] == "tool":
            index = _answered(calls, message.get("tool_call_id"))
            if index is not None:
                calls[index].answered, calls[index].result = True, message.get("content")
                results[number] = index
    kept = [index for index, call in enumerate(calls) if call.answered]
    turn_of = {index: turn for turn, index in enumerate(kept)}
    chat.turns = [_turn(calls[index]) for index in kept]
    chat.layout = [_marked(message, number, places, results, calls, turn_of) for number, message in enumerate(messages)]
    return chat


def _call(call: Any, message: JsonDict, number: int, position: int) -> _Call:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ValueError(f"messages.{number}.tool_calls.{position}: a call with `function.name` was expected")
    if not _MARKS.isdisjoint(call) or not _MARKS.isdisjoint(function):
        raise ValueError(f"messages.{number}.tool_calls.{position}: a reserved key: {', '.join(sorted(_MARKS))}")
    extra = batch_note(position, len(message["tool_calls"]))
    name, given = str(function["name"]), function.get("arguments")
    arguments = _parsed(given)
    call_id = call.get("id")
    call_id = str(call_id) if isinstance(call_id, str) else None
    if isinstance(arguments, dict):
        action = Action(name=name, arguments=arguments, call_id=call_id)
    else:
        action = Action(name=name, text=str(given) if isinstance(given, str) else None, call_id=call_id)
    content = message.get("content")
    thought = str(content) if position == 0 and isinstance(content, str) and content else None
    return _Call(action, extra, number, thought)


def _parsed(arguments: Any) -> Any:
    """Return what an `arguments` string says; None where it is not JSON."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return load_json(arguments)
    except JsonTextError:
        return None


def _answered(calls: list[_Call], call_id: Any) -> int | None:
    for index in range(len(calls) - 1, -1, -1):
        if not calls[index].answered and calls[index].action.call_id == call_id:
            return index
    return None


def _turn(call: _Call) -> Turn:
    return Turn(action=call.action, observation=merged_text(call.result), thought=call.thought, extra=call.extra)


def _marked(
    message: JsonDict,
    number: int,
    places: dict[tuple[int, int], int],
    results: dict[int, int],
    calls: list[_Call],
    turn_of: dict[int, int],
) -> JsonDict:
    """Return the message with what became turns taken out."""
    if number in results:
        rest = {key: value for key, value in message.items() if key != "content"}
        if not isinstance(message.get("content"), str):
            rest[KEPT] = [message["content"]] if "content" in message else []
        return {**rest, RESULT: turn_of[results[number]]}
    if (number, 0) not in places:
        return message
    marked: JsonDict = {**message, "tool_calls": []}
    for position, call in enumerate(message["tool_calls"]):
        index = places[number, position]
        if index in turn_of:
            function = call["function"]
            rest = {key: value for key, value in function.items() if key not in ("name", "arguments")}
            if function.get("arguments") != _compact(calls[index].action.arguments):
                rest[KEPT] = [function["arguments"]] if "arguments" in function else []
            call = {key: value for key, value in call.items() if key != "function"}
            call = {**call, **({"function": rest} if rest else {}), TURN: turn_of[index]}
            if calls[index].thought is not None:
                marked.pop("content", None)
                marked[THOUGHT] = turn_of[index]
        marked["tool_calls"].append(call)
    return marked


def _compact(arguments: JsonDict) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _with_arguments(turn: Turn, kept: Any) -> JsonDict:
    """Return a call's `arguments` entry: as it came if it still says the same, otherwise compact JSON."""
    if isinstance(kept, list) and not kept and not turn.action.arguments:
        return {}
    if isinstance(kept, list) and kept:
        parsed = _parsed(kept[0])
        if parsed == turn.action.arguments or (not isinstance(parsed, dict) and not turn.action.arguments):
            return {"arguments": turn.action.text if isinstance(kept[0], str) and turn.action.text else kept[0]}
    return {"arguments": turn.action.text or _compact(turn.action.arguments)}


def _with_content(turn: Turn, kept: Any) -> JsonDict:
    """Return a result's `content` entry: the parts as they came where their text is still the same."""
    if isinstance(kept, list) and parts_text(kept[0] if kept else None) == turn.observation.text:
        return {"content": kept[0]} if kept else {}
    return {"content": result_text(turn.observation)}


def chat_messages(trajectory: Trajectory, layout: Any = None) -> list[JsonDict]:
    """Lay out a trajectory as chat messages.

    Args:
        trajectory: Its turns.
        layout: The marked messages they were taken from; used if its marks still fit.
    """
    if isinstance(layout, list) and fits(_marks(layout, TURN), trajectory.turns):
        return [_restored(message, trajectory) for message in layout]
    messages: list[JsonDict] = []
    if trajectory.world.task:
        messages.append({"role": "user", "content": trajectory.world.task})
    used: set[str] = set()
    for number, turn in enumerate(trajectory.turns):
        messages.extend(_fresh(turn, number, used))
    return messages


def _marks(layout: list[Any], mark: str) -> Iterator[int]:
    for message in layout:
        for call in message.get("tool_calls") or () if isinstance(message, dict) else ():
            if isinstance(call, dict) and isinstance(call.get(mark), int):
                yield call[mark]


def _restored(message: JsonDict, trajectory: Trajectory) -> JsonDict:
    if RESULT in message:
        rest = {key: value for key, value in message.items() if key not in (RESULT, KEPT)}
        return {**rest, **_with_content(trajectory.turns[message[RESULT]], message.get(KEPT))}
    restored = {key: value for key, value in message.items() if key != THOUGHT}
    if THOUGHT in message:
        restored["content"] = trajectory.turns[message[THOUGHT]].thought
    if isinstance(message.get("tool_calls"), list):
        restored["tool_calls"] = [_restored_call(call, trajectory) for call in message["tool_calls"]]
    return restored


def _restored_call(call: Any, trajectory: Trajectory) -> Any:
    if not isinstance(call, dict) or TURN not in call:
        return call
    turn = trajectory.turns[call[TURN]]
    rest = {key: value for key, value in call.items() if key not in (TURN, "function")}
    kept = dict(call.get("function", {}))
    arguments = _with_arguments(turn, kept.pop(KEPT, None))
    return {**rest, "function": {"name": turn.action.name, **arguments, **kept}}


def _fresh(turn: Turn, number: int, used: set[str]) -> list[JsonDict]:
    if turn.action.text is not None and not turn.action.name:
        return [
            {"role": "assistant", "content": turn.action.text},
            {"role": "user", "content": result_text(turn.observation)},
        ]
    call_id = turn.action.call_id or f"call_{number}"
    while call_id in used:
        call_id = f"{call_id}_{number}"
    used.add(call_id)
    function = {"name": turn.action.name or "action", **_with_arguments(turn, None)}
    return [
        {
            "role": "assistant",
            "content": turn.thought,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result_text(turn.observation)},
    ]


OPENAI_CHAT = OpenAIChat()
