"""ShareGPT conversations, and the variants of it that trainers read (read only).

Turns are messages `from` `human`, `gpt`, `system`, `function_call`, `observation` or `tool`; LLaMA-Factory also names
the list `messages` and the fields `role` and `content`. A call is the JSON text of a `function_call` message (a list
of calls made at once, too), or stands in `<tool_call>` tags in what the model says. Tools may be JSON text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from worldline.formats.base import each_record
from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.pairing import TURN, Calls
from worldline.formats.skeleton import mapping_of, merged_text, tool_specs, world_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, Trajectory, canonical_json

__all__ = ["SHAREGPT", "ShareGpt"]

_CALL_ROLES = frozenset({"function_call", "tool_call"})
_RESULT_ROLES = frozenset({"observation", "tool", "function", "tool_response", "function_response"})
_AGENT_ROLES = frozenset({"gpt", "assistant", "chatgpt", "bing", "bard", "model"})
_HUMAN_ROLES = frozenset({"human", "user"})


class ShareGpt:
    """ShareGPT-like chat data."""

    name = "sharegpt"
    suffixes = (".sharegpt.jsonl", ".sharegpt.json")

    def sniff(self, value: Any) -> str | None:
        """Recognise `conversations` of `from` and `value`, or `messages` with roles only trainers use."""
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict):
            return None
        conversations, messages = value.get("conversations"), value.get("messages")
        if isinstance(conversations, list) and all(_role(message) for message in conversations[:4]):
            return "`conversations` with `from` and `value`"
        if isinstance(messages, list) and messages:
            roles = {_role(message) for message in messages}
            if "from" in mapping_of(messages[0]):
                return "`messages` with `from` and `value`"
            if not roles.isdisjoint({"function_call", "observation"}):
                return "`messages` with the roles of LLaMA-Factory"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each conversation."""
        return each_record(file, _trajectory, source)


def _tagged(text: str, tag: str) -> list[tuple[int, str]]:
    """Return where each pair of tags begins and what is between them; a newline inside each tag belongs to it."""
    found = []
    end = 0
    while (start := text.find(f"<{tag}>", end)) >= 0:
        inner = start + len(tag) + 2
        if (end := text.find(f"</{tag}>", inner)) < 0:
            break
        found.append((start, text[inner:end].removeprefix("\n").removesuffix("\n")))
    return found


def _role(message: Any) -> str | None:
    """Return who speaks, or None where the value is no message."""
    fields = mapping_of(message)
    role = fields.get("from", fields.get("role"))
    return str(role) if isinstance(role, str) and ("value" in fields or "content" in fields) else None


def _trajectory(value: Any, source: Source, file: str) -> Trajectory:
    record = mapping_of(value)
    key = "conversations" if "conversations" in record else "messages"
    messages = record.get(key)
    if not isinstance(messages, list):
        raise ValueError("a conversation was expected: an object with a `conversations` list")
    calls = Calls()
    task = ""
    noted: list[list[int]] = []
    for number, message in enumerate(messages):
        role = _role(message)
        if role is None:
            raise ValueError(f"{key}.{number}: a message with `from` and `value` was expected")
        text = message.get("value", message.get("content"))
        if role in _HUMAN_ROLES and not task and isinstance(text, str):
            task = str(text)
        noted.append(_noted(message, role, text, calls))
    places = calls.places()
    turns = calls.turns()
    rest = {name: item for name, item in record.items() if name != key}
    return Trajectory(
        source=source,
        world=world_of(turns, task=task, tools=tool_specs(_parsed(record.get("tools")))),
        turns=tuple(turns),
        origin={"format": "sharegpt", "file": file},
        extra={"sharegpt": {**rest, key: list(map(_marked, messages, noted, repeat(places)))}},
    )


def _noted(message: JsonDict, role: str, text: Any, calls: Calls) -> list[int]:
    """Note the calls or results of a message; return the calls' numbers."""
    if role in _RESULT_ROLES:
        return _answer(text, message, calls)
    if role in _CALL_ROLES:
        return _call(text, calls)
    if role in _AGENT_ROLES and isinstance(text, str) and "<tool_call>" in text:
        return _spoken_calls(str(text), calls)
    return []


def _parsed(text: Any) -> Any:
    """Return what JSON text says, or the value as it is where it is none."""
    if not isinstance(text, str):
        return text
    try:
        return load_json(text)
    except JsonTextError:
        return text


def _call(text: Any, calls: Calls) -> list[int]:
    value = _parsed(text)
    made = value if isinstance(value, list) else [value]
    return [calls.call(_action(call), batch=(place, len(made))) for place, call in enumerate(made)]


def _spoken_calls(text: str, calls: Calls) -> list[int]:
    """Note the calls in tags; what stands before the first is the thought."""
    found = _tagged(text, "tool_call")
    thought = text[: found[0][0]].strip() if found else ""
    return [
        calls.call(
            _action(_parsed(call)),
            thought=thought if place == 0 and thought else None,
            batch=(place, len(found)),
        )
        for place, (_, call) in enumerate(found)
    ]


def _action(call: Any) -> Action:
    fields = mapping_of(call)
    fields = mapping_of(fields.get("function")) or fields
    name, arguments = fields.get("name"), fields.get("arguments", fields.get("parameters"))
    if not isinstance(name, str):
        return Action(text=str(call) if isinstance(call, str) else canonical_json(call))
    given = _parsed(arguments)
    text = str(arguments) if isinstance(arguments, str) and not isinstance(given, dict) else None
    call_id = mapping_of(call).get("id")
    return Action(
        name=str(name),
        arguments=mapping_of(given),
        text=text,
        call_id=str(call_id) if isinstance(call_id, str) else None,
    )


def _answer(text: Any, message: JsonDict, calls: Calls) -> list[int]:
    """Answer the call with the message's id, or the oldest that waits; several tagged results answer several."""
    call_id = message.get("tool_call_id")
    number = calls.waiting(str(call_id)) if isinstance(call_id, str) else None
    tagged = _tagged(text, "tool_response") if isinstance(text, str) else []
    if number is None and len(tagged) > 1:
        numbers = []
        for _, result in tagged:
            number = calls.oldest_waiting()
            if number is None:
                break
            calls.answer(number, merged_text(result))
            numbers.append(number)
        return numbers
    number = number if number is not None else calls.oldest_waiting()
    if number is None:
        return []
    calls.answer(number, merged_text(text))
    return [number]


def _marked(message: JsonDict, numbers: list[int], places: dict[int, int]) -> JsonDict:
    """Say which turns a message went into; its text goes where they say it all."""
    if not numbers:
        return message
    content = "value" if "value" in message else "content"
    told = _role(message) not in _AGENT_ROLES and isinstance(message.get(content), str)
    whole = told and all(number in places for number in numbers)
    rest = {name: item for name, item in message.items() if name != content or not whole}
    return {**rest, TURN: [places.get(number) for number in numbers]}


SHAREGPT = ShareGpt()
