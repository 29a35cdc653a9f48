"""Codex CLI's rollout logs (`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`), read only.

Lines are `{timestamp, type, payload}`; in the older kind they are the bare items after a header line. Each call
with an output is a turn: function calls, custom tool calls, local shell calls and tool searches.

- A shell call becomes `shell` with a `command` text, whether it came as an argument list (`bash -lc TEXT` is TEXT,
  another list is quoted), as `cmd` of `exec_command` or as a local shell call. What it was stands in `extra`.
- What Codex wraps around an output (exit code, wall time, chunk and session id) is taken off: the text is what the
  command printed, the rest is the observation's `data`, and the wrapper as it was stands in `extra`.
- Calls made before any of them was answered are a batch.
- Turns that were rolled back are a trajectory of their own, after the turns before them, which count nothing in
  training (`train` 0). Histories that replace the context in a compaction are no turns.
- In a forked session, what was copied from the other one counts nothing in training: the first records, as long as
  they were written within a second of the header, faster than a model answers.
- Calls that the user rejected or interrupted count nothing in training; calls without an output are no turns.

A sub-agent has a file of its own; it, its parent and the forks of a session are one family as far as the header
says so. What is not a turn stays in `extra["codex"]`, with marks where turns were taken out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from worldline.formats.base import reason_of
from worldline.formats.codex_calls import CALLS, OUTPUTS, call_action, call_observation, call_of
from worldline.formats.coding import NOTE_LIMIT, coding_world, nested_deeply, text_or_none
from worldline.formats.skeleton import batch_note, mapping_of, parts_text
from worldline.formats.source import InputFile, SkippedRecord
from worldline.types import JsonDict, Source, Trajectory, Turn, content_id

__all__ = ["CODEX", "Codex"]

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"})
_BARE = frozenset({"message", "reasoning", *CALLS, *OUTPUTS, "web_search_call"})
_REFUSED = ("aborted by user", "exec command rejected by user", "rejected by user", "patch rejected by user")
_NO_TASK = ("<", "# AGENTS.md instructions", "# Context from my IDE setup")


@dataclass(slots=True)
class _Item:
    """A record and, for a call, what became of it."""

    line: int
    kind: str
    payload: JsonDict
    record: JsonDict
    timestamp: str | None
    output: _Item | None = None
    batch: int = -1
    thought: str | None = None
    period: int = 0
    """How many messages of the user came before."""

    @property
    def type(self) -> str:
        return str(self.payload.get("type")) if self.kind == "response_item" else ""


@dataclass(slots=True)
class _Log:
    file: str
    items: list[_Item] = field(default_factory=list)
    dropped: list[tuple[list[_Item], list[_Item]]] = field(default_factory=list)
    """Rolled back: the items before, and those that were dropped."""

    @property
    def meta(self) -> JsonDict:
        return next((item.payload for item in self.items if item.kind == "session_meta"), {})


class Codex:
    """The rollout logs of Codex CLI."""

    name = "codex"
    suffixes = (".jsonl",)

    def sniff(self, value: Any) -> str | None:
        """Recognise `{timestamp, type, payload}`, or the header of the older kind."""
        if not isinstance(value, dict):
            return None
        kind = text_or_none(value.get("type"))
        if isinstance(value.get("payload"), dict) and kind in _TYPES and "timestamp" in value:
            return f"rollout records: `{kind}` with a `payload`"
        if value.keys() >= {"id", "timestamp", "instructions"} and "type" not in value:
            return "the header of an older rollout log"
        if value.get("record_type") == "state":
            return "a record of an older rollout log"
        return None

    def read(self, file: InputFile, source: Source) -> Iterator[Trajectory | SkippedRecord]:
        """Yield the session, then what was rolled back; the session is held in memory."""
        log = _Log(file.path.name)
        for record in file.json_lines():
            if isinstance(record, SkippedRecord):
                yield record
                continue
            item = _item(record.value, record.line)
            if isinstance(item, str):
                yield file.skipped(item, record.line)
            else:
                log.items.append(item)
        if not log.items:
            yield file.skipped("no rollout records in it")
            return
        _paired(log.items)
        main = _followed(log)
        yield from _built(log, main, file, source)
        for number, (before, dropped) in enumerate(log.dropped, 1):
            if number > NOTE_LIMIT:
                yield file.skipped(f"more than {NOTE_LIMIT} rollbacks: the later ones are left out", dropped[0].line)
                break
            yield from _built(log, [*before, *dropped], file, source, branch=number, shared=len(before))


def _item(value: Any, line: int) -> _Item | str:
    """Read a record of either kind, or say what is wrong with it."""
    if not isinstance(value, dict):
        return f"a record was expected, found {type(value).__name__}"
    if nested_deeply(value):
        return "a record that is nested too deeply"
    time = text_or_none(value.get("timestamp"))
    if "payload" in value:
        payload, kind = value["payload"], value.get("type")
        if not isinstance(kind, str) or not isinstance(payload, dict):
            return "a record with a `type` and a `payload` object was expected"
        if kind == "response_item" and not isinstance(payload.get("type"), str):
            return "a response_item without a `type`"
        return _Item(line, kind, payload, {key: item for key, item in value.items() if key != "payload"}, time)
    if text_or_none(value.get("type")) in _BARE:
        return _Item(line, "response_item", value, {"$bare": True}, time)
    if "type" not in value and ("instructions" in value or "record_type" in value or "id" in value):
        return _Item(line, "session_meta" if "id" in value else "state", value, {"$bare": True}, time)
    return "neither a rollout record nor an item of the older kind"


def _paired(items: list[_Item]) -> None:
    """Match calls with outputs, and note batches, thoughts and the user's messages."""
    waiting: dict[str, deque[_Item]] = {}
    events = any(item.kind == "event_msg" and item.payload.get("type") == "user_message" for item in items)
    batch = period = 0
    said: str | None = None
    mulled: str | None = None
    for item in items:
        period += _asks(item, events)
        item.period = period
        if item.type in CALLS:
            item.batch, item.thought = batch, said or mulled
            said = mulled = None
            waiting.setdefault(call_of(item.payload), deque()).append(item)
        elif item.type in OUTPUTS:
            batch += 1
            if calls := waiting.get(call_of(item.payload)):
                calls.popleft().output = item
        elif item.type == "message":
            batch += 1
            said = text_or_none(parts_text(item.payload.get("content"))) if _is_agent(item) else None
        elif item.type == "reasoning":
            mulled = text_or_none(parts_text(item.payload.get("summary")))


def _is_agent(item: _Item) -> bool:
    return item.payload.get("role") == "assistant"


def _asks(item: _Item, events: bool) -> bool:
    """Whether an item is a message of the user, told by events where the log has them."""
    if events:
        return item.kind == "event_msg" and item.payload.get("type") == "user_message"
    return item.type == "message" and item.payload.get("role") == "user" and bool(_request(item))


def _request(item: _Item) -> str:
    """Return what the user asked in a message, or nothing where it is context that Codex adds."""
    if item.kind == "event_msg":
        message = item.payload.get("message")
        return str(message) if isinstance(message, str) else ""
    text = str(parts_text(item.payload.get("content")))
    return "" if text.lstrip().startswith(_NO_TASK) else text


def _followed(log: _Log) -> list[_Item]:
    """Return the items that were not rolled back; the others are noted in the log."""
    kept: list[_Item] = []
    for item in log.items:
        if item.kind == "event_msg" and item.payload.get("type") == "thread_rolled_back":
            cut = _cut(kept, item.payload.get("num_turns"))
            dropped = kept[cut:]
            if any(other.output is not None for other in dropped):
                if len(log.dropped) <= NOTE_LIMIT:
                    log.dropped.append((kept[:cut], dropped))
                del kept[cut:]
        kept.append(item)
    return kept


def _cut(kept: list[_Item], turns: Any) -> int:
    """Return where the last `turns` messages of the user begin."""
    if not isinstance(turns, int) or isinstance(turns, bool) or turns <= 0:
        return len(kept)
    cut, seen = len(kept), 0
    for place in range(len(kept) - 1, -1, -1):
        period = kept[place].period
        if period == 0 or (seen == turns and period != kept[cut].period):
            break
        if cut == len(kept) or period != kept[cut].period:
            seen += 1
        cut = place
    return cut


def _built(
    log: _Log, items: list[_Item], file: InputFile, source: Source, *, branch: int = 0, shared: int = 0
) -> Iterator[Trajectory | SkippedRecord]:
    meta = log.meta
    identity, forked = text_or_none(meta.get("id")), text_or_none(meta.get("forked_from_id"))
    try:
        untrained = max(shared, _copied(items) if forked else 0)
        turns, records = _taken_apart(items, untrained, forked)
        task = next((text for item in items if _may_ask(item) and (text := _request(item))), "")
        origin = {"session": identity, "version": meta.get("cli_version"), "forked_from": forked, "branch": branch}
        parent = _parent(meta) or forked or identity or log.file
        yield Trajectory(
            source=source,
            world=coding_world(turns, task=task, cwd=meta.get("cwd")),
            turns=tuple(turns),
            family=f"codex-{content_id(parent, 8)}",
            origin={"format": "codex", "file": log.file, **{key: item for key, item in origin.items() if item}},
            extra={"codex": {"records": records}},
        )
    except (ValueError, RecursionError) as exc:
        yield file.skipped(f"the session cannot be held: {reason_of(exc)}", items[-1].line if items else None)


def _may_ask(item: _Item) -> bool:
    if item.kind == "event_msg":
        return item.payload.get("type") == "user_message"
    return item.type == "message" and item.payload.get("role") == "user"


def _parent(meta: JsonDict) -> str | None:
    """Return the session that started this one as a sub-agent."""
    agent = mapping_of(mapping_of(meta.get("source")).get("subagent"))
    return text_or_none(mapping_of(agent.get("thread_spawn")).get("parent_thread_id"))


def _copied(items: list[_Item]) -> int:
    """Return how many of the first items were written together with the header."""
    start = _seconds(items[0].timestamp)
    for place, item in enumerate(items):
        now = _seconds(item.timestamp)
        if start is None or (now is not None and now - start > 1):
            return place
    return len(items)


def _seconds(timestamp: str | None) -> float | None:
    try:
        return None if timestamp is None else datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _taken_apart(items: list[_Item], untrained: int, forked: str | None) -> tuple[list[Turn], list[JsonDict]]:
    """Return the turns and the records with marks in their places."""
    sizes = Counter(item.batch for item in items if item.output is not None)
    places: Counter[int] = Counter()
    turns: list[Turn] = []
    marks: dict[int, JsonDict] = {}
    for position, item in enumerate(items):
        if item.output is None:
            continue
        note = batch_note(places[item.batch], sizes[item.batch])
        places[item.batch] += 1
        marks[id(item)] = {"type": item.type, "$turn": len(turns)}
        marks[id(item.output)] = {"type": item.output.type, "$result": len(turns)}
        turn = _turn(item, item.output, note)
        if position < untrained or "refused" in turn.extra:
            turn = turn.model_copy(update={"train": 0.0})
        if position < untrained and forked:
            turn = turn.model_copy(update={"extra": {**turn.extra, "copied": forked}})
        turns.append(turn)
    return turns, [_laid_out(item, marks.get(id(item))) for item in items]


def _turn(item: _Item, output: _Item, note: JsonDict) -> Turn:
    action, call_extra = call_action(item.payload)
    observation, extra = call_observation(output.payload)
    if observation.text == "aborted" or observation.text.startswith(_REFUSED):
        extra["refused"] = True
    return Turn(
        action=action,
        observation=observation,
        thought=item.thought,
        timestamp=item.timestamp,
        extra={**note, **call_extra, **extra},
    )


def _laid_out(item: _Item, mark: JsonDict | None) -> JsonDict:
    if item.record.get("$bare"):
        return mark or item.payload
    return {**item.record, "payload": mark or item.payload}


CODEX = Codex()
