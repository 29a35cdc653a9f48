"""What the name of a tool suggests: its words, and whether it looks at something or changes it."""

from __future__ import annotations

import re

__all__ = ["READ_WORDS", "WRITE_WORDS", "looks_only", "reads_by_name", "words_of"]

_LOOKING = "get read list search find fetch show view describe lookup check retrieve count browse inspect"
_READING = "query status calculate compute think details info look estimate validate verify test run detect summarize"
_WRITING = (
    "create add update delete remove set cancel book send modify edit write insert move rename put post patch pay "
    "refund return exchange enable disable toggle reset open close submit approve reject transfer schedule reschedule "
    "mark archive upload save assign unassign grant revoke change make place order buy sell reboot suspend resume "
    "refuel register clear drop append replace start stop execute"
)
_LOOK_WORDS = frozenset(_LOOKING.split())
READ_WORDS = frozenset([*_LOOKING.split(), *_READING.split()])
"""Words of tools that mostly change nothing."""
WRITE_WORDS = frozenset(_WRITING.split())
"""Words of tools that change something."""


def words_of(name: str) -> list[str]:
    """Split a tool's or a field's name into lower-case words (`getUserDetails`, `get-user_details`)."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[^A-Za-z0-9]+", spaced.lower()) if word]


def reads_by_name(tool: str) -> bool | None:
    """Say whether a tool changes nothing by the verb of its name; None where that tells nothing."""
    words = words_of(tool)
    if words and words[0] in READ_WORDS:
        return True
    if any(word in WRITE_WORDS for word in words):
        return False
    return True if any(word in READ_WORDS for word in words) else None


def looks_only(tool: str) -> bool:
    """Say whether a tool of which nothing else is known is called like one that only looks (`get_order`)."""
    words = words_of(tool)
    return bool(words) and words[0] in _LOOK_WORDS
