"""The sqlite server: SQL on one database, and a memo of insights."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import ClassVar

from worldline.domains.database.tool import quoted
from worldline.domains.mcp.state import SqliteServer
from worldline.errors import KernelError
from worldline.kernels.base import Proposal
from worldline.kernels.tools.base import Arguments
from worldline.kernels.tools.servers.host import Host
from worldline.kernels.tools.servers.replies import Unsure, told
from worldline.kernels.tools.servers.sdk1_server import ListServer
from worldline.kernels.tools.servers.sqlite_engine import Ran, build_database, run_query
from worldline.types import JsonDict, Observation, content_id

__all__ = ["SqliteKernel"]

_TABLES = "SELECT name FROM sqlite_master WHERE type='table'"
_REFUSED = {
    "read_query": "Error: Only SELECT queries are allowed for read_query",
    "write_query": "Error: SELECT queries are not allowed for write_query",
    "create_table": "Error: Only CREATE TABLE statements are allowed",
}
_MISSING = re.compile(r"no such (?:table|column|view|index)")
_NAME = re.compile(r"'name': '([^']*)'")
_MOST_SEEN = 200
_SHOWN = 20


class SqliteKernel(ListServer):
    """The database, as the bytes of its file.

    Args:
        host: Whose clock it takes for now.
        declared: What the world says.

    Raises:
        KernelError: The declared statements cannot be run.
    """

    kind = "sqlite"
    parameters: ClassVar[Mapping[str, str | None]] = {
        "read_query": "query",
        "write_query": "query",
        "create_table": "query",
        "list_tables": None,
        "describe_table": "table_name",
        "append_insight": "insight",
    }

    def __init__(self, host: Host, declared: SqliteServer | None = None) -> None:
        declared = declared or SqliteServer(kind="sqlite")
        self.host = host
        self._database = build_database(declared.setup, host.clock)
        self._whole = declared.complete
        self._tainted: frozenset[str] = frozenset()
        """Tables of which something is not known; `*` for all."""
        self._seen: dict[str, str] = {}
        """Answers of reads that could not be computed, until the next write."""
        self._listed: tuple[str, ...] | None = None
        """Names of all tables as they were last seen, where some are not declared."""

    # --- calls

    def run(self, tool: str, value: str) -> Proposal:
        """Run a tool."""
        name = f"sqlite {tool}"
        if tool == "append_insight":
            return told("Insight added to memo", name)
        refused = _refusal(tool, value)
        if refused:
            return told(refused, f"{name} refused")
        seen = self._seen.get(_key(tool, value))
        if tool == "list_tables" and self._listed is not None:
            seen = str([{"name": name} for name in self._listed])
        if seen is not None:
            return told(seen, f"{name} seen", why="the same call was answered so before")
        before = self._tables()
        ran = run_query(self._database, _query(tool, value), self.host.clock)
        self._database = ran.database
        self._wrote(ran, before)
        text = ran.error or ("Table created successfully" if tool == "create_table" else str(ran.rows))
        why = self._doubt(tool, ran)
        if why:
            raise Unsure(why, text)
        return told(text, f"{name} error" if ran.error else name, writes=tuple(sorted(ran.writes)))

    def _tables(self) -> list[str]:
        return [str(row["name"]) for row in self._rows(_TABLES)] if self._listed is not None else []

    def _wrote(self, ran: Ran, before: list[str]) -> None:
        """Forget what was seen of the tables that were written, and keep the list of tables."""
        if not ran.changed or ran.error:
            return
        views = self._rows("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')")
        named = [name for name in ran.writes if not name.startswith("sqlite_")]
        if views or not named:
            self._seen = {}
        words = {key: set(re.findall(r"\w+", key.lower())) for key in self._seen}
        self._seen = {key: text for key, text in self._seen.items() if not words[key] & set(named)}
        if self._listed is not None:
            now = self._tables()
            gone = set(before) - set(now)
            kept = [name for name in self._listed if name not in gone]
            self._listed = (*kept, *(name for name in now if name not in self._listed))

    def _doubt(self, tool: str, ran: Ran) -> str:
        """Why the answer is not sure; empty where it is."""
        if ran.doubts:
            return ran.doubts[0]
        touched = self._tainted & (ran.reads | ran.writes)
        if "*" in self._tainted or touched:
            return f"the content of {', '.join(sorted(touched)) or 'the database'} is not known"
        if not self._whole:
            if ran.error and _MISSING.search(ran.error):
                return "it names something that the world does not declare"
            if tool == "list_tables" or {"sqlite_master", "sqlite_schema"} & ran.reads:
                return "not all tables are declared"
            if tool == "describe_table" and not ran.rows:
                return "the table is not declared"
            if tool == "create_table":
                return "it is not known whether there is such a table"
        return ""

    # --- following reality

    def observe(self, tool: str, arguments: Arguments, observation: Observation) -> None:
        """Take what an answer tells; what a write did beyond the foreseen becomes unknown."""
        parameter = self.parameters.get(tool)
        if observation.is_error or tool not in self.parameters or tool == "append_insight":
            return
        value = arguments.get(parameter) if parameter is not None else ""
        if not isinstance(value, str) or _refusal(tool, value):
            return
        text = observation.text
        if tool in ("write_query", "create_table"):
            self._follow_write(tool, value, text)
            return
        self._seen = {**dict(list(self._seen.items())[-_MOST_SEEN:]), _key(tool, value): text}
        if tool == "list_tables" and not self._whole:
            self._listed = tuple(_NAME.findall(text))
            if sorted(self._tables()) == sorted(self._listed):
                self._whole, self._listed = True, None

    def _follow_write(self, tool: str, value: str, text: str) -> None:
        if text.startswith(("Database error: ", "Error: ")):
            return
        before = self._tables()
        try:
            ran = run_query(self._database, _query(tool, value), self.host.clock)
        except Unsure:
            self._tainted, self._seen = frozenset({"*"}), {}
            return
        self._database = ran.database
        self._wrote(ran, before)
        foreseen = "Table created successfully" if tool == "create_table" else str(ran.rows)
        if ran.error:
            named = re.findall(r"\b(?:INTO|UPDATE|FROM|TABLE)\s+[\"`\[]?(\w+)", value, re.I)
            self._tainted |= {name.lower() for name in named} or {"*"}
            self._seen = {}
        elif foreseen != text or ran.doubts:
            self._tainted |= {name for name in ran.writes if not name.startswith("sqlite_")} or {"*"}

    def footprint(self, tool: str, arguments: Arguments) -> Mapping[str, str] | None:
        """The database as a whole."""
        parameter = self.parameters.get(tool)
        if tool not in self.parameters or tool == "append_insight":
            return {}
        if parameter is not None and not isinstance(arguments.get(parameter), str):
            return {}
        if parameter is not None and _refusal(tool, str(arguments[parameter])):
            return {}
        return {"database": "unknown" if self._tainted or not self._whole else content_id(self._database.hex())}

    # --- copies

    def fork(self) -> SqliteKernel:
        """Share the bytes, which are never changed in place."""
        twin = object.__new__(SqliteKernel)
        twin.host, twin._database, twin._whole = self.host, self._database, self._whole
        twin._tainted, twin._seen, twin._listed = self._tainted, self._seen, self._listed
        return twin

    def dump(self) -> JsonDict:
        """Return the database and what is not known of it."""
        data = base64.b64encode(self._database).decode()
        listed = None if self._listed is None else list(self._listed)
        found = {"database": data, "whole": self._whole, "tainted": sorted(self._tainted), "seen": self._seen}
        return {**found, "listed": listed}

    def load(self, data: JsonDict) -> None:
        """Take a database."""
        try:
            self._database = base64.b64decode(data["database"], validate=True)
            self._whole, self._tainted = bool(data["whole"]), frozenset(data["tainted"])
            self._seen = {str(key): str(text) for key, text in data["seen"].items()}
            self._listed = None if data["listed"] is None else tuple(map(str, data["listed"]))
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise KernelError("damaged state of a sqlite server") from exc

    def describe(self) -> JsonDict:
        """The tables with their definitions and first rows."""
        tables: JsonDict = {}
        for row in self._rows("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')")[:_SHOWN]:
            table = quoted(str(row["name"]))
            first = [str(one)[:300] for one in self._rows(f"SELECT * FROM {table} LIMIT 5")]
            tables[str(row["name"])] = {"sql": str(row["sql"])[:500], "first": first}
        return {"tables": tables, "complete": self._whole, "unknown": sorted(self._tainted)}

    def _rows(self, query: str) -> list[JsonDict]:
        try:
            return run_query(self._database, query, self.host.clock).rows
        except Unsure:
            return []

    def close(self) -> None:
        """Nothing to free."""


def _query(tool: str, value: str) -> str:
    return {"list_tables": _TABLES, "describe_table": f"PRAGMA table_info({value})"}.get(tool, value)


def _refusal(tool: str, value: str) -> str:
    word = value.strip().upper()
    if tool == "write_query":
        return _REFUSED[tool] if word.startswith("SELECT") else ""
    wanted = {"read_query": "SELECT", "create_table": "CREATE TABLE"}.get(tool, "")
    return "" if word.startswith(wanted) else _REFUSED[tool]


def _key(tool: str, value: str) -> str:
    return f"{tool} {value}"
