"""AgentWorldBench: one row is one evaluated turn with its whole history.

Rows of one trajectory (same task, id, system prompt and length, and one history the beginning of the other) are joined;
which turns are evaluated stands in `Turn.extra`. Ids that different trajectories share keep them apart. What a row
holds beyond the usual layout is kept, so that it is written back equal. The rows are for evaluation only:
`origin` says so under :data:`~worldline.formats.base.EVALUATION_ONLY`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

from worldline.domains.terminal.keystrokes import KEYSTROKES_TOOL
from worldline.errors import FormatError
from worldline.formats.agentworld_system import system_prompt, tools_in
from worldline.formats.agentworld_text import (
    HEADING,
    INSTRUCTION,
    PromptParts,
    action_body,
    default_parts,
    differing,
    observation_of,
    parse_action,
    response_text,
    split_prompt,
)
from worldline.formats.base import EVALUATION_ONLY, reason_of
from worldline.formats.skeleton import mapping_of, plain_json
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import JsonDict, Source, Trajectory, Turn, WorldSpec

__all__ = ["AGENTWORLDBENCH", "EVALUATED", "AgentWorldBench", "RowFields", "rows_of"]

EVALUATED = "evaluated"
"""Key in `Turn.extra` of the turns that rows evaluate."""
_KEPT = "agentworldbench"
_GUI = frozenset({"android", "web", "os"})
_FIELDS = ("task", "id", "prompt", "response", "current_prompt", "system_str", "turn_idx", "total_turns")
_LONGEST_PROMPT = 1000
_PROMPT_LINE = re.compile(r"([a-z_][a-z0-9_-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):([~/][^\n]*?)[#$] ?")


class RowFields(BaseModel):
    """The fields of a row, checked.

    Raises:
        ValueError: One is missing or wrong, or the lists do not fit `turn_idx`.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    task: Annotated[StrictStr, Field(min_length=1)]
    id: StrictInt | StrictStr
    prompt: list[StrictStr]
    response: list[StrictStr]
    turn_idx: Annotated[StrictInt, Field(ge=1)]
    current_prompt: StrictStr = ""
    system_str: StrictStr = ""
    total_turns: StrictInt | None = None

    @model_validator(mode="after")
    def _parallel(self) -> RowFields:
        if not len(self.prompt) == len(self.response) == self.turn_idx:
            found = f"{len(self.prompt)} prompts and {len(self.response)} responses"
            raise ValueError(f"turn_idx is {self.turn_idx}, but there are {found}")
        return self

    @property
    def domain(self) -> str:
        """What stands last in `task`."""
        return self.task.rsplit("/", 1)[-1] or self.task

    @property
    def last_prompt(self) -> tuple[str, str]:
        """The evaluated turn's prompt and the suffix that follows it."""
        last, current = self.prompt[-1], self.current_prompt
        base = current if current and last.startswith(current) else last
        return base, last[len(base) :]


@dataclass(slots=True)
class _Chain:
    """Rows joined: the longest history so far, and what each row says beside it."""

    first: RowFields
    prompts: list[str]
    responses: list[str]
    rows: list[tuple[int, JsonDict]]
    line: int
    """Where the first row stands."""
    number: int = 1
    """Place among the trajectories that share the id."""
    suffix: str = ""

    def accepts(self, prompts: Sequence[str], responses: Sequence[str]) -> bool:
        shared = min(len(prompts), len(self.prompts))
        return self.prompts[:shared] == prompts[:shared] and self.responses[:shared] == responses[:shared]


@dataclass(slots=True)
class _Chains:
    """All chains of a file, in the order of their first rows."""

    ordered: list[_Chain] = field(default_factory=list)
    by_key: dict[tuple[Any, ...], list[_Chain]] = field(default_factory=dict)
    shared_ids: dict[tuple[str, Any], int] = field(default_factory=dict)

    def add(self, row: RowFields, value: JsonDict, line: int) -> None:
        base, suffix = row.last_prompt
        prompts = [*row.prompt[:-1], base]
        responses = value["response"]  # not the validated copy, which does not know of lone surrogates
        key = (row.task, row.id, row.system_str, row.total_turns, prompts[0], responses[0])
        candidates = self.by_key.setdefault(key, [])
        chain = next((chain for chain in candidates if chain.accepts(prompts, responses)), None)
        if chain is None:
            name = (row.task, row.id)
            self.shared_ids[name] = self.shared_ids.get(name, 0) + 1
            chain = _Chain(row, prompts, responses, [], line, self.shared_ids[name], suffix)
            candidates.append(chain)
            self.ordered.append(chain)
        elif len(prompts) > len(chain.prompts):
            chain.prompts, chain.responses = prompts, responses
        chain.rows.append((row.turn_idx, _beside(row, value, base, suffix, chain.suffix)))


def _beside(row: RowFields, value: JsonDict, base: str, suffix: str, usual: str) -> JsonDict:
    """Return what a row says that its trajectory does not."""
    beside: JsonDict = {}
    if suffix != usual:
        beside["suffix"] = suffix
    if row.current_prompt != base:
        beside["current_prompt"] = row.current_prompt
    if absent := [name for name in _FIELDS if name not in value]:
        beside["absent"] = absent
    if row.model_extra:
        beside["rest"] = dict(row.model_extra)
    return beside


class AgentWorldBench:
    """The rows of the public benchmark of language world models."""

    name = "agentworldbench"
    suffixes = ("_test.jsonl",)

    def sniff(self, value: Any) -> str | None:
        """Recognise `prompt` and `response` lists with `turn_idx`, or the first prompt's heading."""
        if not isinstance(value, dict) or not isinstance(value.get("prompt"), list) or "task" not in value:
            return None
        if isinstance(value.get("response"), list) and ("turn_idx" in value or "current_prompt" in value):
            return "rows with `prompt`, `response` and `turn_idx`"
        first = value["prompt"][0] if value["prompt"] else None
        # The head of a big file may end inside the first row, before its `response`.
        if "id" in value and isinstance(first, str) and first.startswith("### Turn "):
            return "rows with `task`, `id` and `prompt` turns"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield trajectories in the order of their first rows; rows may lie far apart, so all of them are held."""
        chains = _Chains()
        for record in file.values(whole_list=lambda first: False):
            if isinstance(record, SkippedRecord):
                yield record
                continue
            try:
                row = RowFields.model_validate(record.value)
                _own_source(row, source)
                chains.add(row, record.value, record.line)
            except ValueError as exc:
                yield file.skipped(f"not a row: {reason_of(exc)}", record.line)
        for chain in chains.ordered:
            try:
                yield _trajectory(chain, source, file.path.name)
            except ValueError as exc:
                yield file.skipped(f"the trajectory of id {chain.first.id!r}: {reason_of(exc)}", chain.line)

    def line(self, trajectory: Trajectory) -> str:
        """Lay out the rows of a trajectory, one a line: those it was read from, otherwise one for each turn.

        Raises:
            FormatError: It holds NaN or something that is not JSON.
        """
        try:
            return "\n".join(plain_json(row) for row in rows_of(trajectory))
        except (ValueError, TypeError, RecursionError) as exc:
            raise FormatError(f"trajectory {trajectory.id} cannot be written as JSON: {exc}") from exc


def _own_source(row: RowFields, source: Source) -> Source:
    own = mapping_of((row.model_extra or {}).get("worldline")).get("source")
    return Source(own) if own in list(Source) else source


def _trajectory(chain: _Chain, source: Source, file: str) -> Trajectory:
    row = chain.first
    evaluated: dict[int, list[JsonDict]] = {}
    for number, beside in chain.rows:
        evaluated.setdefault(number, []).append(beside)
    task = split_prompt(chain.prompts[0]).task if row.domain in _GUI else ""
    turns = tuple(
        _turn(row.domain, number, prompt, response, task, evaluated.get(number))
        for number, (prompt, response) in enumerate(zip(chain.prompts, chain.responses, strict=True), 1)
    )
    kept: JsonDict = {"task": row.task, "id": row.id, "total_turns": row.total_turns, "turns": len(turns)}
    ordinal = f"~{chain.number}" if chain.number > 1 else ""
    return Trajectory(
        source=_own_source(row, source),
        world=_world(row, task, turns),
        turns=turns,
        family=f"agentworldbench-{row.domain}-{row.id}{ordinal}",
        origin={"format": "agentworldbench", "file": file, EVALUATION_ONLY: True},
        extra={_KEPT: {**kept, "suffix": chain.suffix}},
    )


def _turn(domain: str, number: int, prompt: str, response: str, task: str, evaluated: list[JsonDict] | None) -> Turn:
    parts = split_prompt(prompt)
    action = parse_action(domain, parts.body)
    observation, heading = observation_of(response)
    kept = differing(parts, _usual(domain, number, parts.state, action_body(domain, action), task))
    if heading != HEADING:
        kept["heading"] = heading
    extra: JsonDict = {}
    if evaluated is not None:
        extra[EVALUATED] = True
        if len(evaluated) > 1 or evaluated[0]:
            kept["rows"] = evaluated
    if kept:
        extra[_KEPT] = kept
    return Turn(action=action, observation=observation, state_before=parts.state, extra=extra)


def _usual(domain: str, number: int, state: str | None, body: tuple[str, str], task: str) -> PromptParts:
    return default_parts(number, body, state, task if number == 1 and domain in _GUI else "")


def _world(row: RowFields, task: str, turns: Sequence[Turn]) -> WorldSpec:
    return WorldSpec(
        domain=row.domain,
        task=task,
        tools=tools_in(row.system_str),
        initial_state=_terminal_state(turns) if row.domain == "terminal" else {},
        extra={"system_str": row.system_str} if row.system_str else {},
    )


def _terminal_state(turns: Sequence[Turn]) -> JsonDict:
    """Read user, host and directory off the prompt line before the first action; keystrokes are typed at a screen."""
    state: JsonDict = {}
    line = (turns[0].state_before or "").rstrip("\n").rsplit("\n", 1)[-1]
    found = _PROMPT_LINE.fullmatch(line) if len(line) < _LONGEST_PROMPT else None
    if found is not None:
        state = {"user": found.group(1), "hostname": found.group(2)}
        cwd = found.group(3)
        if cwd.startswith("/") and ".." not in cwd.split("/") and "\0" not in cwd:
            state["cwd"] = cwd
    if any(turn.action.name == KEYSTROKES_TOOL for turn in turns):
        state["screen"] = {}
    return state


def rows_of(trajectory: Trajectory, selected: Collection[int] | None = None) -> Iterator[JsonDict]:
    """Lay out a trajectory as rows.

    Args:
        trajectory: What happened.
        selected: Numbers (from 1) of the turns to evaluate. By default those its rows evaluated, where it was read
            from rows, otherwise all.

    Yields:
        Rows in the order of their turns, each with its whole history.
    """
    kept = mapping_of(trajectory.extra.get(_KEPT))
    if selected is None:
        marked = [number for number, turn in enumerate(trajectory.turns, 1) if turn.extra.get(EVALUATED) is True]
        selected = marked or range(1, len(trajectory.turns) + 1)
    world = trajectory.world
    system = world.extra.get("system_str")
    if not isinstance(system, str):
        system = "" if kept else system_prompt(world, with_task=world.domain not in _GUI)
    total = kept.get("total_turns") if kept.get("turns") == len(trajectory.turns) else len(trajectory.turns)
    prompts: list[str] = []
    responses: list[str] = []
    for number, turn in enumerate(trajectory.turns, 1):
        own = mapping_of(turn.extra.get(_KEPT))
        prompts.append(_prompt(world, number, turn, own))
        heading = own.get("heading")
        responses.append(response_text(turn.observation, heading if isinstance(heading, str) else HEADING))
        if number not in selected:
            continue
        usual = {
            "task": kept.get("task", world.domain),
            "id": kept.get("id", trajectory.id),
            "prompt": prompts,
            "response": responses,
            "current_prompt": prompts[-1],
            "system_str": system,
            "turn_idx": number,
            "total_turns": total,
        }
        beside = own.get("rows")
        for row in beside if isinstance(beside, list) and beside else ({},):
            yield _row(usual, mapping_of(row), kept.get("suffix", INSTRUCTION), trajectory.source)


def _row(usual: JsonDict, beside: JsonDict, suffix: str, source: Source) -> JsonDict:
    prompts = usual["prompt"]
    row = {**usual, "prompt": [*prompts[:-1], prompts[-1] + beside.get("suffix", suffix)]}
    row["response"] = list(usual["response"])
    if "current_prompt" in beside:
        row["current_prompt"] = beside["current_prompt"]
    for name in beside.get("absent", ()):
        row.pop(name, None)
    row.update(mapping_of(beside.get("rest")))
    if source is Source.SIMULATED:
        row["worldline"] = {**mapping_of(row.get("worldline")), "source": source.value}
    return row


def _prompt(world: WorldSpec, number: int, turn: Turn, kept: JsonDict) -> str:
    """Lay out a user turn, with the pieces it came with where they still say the same."""
    body = action_body(world.domain, turn.action)
    usual = _usual(world.domain, number, turn.state_before, body, world.task)
    names = ("before", "between", "body", "after")
    pieces = {name: kept[name] for name in names if isinstance(kept.get(name), str)}
    if "body" in pieces and parse_action(world.domain, pieces["body"]) != turn.action:
        pieces = {name: text for name, text in pieces.items() if name == "before" and turn.state_before is not None}
    parts = {name: getattr(usual, name) for name in names} | pieces
    return f"{parts['before']}{turn.state_before or ''}{parts['between']}{parts['body']}{parts['after']}"


AGENTWORLDBENCH = AgentWorldBench()
