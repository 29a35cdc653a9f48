"""Which tables a session's SQL reads and writes, and whether it reads one that it wrote."""

from __future__ import annotations

import re

from worldline.types import Trajectory

__all__ = ["reads_back", "tables_read", "tables_written"]

_NAME = r"[\"`\[]?(\w+)"
_SELECT = re.compile(r"\bSELECT\b", re.I)
_READ = re.compile(rf"(?<!\bDELETE )\b(?:FROM|JOIN)\s+{_NAME}", re.I)
_WRITTEN = re.compile(
    r"\b(?:INSERT (?:OR \w+ )?INTO|REPLACE INTO|UPDATE(?: OR \w+)?|DELETE FROM|ALTER TABLE|"
    rf"CREATE (?:OR REPLACE )?(?:TEMP(?:ORARY)? )?(?:TABLE|VIEW)(?: IF NOT EXISTS)?)\s+{_NAME}",
    re.I,
)


def tables_read(sql: str) -> frozenset[str]:
    """Names of the tables that the statements select from, in lower case."""
    parts = [part[found.start() :] for part in sql.split(";") if (found := _SELECT.search(part))]
    return frozenset(name.lower() for part in parts for name in _READ.findall(part))


def tables_written(sql: str) -> frozenset[str]:
    """Names of the tables that the statements make or change, in lower case."""
    return frozenset(name.lower() for name in _WRITTEN.findall(sql))


def reads_back(trajectory: Trajectory) -> bool:
    """Whether a session reads a table that it changed or made before; both succeed."""
    written: set[str] = set()
    for turn in trajectory.turns:
        if turn.observation.is_error:
            continue
        if turn.action.name == "describe_table" and str(turn.action.arguments.get("table", "")).lower() in written:
            return True
        for statement in str(turn.action.arguments.get("sql", "")).split(";"):
            if tables_read(statement) & written:
                return True
            written |= tables_written(statement)
    return False
