"""ATIF (Harbor's agent trajectory format): one document is one trajectory; a file may hold one a line.

Every tool call with a result in its step is a turn, and so is an agent step that acts by its message alone.
Steps of copied context are no turns. The whole document stays in `extra["atif"]` with the turns taken out, so
that it comes out as it went in. A trajectory that did not come from ATIF is written with what the format has no
place for under `extra.worldline`, and read back equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from worldline import __version__
from worldline.errors import FormatError
from worldline.formats.atif_models import VERSION, AtifTrajectory, is_iso_8601
from worldline.formats.base import first_problem
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
from worldline.types import Action, JsonDict, Observation, Source, Trajectory, Turn

__all__ = ["ATIF", "Atif"]

_TURN = "$turn"
_RESULT = "$result"
_THOUGHT = "$thought"
_CONTENT = "$content"
_OWN = "worldline"
_OBSERVATION_REST = ("is_error", "raw", "volatile", "truncated", "data")
_TURN_REST = ("state_before", "train", "reward", "done", "determined", "extra")


class Atif:
    """The Agent Trajectory Interchange Format, read in versions 1.0 to 1.8, written in 1.8."""

    name = "atif"
    suffixes = (".atif.jsonl", ".trajectory.json")

    def sniff(self, value: Any) -> str | None:
        """Recognise the `schema_version`."""
        if isinstance(value, list) and value:
            value = value[0]
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, str) and version.startswith("ATIF-"):
            return f"schema_version {version}"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each document."""
        for record in file.values(whole_list=lambda first: False):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                AtifTrajectory.model_validate(record.value)
                yield _trajectory(record.value, source, file.path.name)
            except ValidationError as exc:
                yield file.skipped(f"not an ATIF document: {first_problem(exc)}", record.line)
            except ValueError as exc:
                yield file.skipped(str(exc), record.line)

    def line(self, trajectory: Trajectory) -> str:
        """Lay out a trajectory as one document.

        Raises:
            FormatError: It holds NaN or something that is not JSON.
        """
        kept = trajectory.extra.get("atif")
        document = _restored(kept, trajectory) if isinstance(kept, dict) else None
        try:
            return plain_json(document if document is not None else _fresh(trajectory))
        except (ValueError, TypeError) as exc:
            raise FormatError(f"trajectory {trajectory.id} cannot be written as JSON: {exc}") from exc


def _trajectory(document: JsonDict, source: Source, file: str) -> Trajectory:
    turns: list[Turn] = []
    steps = [_taken_apart(step, turns) for step in document["steps"]]
    own = mapping_of(mapping_of(document.get("extra")).get(_OWN))
    if own:
        return _own_trajectory(document, own, turns)
    task = next((parts_text(step["message"]) for step in steps if step["source"] == "user" and "message" in step), "")
    tools = tool_specs(document["agent"].get("tool_definitions"))
    return Trajectory(
        source=source,
        world=world_of(turns, task=str(task), tools=tools),
        turns=tuple(turns),
        origin={"format": "atif", "file": file, "version": document["schema_version"]},
        extra={"atif": {**document, "steps": steps}},
    )


def _own_trajectory(document: JsonDict, own: JsonDict, turns: list[Turn]) -> Trajectory:
    """Read back what :func:`_fresh` wrote."""
    world: JsonDict = dict(mapping_of(own.get("world")))
    if "task" not in world and document["steps"][0]["source"] == "user":
        world["task"] = document["steps"][0]["message"]
    world.setdefault("tools", [tool.model_dump() for tool in tool_specs(document["agent"].get("tool_definitions"))])
    rest = {key: own[key] for key in ("source", "family", "origin", "extra") if key in own}
    return Trajectory.model_validate({**rest, "world": world, "turns": turns})


def _taken_apart(step: JsonDict, turns: list[Turn]) -> JsonDict:
    """Append the step's turns to `turns` and return the step with marks in their places."""
    if step["source"] != "agent" or step.get("is_copied_context"):
        return step
    calls: list[JsonDict] = step.get("tool_calls") or []
    results: list[JsonDict] = (step.get("observation") or {}).get("results") or []
    if not calls and results and isinstance(step.get("message"), str) and step["message"]:
        return _spoken(step, results, turns)
    pairs = _pairs(calls, results)
    if not pairs:
        return step
    first = len(turns)
    message = step.get("message")
    thought = str(message) if isinstance(message, str) and message else None
    for position, (call, result) in enumerate(pairs):
        note = batch_note(position, len(pairs))
        turns.append(_turn(step, calls[call], results[result], thought if position == 0 else None, note))
    turn_of_call = {call: first + place for place, (call, _) in enumerate(pairs)}
    turn_of_result = {result: first + place for place, (_, result) in enumerate(pairs)}
    rest = dict(step)
    if thought is not None:
        del rest["message"]
        rest[_THOUGHT] = first
    rest["tool_calls"] = [_marked_call(call, turn_of_call.get(place)) for place, call in enumerate(calls)]
    marked = [_marked_result(result, turn_of_result.get(place)) for place, result in enumerate(results)]
    rest["observation"] = {**step["observation"], "results": marked}
    return rest


def _spoken(step: JsonDict, results: list[JsonDict], turns: list[Turn]) -> JsonDict:
    """Take apart a step whose action is its message: all its results are one answer."""
    joined = "".join(parts_text(result.get("content")) for result in results)
    single = results[0].get("content") if len(results) == 1 else joined
    turns.append(
        Turn(
            action=Action(text=str(step["message"])),
            observation=_observation(single, mapping_of(results[0].get("extra"))),
            **{"timestamp": step.get("timestamp"), **_turn_rest(step)},
        )
    )
    index = len(turns) - 1
    rest = {key: value for key, value in step.items() if key != "message"}
    if len(results) == 1:
        rest["observation"] = {**step["observation"], "results": [_marked_result(results[0], index)]}
    return {**rest, _TURN: index}


def _pairs(calls: list[JsonDict], results: list[JsonDict]) -> list[tuple[int, int]]:
    """Match calls with results: by id, or the only call with the only result that names none."""
    if len(calls) == 1 and len(results) == 1 and results[0].get("source_call_id") is None:
        return [(0, 0)]
    taken: set[int] = set()
    pairs = []
    for place, call in enumerate(calls):
        for index, result in enumerate(results):
            if index not in taken and result.get("source_call_id") == call["tool_call_id"]:
                taken.add(index)
                pairs.append((place, index))
                break
    return pairs


def _turn(step: JsonDict, call: JsonDict, result: JsonDict, thought: str | None, note: JsonDict) -> Turn:
    rest = _turn_rest(step) if not note else {}
    own = mapping_of(mapping_of(call.get("extra")).get(_OWN))
    name = own.get("name", call["function_name"])
    return Turn(
        action=Action(
            name=str(name),
            arguments=call["arguments"],
            text=own.get("text"),
            call_id=own["call_id"] if "call_id" in own else str(call["tool_call_id"]),
        ),
        observation=_observation(result.get("content"), mapping_of(result.get("extra"))),
        **{"thought": thought, "timestamp": step.get("timestamp"), "extra": note, **rest},
    )


def _turn_rest(step: JsonDict) -> JsonDict:
    own = mapping_of(mapping_of(step.get("extra")).get(_OWN))
    return {key: own[key] for key in (*_TURN_REST, "thought", "timestamp") if key in own}


def _observation(content: Any, extra: JsonDict) -> Observation:
    """Build an observation; `exit_code`, `stdout` and `stderr` in a result's extra tell the streams apart."""
    observation = merged_text(content)
    own = mapping_of(extra.get(_OWN))
    fields: JsonDict = {key: own[key] for key in _OBSERVATION_REST if key in own}
    code, stderr, stdout = extra.get("exit_code"), extra.get("stderr"), extra.get("stdout")
    if isinstance(code, int) and not isinstance(code, bool):
        fields["exit_code"] = code
        fields.setdefault("is_error", None if own else code != 0)
    text = observation.text
    if isinstance(stderr, str):
        if isinstance(stdout, str):
            fields |= {"stdout": stdout, "stderr": stderr}
        elif text.endswith(stderr):
            fields |= {"stdout": text[: len(text) - len(stderr)], "stderr": stderr}
    return Observation.model_validate({**observation.model_dump(exclude_defaults=True), **fields})


def _marked_call(call: JsonDict, turn: int | None) -> JsonDict:
    if turn is None:
        return call
    return {**{key: call[key] for key in ("tool_call_id", "extra") if key in call}, _TURN: turn}


def _marked_result(result: JsonDict, turn: int | None) -> JsonDict:
    if turn is None:
        return result
    rest = {key: value for key, value in result.items() if key != "content"}
    if not isinstance(result.get("content"), str):
        rest[_CONTENT] = [result["content"]] if "content" in result else []
    return {**rest, _RESULT: turn}


def _restored(kept: JsonDict, trajectory: Trajectory) -> JsonDict | None:
    """Put the turns back into the document they were taken from, or return None if it no longer fits."""
    steps = kept.get("steps")
    if not isinstance(steps, list) or not fits(_marks(steps), trajectory.turns):
        return None
    document: JsonDict = {**kept, "steps": [_restored_step(step, trajectory.turns) for step in steps]}
    if trajectory.source is Source.SIMULATED:
        document["extra"] = {**mapping_of(kept.get("extra")), _OWN: _own(trajectory, world=True)}
    return document


def _marks(steps: list[Any]) -> Iterator[int]:
    for step in steps:
        if _TURN in step:
            yield step[_TURN]
        for call in step.get("tool_calls") or ():
            if _TURN in call:
                yield call[_TURN]


def _restored_step(step: JsonDict, turns: tuple[Turn, ...]) -> JsonDict:
    restored = {key: value for key, value in step.items() if key not in (_TURN, _THOUGHT)}
    if _TURN in step:
        restored["message"] = turns[step[_TURN]].action.text
    if _THOUGHT in step:
        restored["message"] = turns[step[_THOUGHT]].thought
    if step.get("tool_calls"):
        restored["tool_calls"] = [_restored_call(call, turns) for call in step["tool_calls"]]
    if step.get("observation"):
        results = [_restored_result(result, turns) for result in step["observation"]["results"]]
        restored["observation"] = {**step["observation"], "results": results}
    return restored


def _restored_call(call: JsonDict, turns: tuple[Turn, ...]) -> JsonDict:
    if _TURN not in call:
        return call
    action = turns[call[_TURN]].action
    rest = {key: value for key, value in call.items() if key != _TURN}
    return {**rest, "function_name": action.name, "arguments": action.arguments}


def _restored_result(result: JsonDict, turns: tuple[Turn, ...]) -> JsonDict:
    if _RESULT not in result:
        return result
    observation = turns[result[_RESULT]].observation
    rest = {key: value for key, value in result.items() if key not in (_RESULT, _CONTENT)}
    kept = result.get(_CONTENT)
    if isinstance(kept, list) and parts_text(kept[0] if kept else None) == observation.text:
        return {**rest, "content": kept[0]} if kept else rest
    return {**rest, "content": result_text(observation)}


def _fresh(trajectory: Trajectory) -> JsonDict:
    steps: list[JsonDict] = []
    if trajectory.world.task:
        steps.append({"step_id": 1, "source": "user", "message": trajectory.world.task})
    for number, turn in enumerate(trajectory.turns):
        steps.append(_fresh_step(turn, len(steps) + 1, f"call_{number}"))
    if not steps:
        steps.append({"step_id": 1, "source": "system", "message": ""})
    agent: JsonDict = {"name": "worldline", "version": __version__}
    if trajectory.world.tools:
        agent["tool_definitions"] = [tool_definition(tool) for tool in trajectory.world.tools]
    return {
        "schema_version": VERSION,
        "trajectory_id": trajectory.id,
        "agent": agent,
        "steps": steps,
        "extra": {_OWN: _own(trajectory)},
    }


def _own(trajectory: Trajectory, *, world: bool = False) -> JsonDict:
    """What ATIF has no place for."""
    plain = trajectory.model_dump(mode="json", exclude_defaults=True)
    spec: JsonDict = plain["world"]
    if not world:
        spec = {key: value for key, value in spec.items() if key not in ("task", "tools")}
    rest: JsonDict = {key: plain[key] for key in ("source", "family", "origin", "extra") if key in plain}
    if world:
        rest.pop("extra", None)
    return {**rest, "world": spec}


def _fresh_step(turn: Turn, step_id: int, call_id: str) -> JsonDict:
    plain = turn.model_dump(mode="json", exclude_defaults=True)
    own = {key: plain[key] for key in _TURN_REST if key in plain}
    step: JsonDict = {"step_id": step_id, "source": "agent", "message": turn.thought or ""}
    if turn.thought == "":
        own["thought"] = ""
    if turn.timestamp is not None:
        (step if is_iso_8601(turn.timestamp) else own)["timestamp"] = turn.timestamp
    action = turn.action
    result: JsonDict = {"content": turn.observation.text, **_result_extra(turn.observation)}
    if action == Action(text=action.text) and action.text and turn.thought is None:
        step["message"] = action.text
    else:
        kept: JsonDict = {"call_id": None} if action.call_id is None else {}
        kept |= {"text": action.text} if action.text is not None else {}
        kept |= {"name": ""} if not action.name else {}
        call_id = action.call_id if action.call_id is not None else call_id
        call: JsonDict = {
            "tool_call_id": call_id,
            "function_name": action.name or "action",
            "arguments": action.arguments,
        }
        step["tool_calls"] = [{**call, **({"extra": {_OWN: kept}} if kept else {})}]
        result = {"source_call_id": call_id, **result}
    step["observation"] = {"results": [result]}
    if own:
        step["extra"] = {_OWN: own}
    return step


def _result_extra(observation: Observation) -> JsonDict:
    plain = observation.model_dump(mode="json", exclude_defaults=True)
    own = {key: plain[key] for key in _OBSERVATION_REST if key in plain}
    extra: JsonDict = {key: plain[key] for key in ("exit_code", "stderr") if key in plain}
    if observation.stdout is not None and observation.text != observation.stdout + (observation.stderr or ""):
        extra["stdout"] = observation.stdout
    if observation.exit_code is not None and observation.is_error is None:
        own["is_error"] = None
    if own:
        extra[_OWN] = own
    return {"extra": extra} if extra else {}


ATIF = Atif()
