"""tau2-bench results: one JSON file, or a folder of `results.json` and one file for each simulation (read only).

The agent and the simulated user both call tools; every call with a result is a turn, and those of the user say so in
`extra.requestor`. What the user was told is hidden state: the agent was not told it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldline.formats.folder import InputFolder
from worldline.formats.pairing import TURN, Calls
from worldline.formats.skeleton import mapping_of, merged_text, number_of, tool_specs, world_of
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, ToolSpec, Trajectory, WorldSpec

__all__ = ["TAU2", "Tau2"]

_RESULTS = "results.json"
_SIMULATIONS = "simulations"


class Tau2:
    """The results of tau2-bench, text mode and full duplex."""

    name = "tau2"
    suffixes = (".json",)

    def sniff(self, value: Any) -> str | None:
        """Recognise `simulations` beside `tasks` or `info`, or one simulation by its fields."""
        if isinstance(value, list) and value:
            value = value[0]
        if not isinstance(value, dict):
            return None
        if isinstance(value.get("simulations"), list) and ("tasks" in value or "info" in value):
            return "results with `simulations` and `tasks`"
        # The head of a big file may end before the simulations.
        if "tasks" in value and "environment_info" in mapping_of(value.get("info")):
            return "results with `tasks` and `info.environment_info`"
        if "task_id" in value and "termination_reason" in value and ("messages" in value or "ticks" in value):
            return "a simulation with `task_id`, `termination_reason` and messages"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each simulation."""
        for record in file.values(whole_list=lambda first: False):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            value = record.value
            if not isinstance(value, dict) or "simulations" not in value:
                yield from _read(value, {}, file, record.line, source)
                continue
            simulations = value["simulations"]
            if not isinstance(simulations, list):
                yield file.skipped("`simulations` should be a list", record.line)
            elif not simulations and value.get("simulation_index"):
                yield file.skipped("holds the index only: import the folder it lies in", record.line)
            else:
                for simulation in simulations:
                    yield from _read(simulation, value, file, record.line, source)

    def claims(self, folder: InputFolder) -> str | None:
        """Claim a folder with `results.json` and a folder of simulations."""
        if folder.has_file(_RESULTS) and folder.has_folder(_SIMULATIONS):
            return f"{_RESULTS} beside {_SIMULATIONS}/"
        return None

    def read_folder(self, folder: InputFolder, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each simulation file, in the order of their names."""
        results = folder.file(_RESULTS).document()
        if isinstance(results, SkippedRecord):
            yield results
        known = {} if isinstance(results, SkippedRecord) else mapping_of(results.value)
        found = set()
        for file in folder.folder(_SIMULATIONS).files(".json"):
            found.add(file.path.stem)
            record = file.document()
            if isinstance(record, SkippedRecord):
                yield record
            else:
                yield from _read(record.value, known, file, record.line, source)
        index = known.get("simulation_index")
        for entry in index if isinstance(index, list) else ():
            missing = mapping_of(entry).get("id")
            if isinstance(missing, str) and missing not in found:
                yield folder.skipped(f"simulation {missing} is in the index, but its file is missing")


def _read(
    simulation: Any, results: JsonDict, file: InputFile, line: int, source: Source
) -> Iterator[Trajectory | SkippedRecord]:
    try:
        yield _trajectory(simulation, results, source, file.path.name)
    except ValueError as exc:
        yield file.skipped(str(exc), line)


def _trajectory(simulation: Any, results: JsonDict, source: Source, file: str) -> Trajectory:
    if not isinstance(simulation, dict):
        raise ValueError(f"a simulation was expected, found {type(simulation).__name__}")
    messages = simulation.get("messages")
    if not isinstance(messages, list):
        messages = _ticked(simulation.get("ticks"))
    calls = Calls()
    task_text = ""
    numbers: dict[int, int] = {}
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            raise ValueError(f"messages.{number}: an object was expected")
        if message.get("role") == "user" and not task_text and isinstance(message.get("content"), str):
            task_text = str(message["content"])
        numbers.update(_noted(message, number, calls))
    places = calls.places()
    turns = calls.turns()
    indices = {part: places[number] for part, number in numbers.items() if number in places}
    reward = number_of(mapping_of(simulation.get("reward_info")).get("reward"))
    if turns and reward is not None:
        turns[-1] = turns[-1].model_copy(update={"reward": reward, "done": True})
    task_id = simulation.get("task_id")
    world = world_of(turns, task=task_text, tools=_tools(results))
    rest = {key: value for key, value in simulation.items() if key not in ("messages", "ticks")}
    return Trajectory(
        source=source,
        world=_with_task(world, task_id, results),
        turns=tuple(turns),
        family=f"tau2-{_domain(results) or 'task'}-{task_id}",
        origin={"format": "tau2", "file": file},
        extra={"tau2": {**rest, "messages": [_marked(message, indices) for message in messages]}},
    )


def _ticked(ticks: Any) -> list[Any]:
    """Lay out what a full-duplex simulation recorded tick by tick as messages."""
    if not isinstance(ticks, list):
        raise ValueError("a simulation with `messages` or `ticks` was expected")
    messages: list[Any] = []
    for tick in map(mapping_of, ticks):
        for who, role in (("agent", "assistant"), ("user", "user")):
            chunk = mapping_of(tick.get(f"{who}_chunk"))
            calls = tick.get(f"{who}_tool_calls")
            if chunk or calls:
                messages.append({"role": role, **chunk, **({"tool_calls": calls} if calls else {})})
            results = tick.get(f"{who}_tool_results")
            messages.extend(results if isinstance(results, list) else ())
    return messages


def _noted(message: JsonDict, number: int, calls: Calls) -> Iterator[tuple[int, int]]:
    """Note the calls and results in a message; yield the identity of each and its call's number."""
    made = message.get("tool_calls")
    if isinstance(made, list):
        for place, call in enumerate(made):
            yield id(call), _call(call, message, (place, len(made)), number, calls)
    if message.get("role") == "tool":
        several = message.get("tool_messages")
        for result in several if isinstance(several, list) else [message]:
            answered = _result(result, calls)
            if answered is not None:
                yield id(result), answered


def _call(call: Any, message: JsonDict, batch: tuple[int, int], number: int, calls: Calls) -> int:
    name = call.get("name") if isinstance(call, dict) else None
    if not isinstance(name, str):
        raise ValueError(f"messages.{number}.tool_calls.{batch[0]}: a call with a `name` was expected")
    arguments, call_id, requestor = call.get("arguments"), call.get("id"), call.get("requestor")
    content, timestamp = message.get("content"), message.get("timestamp")
    action = Action(
        name=str(name),
        arguments=mapping_of(arguments),
        text=str(arguments) if isinstance(arguments, str) else None,
        call_id=str(call_id) if isinstance(call_id, str) else None,
    )
    return calls.call(
        action,
        thought=str(content) if batch[0] == 0 and isinstance(content, str) and content else None,
        timestamp=str(timestamp) if isinstance(timestamp, str) else None,
        batch=batch,
        extra={"requestor": "user"} if (requestor or message.get("role")) == "user" else None,
    )


def _result(message: Any, calls: Calls) -> int | None:
    if not isinstance(message, dict):
        return None
    call_id = message.get("id")
    number = calls.waiting(str(call_id) if isinstance(call_id, str) else None)
    if number is None:
        return None
    error = message.get("error")
    observation = merged_text(message.get("content"))
    if isinstance(error, bool):
        observation = observation.model_copy(update={"is_error": error})
    calls.answer(number, observation)
    return number


def _marked(part: Any, indices: dict[int, int]) -> Any:
    """Take out what went into turns, and say which turn; calls without a result stay as they are."""
    if not isinstance(part, dict):
        return part
    marked = dict(part)
    for key in ("tool_calls", "tool_messages"):
        if isinstance(part.get(key), list):
            marked[key] = [_marked(item, indices) for item in part[key]]
    if id(part) in indices:
        taken = ("content",) if part.get("role") == "tool" else ("name", "arguments")
        marked = {key: value for key, value in marked.items() if key not in taken or isinstance(value, list)}
        marked[TURN] = indices[id(part)]
    return marked


def _domain(results: JsonDict) -> str:
    name = mapping_of(mapping_of(results.get("info")).get("environment_info")).get("domain_name")
    return str(name) if isinstance(name, str) else ""


def _with_task(world: WorldSpec, task_id: Any, results: JsonDict) -> WorldSpec:
    """Add what the results say about the task: the user's instructions are hidden state."""
    info = mapping_of(mapping_of(results.get("info")).get("environment_info"))
    tasks = results.get("tasks")
    found = (task for task in tasks if mapping_of(task).get("id") == task_id) if isinstance(tasks, list) else iter(())
    task = mapping_of(next(found, None))
    scenario = task.get("user_scenario")
    extra: JsonDict = {key: info[key] for key in ("domain_name", "policy") if key in info}
    if task:
        extra["task"] = {key: value for key, value in task.items() if key != "user_scenario"}
    return world.model_copy(
        update={"hidden_state": scenario if isinstance(scenario, dict | str) else None, "extra": extra}
    )


def _tools(results: JsonDict) -> list[ToolSpec]:
    """Read the tools from `environment_info.tool_defs`: OpenAI definitions, or signatures by name."""
    given = mapping_of(mapping_of(results.get("info")).get("environment_info")).get("tool_defs")
    if not isinstance(given, dict):
        return tool_specs(given)
    return tool_specs(
        [
            {"name": name, "description": item.get("doc"), "parameters": item.get("params")}
            for name, item in given.items()
            if isinstance(item, dict)
        ]
    )


TAU2 = Tau2()
