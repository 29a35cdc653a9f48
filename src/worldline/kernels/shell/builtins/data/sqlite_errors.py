"""Where the `sqlite3` shell points at in SQL that cannot be prepared."""

from __future__ import annotations

import re
import sqlite3

__all__ = ["context", "offset_of"]

_POINTING = re.compile(
    r"(?:no such column|ambiguous column name|no such function): (.+)"
    r"|wrong number of arguments to function (.+)\(\)"
    r"|misuse of (?:aggregate|window|aliased aggregate)(?: function|:)? (.+)\(\)"
    r"|(?:table|view) (.+) already exists",
    re.DOTALL,
)
_SILENT = re.compile(
    r"incomplete input|no such (?:table|index|view|trigger|module|collation sequence|savepoint): .*"
    r"|duplicate column name: .*|.* term out of range - should be between .*"
    r"|table .* has (?:\d+ columns but \d+ values were supplied|no column named .*)|index .* already exists"
    r"|\d+ values for \d+ columns|there is already .*|use DROP \w+ to delete .*|cannot .*|foreign key mismatch .*"
    r"|.* may not be (?:dropped|altered|modified|indexed)|trigger .* already exists|no tables specified"
    r"|object name reserved for internal use: .*|SELECTs to the left and right of .*|Cannot add a .* column"
    r"|malformed JSON.*|JSON .*|bad JSON path.*|integer overflow|string or blob too big|unknown error"
    r"|ON CONFLICT clause does not match.*|table .* has more than one primary key|unknown database .*"
    r"|no query solution|attempt to write a readonly database|.* cannot be modified because .*|.*AUTOINCREMENT.*"
    r"|all VALUES must have the same number of terms|no such (?:database|vfs).*",
    re.DOTALL,
)
_TEXTS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)


def offset_of(database: sqlite3.Connection, message: str, sql: str) -> int | None:
    """Return the offset in SQL that an error belongs to; None where it has none.

    Args:
        database: Where the SQL was to run; it only compiles here.
        message: What the library says.
        sql: The statement.

    Raises:
        LookupError: It is not known.
    """
    near = re.fullmatch(r'near "(.*)": syntax error', message, re.DOTALL)
    if near is not None:
        return _syntax(database, message, near[1], sql)
    unknown = re.fullmatch(r'unrecognized token: "(.*)"', message, re.DOTALL)
    if unknown is not None:
        return _only(sql, re.escape(unknown[1]))
    found = _POINTING.fullmatch(message)
    if found is not None:
        return _named(message, next(group for group in found.groups() if group), sql)
    if _SILENT.fullmatch(message):
        return None
    raise LookupError(message)


def _only(sql: str, pattern: str) -> int:
    places = [match.start() for match in re.finditer(pattern, sql)]
    if len(places) != 1:
        raise LookupError(pattern)
    return places[0]


def _syntax(database: sqlite3.Connection, message: str, token: str, sql: str) -> int:
    places = [match.start() for match in re.finditer(re.escape(token), sql)]
    if len(places) == 1:
        return places[0]
    for place in places:
        try:
            # What only compiles has no effect; the first place at which the same error comes is the one.
            database.execute("explain " + sql[: place + len(token)] + " ").fetchall()
        except sqlite3.Error as error:
            if str(error) == message:
                return place
    raise LookupError(token)


def _named(message: str, name: str, sql: str) -> int | None:
    plain = _TEXTS.sub(lambda found: "\0" * len(found[0]), sql)
    if message.startswith("no such column") and re.match(r"\s*update\b", plain, re.IGNORECASE):
        setting = re.search(rf"\bset\b(?:(?!\bwhere\b).)*?(?<![\w.=<>]){re.escape(name)}\s*=", plain, re.I | re.DOTALL)
        if setting is not None:
            return None
    after = r"\s*\(" if "function" in message or "misuse" in message else r"(?!\w|\s*[(.])"
    if message.endswith("already exists"):
        after = r"(?!\w)"
    places = [match.start() for match in re.finditer(rf"(?<![\w.\"]){re.escape(name)}{after}", plain)]
    if not places:
        places = [match.start() for match in re.finditer(rf"[\"\[`]{re.escape(name)}[\"\]`]", plain)]
    if not places or ("misuse" in message and len(places) > 1):
        raise LookupError(name)
    return places[0]


def context(sql: str, offset: int | None) -> str:
    """Return the excerpt with an arrow that follows the message."""
    if offset is None:
        return ""
    at = len(sql[:offset].encode())
    data = sql.encode()
    while at > 50:
        at -= 1
        data = data[1:]
        while data[:1] and data[0] & 0xC0 == 0x80:
            data = data[1:]
            at -= 1
    shown = data[:78].decode("utf-8", "ignore")
    shown = re.sub(r"[ \t\n\v\f\r]", " ", shown)
    arrow = f"{' ' * at}^--- error here" if at < 25 else f"{' ' * (at - 14)}error here ---^"
    return f"\n  {shown}\n  {arrow}"
