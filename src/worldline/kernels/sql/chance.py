"""Whether a text of SQL draws random values."""

from __future__ import annotations

import re
from collections.abc import Set

__all__ = ["draws"]

_WORDS = re.compile(r"\b(?:random\w*|uuid\w*|gen_random_uuid|setseed|tablesample|using\s+sample)\b", re.I)
_FUNCTIONS = frozenset({"random", "randomblob"})


def draws(sql: str, functions: Set[str] = frozenset()) -> bool:
    """Whether a text, or what it calls as far as SQLite tells, draws random values."""
    return bool(_FUNCTIONS & functions) or _WORDS.search(sql) is not None
