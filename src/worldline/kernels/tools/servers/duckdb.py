"""The duckdb server: one tool that runs any SQL."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import ClassVar

from worldline.domains.mcp.state import DuckdbServer
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.sql.chance import draws
from worldline.kernels.sql.clock import tells_time
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.duckdb_engine import Answered, DuckDatabase, installed
from worldline.kernels.tools.servers.replies import Unsure, told
from worldline.kernels.tools.servers.sdk1_server import ListServer
from worldline.types import JsonDict, Observation, content_id

__all__ = ["DuckdbKernel"]

_PLACE = re.compile(
    r"\b(?:duckdb_(?:databases|settings|memory|temporary_files|extensions|secrets)|database_list|databases|database_size"
    r"|explain\s+analyze|profil\w+|platform|attach|detach|copy|export|import|install|load|checkpoint|vacuum|use)\b",
    re.I,
)
"""What depends on the file, the machine or the connection."""
_ELSEWHERE = re.compile(
    r"\s*(?:set|reset|pragma|attach|detach|copy\b[^;]*\bto|export|load|install|checkpoint)\b[^;]*(?:;\s*)?", re.I
)
"""Queries that leave the tables as they are."""
_READING = re.compile(
    r"\s*(?:select|with|from|show|describe|explain|summarize|values|table)\b(?!.*\bnextval\b)", re.I | re.S
)
_PIVOT = re.compile(r"\bpivot\b(?!.*\border\s+by\b)", re.I | re.S)
_MISSING = re.compile(r"does not exist|not found in FROM clause", re.I)
_CATALOG = re.compile(r"\b(?:show|information_schema|pg_\w+|duckdb_\w+|sqlite_master|pragma_\w+)\b", re.I)
_MOST_SEEN = 200


class DuckdbKernel(ListServer):
    """The calls that changed the database since its declared state.

    Args:
        declared: What the world says.
    """

    kind = "duckdb"
    parameters: ClassVar[Mapping[str, str | None]] = {"query": "query"}

    def __init__(self, declared: DuckdbServer | None = None) -> None:
        declared = declared or DuckdbServer(kind="duckdb")
        name = posixpath.splitext(posixpath.basename(declared.path))[0]
        self._database = DuckDatabase(name, declared.setup, declared.readonly)
        self._calls: tuple[str, ...] = ()
        self._whole = declared.complete
        self._tainted = False
        self._seen: dict[str, str] = {}

    # --- calls

    def run(self, tool: str, value: str) -> Proposal:
        """Run a query."""
        if not installed():
            raise Unsure("duckdb is not installed: pip install 'worldline[database]'")
        seen = self._seen.get(value)
        if seen is not None:
            return told(seen, "duckdb seen", why="the same query was answered so before")
        answered = self._database.run(self._calls, value)
        if answered.changed:
            self._calls = (*self._calls, value)
            self._seen = {}
        why = self._doubt(value, answered)
        if why:
            raise Unsure(why, answered.text)
        kind = (answered.kinds or ("none",))[-1].lower()
        return told(answered.text, f"duckdb {kind}{' error' if answered.failed else ''}")

    def _doubt(self, query: str, answered: Answered) -> str:
        """Why the answer is not sure; empty where it is."""
        if self._tainted:
            return "it is not known what an earlier query changed"
        if draws(query):
            return "it draws random values"
        if tells_time(query):
            return "it asks for the present time"
        if _PLACE.search(query):
            return "it asks for what depends on the machine"
        if _PIVOT.search(query):
            return "the order of its rows is not told"
        if not self._whole:
            if answered.failed and _MISSING.search(answered.text):
                return "it names something that the world does not declare"
            if _CATALOG.search(query):
                return "not all tables are declared"
        return ""

    # --- following reality

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take what an answer tells; what a write did beyond the foreseen becomes unknown."""
        query = arguments.get("query")
        if observation.is_error or tool != "query" or not isinstance(query, str):
            return
        text = observation.text
        failed = text.startswith(("Database error: ", "Error: "))
        try:
            answered = self._database.run(self._calls, query) if installed() else None
        except Unsure:
            answered = None
        if (answered is not None and not answered.changed) or _READING.match(query):
            self._seen = {**dict(list(self._seen.items())[-_MOST_SEEN:]), query: text}
        elif not failed and not _ELSEWHERE.fullmatch(query):
            self._seen = {}
            self._tainted = self._tainted or answered is None or answered.failed or answered.text != text
            if answered is not None:
                self._calls = (*self._calls, query)

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The database as a whole."""
        if tool != "query" or not isinstance(arguments.get("query"), str):
            return {}
        declared = [self._database.setup, self._database.readonly, *self._calls]
        return {"database": "unknown" if self._tainted or not self._whole else content_id(declared)}

    # --- copies

    def fork(self) -> DuckdbKernel:
        """Share the declared database and what is kept of its states."""
        twin = object.__new__(DuckdbKernel)
        twin._database, twin._calls, twin._whole = self._database, self._calls, self._whole
        twin._tainted, twin._seen = self._tainted, self._seen
        return twin

    def dump(self) -> JsonDict:
        """Return the calls and what is not known."""
        return {"calls": list(self._calls), "whole": self._whole, "tainted": self._tainted, "seen": self._seen}

    def load(self, data: JsonDict) -> None:
        """Take the calls."""
        try:
            self._calls, self._whole = tuple(map(str, data["calls"])), bool(data["whole"])
            self._tainted = bool(data["tainted"])
            self._seen = {str(key): str(text) for key, text in data["seen"].items()}
        except (KeyError, TypeError, AttributeError) as exc:
            raise KernelError("damaged state of a duckdb server") from exc

    def describe(self) -> JsonDict:
        """The tables with their columns and number of rows."""
        shown: JsonDict = {"changes": len(self._calls), "complete": self._whole, "doubted": self._tainted}
        if installed():
            query = "SELECT table_name, column_count, estimated_size FROM duckdb_tables() ORDER BY table_name LIMIT 20"
            try:
                shown["tables"] = self._database.run(self._calls, query).text[:2000]
            except Unsure as unsure:
                shown["tables"] = str(unsure)
        return shown

    def close(self) -> None:
        """Nothing to free: forks may need what is kept."""
