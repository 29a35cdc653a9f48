"""Words of GNU dates: months, weekdays, ordinals, units and time zones."""

from __future__ import annotations

__all__ = ["ORDINALS", "SHIFTS", "full_year", "month_of", "unit_of", "weekday_of", "zone_minutes"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAY_NAMES = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY_EXTRA = {"tues": 2, "wednes": 3, "thur": 4, "thurs": 4}
ORDINALS = {
    "last": -1,
    "this": 0,
    "next": 1,
    "first": 1,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "eleventh": 11,
    "twelfth": 12,
}
_UNITS = {
    "year": ("months", 12),
    "month": ("months", 1),
    "fortnight": ("days", 14),
    "week": ("days", 7),
    "day": ("days", 1),
    "hour": ("seconds", 3600),
    "minute": ("seconds", 60),
    "min": ("seconds", 60),
    "second": ("seconds", 1),
    "sec": ("seconds", 1),
}
SHIFTS = {"tomorrow": 1, "yesterday": -1, "today": 0, "now": 0}
_ZONES = {
    "gmt": 0, "ut": 0, "utc": 0, "wet": 0, "west": 60, "bst": 60, "art": -180, "brt": -180, "brst": -120,
    "nst": -210, "ndt": -150, "ast": -240, "adt": -180, "clt": -240, "clst": -180, "est": -300, "edt": -240,
    "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480,
    "hst": -600, "hast": -600, "hadt": -540, "sst": -720, "wat": 60, "cet": 60, "cest": 120, "met": 60,
    "mez": 60, "mest": 120, "mesz": 120, "eet": 120, "eest": 180, "cat": 120, "sast": 120, "eat": 180,
    "msk": 180, "msd": 240, "ist": 330, "sgt": 480, "kst": 540, "jst": 540, "gst": 600, "nzst": 720, "nzdt": 780,
}  # fmt: skip


def zone_minutes(word: str) -> int | None:
    """Return how far east of UTC a zone's abbreviation or a military letter lies; None where it is no zone."""
    if word in _ZONES:
        return _ZONES[word]
    return _military(word) if len(word) == 1 and word not in "jt" else None


def _military(letter: str) -> int:
    if letter == "z":
        return 0
    if letter < "j":
        return (ord(letter) - ord("a") + 1) * 60
    if letter <= "m":
        return (ord(letter) - ord("a")) * 60
    return -(ord(letter) - ord("n") + 1) * 60


def unit_of(word: str) -> tuple[str, int] | None:
    """Return what a unit counts in (`months`, `days`, `seconds`) and how many of them it is."""
    return _UNITS.get(word) or (_UNITS.get(word[:-1]) if word.endswith("s") else None)


def month_of(word: str) -> int | None:
    """Return the number of a month by its name or its first three letters."""
    if word[:3] in _MONTHS and (len(word) == 3 or word in _MONTH_NAMES or word == "sept"):
        return _MONTHS.index(word[:3]) + 1
    return None


def weekday_of(word: str) -> int | None:
    """Return the number of a weekday, Sunday being 0."""
    if word in _DAY_EXTRA:
        return _DAY_EXTRA[word]
    for number, name in enumerate(_DAY_NAMES):
        if word == name or word == name[:3]:
            return number
    return None


def full_year(text: str) -> int:
    """Return a year that may have been written with two digits."""
    value = int(text)
    return value + (2000 if value < 69 else 1900) if len(text) <= 2 else value
