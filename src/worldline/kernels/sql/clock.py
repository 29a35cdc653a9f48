"""A clock that stands still, for SQLite: what the date functions take for now."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["install_clock", "tells_time"]

_NOW = re.compile(
    r"\bnow\b|\bcurrent_(?:date|time|timestamp)\b|\b(?:date|time|datetime|julianday|unixepoch|timediff)\s*\(\s*\)"
    r"|\bstrftime\s*\(\s*'[^']*'\s*\)|\b(?:today|get_current_time\w*|localtime\w*|transaction_timestamp|age)\b",
    re.I,
)
_Value = str | bytes | int | float | None
_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")


def tells_time(sql: str) -> bool:
    """Whether a text may ask for the present time."""
    return _NOW.search(sql) is not None


def install_clock(connection: sqlite3.Connection, moment: datetime) -> None:
    """Let the date functions of a connection take `moment` for now; otherwise they stay as they are."""
    plain = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    now = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    for name in _FUNCTIONS:
        connection.create_function(name, -1, _frozen(plain, name, now), deterministic=True)
    for name, length in (
        ("current_date", slice(0, 10)),
        ("current_time", slice(11, 19)),
        ("current_timestamp", slice(19)),
    ):
        connection.create_function(name, 0, _constant(now[length]), deterministic=True)


def _constant(text: str) -> Callable[[], str]:
    return lambda: text


def _frozen(plain: sqlite3.Connection, name: str, now: str) -> Callable[..., _Value]:
    at = 1 if name == "strftime" else 0

    def call(*arguments: _Value) -> _Value:
        given = list(arguments)
        if len(given) == at:
            given.append(now)
        elif len(given) > at and isinstance(given[at], str) and str(given[at]).strip().lower() == "now":
            given[at] = now
        marks = ", ".join("?" * len(given))
        value: _Value = plain.execute(f"SELECT {name}({marks})", given).fetchone()[0]
        return value

    return call
