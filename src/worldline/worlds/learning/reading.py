"""What recorded answers say by themselves: stores with their first records, the tools that read them, and answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worldline.domains.tools.collections import (
    CollectionsSpec,
    GuessSpec,
    HarvestSpec,
    KeyedRecord,
    RecordedRead,
    StoreSpec,
    ToolRule,
)
from worldline.types import JsonDict, canonical_json
from worldline.worlds.learning.clock import find_clock
from worldline.worlds.learning.traces import NOT_JSON, TracedCall, best_style
from worldline.worlds.learning.views import Instance, Kind, find_kinds, is_scalar, reads_only

__all__ = ["Reading", "path_text", "read_traces", "usual_of", "usual_refusal"]

_HALF = 0.5
_MOST = 0.9
"""Share of a tool's answers for which what is said of it must hold."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """One sight of a record."""

    untouched: bool
    """Nothing in the session can have changed it before."""
    view: str
    """Which of its fields were shown."""
    task: str
    record: JsonDict


class Reading:
    """What was read off traces, before any rule of what calls change.

    Args:
        sessions: The calls of each trajectory.
    """

    def __init__(self, sessions: Sequence[Sequence[TracedCall]]) -> None:
        self.sessions = sessions
        self.calls = [call for session in sessions for call in session]
        self.by_tool: dict[str, list[TracedCall]] = defaultdict(list)
        for call in self.calls:
            self.by_tool[call.tool].append(call)
        self.readers = {tool for tool, calls in self.by_tool.items() if reads_only(tool, calls)}
        self.kinds = find_kinds(self.calls)
        self.kind_named = {kind.name: kind for kind in self.kinds}

    def stores(self) -> dict[str, StoreSpec]:
        """Stores with the records as they were before anything changed them."""
        clean = self._untouched()
        stores = {}
        for kind in self.kinds:
            records = self._first_records(kind, clean)
            inside = all(part in record for key, record in records.items() for part in kind.key)
            if inside:
                stores[kind.name] = StoreSpec(key=kind.key, records=tuple(records.values()))
            else:
                keyed = tuple(KeyedRecord(key=key, record=record) for key, record in records.items())
                stores[kind.name] = StoreSpec(key=kind.key, keyed=keyed)
        return stores

    def rules(self) -> dict[str, ToolRule]:
        """What each tool reads, and where its answers hold records."""
        return {tool: self._rule(tool, calls) for tool, calls in self.by_tool.items()}

    def recorded(self, rules: Mapping[str, ToolRule]) -> tuple[RecordedRead, ...]:
        """Answers of tools that only read, where no store tells them; those that were not always the same left out."""
        clean = self._untouched()
        found: dict[tuple[str, str], list[TracedCall]] = defaultdict(list)
        for call in self.calls:
            rule = rules[call.tool]
            # Of a tool that changes something a recorded answer is a guess, better than none.
            told_otherwise = bool(rule.cases) or (rule.operation is not None and not call.error)
            first = (call.session, call.position) in clean
            if call.tool not in self.readers or not told_otherwise or (not rule.cases and not first):
                found[call.tool, canonical_json(call.arguments)].append(call)
        reads = []
        for calls in found.values():
            untouched = [call for call in calls if (call.session, call.position) in clean]
            text, share = usual_of([(call.family, call.text) for call in untouched or calls])
            if share >= _MOST:
                one = next(call for call in calls if call.text == text)
                reads.append(RecordedRead(tool=one.tool, arguments=one.arguments, answer=text, error=one.error))
        return tuple(reads)

    def _untouched(self) -> set[tuple[int, int]]:
        """Calls before the first one of their session that may have changed something."""
        clean = set()
        for session in self.sessions:
            for call in session:
                if call.tool not in self.readers and not call.error:
                    break
                clean.add((call.session, call.position))
        return clean

    def _first_records(self, kind: Kind, clean: set[tuple[int, int]]) -> dict[tuple[str | int, ...], JsonDict]:
        """Records by key as they were at the start, the most frequent where recordings disagree."""
        seen: dict[tuple[str | int, ...], list[_Seen]] = defaultdict(list)
        for instance in kind.instances:
            key = kind.key_of(instance)
            if key is not None and instance.call.tool in self.readers:
                untouched = (instance.call.session, instance.call.position) in clean
                if untouched or not self._mentioned_before(instance, key):
                    view = canonical_json(sorted(instance.record))
                    seen[key].append(_Seen(untouched, view, instance.call.family, instance.record))
        return {key: _usual(found) for key, found in seen.items()}

    def _mentioned_before(self, instance: Instance, key: tuple[str | int, ...]) -> bool:
        """Whether an earlier call that may change something names the record, in its arguments or its answer."""
        words = [f'"{part}"' if isinstance(part, str) else str(part) for part in key]
        for call in self.sessions[instance.call.session]:
            if call.position >= instance.call.position:
                return False
            if call.tool in self.readers or call.error:
                continue
            said = canonical_json(call.arguments) + call.text
            if all(word in said for word in words):
                return True
        return False

    def _rule(self, tool: str, calls: Sequence[TracedCall]) -> ToolRule:
        answers = [call for call in calls if not call.error and call.value is not NOT_JSON]
        harvest = tuple(self._harvests(tool))
        fields: JsonDict = {"harvest": harvest, "json_style": best_style(answers), "otherwise": usual_refusal(calls)}
        fields["changes"] = tool not in self.readers
        if tool in self.readers:
            fields |= self._read_operation(tool, calls)
        return ToolRule(**fields)

    def _harvests(self, tool: str) -> Iterator[HarvestSpec]:
        for kind in self.kinds:
            for (named, path), instances in kind.views.items():
                if named != tool:
                    continue
                parts = []
                for part in kind.key:
                    inside = all(part in instance.record for instance in instances)
                    parts.append(f"{{{{ {path_text('item' if inside else 'args', part)} }}}}")
                others = [k for k in self.kinds if k is not kind and (tool, path) in k.views]
                has = tuple(sorted(kind.fields)) if others else ()
                yield HarvestSpec(store=kind.name, path=path, key=parts, has=has)

    def _read_operation(self, tool: str, calls: Sequence[TracedCall]) -> JsonDict:
        """The operation of a tool whose answers are single records."""
        kinds = [kind for kind in self.kinds if (tool, "") in kind.views]
        good = sum(not call.error for call in calls)
        told = sum(len(kind.views[tool, ""]) for kind in kinds)
        if not kinds or told < _MOST * good:
            return {}
        kinds.sort(key=lambda kind: -len(kind.views[tool, ""]))
        instances = [instance for kind in kinds for instance in kind.views[tool, ""]]
        stores = tuple(kind.name for kind in kinds)
        key = self._asking_arguments(kinds, instances)
        shown = _shown(kinds, tool) if len(kinds) == 1 else ()
        if key is not None:
            return {"operation": "read", "store": stores if len(stores) > 1 else stores[0], "key": key, "shown": shown}
        if len(kinds) == 1 and (where := _asking_field(instances)):
            return {"operation": "read", "store": stores[0], "where": where, "shown": shown}
        return {}

    @staticmethod
    def _asking_arguments(kinds: Sequence[Kind], instances: Sequence[Instance]) -> Any:
        """Template of the key from the arguments that always hold it."""
        parts = []
        for number in range(len(kinds[0].key)):
            hits: Counter[str] = Counter()
            for kind in kinds:
                for instance in instances:
                    if instance not in kind.instances or len(kind.key) <= number:
                        continue
                    part = instance.named(kind.key[number])
                    hits.update(name for name, value in instance.call.arguments.items() if value == part)
            name, count = hits.most_common(1)[0] if hits else ("", 0)
            if count < _MOST * len(instances):
                return None
            parts.append(f"{{{{ {path_text('args', name)} }}}}")
        return parts if len(parts) > 1 else parts[0]


def usual_refusal(calls: Sequence[TracedCall]) -> GuessSpec | None:
    """Return the most frequent error of calls that are refused more often than not, where each task has one vote."""
    if not calls:
        return None
    trials = Counter(call.family for call in calls)
    refused = sum(1 / (trials[call.family] * len(trials)) for call in calls if call.error)
    if refused <= _HALF:
        return None
    text, _ = usual_of([(call.family, call.text) for call in calls if call.error])
    return GuessSpec(answer=text, error=True)


def usual_of(told: Sequence[tuple[str, str]]) -> tuple[str, float]:
    """Return the most frequent of several texts and its share; each task has one vote, however often it was tried.

    Tasks may start from different states: the trials of one say nothing of what the others found.

    Args:
        told: Task and text.
    """
    trials = Counter(task for task, _ in told)
    shares: dict[str, float] = defaultdict(float)
    for task, text in told:
        shares[text] += 1 / (trials[task] * len(trials))
    best = max(shares, key=lambda text: shares[text])
    return best, shares[best]


def _usual(found: Sequence[_Seen]) -> JsonDict:
    """The record of several views of it: each view's most frequent form, the widest view first."""
    trusted = [seen for seen in found if seen.untouched] or list(found)
    by_view: dict[str, list[_Seen]] = defaultdict(list)
    for seen in trusted:
        by_view[seen.view].append(seen)
    record: JsonDict = {}
    for view in sorted(by_view, key=len):
        usual, _ = usual_of([(seen.task, canonical_json(seen.record)) for seen in by_view[view]])
        chosen = next(seen.record for seen in by_view[view] if canonical_json(seen.record) == usual)
        record = {**chosen, **{name: value for name, value in record.items() if name not in chosen}}
    return record


def _shown(kinds: Sequence[Kind], tool: str) -> tuple[str, ...]:
    """The fields a tool shows, where other tools show others of the same records."""
    (kind,) = kinds
    orders = {tuple(instance.record) for instance in kind.views[tool, ""]}
    others = {tuple(instance.record) for instance in kind.instances if instance.call.tool != tool}
    if len(orders) != 1 or all(set(order) == set(next(iter(orders))) for order in others):
        return ()
    return next(iter(orders))


def _asking_field(instances: Sequence[Instance]) -> str:
    """Condition that finds the record by a field that is no part of its key."""
    hits: Counter[tuple[str, str]] = Counter()
    for instance in instances:
        for field, value in instance.record.items():
            for name, given in instance.call.arguments.items():
                if is_scalar(value) and value == given:
                    hits[field, name] += 1
    good = [pair for pair, count in hits.items() if count >= _MOST * len(instances)]
    if not good:
        return ""
    return "{{ " + " and ".join(f"{path_text('item', f)} == {path_text('args', n)}" for f, n in good) + " }}"


def path_text(base: str, name: str) -> str:
    """Write a field of something as an expression."""
    plain = name.isidentifier() and name.isascii() and not name.startswith("_")
    return f"{base}.{name}" if plain else f"{base}[{canonical_json(name)}]"


def read_traces(sessions: Sequence[Sequence[TracedCall]]) -> tuple[Reading, CollectionsSpec]:
    """Read off traces what they say without rules of change."""
    reading = Reading(sessions)
    rules = reading.rules()
    spec = CollectionsSpec(
        stores=reading.stores(),
        tools=rules,
        reads=reading.recorded(rules),
        check_arguments=False,
        now=find_clock(call for call in reading.calls if call.tool not in reading.readers),
        tick=0,
    )
    return reading, spec
