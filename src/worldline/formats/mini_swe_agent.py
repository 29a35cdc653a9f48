"""mini-swe-agent's trajectories: 2.x (`mini-swe-agent-1.1`: tool calls, the Responses API, or fences) and 1.x (fences).

Each command that was run is a turn, in a fresh shell with both streams merged. The answer is the output itself where it
is recorded beside the message or can be read off the usual envelope of return code and output; otherwise the message as
it stands. Commands that were not run (refused formats, rejections, the final submission) are no turns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.salvage import whole_or_part
from worldline.formats.skeleton import batch_note, mapping_of, merged_text, parts_text, world_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Observation, Source, Trajectory, Turn, WorldSpec, content_id

__all__ = ["MINI_SWE_AGENT", "MiniSweAgent"]

_FENCES = (
    (re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n"), "\n```"),
    (re.compile(r"<mswea_bash_command>"), "</mswea_bash_command>"),
)
"""How a command is marked in a text: what opens it and what closes it."""
_RETURN_CODE = re.compile(r"(?:<exception>.*?</exception>\s*)?<returncode>(-?\d{1,6})</returncode>\n?", re.DOTALL)
_OUTPUT = "<output>\n"
_OUTPUT_END = "</output>"
_FINAL = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
"""What a command prints to hand in its work."""
_ANSWER_FIELDS = frozenset({"role", "type", "content", "output", "tool_call_id", "call_id", "extra"})
_NOT_RUN = "action was not executed"


@dataclass(frozen=True, slots=True)
class _Call:
    command: str
    call_id: str | None
    message: int
    position: int
    size: int


class MiniSweAgent:
    """Trajectory files of mini-swe-agent."""

    name = "mini_swe_agent"
    suffixes = (".traj.json",)

    def sniff(self, value: Any) -> str | None:
        """Recognise `trajectory_format`, `info.mini_version`, or a system message that asks for its fences."""
        if isinstance(value, list):
            first = mapping_of(value[0] if value else None)
            asked = first.get("role") == "system" and "mswea_bash_command" in parts_text(first.get("content"))
            return "messages of an agent that answers with `mswea_bash_command`" if asked else None
        if not isinstance(value, dict):
            return None
        version = value.get("trajectory_format")
        if isinstance(version, str) and version.startswith("mini-swe-agent"):
            return f"trajectory_format {version}"
        if "mini_version" in mapping_of(value.get("info")):
            return "`info.mini_version`"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each document, or for a bare list of messages."""
        for record in whole_or_part(file, whole_list=lambda first: isinstance(first, dict) and "role" in first):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                yield _trajectory(record.value, source, file.path.name)
            except ValueError as exc:
                yield file.skipped(reason_of(exc), record.line)


def _trajectory(value: Any, source: Source, file: str) -> Trajectory:
    document = {"messages": value} if isinstance(value, list) else value
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        raise ValueError("an object with a `messages` list was expected")
    messages: list[JsonDict] = []
    for number, message in enumerate(document["messages"]):
        if not isinstance(message, dict):
            raise ValueError(f"messages.{number}: an object was expected")
        messages.append(message)
    turns, used = _turns(messages, mapping_of(document.get("info")))
    asked = next((message for message in messages if message.get("role") == "user"), {})
    task = str(parts_text(asked.get("content")))
    kept: JsonDict = {key: item for key, item in document.items() if key != "messages"}
    kept["other_messages"] = [
        {"place": number, **message} for number, message in enumerate(messages) if number not in used
    ]
    return Trajectory(
        source=source,
        world=_world(turns, task, mapping_of(mapping_of(document.get("info")).get("config"))),
        turns=tuple(turns),
        family=f"mini_swe_agent-{content_id(task, 8)}",
        origin={"format": "mini_swe_agent", "file": file, **_version(document)},
        extra={"mini_swe_agent": kept},
    )


def _version(document: JsonDict) -> JsonDict:
    version = mapping_of(document.get("info")).get("mini_version")
    return {"version": str(version)} if isinstance(version, str) else {}


def _world(turns: list[Turn], task: str, config: JsonDict) -> WorldSpec:
    """Build the world: each command gets a shell of its own, `sh -c` on the local machine, bash in containers."""
    local = str(config.get("environment_type", "")).endswith("LocalEnvironment")
    shell: JsonDict = {"program": "sh"} if local else {}
    shell |= {"mode": "command", "persist": False, "merged": True}
    world = world_of(turns, task=task, shell=shell)
    cwd = mapping_of(config.get("environment")).get("cwd")
    known = isinstance(cwd, str) and cwd.startswith("/") and ".." not in cwd.split("/") and "\0" not in cwd
    state: JsonDict = {"cwd": str(cwd)} if known else {}
    if not turns:
        state["shell"] = shell
    return world.model_copy(update={"domain": "terminal", "initial_state": {**state, **world.initial_state}})


def _turns(messages: list[JsonDict], info: JsonDict) -> tuple[list[Turn], set[int]]:
    """Return the turns in the order of the commands, and the numbers of the messages that are all in them."""
    answered: list[tuple[_Call, int]] = []
    waiting: list[_Call] = []
    for number, message in enumerate(messages):
        calls = _calls(message, number)
        if calls:
            waiting = calls
            continue
        call = _asked(waiting, message)
        if call is not None and _is_answer(message, call, last=number == len(messages) - 1, info=info):
            waiting = [other for other in waiting if other is not call]
            answered.append((call, number))
    turns: list[Turn] = []
    used: set[int] = set()
    for call, number in sorted(answered, key=lambda pair: (pair[0].message, pair[0].position)):
        turns.append(_turn(messages[call.message], call, messages[number], first=call.message not in used))
        used |= {number, call.message}
    return turns, used


def _calls(message: JsonDict, number: int) -> list[_Call]:
    """Return the commands a message asks for."""
    extra = mapping_of(message.get("extra"))
    if "interrupt_type" in extra or message.get("role") in ("system", "tool", "exit"):
        return []
    actions = extra.get("actions")
    if isinstance(actions, list):
        found = [
            (str(action["command"]), action.get("tool_call_id"))
            for action in actions
            if isinstance(action, dict) and isinstance(action.get("command"), str)
        ]
    elif message.get("role") == "assistant":
        found = _commands_in(message)
    else:
        return []
    return [
        _Call(command, str(call_id) if isinstance(call_id, str) else None, number, place, len(found))
        for place, (command, call_id) in enumerate(found)
    ]


def _commands_in(message: JsonDict) -> list[tuple[str, Any]]:
    """Read the commands off an assistant message that does not list them: its calls, or its only fence."""
    calls = message.get("tool_calls")
    found: list[tuple[str, Any]] = []
    for call in calls if isinstance(calls, list) else ():
        given = mapping_of(mapping_of(call).get("function")).get("arguments")
        try:
            arguments = mapping_of(load_json(given)) if isinstance(given, str) else mapping_of(given)
        except JsonTextError:
            continue
        if isinstance(arguments.get("command"), str):
            found.append((str(arguments["command"]), call.get("id")))
    if found:
        return found
    content = parts_text(message.get("content"))
    for opening, closing in _FENCES:
        commands = list(_marked(content, opening, closing))
        if len(commands) == 1:
            return [(commands[0].strip(), None)]
    return []


def _marked(text: str, opening: re.Pattern[str], closing: str) -> Iterator[str]:
    """Yield what stands between marks; an opening one without a closing one ends it."""
    position = 0
    while (found := opening.search(text, position)) is not None:
        # The newline of an opening fence may also be that of the closing one: an empty block.
        end = text.find(closing, found.end() - (closing[0] == "\n"))
        if end < 0:
            return
        yield text[found.end() : max(end, found.end())]
        position = max(end, found.end()) + len(closing) - (closing[0] == "\n")


def _asked(waiting: list[_Call], message: JsonDict) -> _Call | None:
    """Return the call that a message answers: the one of its id, or the first that waits."""
    role, kind = message.get("role"), message.get("type")
    if role not in ("user", "tool") and kind != "function_call_output":
        return None
    if "interrupt_type" in mapping_of(message.get("extra")):
        return None
    call_id = message.get("tool_call_id", message.get("call_id"))
    if call_id is not None:
        return next((call for call in waiting if call.call_id == call_id), None)
    return next((call for call in waiting if call.call_id is None), None)


def _is_answer(message: JsonDict, call: _Call, *, last: bool, info: JsonDict) -> bool:
    """Whether a message says what the command printed, not that it was refused or that the run is over."""
    extra = mapping_of(message.get("extra"))
    if extra.get("exception_info") == _NOT_RUN or "exit_status" in extra:
        return False
    if "returncode" in extra or "raw_output" in extra:
        return True
    text = _text(message)
    if _RETURN_CODE.match(text) or _envelope(text) is not None:
        return True
    return not (last and (info.get("exit_status") or any(word in call.command for word in _FINAL)))


def _text(message: JsonDict) -> str:
    return parts_text(message.get("output" if message.get("type") == "function_call_output" else "content"))


def _turn(message: JsonDict, call: _Call, answer: JsonDict, *, first: bool) -> Turn:
    """Build a turn; the first of a message also keeps what the message says beside its commands."""
    observation, extra = _observation(answer)
    kept = {key: item for key, item in answer.items() if key not in _ANSWER_FIELDS}
    if first:
        kept |= {f"message.{key}": item for key, item in message.items() if key not in ("role", "content", "extra")}
        own = {key: item for key, item in mapping_of(message.get("extra")).items() if key != "actions"}
        kept |= {"message.extra": own} if own else {}
    if message.get("role") == "user":
        kept["by"] = "user"
    content = parts_text(message.get("content")) or _spoken(message)
    return Turn(
        action=Action(name="bash", arguments={"command": call.command}, call_id=call.call_id),
        observation=observation,
        thought=str(content) if content and first else None,
        extra={**batch_note(call.position, call.size), **extra, **kept},
    )


def _spoken(message: JsonDict) -> str:
    """Return the text in a message of the Responses API."""
    output = message.get("output")
    items = output if isinstance(output, list) else []
    return "".join(
        parts_text(mapping_of(item).get("content")) for item in items if mapping_of(item).get("type") == "message"
    )


def _observation(answer: JsonDict) -> tuple[Observation, JsonDict]:
    """Return what the command printed, and what else is known about how it ended."""
    extra = dict(mapping_of(answer.get("extra")))
    shown = _text(answer)
    raw, code = extra.pop("raw_output", None), extra.pop("returncode", None)
    failed = extra.pop("exception_info", None)
    envelope, found = _envelope(shown), _RETURN_CODE.match(shown)
    if isinstance(raw, str):
        observation = merged_text(raw)
        if raw not in shown and (envelope is None or envelope[0] != raw):
            extra["shown"] = str(shown)
    elif envelope is not None:
        observation = merged_text(envelope[0])
        code = envelope[1] if code is None else code
    else:
        observation = merged_text(shown).model_copy(update={"truncated": "<output_head>" in shown})
        code = int(found.group(1)) if found and code is None else code
        if found is None and code is None and " timed out and has been killed" in shown:
            failed = "timed out"
    if failed:
        extra |= {"exception_info": failed} | ({} if code is None else {"returncode": code})
        return observation.model_copy(update={"is_error": True}), extra
    if isinstance(code, int) and not isinstance(code, bool):
        return observation.model_copy(update={"exit_code": code, "is_error": code != 0}), extra
    return observation, extra


def _envelope(text: str) -> tuple[str, int | None] | None:
    """Read output and return code off the usual envelope, in tags or in JSON; None where output was left out."""
    found = _RETURN_CODE.match(text)
    if found is not None:
        end = text.rfind(_OUTPUT_END)
        start = found.end() + len(_OUTPUT)
        if not text.startswith(_OUTPUT, found.end()) or end < start:
            return None
        return text[start:end], int(found.group(1))
    if not text.startswith("{"):
        return None
    try:
        value = load_json(text)
    except JsonTextError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("output"), str) or "returncode" not in value:
        return None
    code = value["returncode"]
    return value["output"], code if isinstance(code, int) and not isinstance(code, bool) else None


MINI_SWE_AGENT = MiniSweAgent()
