"""The SQL kernel: answers calls of a database tool by running them on the engine itself, in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from worldline.domains.database.state import DatabaseState
from worldline.domains.database.tool import TOOLS, Trace, first_word
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.sql.chance import draws
from worldline.kernels.sql.clock import tells_time
from worldline.kernels.sql.learning import ROWS, SCHEMA, lesson
from worldline.kernels.sql.machine import Call, Machine, Start, engine_version
from worldline.types import Action, JsonDict, Observation, Turn, WorldSpec, canonical_json, content_id

__all__ = ["SqlKernel"]

_COUNTERS = re.compile(r"\b(?:last_insert_rowid|changes|total_changes)\s*\(", re.I)
_MISSING = re.compile(
    r"no such (?:table|view|index|trigger): (?:main\.)?(\w+)|does not exist(?! in the referenced table)"
    r"|not found in FROM clause",
    re.I,
)
_PERHAPS = re.compile(r"\bif\s+not\s+exists\b", re.I)
_PREPARING = re.compile(r"^Error: (?:near \"|no such column|no such function|ambiguous column name|incomplete input)")
"""Errors that do not depend on what a table holds."""
_CATALOG = re.compile(r"\b(?:sqlite_(?:master|schema)|table_list|information_schema|pg_\w+|duckdb_\w+|show)\b", re.I)
_VERSIONED = re.compile(r"\b(?:explain|pragma|sqlite_version|sqlite_source_id|version)\b", re.I)
_WORD = re.compile(r"\w+")
_READS = {"select", "with", "explain", "pragma", "values", "show", "describe", "summarize", "from", "table"}
_TARGET = re.compile(
    r"\b(?:into|update(?:\s+or\s+\w+)?|from|table(?:\s+if\s+(?:not\s+)?exists)?|view(?:\s+if\s+(?:not\s+)?exists)?)"
    r"\s+[\"`\[]?(\w+)",
    re.I,
)


@dataclass(frozen=True)
class _Settled:
    """What has been settled; immutable, so that forks share it."""

    calls: tuple[Call, ...] = ()
    tainted: frozenset[str] = frozenset()
    """Tables whose content is unknown, lower case; `*` for all."""
    seen: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    """Answers observed of reads that could not be computed, by call; forgotten at the next write."""
    listed: frozenset[str] | None = None
    """Names of all tables as they were last listed, in a world that does not declare them all."""
    made: frozenset[str] = frozenset()
    """Names of tables and views, lower case, that the session made in such a world: what it took away again is gone."""


@dataclass(frozen=True)
class _Trial:
    action: Action
    proposal: Proposal
    after: _Settled
    trace: Trace


class SqlKernel:
    """Satisfies :class:`worldline.kernels.base.Kernel`.

    Args:
        world: Its `initial_state` is a :class:`DatabaseState`.

    Raises:
        pydantic.ValidationError: The initial state is not that of a database.
        KernelError: The declared tables cannot be created.
    """

    domain = "database"

    def __init__(self, world: WorldSpec) -> None:
        self.state = DatabaseState.model_validate(world.initial_state)
        self._start = Start(self.state)
        self._settled = _Settled()
        self._machine: Machine | None = None
        self._dirty = False
        self._trial: _Trial | None = None
        self._version = engine_version(self.state.engine)
        if self._version is not None:
            self._ready()

    # --- the transaction

    def propose(self, action: Action) -> Proposal:
        """Run the call on a trial state and answer."""
        self.reject()
        text = _text(action)
        if self._version is None:
            why = "duckdb is not installed: pip install 'worldline[database]'"
            return Proposal(Observation.from_text("", is_error=False), known=False, classes=("uninstalled",), why=why)
        seen = self._settled.seen.get(_key(action))
        if seen is not None:
            return self._stand(action, seen[0], seen[1], Trace(), ["seen"], [])
        if self.state.engine == "duckdb" and tells_time(text) and not _writes(action):
            return self._stand(action, "", False, Trace(), ["duckdb clock"], ["it asks for the present time"])
        before = self._names(action)
        answer, is_error, trace = self._ready().run(action.name, action.arguments)
        self._dirty = trace.changed
        doubts = self._doubts(action, text, answer, is_error, trace)
        if doubts and is_error and not self.state.complete and self._hidden(text):
            answer, is_error = "", False
        proposal = self._stand(
            action, answer, is_error, trace, _classes(self.state.engine, action, trace, is_error), doubts
        )
        if trace.changed and (made := self._names(action) - before) and self._trial is not None:
            after = replace(self._trial.after, made=self._trial.after.made | made)
            self._trial = replace(self._trial, after=after)
        return proposal

    def _names(self, action: Action) -> frozenset[str]:
        """Names of what there is, where a call may make more; none where that may have been there before."""
        told = not self.state.complete and self.state.engine == "sqlite" and _writes(action)
        if not told or _PERHAPS.search(_text(action)):
            return frozenset()
        return frozenset(name.lower() for name in self._ready().names())

    def _stand(
        self, action: Action, text: str, is_error: bool, trace: Trace, classes: list[str], doubts: list[str]
    ) -> Proposal:
        proposal = Proposal(
            Observation.from_text(text, is_error=is_error),
            known=not doubts,
            classes=tuple(classes),
            why="; ".join(doubts) or f"ran by {self.state.engine} {self._version}",
            writes=tuple(sorted(trace.writes)),
        )
        after = self._settled
        if trace.changed:
            call = Call.after(after.calls, action.name, action.arguments)
            after = replace(after, calls=(*after.calls, call), seen={})
            if doubts and not is_error and _writes(action):
                after = replace(after, tainted=after.tainted | (_targets(action, trace) or {"*"}))
        self._trial = _Trial(action, proposal, after, trace)
        return proposal

    def _doubts(self, action: Action, text: str, answer: str, is_error: bool, trace: Trace) -> list[str]:
        """Why the answer may not be what the real engine says; empty where it is known."""
        state, settled = self.state, self._settled
        doubts = []
        names = {word.lower() for word in _WORD.findall(text)} | trace.reads | trace.writes
        tainted = settled.tainted & names
        if ("*" in settled.tainted or tainted) and not (is_error and _PREPARING.search(answer)):
            doubts.append(f"the content of {', '.join(sorted(tainted)) or 'the database'} is unknown")
        if trace.timed_out:
            doubts.append("it ran into a limit of the kernel")
        if draws(text, trace.functions):
            doubts.append("it draws random values")
        if tells_time(text) and (state.clock is None or state.engine != "sqlite"):
            doubts.append("it asks for the present time")
        if _COUNTERS.search(text) and not self._ready().counted:
            doubts.append("it asks for counters that were not kept")
        if not state.complete:
            doubts += self._open_world(action, text, answer, is_error)
        if state.version != self._version:
            worded = is_error and (state.version is not None or state.engine == "duckdb")
            if worded or _VERSIONED.search(text):
                doubts.append(f"it depends on the version of {state.engine}")
        return doubts

    def _open_world(self, action: Action, text: str, answer: str, is_error: bool) -> list[str]:
        if is_error and (missing := _MISSING.search(answer)) and not self._surely_missing(missing[1]):
            return ["it names something that the world does not declare"]
        if action.name == "list_tables" or _CATALOG.search(text):
            return ["not all tables are declared"]
        return []

    def _surely_missing(self, name: str | None) -> bool:
        """Whether a table is known not to exist: it was not listed, or was there and is gone.

        DuckDB's message may name any other.
        """
        if name is None or self.state.engine != "sqlite":
            return False
        settled = self._settled
        unlisted = settled.listed is not None and name.lower() not in settled.listed
        return unlisted or name.lower() in settled.made | {table.lower() for table in self.state.tables}

    def _hidden(self, text: str) -> bool:
        """Whether a text names a table that is listed but not declared, so that the answer is hardly an error."""
        listed = self._settled.listed or frozenset()
        known = {name.lower() for name in self._ready().names()}
        return bool({word.lower() for word in _WORD.findall(text)} & (listed - known))

    def accept(self) -> None:
        """Make the trial state of the last proposal the state."""
        if self._trial is not None:
            self._settled = self._trial.after
            self._trial, self._dirty = None, False

    def reject(self) -> None:
        """Forget the trial state of the last proposal."""
        self._trial = None
        if self._dirty:
            self._drop()

    def absorb(self, turn: Turn) -> None:
        """Let the state follow a settled turn."""
        if self._trial is None or self._trial.action != turn.action:
            self.propose(turn.action)
        trial = self._trial
        if trial is None:
            return
        told, real = trial.proposal.observation, turn.observation
        if told.text == real.text and bool(told.is_error) == bool(real.is_error):
            self.accept()
            if trial.proposal.known is False and trial.trace.changed:
                self._settled = replace(self._settled, tainted=trial.after.tainted)
            return
        self._follow(trial, bool(real.is_error), real.text)

    def _follow(self, trial: _Trial, failed: bool, text: str) -> None:
        """Settle a turn that went otherwise than the trial."""
        told = trial.proposal.observation
        if trial.trace.changed and failed == bool(told.is_error):
            self.accept()  # the same effect, told otherwise
            if not failed and _writes(trial.action):
                self._settled = replace(
                    self._settled, tainted=self._settled.tainted | (_targets(trial.action, trial.trace) or {"*"})
                )
            return
        self.reject()
        before = self._settled
        if _writes(trial.action) and not failed:
            self._settled = replace(
                before, tainted=before.tainted | (_targets(trial.action, trial.trace) or {"*"}), seen={}
            )
        elif not _writes(trial.action):
            self._settled = replace(before, seen={**before.seen, _key(trial.action): (text, failed)})
        if not failed and not self.state.complete:
            self._learn(trial.action, text)

    def _learn(self, action: Action, text: str) -> None:
        """Take over what an answer tells of tables that the world does not declare."""
        found = lesson(action, text, self.state.output)
        if found is None:
            return
        settled = self._settled
        if found.listed is not None:
            self._settled = replace(settled, listed=found.listed)
            return
        names = {name.lower() for name in self._ready().names()}
        fresh = found.calls[0][0] == SCHEMA and found.table not in names
        if not fresh and not (found.calls[0][0] == ROWS and found.table in settled.tainted and found.table in names):
            return
        calls = settled.calls
        for name, arguments in found.calls:
            calls = (*calls, Call.after(calls, name, arguments))
        tainted = settled.tainted - {found.table} if found.whole else settled.tainted | {found.table}
        self._settled = replace(settled, calls=calls, tainted=tainted)
        self._drop()

    # --- copies

    def fork(self) -> SqlKernel:
        """Return an independent copy; it opens a database of its own when it is first asked."""
        twin = object.__new__(SqlKernel)
        twin.state, twin._start, twin._version = self.state, self._start, self._version
        twin._settled = self._settled
        twin._machine, twin._dirty, twin._trial = None, False, None
        return twin

    def dump(self) -> bytes:
        """Serialise the whole state: the calls that led to it."""
        settled = self._settled
        data = {
            "world": self._world_id(),
            "calls": [[call.name, call.arguments] for call in settled.calls],
            "tainted": sorted(settled.tainted),
            "seen": {key: list(value) for key, value in settled.seen.items()},
            "listed": None if settled.listed is None else sorted(settled.listed),
            "made": sorted(settled.made),
        }
        return canonical_json(data).encode()

    def load(self, data: bytes) -> None:
        """Replace the state by a dumped one.

        Raises:
            KernelError: `data` is damaged, or from another world.
        """
        try:
            read = json.loads(data)
            if read["world"] != self._world_id():
                raise KernelError("the dumped state is that of another world")
            calls: list[Call] = []
            for name, arguments in read["calls"]:
                calls.append(Call.after(calls, name, arguments))
            seen = {key: (str(text), bool(failed)) for key, (text, failed) in read["seen"].items()}
            listed = None if read["listed"] is None else frozenset(map(str, read["listed"]))
            made = frozenset(map(str, read["made"]))
            settled = _Settled(tuple(calls), frozenset(read["tainted"]), seen, listed, made)
        except (ValueError, TypeError, KeyError) as exc:
            raise KernelError("damaged state of a database") from exc
        self._drop()
        self._settled, self._trial = settled, None

    def _world_id(self) -> str:
        return content_id(self.state.model_dump(mode="json"))

    def _ready(self) -> Machine:
        if self._machine is None:
            self._machine = Machine(self._start, self._settled.calls)
        return self._machine

    def _drop(self) -> None:
        if self._machine is not None:
            self._machine.close()
        self._machine, self._dirty = None, False

    # --- views

    def footprint(self, action: Action) -> Mapping[str, str] | None:
        """The database as a whole: the declared state and every call that changed it."""
        if self._settled.tainted:
            return None
        calls = self._settled.calls
        return {"database": content_id([self._world_id(), calls[-1].mark if calls else ""])}

    def describe(self) -> JsonDict:
        """The tables with their columns and first rows."""
        found: JsonDict = {"engine": self.state.engine, "version": self._version, "changes": len(self._settled.calls)}
        if self._version is None:
            return found
        self.reject()
        twin = self.fork()
        try:
            machine = twin._ready()
            for number, name in enumerate(machine.names()):
                if number < 20:
                    table = found.setdefault("tables", {}).setdefault(name, {})
                    table.update(machine.glance(name))
                    table["known"] = not self._settled.tainted & {name.lower(), "*"}
        finally:
            twin.close()
        return found

    def close(self) -> None:
        """Free the database. Forks live on."""
        self._trial = None
        self._drop()


def _text(action: Action) -> str:
    return " ".join(str(value) for value in action.arguments.values())


def _key(action: Action) -> str:
    return canonical_json([action.name, action.arguments])


def _writes(action: Action) -> bool:
    """Whether a call may change something, by its first words."""
    if action.name != "execute_sql":
        return False
    return any(first_word(part) not in {*_READS, ""} for part in str(action.arguments.get("sql", "")).split(";"))


def _targets(action: Action, trace: Trace) -> set[str]:
    """Tables that a call may have written."""
    named = {name.lower() for name in _TARGET.findall(str(action.arguments.get("sql", "")))}
    return named | {name for name in trace.writes if not name.startswith("sqlite_")}


def _classes(engine: str, action: Action, trace: Trace, is_error: bool) -> list[str]:
    """Classes whose trust is measured: what ran, on which engine, and whether it failed."""
    if action.name not in TOOLS:
        return ["unknown_tool"]
    kinds = list(dict.fromkeys(trace.kinds)) or [action.name]
    known = [kind if kind.replace("_", "").isalpha() and len(kind) < 15 else "other" for kind in kinds]
    return [f"{engine} {kind}{' error' if is_error else ''}" for kind in known]
