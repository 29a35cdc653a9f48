"""SWE-agent's `.traj` files: before 1.1.0 (`messages` beside each step) and since (`query`), tool calls or not.

A step that the environment answered is a turn. Steps that never reached it (answers the parser refused, blocked
commands, the agent giving up) are kept without being turns. A file of several attempts gives one trajectory each. A
file with nothing but a `history`, such as a demonstration, is read from its messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.coding import coding_world
from worldline.formats.jsontext import JsonTextError, load_json
from worldline.formats.salvage import whole_or_part
from worldline.formats.skeleton import mapping_of, merged_text, parts_text
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, Trajectory, Turn, WorldSpec, content_id

__all__ = ["SWE_AGENT", "SweAgent"]

_TOOLS = frozenset(
    {"create", "edit", "end_of_edit", "exit_forfeit", "filemap", "find_file", "goto", "insert", "open", "scroll_down"}
    | {"scroll_up", "search_dir", "search_file", "str_replace_editor", "submit", "undo_edit", "view_image"}
)
"""SWE-agent's own commands, which no other machine has."""
_REPEATED = ("query", "messages")
"""Parts of a step that repeat the history before it; left out."""
_STEP_FIELDS = frozenset({"action", "observation", "thought", "response", "state", "extra_info", *_REPEATED})


class SweAgent:
    """Trajectory files of SWE-agent, all versions."""

    name = "swe_agent"
    suffixes = (".traj",)

    def sniff(self, value: Any) -> str | None:
        """Recognise steps with `action` and `observation`, a history with `agent` in its messages, or attempts."""
        if not isinstance(value, dict):
            return None
        runs = value.get("attempts")
        if isinstance(runs, list) and runs and self.sniff(runs[0]):
            return "`attempts` with steps of SWE-agent"
        steps = value.get("trajectory")
        if isinstance(steps, list) and (
            (steps and _is_step(steps[0])) or (not steps and {"history", "info"} <= value.keys())
        ):
            return "a `trajectory` of steps with `action` and `observation`"
        history = value.get("history")
        if isinstance(history, list) and history and isinstance(history[0], dict):
            return "a `history` of messages with `agent`" if {"role", "agent"} <= history[0].keys() else None
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield one trajectory for each run or attempt."""
        for record in whole_or_part(file, whole_list=lambda first: False):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                for run, origin in _runs(record.value):
                    run_turns, problem = _read_run(run)
                    yield _trajectory(run, run_turns, source, {"format": self.name, "file": file.path.name, **origin})
                    if problem:
                        yield file.skipped(problem, record.line)
            except ValueError as exc:
                yield file.skipped(reason_of(exc), record.line)


def _is_step(value: Any) -> bool:
    return isinstance(value, dict) and "action" in value and ("observation" in value or "response" in value)


def _runs(value: Any) -> Iterator[tuple[JsonDict, JsonDict]]:
    """Yield the runs of a document and what each one's origin adds."""
    attempts = value.get("attempts") if isinstance(value, dict) else None
    if isinstance(attempts, list) and attempts and all(isinstance(attempt, dict) for attempt in attempts):
        chosen = mapping_of(value.get("info")).get("best_attempt_idx")
        for number, attempt in enumerate(attempts):
            is_chosen = chosen == number and not isinstance(chosen, bool)
            overall = {key: item for key, item in value.items() if key not in ("attempts", *attempt)}
            # The document's own fields are those of the chosen attempt once more, but for `info`.
            merged = {**overall, **attempt, "info": value["info"]} if is_chosen else attempt
            yield merged, {"attempt": number, **({"chosen": True} if is_chosen else {})}
    elif isinstance(value, dict) and any(isinstance(value.get(key), list) for key in ("trajectory", "history")):
        yield value, {}
    else:
        raise ValueError("an object with a `trajectory` or a `history` list was expected")


class _Turns:
    """The turns of a run, and the steps that are none."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.others: list[JsonDict] = []


def _read_run(run: JsonDict) -> tuple[_Turns, str | None]:
    """Return a run's turns, and what stopped it from being read to its end."""
    found = _Turns()
    history = [message for message in _list(run.get("history")) if isinstance(message, dict)]
    if not isinstance(run.get("trajectory"), list):
        found.turns = _turns_of_history(history)
        return found, None
    calls = _Calls(history)
    for number, step in enumerate(run["trajectory"]):
        if not isinstance(step, dict):
            return found, f"trajectory.{number}: a step object was expected; the steps before it are kept"
        turn = _turn(step, calls)
        if turn is not None:
            found.turns.append(turn)
        else:
            found.others.append({"step": number, **{key: step[key] for key in step if key not in _REPEATED}})
    return found, None


class _Calls:
    """The tool calls that the history has beside the steps' commands, in order."""

    def __init__(self, history: list[JsonDict]) -> None:
        self._messages = [item for item in history if item.get("role") == "assistant" and not item.get("is_demo")]
        self._next = 0

    def of(self, command: str) -> list[Any]:
        """Return the calls of the message that led to `command`; each message serves once."""
        for place in range(self._next, min(self._next + 3, len(self._messages))):
            if self._messages[place].get("action") == command:
                self._next = place + 1
                return _list(self._messages[place].get("tool_calls"))
        return []


def _turn(step: JsonDict, calls: _Calls) -> Turn | None:
    command, answer = step.get("action"), step.get("observation")
    if not isinstance(command, str) or not command.strip() or not isinstance(answer, str):
        return None
    made = calls.of(command)
    state = _state(step.get("state"))
    if _never_ran(step, command.strip(), answer, state):
        return None
    observation = merged_text(answer)
    extra: JsonDict = {key: step[key] for key in step if key not in _STEP_FIELDS}
    if state:
        extra["state"] = state
    if mapping_of(step.get("extra_info")):
        extra["extra_info"] = step["extra_info"]
    if "' was cancelled because it took more than " in answer or answer.endswith("EXECUTION TIMED OUT"):
        extra["timed_out"] = True
        observation = observation.model_copy(update={"is_error": True})
    thought = step.get("thought")
    if isinstance(step.get("response"), str) and step["response"] not in ("", thought):
        extra["response"] = step["response"]
    action = _called(made[0]) if len(made) == 1 else None
    if action is None:
        action = _typed(command)
    elif action.command != command:
        extra["command"] = command
    return Turn(action=action, observation=observation, thought=str(thought) if thought else None, extra=extra)


def _never_ran(step: JsonDict, command: str, answer: str, state: Any) -> bool:
    """Whether the environment never saw a step's command: the agent gave up, or the command was refused."""
    if command == "skip" or (command.startswith("exit_") and " " not in command):
        return True
    if answer in ("Exited", "Exited (autosubmitted)"):
        return True
    return "execution_time" in step and not step["execution_time"] and not answer and not state


def _state(value: Any) -> Any:
    """Return the state after a step; before 1.0 it is JSON inside a string."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value)
    except JsonTextError:
        return value


def _typed(command: str) -> Action:
    """Read a command as it was typed: a shell command, or one of SWE-agent's own."""
    word = command.split(maxsplit=1)[0]
    if word in _TOOLS:
        return Action(name=word, text=command)
    return Action(name="bash", arguments={"command": command})


def _called(call: Any) -> Action | None:
    """Read a tool call; None where it does not say its arguments."""
    function = mapping_of(mapping_of(call).get("function"))
    name, given = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        return None
    call_id = call.get("id")
    call_id = str(call_id) if isinstance(call_id, str) else None
    if isinstance(given, str):
        try:
            given = load_json(given)
        except JsonTextError:
            return None
    return Action(name=name, arguments=given, call_id=call_id) if isinstance(given, dict) else None


def _turns_of_history(history: list[JsonDict]) -> list[Turn]:
    """Pair each action of a history with the observation message that follows it."""
    turns = []
    live = [message for message in history if not message.get("is_demo")]
    for message, answer in pairwise(live):
        command = message.get("action")
        if message.get("role") != "assistant" or answer.get("role") not in ("user", "tool"):
            continue
        calls = _list(message.get("tool_calls"))
        action = _called(calls[0]) if len(calls) == 1 else None
        if action is None and isinstance(command, str) and command.strip():
            action = _typed(command)
        if action is None:
            continue
        thought = message.get("thought")
        observation = merged_text(answer.get("content"))
        turns.append(Turn(action=action, observation=observation, thought=str(thought) if thought else None))
    return turns


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _trajectory(run: JsonDict, found: _Turns, source: Source, origin: JsonDict) -> Trajectory:
    opening = _opening(run)
    asked = next((item for item in opening if item.get("role") == "user" and not item.get("is_demo")), {})
    task = str(parts_text(asked.get("content")))
    turns = found.turns
    status = mapping_of(run.get("info")).get("exit_status")
    if turns and isinstance(status, str) and status.startswith("submitted"):
        turns[-1] = turns[-1].model_copy(update={"done": True})
    kept: JsonDict = {key: item for key, item in run.items() if key not in ("trajectory", "history", "attempts")}
    kept |= {"history": opening} if opening else {}
    kept |= {"other_steps": found.others} if found.others else {}
    return Trajectory(
        source=source,
        world=_world(turns, task),
        turns=tuple(turns),
        family=f"swe_agent-{content_id(task, 8)}",
        origin=origin,
        extra={"swe_agent": kept},
    )


def _world(turns: list[Turn], task: str) -> WorldSpec:
    """Build the world. Since 1.0 (steps have a time) commands are typed at a bash, before they came over a pipe."""
    world = coding_world(turns, task=task)
    if world.domain != "terminal":
        return world
    mode = "interactive" if any("execution_time" in turn.extra for turn in turns) else "script"
    return world.model_copy(update={"initial_state": {**world.initial_state, "shell": {"mode": mode, "merged": True}}})


def _opening(run: JsonDict) -> list[JsonDict]:
    """Return the messages before the agent's first: system prompt, demonstrations, the task.

    Without a history (the file broke off before it) they stand in what the first step's model call was given.
    """
    history = _list(run.get("history"))
    first = mapping_of(next(iter(_list(run.get("trajectory"))), None))
    for given in (history, *(_list(first.get(key)) for key in _REPEATED)):
        messages = [message for message in given if isinstance(message, dict)]
        for place, message in enumerate(messages):
            if message.get("role") == "assistant" and not message.get("is_demo"):
                return messages[:place]
        if messages:
            return messages
    return []


SWE_AGENT = SweAgent()
