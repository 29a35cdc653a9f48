"""Claude Code's session logs (`~/.claude/projects/<project>/<session>.jsonl`), read only.

A file is one session. Its records hang together by `uuid` and `parentUuid`, through a compaction by
`logicalParentUuid`. From them come these trajectories, all of one family:

- The main line: from the last record back to the first. Where a tree has no link to what came before it in the
  file (older compactions, a lost line), the line of the earlier tree comes first.
- Each branch that was left by going back in the conversation: its own turns, after those it shares with the main
  line, which count nothing in training (`train` 0).
- Each sub-agent (`isSidechain`), told apart by `agentId` or, where there is none, by the root of its records; these
  are taken in file order. What an agent that compacts the session holds is a copy, with `train` 0.

Lines with the same `message.id` are one message, so calls made at once form a batch wherever their results hang.
A call without a result is no turn. A result in which the user refused or interrupted the call says nothing about
the environment and counts nothing in training; so do turns copied from another session (`forkedFrom`). Records that
repeat a `uuid` are left out. `Exit code N` before the output of a command is its exit code and no part of the text;
`toolUseResult` is the observation's `data`. What is not a turn stays in `extra["claude_code"]`, with marks where
turns were taken out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.coding import (
    NOTE_LIMIT,
    coding_world,
    nested_deeply,
    other_parts,
    result_observation,
    text_or_none,
)
from worldline.formats.linked import Node, ancestry, roots
from worldline.formats.skeleton import batch_note, mapping_of, parts_text
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import Action, JsonDict, Source, Trajectory, Turn, content_id

__all__ = ["CLAUDE_CODE", "ClaudeCode"]

_SPOKEN = ("user", "assistant")
_REFUSED = ("The user doesn't want to proceed with this tool use", "[Request interrupted by user")
_NO_TASK = ("<command-", "<local-command-", "Caveat: ", "[Request interrupted", "<system-reminder>", "<bash-")
_CUT = "<persisted-output>"
_COMPACTING = "acompact"
"""How the ids of agents begin that sum up the session: their records are a copy of it."""


@dataclass(slots=True)
class _Result:
    node: Node
    block: JsonDict
    place: int
    alone: bool
    """Whether it is the only result of its record, which the record's `toolUseResult` then belongs to."""


@dataclass(slots=True)
class _Session:
    """The records of one file."""

    file: str
    nodes: list[Node] = field(default_factory=list)
    loose: list[JsonDict] = field(default_factory=list)
    """Records without a place in the tree: summaries, snapshots, titles."""
    repeated: int = 0

    @property
    def main(self) -> list[Node]:
        return [node for node in self.nodes if node.value.get("isSidechain") is not True]

    @property
    def side(self) -> list[Node]:
        return [node for node in self.nodes if node.value.get("isSidechain") is True]

    def first(self, key: str) -> Any:
        return next((node.value[key] for node in self.nodes if isinstance(node.value.get(key), str)), None)


class ClaudeCode:
    """The session logs of Claude Code."""

    name = "claude_code"
    suffixes = (".jsonl",)

    def sniff(self, value: Any) -> str | None:
        """Recognise records that are linked by `parentUuid`, and the loose ones between them."""
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return None
        if "parentUuid" in value and "uuid" in value and "sessionId" in value:
            return "records with `uuid`, `parentUuid` and `sessionId`"
        if value["type"] == "summary" and "leafUuid" in value:
            return "a summary with `leafUuid`"
        if value["type"] == "file-history-snapshot" and "snapshot" in value:
            return "a file-history-snapshot"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the main line, then the branches and the sub-agents; the session is held in memory."""
        session = _Session(file.path.name)
        seen: set[str] = set()
        for record in file.json_lines():
            problem = record.reason if isinstance(record, SkippedRecord) else _problem(record.value)
            if isinstance(record, SkippedRecord):
                yield record
            elif problem:
                yield file.skipped(problem, record.line)
            elif not isinstance(record.value.get("uuid"), str):
                session.loose.append(record.value)
            elif record.value["uuid"] in seen:
                session.repeated += 1
            else:
                seen.add(record.value["uuid"])
                session.nodes.append(_node(record.value, record.line, len(session.nodes)))
        if not any(node.value["type"] in _SPOKEN for node in session.nodes):
            yield file.skipped("no user or assistant records in it: not a conversation")
            return
        yield from _trajectories(session, file, source)


def _problem(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"a record was expected, found {type(value).__name__}"
    if not isinstance(value.get("type"), str):
        return "a record without a `type`"
    if nested_deeply(value):
        return "a record that is nested too deeply"
    if value["type"] in _SPOKEN:
        content = mapping_of(value.get("message")).get("content")
        if not isinstance(content, str | list):
            return f"a record of type {value['type']} without `message.content`"
        if not isinstance(value.get("uuid"), str):
            return f"a record of type {value['type']} without `uuid`"
    return None


def _node(value: JsonDict, line: int, index: int) -> Node:
    parent = value.get("parentUuid")
    if not isinstance(parent, str):
        parent = value.get("logicalParentUuid")
    return Node(str(value["uuid"]), parent if isinstance(parent, str) else None, value, line, index)


def _trajectories(session: _Session, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
    results = _results(session.nodes)
    main = session.main
    line = _whole_line(main)
    chosen = _absorbed(line, main, results)
    if main:
        yield from _built(session, chosen, results, file, source, {})
    for number, (branch, shared) in enumerate(_branches(main, chosen, results), 1):
        if number > NOTE_LIMIT:
            yield file.skipped(f"more than {NOTE_LIMIT} branches: the earlier ones are left out", branch[-1].line)
            break
        note = {"branch": number, "shared": sum(_is_call(node) for node in shared)}
        yield from _built(session, [*shared, *branch], results, file, source, note, untrained=len(shared))
    for name, nodes in _side_lines(session.side).items():
        copied = len(nodes) if str(name).startswith(_COMPACTING) else 0
        yield from _built(session, nodes, results, file, source, name, untrained=copied)


def _results(nodes: list[Node]) -> dict[str, deque[_Result]]:
    """Index the tool results by the id of their call."""
    found: dict[str, deque[_Result]] = {}
    for node in nodes:
        blocks = [(place, block) for place, block in enumerate(_blocks(node)) if block.get("type") == "tool_result"]
        for place, block in blocks if node.value["type"] == "user" else ():
            call = block.get("tool_use_id")
            if isinstance(call, str):
                found.setdefault(call, deque()).append(_Result(node, block, place, len(blocks) == 1))
    return found


def _blocks(node: Node) -> list[JsonDict]:
    content = mapping_of(node.value.get("message")).get("content")
    return [mapping_of(block) for block in content] if isinstance(content, list) else []


def _calls(node: Node) -> list[str]:
    if node.value["type"] != "assistant":
        return []
    return [str(block.get("id")) for block in _blocks(node) if block.get("type") == "tool_use"]


def _is_call(node: Node) -> bool:
    return bool(_calls(node))


def _whole_line(nodes: list[Node]) -> list[Node]:
    """Return the line that ends in the last record, after the lines of the trees before it."""
    spoken = [node for node in nodes if node.value["type"] in _SPOKEN]
    by_name = {node.name: node for node in nodes}
    tree = roots(nodes)
    lines: list[list[Node]] = []
    taken: set[str] = set()
    for leaf in reversed(spoken):
        if tree[leaf.name] not in taken:
            taken.add(tree[leaf.name])
            lines.append(ancestry(leaf, by_name))
    return [node for line in reversed(lines) for node in line]


def _absorbed(line: list[Node], nodes: list[Node], results: dict[str, deque[_Result]]) -> list[Node]:
    """Add to a line what belongs to it: the rest of its messages, and the results of its calls."""
    messages = {identity for node in line if (identity := _message_id(node)) is not None}
    names = {node.name for node in line}
    whole = [node for node in nodes if node.name in names or _message_id(node) in messages]
    answers = {result.node.name for node in whole for call in _calls(node) for result in results.get(call, ())}
    taken = {node.name for node in whole} | answers
    return [node for node in nodes if node.name in taken]


def _message_id(node: Node) -> str | None:
    identity = mapping_of(node.value.get("message")).get("id") if node.value["type"] == "assistant" else None
    return identity if isinstance(identity, str) and identity else None


def _branches(
    main: list[Node], chosen: list[Node], results: dict[str, deque[_Result]]
) -> Iterator[tuple[list[Node], list[Node]]]:
    """Yield the lines that were left, the latest first: their own records, and those shared with the main line."""
    by_name = {node.name: node for node in main}
    done = {node.name for node in chosen}
    for leaf in reversed(main):
        if leaf.name in done or not any(call in results for call in _calls(leaf)):
            continue
        path = ancestry(leaf, by_name)
        own = _absorbed([node for node in path if node.name not in done], main, results)
        own = [node for node in own if node.name not in done]
        done.update(node.name for node in own)
        names = {node.name for node in path}
        fork = max((node.index for node in chosen if node.name in names), default=-1)
        yield own, [node for node in chosen if node.index <= fork]


def _side_lines(nodes: list[Node]) -> dict[Any, list[Node]]:
    tree = roots(nodes)
    lines: dict[Any, list[Node]] = {}
    for node in nodes:
        lines.setdefault(text_or_none(node.value.get("agentId")) or tree[node.name], []).append(node)
    return lines


def _built(
    session: _Session,
    nodes: list[Node],
    results: dict[str, deque[_Result]],
    file: InputFile,
    source: Source,
    note: JsonDict | str,
    untrained: int = 0,
) -> Iterator[Trajectory | SkippedRecord]:
    """Yield the trajectory of a line; a side line without turns is none."""
    try:
        turns, records = _taken_apart(nodes, results, untrained)
        if note and not turns:
            return
        side = {"agent": note} if isinstance(note, str) else note
        layout: JsonDict = {"records": records}
        if not note:
            layout |= {"loose": session.loose} if session.loose else {}
            layout |= {"repeated": session.repeated} if session.repeated else {}
        origin = {"session": session.first("sessionId"), "version": session.first("version"), **side}
        cwd = next((node.value["cwd"] for node in nodes if isinstance(node.value.get("cwd"), str)), None)
        yield Trajectory(
            source=source,
            world=coding_world(turns, task=_task(nodes), cwd=cwd),
            turns=tuple(turns),
            family=f"claude_code-{content_id(session.first('sessionId') or session.file, 8)}",
            origin={"format": "claude_code", "file": session.file, **{k: v for k, v in origin.items() if v}},
            extra={"claude_code": layout},
        )
    except (ValueError, RecursionError) as exc:
        yield file.skipped(f"the session cannot be held: {reason_of(exc)}", nodes[-1].line if nodes else None)


def _task(nodes: list[Node]) -> str:
    for node in nodes:
        value = node.value
        if value["type"] != "user" or value.get("isMeta") is True or value.get("isCompactSummary") is True:
            continue
        text = str(parts_text(mapping_of(value.get("message")).get("content")))
        if text and not text.startswith(_NO_TASK):
            return text
    return ""


def _taken_apart(
    nodes: list[Node], results: dict[str, deque[_Result]], untrained: int
) -> tuple[list[Turn], list[JsonDict]]:
    """Return the turns of a line and its records with marks in their places."""
    waiting = {call: deque(answers) for call, answers in results.items()}
    answered = Counter(
        identity
        for node in nodes
        for call in _calls(node)
        if call in results and (identity := _message_id(node) or node.name)
    )
    turns: list[Turn] = []
    marks: dict[tuple[str, int], JsonDict] = {}
    used: set[str] = set()
    places: Counter[str] = Counter()
    said: dict[str, tuple[tuple[str, int], str]] = {}
    for position, node in enumerate(nodes):
        message = _message_id(node) or node.name
        for place, block in enumerate(_blocks(node) if node.value["type"] == "assistant" else ()):
            if block.get("type") == "text" and (text := text_or_none(block.get("text"))):
                said.setdefault(message, ((node.name, place), text))
            answers = waiting.get(str(block.get("id"))) if block.get("type") == "tool_use" else None
            if not answers:
                continue
            result = answers.popleft()
            note = batch_note(places[message], answered[message])
            places[message] += 1
            spot, thought = said.pop(message, (None, None))
            if spot is not None:
                marks[spot] = {"type": "text", "$thought": len(turns)}
            rest = {key: item for key, item in block.items() if key not in ("id", "name", "input")}
            marks[node.name, place] = {**rest, "$turn": len(turns)}
            marks[result.node.name, result.place] = _marked_result(result, len(turns))
            if result.alone and isinstance(result.node.value.get("toolUseResult"), dict | list):
                used.add(result.node.name)
            turns.append(_turn(node, block, result, thought, note, trained=position >= untrained))
    return turns, [_marked(node, marks, used) for node in nodes]


def _turn(node: Node, call: JsonDict, result: _Result, thought: str | None, note: JsonDict, *, trained: bool) -> Turn:
    given, name = call.get("input"), call.get("name")
    action = Action(
        name=str(name) if isinstance(name, str) else "",
        arguments=given if isinstance(given, dict) else {},
        text=text_or_none(given),
        call_id=text_or_none(call.get("id")),
    )
    content, flag = result.block.get("content"), result.block.get("is_error")
    data = result.node.value.get("toolUseResult") if result.alone else None
    observation, extra = result_observation(
        content,
        is_error=flag if isinstance(flag, bool) else None,
        data=data if isinstance(data, dict | list) else None,
        command=name == "Bash",
    )
    if observation.text.startswith(_CUT):
        observation = observation.model_copy(update={"truncated": True})
    extra |= note
    if not isinstance(given, dict | str) and given is not None:
        extra["input"] = given
    if observation.text.startswith(_REFUSED):
        extra["refused"] = True
    if "forkedFrom" in node.value:
        extra["copied"] = node.value["forkedFrom"]
    trained = trained and not extra.keys() & {"refused", "copied"}
    return Turn(
        action=action,
        observation=observation,
        thought=thought,
        train=1.0 if trained else 0.0,
        timestamp=text_or_none(node.value.get("timestamp")),
        extra=extra,
    )


def _marked_result(result: _Result, turn: int) -> JsonDict:
    rest = {key: item for key, item in result.block.items() if key not in ("content", "tool_use_id", "is_error")}
    others = other_parts(result.block.get("content"))
    return {**rest, "$result": turn, **({"content": others} if others else {})}


def _marked(node: Node, marks: dict[tuple[str, int], JsonDict], used: set[str]) -> JsonDict:
    record = dict(node.value)
    if node.name in used:
        del record["toolUseResult"]
    message = mapping_of(record.get("message"))
    if isinstance(message.get("content"), list):
        content = [marks.get((node.name, place), block) for place, block in enumerate(message["content"])]
        record["message"] = {**message, "content": content}
    return record


CLAUDE_CODE = ClaudeCode()
