"""Calls of the duckdb server, run by DuckDB itself in memory."""

from __future__ import annotations

import importlib
import importlib.util
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from worldline.domains.database.tool import SETUP_SECONDS, open_duckdb, quoted
from worldline.errors import KernelError
from worldline.kernels.sql.alarm import Alarm
from worldline.kernels.tools.servers.replies import Unsure

__all__ = ["Answered", "DuckDatabase", "installed"]

_SECONDS = 2.0
"""Of processor time."""
_MOST_ROWS = 50_000
_KEPT = 6
"""Instances that are kept for states that may be asked again."""
_READS = frozenset({"SELECT", "EXPLAIN", "RELATION"})
_TEMPORARY = re.compile(r"\s*create\s+(?:or\s+replace\s+)?temp", re.I)
_LIMITS = ("Permission Error", "Out of Memory Error", "Missing Extension Error", "Interrupt")
"""Errors of the kernel's own limits."""


def installed() -> bool:
    """Whether the engine is there."""
    return importlib.util.find_spec("duckdb") is not None


@dataclass(slots=True)
class Answered:
    """What a call gave."""

    text: str
    """The rows as Python writes them, or the message of an error."""
    failed: bool
    changed: bool
    """The database may be another one now."""
    kinds: tuple[str, ...]


@dataclass
class DuckDatabase:
    """The states of one declared database; shared by forks, each of which names its state by the calls that led to it.

    Args:
        name: Name of the database, as the stem of its file gives it.
        setup: Statements that filled it.
        readonly: Whether the server may not change it.
    """

    name: str
    setup: str
    readonly: bool
    lock: threading.RLock = field(default_factory=threading.RLock)
    kept: OrderedDict[tuple[str, ...], Any] = field(default_factory=OrderedDict)

    def run(self, calls: tuple[str, ...], query: str) -> Answered:
        """Run one more call at the state that others led to.

        Raises:
            Unsure: It runs into a limit.
            KernelError: The declared statements cannot be run.
        """
        with self.lock:
            if _reads_only(self._instance(calls), query):
                return self._execute(self._instance(calls), query, changed=False)
            instance = self._build(calls)
            answered = self._execute(instance, query, changed=True)
            if self.readonly:
                instance.close()
                return self._refused(answered, query)
            self._keep((*calls, query), instance)
            return answered

    def close(self) -> None:
        """Free all instances."""
        with self.lock:
            for instance in self.kept.values():
                instance.close()
            self.kept.clear()

    def _instance(self, calls: tuple[str, ...]) -> Any:
        found = self.kept.get(calls)
        if found is None:
            found = self._build(calls)
            self._keep(calls, found)
        else:
            self.kept.move_to_end(calls)
        return found

    def _keep(self, calls: tuple[str, ...], instance: Any) -> None:
        self.kept[calls] = instance
        while len(self.kept) > _KEPT:
            self.kept.popitem(last=False)[1].close()

    def _build(self, calls: tuple[str, ...]) -> Any:
        duckdb = importlib.import_module("duckdb")
        instance = open_duckdb(duckdb, self.name)
        try:
            self._set_up(self._cursor(instance))
        except (duckdb.Error, ValueError) as exc:
            instance.close()
            late = isinstance(exc, duckdb.InterruptException)
            why = f"it ran longer than {SETUP_SECONDS:g} s and was stopped" if late else str(exc)
            raise KernelError(f"`setup` of the duckdb server cannot be run: {why}") from exc
        for call in calls:
            self._execute(instance, call, changed=True)
        return instance

    def _set_up(self, cursor: Any) -> None:
        alarm = _alarm(cursor, SETUP_SECONDS)
        try:
            cursor.execute(self.setup or "SELECT 1")
        finally:
            alarm.cancel()

    def _cursor(self, instance: Any) -> Any:
        cursor = instance.cursor()
        cursor.execute(f"USE {quoted(self.name)}")
        return cursor

    def _execute(self, instance: Any, query: str, *, changed: bool) -> Answered:
        """Run a call on a connection of its own, so that what is temporary or not committed ends with it."""
        duckdb = importlib.import_module("duckdb")
        cursor = self._cursor(instance)
        alarm = _alarm(cursor, _SECONDS)
        kinds: tuple[str, ...] = ()
        try:
            kinds = tuple(statement.type.name for statement in cursor.extract_statements(query))
            result = cursor.execute(query)
            if result is None or not kinds:
                return Answered("Error: 'NoneType' object has no attribute 'fetchall'", True, changed, kinds)
            rows = result.fetchmany(_MOST_ROWS + 1)
            if len(rows) > _MOST_ROWS:
                raise Unsure("the result has too many rows")
            return Answered(str(rows), False, changed, kinds)
        except duckdb.Error as exc:
            text = str(exc)
            if text.startswith(_LIMITS) or "INTERRUPT" in text.upper() or "configuration has been locked" in text:
                raise Unsure(f"the query is not simulated: {text[:200]}") from exc
            return Answered(f"Database error: {text}", True, changed, kinds)
        except (ValueError, OverflowError, RuntimeError) as exc:
            return Answered(f"Error: {exc}", True, changed, kinds)
        finally:
            alarm.cancel()
            cursor.close()

    def _refused(self, answered: Answered, query: str) -> Answered:
        """What a call that would change the database gives where that is not allowed."""
        kind = next((kind for kind in answered.kinds if kind not in (*_READS, "TRANSACTION", "SET", "PRAGMA")), None)
        if kind is None and "nextval" in query.lower():
            kind = "SELECT"
        if answered.failed or kind is None or _TEMPORARY.match(query):
            return Answered(answered.text, answered.failed, False, answered.kinds)
        text = (
            f'Database error: Invalid Input Error: Cannot execute statement of type "{kind}" on database '
            f'"{self.name}" which is attached in read-only mode!'
        )
        return Answered(text, True, False, answered.kinds)


def _alarm(cursor: Any, seconds: float) -> Alarm:
    """Interrupt what the cursor runs after some seconds of processor time."""
    alarm = Alarm(seconds, cursor.interrupt)
    alarm.start()
    return alarm


def _reads_only(instance: Any, query: str) -> bool:
    duckdb = importlib.import_module("duckdb")
    if "nextval" in query.lower():
        return False
    try:
        return all(statement.type.name in _READS for statement in instance.extract_statements(query))
    except duckdb.Error:
        return True  # it does not parse, so it changes nothing
