"""Dates as git guesses them, written so that there is nothing to guess."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

__all__ = ["plain_date"]

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_WORDS = {"now": 0, "today": 0, "yesterday": 1}
_MEANT = re.compile(
    r"\d|\b(?:noon|midnight|tea|am|pm|never|last|ago|zero|one|two|three|four|five|six|seven|eight|nine|ten|second"
    r"|minute|hour|day|week|month|year|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|utc|gmt|z|[a-z]{3,4}t)",
    re.I,
)
"""Anything from which git may make a date."""


def plain_date(text: str, now: datetime) -> str:
    """Return the same date in the ISO form; texts that git reads in ways that are not simulated stay as they are."""
    word = text.strip().lower()
    if word in _WORDS:
        return _iso(now - timedelta(days=_WORDS[word]))
    named = re.fullmatch(r"([a-z]{3,9})\.? (\d{1,2}),? (\d{4})", word)
    turned = re.fullmatch(r"(\d{1,2}) ([a-z]{3,9})\.?,? (\d{4})", word)
    parts = (named[1], named[2], named[3]) if named else (turned[2], turned[1], turned[3]) if turned else None
    if parts is not None:
        found = [number for number, name in enumerate(_MONTHS, 1) if name.startswith(parts[0])]
        if found and 1 <= int(parts[1]) <= 28:
            return _iso(now.replace(year=int(parts[2]), month=found[0], day=int(parts[1])))
    return text if _MEANT.search(word) else _iso(now)


def _iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S%z}"
