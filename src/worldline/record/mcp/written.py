"""Whether a session with MCP servers reads what it wrote: files, nodes of a graph, tables, commits."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from worldline.domains.mcp.state import McpState
from worldline.record.database.tables import tables_read, tables_written
from worldline.record.written import Use, lines, reads_written, texts
from worldline.types import Action, Trajectory

__all__ = ["reads_back"]

_WRITES: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "filesystem": {
        "write_file": (("path",), ("content",)),
        "edit_file": (("path",), ("newText",)),
        "create_directory": (("path",), ()),
        "move_file": (("source", "destination"), ()),
    },
    "memory": {
        "create_entities": (("name",), ("name", "entityType", "observations")),
        "create_relations": ((), ("relationType",)),
        "add_observations": (("entityName",), ("contents",)),
        "delete_entities": (("entityNames",), ()),
        "delete_observations": (("entityName",), ()),
        "delete_relations": ((), ()),
    },
    "git": {
        "git_add": ((), ("files",)),
        "git_commit": ((), ("message",)),
        "git_create_branch": ((), ("branch_name",)),
        "git_checkout": ((), ("branch_name",)),
        "git_reset": ((), ()),
    },
}
"""By kind of server and tool that writes: the arguments that name the records, and those whose text is brought in."""
_READS = {"filesystem": ("path", "paths"), "memory": ("names",), "git": ()}
"""By kind of server, the arguments that name what is asked for."""
_TABLES = ("sqlite", "duckdb")


def reads_back(trajectory: Trajectory) -> bool:
    """Whether something is read from a server that the session wrote there before."""
    state = McpState.model_validate(trajectory.world.initial_state)

    def use(action: Action) -> Use | None:
        place = state.split_tool(action.name)
        if place is None:
            return None
        server, tool = place
        kind = state.servers[server].kind
        if kind in _TABLES:
            return _of_tables(server, action.arguments)
        if kind not in _WRITES:
            return None
        if tool not in _WRITES[kind]:
            return Use(False, server, frozenset(_under(_READS[kind], action.arguments)))
        if action.arguments.get("dryRun"):
            return None
        named, brought = _WRITES[kind][tool]
        records = frozenset(_under(named, action.arguments))
        names = [posixpath.basename(path) for path in records] if kind == "filesystem" else []
        return Use(True, server, records, lines(_under(brought, action.arguments), names))

    return reads_written(trajectory, use, "\n".join(texts(trajectory.world.initial_state)))


def _of_tables(server: str, arguments: Mapping[str, Any]) -> Use:
    query, table = str(arguments.get("query", "")), arguments.get("table_name")
    written = tables_written(query)
    if written:
        return Use(True, server, written)
    return Use(False, server, tables_read(query) | ({table.lower()} if isinstance(table, str) else set()))


def _under(names: tuple[str, ...], value: Any) -> list[str]:
    """All texts that stand under some keys, however deep."""
    if isinstance(value, Mapping):
        found = [text for name in names if name in value for text in texts(value[name])]
        return [*found, *(text for key, inner in value.items() if key not in names for text in _under(names, inner))]
    if isinstance(value, list):
        return [text for inner in value for text in _under(names, inner)]
    return []
