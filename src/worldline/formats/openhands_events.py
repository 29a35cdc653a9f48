"""What single OpenHands events say, in both dialects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.skeleton import mapping_of, merged_text, parts_text
from worldline.types import Action, JsonDict, Observation

__all__ = ["OPENHANDS_V0", "OPENHANDS_V1", "Answer", "Asked", "Dialect"]

_OWN_TOOLS = frozenset({"think", "finish", "task_tracker", "invoke_skill", "switch_llm"})
"""Tools of the SDK that only concern the agent itself."""
_DELEGATES = frozenset({"delegate", "task", "workflow", "DelegateTool", "task_tool_set"})
_ADDED = ("security_risk", "summary")
"""Arguments that the SDK asks of the model for its own use."""
_UNFINISHED = -1
"""Exit code of a command that still runs, or of none."""
_SDK_KNOWN = frozenset(
    {"id", "timestamp", "source", "kind", "thought", "reasoning_content", "action", "tool_name", "tool_call_id"}
    | {"tool_call", "llm_response_id", "observation", "action_id", "error", "extended_content", *_ADDED}
)
_OBSERVATION_KNOWN = frozenset({"content", "output", "error", "kind", "is_error", "exit_code", "command", "timeout"})
_OLDER_KNOWN = frozenset(
    {"id", "timestamp", "source", "message", "cause", "action", "observation", "args", "content", "extras", "success"}
    | {"tool_call_metadata", "llm_metrics"}
)


@dataclass(frozen=True, slots=True)
class Asked:
    """An action event."""

    place: int
    names: tuple[str, ...]
    """What an answer may name it by."""
    action: Action | None
    """None for what is no action on the environment."""
    thought: str | None = None
    response: str = ""
    """The model's response it belongs to, shared by calls made at once."""
    delegates: bool = False
    timestamp: str | None = None
    extra: JsonDict = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """An event that answers an action."""

    names: tuple[str, ...]
    """What it names its action by, the surest first."""
    observation: Observation | None
    """None where the environment was never asked (a rejection)."""
    extra: JsonDict = field(default_factory=dict)


class Dialect(Protocol):
    """A generation of events."""

    why: str

    def knows(self, event: Any) -> bool:
        """Whether something is an event of this generation."""

    def asked(self, event: JsonDict, place: int) -> Asked | None:
        """Return the action of an event, or None if it is none."""

    def answer(self, event: JsonDict) -> Answer | None:
        """Return the answer of an event, or None if it is none."""

    def said(self, event: JsonDict) -> str:
        """Return what the user says in an event, or nothing."""


def _names(**named: Any) -> tuple[str, ...]:
    """Return what events refer to one another by; numbers and texts apart."""
    known = {kind: value for kind, value in named.items() if isinstance(value, str | int)}
    return tuple(f"{kind}:{value!r}" for kind, value in known.items())


def _says(item: Any) -> bool:
    """Whether a field holds more than its default: not null, false or empty; a 0 says something."""
    return not (item is None or item is False or item in ("", [], {}))


def _rest(event: JsonDict, known: frozenset[str], name: str) -> JsonDict:
    """Return the fields of an event that have no place of their own, as far as something is in them."""
    found = {key: item for key, item in event.items() if key not in known and _says(item)}
    return {name: found} if found else {}


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) and value else None


def _ended(observation: Observation, code: Any, failed: Any) -> Observation:
    """Note how a command ended; -1 says that it has not."""
    known = isinstance(code, int) and not isinstance(code, bool) and code != _UNFINISHED
    error: bool | None = failed if isinstance(failed, bool) else None
    if known and not error:
        error = code != 0
    return observation.model_copy(update={"exit_code": code if known else None, "is_error": error})


class _Sdk:
    """Events of the agent SDK, told apart by `kind`."""

    why = "events with `kind` and `source`"

    def knows(self, event: Any) -> bool:
        return isinstance(event, dict) and isinstance(event.get("kind"), str) and "source" in event and "id" in event

    def asked(self, event: JsonDict, place: int) -> Asked | None:
        if event["kind"] == "ACPToolCallEvent":
            return _remote_call(event, place)
        if event["kind"] != "ActionEvent":
            return None
        tool = _text(event.get("tool_name")) or ""
        kind = _text(mapping_of(event.get("action")).get("kind")) or ""
        own = tool in _OWN_TOOLS or kind in ("ThinkAction", "FinishAction", "TaskTrackerAction")
        delegates = tool in _DELEGATES or kind in ("DelegateAction", "TaskAction", "WorkflowAction")
        action, extra = self._action(event, tool)
        extra = {key: event[key] for key in _ADDED if _says(event.get(key))} | extra | _rest(event, _SDK_KNOWN, "event")
        if _text(event.get("reasoning_content")):
            extra["reasoning_content"] = event["reasoning_content"]
        return Asked(
            place=place,
            names=_names(id=event.get("id"), call=event.get("tool_call_id")),
            action=None if own or delegates else action,
            thought=_text(parts_text(event.get("thought"))),
            response=_text(event.get("llm_response_id")) or "",
            delegates=delegates,
            timestamp=_text(event.get("timestamp")),
            extra=extra,
        )

    def _action(self, event: JsonDict, tool: str) -> tuple[Action, JsonDict]:
        call_id = _text(event.get("tool_call_id"))
        call = mapping_of(event.get("tool_call"))
        given = call.get("arguments", mapping_of(call.get("function")).get("arguments"))
        arguments: Any = given
        if isinstance(given, str):
            try:
                arguments = load_json(given)
            except JsonTextError:
                return Action(name=tool, text=str(given), call_id=call_id), {}
        if not isinstance(arguments, dict):
            arguments = {key: item for key, item in mapping_of(event.get("action")).items() if key != "kind"}
        extra: JsonDict = {key: arguments[key] for key in _ADDED if key in arguments}
        plain = {key: item for key, item in arguments.items() if key not in _ADDED}
        return Action(name=tool, arguments=plain, call_id=call_id), extra

    def answer(self, event: JsonDict) -> Answer | None:
        names = _names(id=event.get("action_id"), call=event.get("tool_call_id"))
        match event["kind"]:
            case "ObservationEvent":
                observation, extra = self._observation(mapping_of(event.get("observation")))
                extra |= _rest(event, _SDK_KNOWN, "answer_event")
                if event.get("extended_content"):
                    extra["extended_content"] = event["extended_content"]
                return Answer(names, observation, extra)
            case "AgentErrorEvent":
                failed = merged_text(event.get("error")).model_copy(update={"is_error": True})
                return Answer(names, failed, {"kind": "AgentErrorEvent"})
            case "UserRejectObservation":
                return Answer(names, None)
            case "ACPToolCallEvent":
                return _remote_answer(event)
        return None

    def _observation(self, given: JsonDict) -> tuple[Observation, JsonDict]:
        found = next((given[key] for key in ("content", "output", "error") if parts_text(given.get(key))), "")
        code = given.get("exit_code")
        code = mapping_of(given.get("metadata")).get("exit_code") if code is None else code
        rest = {key: item for key, item in given.items() if key not in _OBSERVATION_KNOWN and _says(item)}
        if given.get("timeout") is True:
            rest["timed_out"] = True
        return _ended(merged_text(found), code, given.get("is_error", given.get("error") is True or None)), rest

    def said(self, event: JsonDict) -> str:
        if event["kind"] != "MessageEvent" or event.get("source") != "user":
            return ""
        return str(parts_text(mapping_of(event.get("llm_message")).get("content")))


def _remote_call(event: JsonDict, place: int) -> Asked | None:
    """Read a call that another agent's server made; only the event in which it is over counts."""
    if event.get("status") not in ("completed", "failed"):
        return None
    given, call_id = event.get("raw_input"), _text(event.get("tool_call_id"))
    name = _text(event.get("tool_kind")) or _text(event.get("title")) or ""
    action = Action(name=name, arguments=mapping_of(given), call_id=call_id)
    extra: JsonDict = {"title": event["title"]} if _text(event.get("title")) else {}
    return Asked(place, (), action, timestamp=_text(event.get("timestamp")), extra=extra)


def _remote_answer(event: JsonDict) -> Answer | None:
    if event.get("status") not in ("completed", "failed"):
        return None
    output, blocks = event.get("raw_output"), event.get("content")
    parts = [mapping_of(block).get("content") for block in blocks] if isinstance(blocks, list) else []
    text = output if isinstance(output, str) else parts_text([part for part in parts if isinstance(part, dict)])
    failed = event.get("is_error") is True or event["status"] == "failed"
    observation = merged_text(text).model_copy(update={"is_error": failed})
    return Answer((), observation, {"raw_output": output} if isinstance(output, dict | list) and output else {})


_V0_ACTIONS = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "read": "read",
    "write": "write",
    "edit": "edit",
    "browse": "browse",
    "browse_interactive": "browse_interactive",
    "call_tool_mcp": "call_tool_mcp",
}
"""Older actions on the environment, and what each is called where no tool call names it."""
_V0_ANSWERS = frozenset(
    {"run", "run_ipython", "read", "write", "edit", "browse", "mcp", "error", "success", "download"}
)
_V0_OWN_ARGS = frozenset(
    {"thought", "confirmation_state", "security_risk", "blocking", "hidden", "is_static", "image_urls"}
)


class _Older:
    """Events before the SDK: `action` with `args`, `observation` with `content`, joined by `cause`."""

    why = "events with `source` and `action` or `observation`"

    def knows(self, event: Any) -> bool:
        if not isinstance(event, dict) or "source" not in event or "kind" in event:
            return False
        return (isinstance(event.get("action"), str) and isinstance(event.get("args"), dict)) or (
            isinstance(event.get("observation"), str) and "content" in event
        )

    def asked(self, event: JsonDict, place: int) -> Asked | None:
        kind = event.get("action")
        if not isinstance(kind, str):
            return None
        args, call = mapping_of(event.get("args")), mapping_of(event.get("tool_call_metadata"))
        plain = {key: item for key, item in args.items() if key not in _V0_OWN_ARGS}
        name = _text(call.get("function_name")) or _V0_ACTIONS.get(kind, kind)
        own = {key: item for key, item in args.items() if key in _V0_OWN_ARGS and key != "thought" and item}
        extra: JsonDict = {**({"args": own} if own else {}), **_rest(event, _OLDER_KNOWN, "event")}
        if event.get("source") != "agent":
            extra["by"] = event["source"]
        several = call.get("total_calls_in_response")
        shared = isinstance(several, int) and several > 1
        return Asked(
            place=place,
            names=_names(id=event.get("id")),
            action=Action(name=name, arguments=plain, call_id=_text(call.get("tool_call_id")))
            if kind in _V0_ACTIONS
            else None,
            thought=_text(args.get("thought")),
            response=(_text(mapping_of(call.get("model_response")).get("id")) or "") if shared else "",
            delegates=kind == "delegate",
            timestamp=_text(event.get("timestamp")),
            extra=extra,
        )

    def answer(self, event: JsonDict) -> Answer | None:
        kind = event.get("observation")
        if not isinstance(kind, str):
            return None
        names = _names(id=event.get("cause"))
        if kind not in _V0_ANSWERS:
            return Answer(names, None) if names else None
        extras = mapping_of(event.get("extras"))
        metadata = mapping_of(extras.get("metadata"))
        code = extras.get("exit_code", metadata.get("exit_code")) if kind == "run" else None
        rest = {key: item for key, item in extras.items() if key not in ("command", "code", "exit_code", "content")}
        extra = {key: item for key, item in rest.items() if _says(item)} | _rest(event, _OLDER_KNOWN, "answer_event")
        observation = _ended(merged_text(event.get("content")), code, True if kind == "error" else None)
        return Answer(names, observation, extra | ({"kind": "error"} if kind == "error" else {}))

    def said(self, event: JsonDict) -> str:
        if event.get("action") != "message" or event.get("source") != "user":
            return ""
        return _text(mapping_of(event.get("args")).get("content")) or ""


OPENHANDS_V1: Dialect = _Sdk()
"""The agent SDK's events."""
OPENHANDS_V0: Dialect = _Older()
"""The older events."""
