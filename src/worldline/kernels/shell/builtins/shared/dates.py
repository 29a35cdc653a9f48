"""Dates as people write them to `date -d` and `touch -d`: the grammar of GNU's parse_datetime.

The rules (what an item resets, how ordinals and `ago` bind, that `10:00 +2 days` reads `+2` as a zone) follow the
GNU manual, chapter "Date input formats".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from worldline.kernels.shell.builtins.shared.date_words import (
    ORDINALS,
    SHIFTS,
    full_year,
    month_of,
    unit_of,
    weekday_of,
    zone_minutes,
)

__all__ = ["DateError", "parse_date"]

_TOKEN = re.compile(
    r"\s*(?:(?P<comment>\([^()]*\))|(?P<signed>[-+]\s*\d+(?:[.,]\d+)?)|(?P<number>\d+(?:[.,]\d+)?)"
    r"|(?P<word>[A-Za-z][A-Za-z.]*)|(?P<mark>[:/,@.-]))"
)


class DateError(ValueError):
    """The text is not a date."""


@dataclass
class _Reading:
    """What the items of a date string have said so far."""

    time: tuple[int, int, int, int] | None = None
    date: tuple[int, int, int] | None = None
    year_given: bool = False
    weekday: tuple[int, int] | None = None
    zone: tzinfo | None = None
    months: int = 0
    days: int = 0
    seconds: float = 0.0
    relative: bool = False
    counts: dict[str, int] = field(default_factory=dict)

    def seen(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if self.counts[what] > 1:
            raise DateError(what)


def parse_date(text: str, now: datetime, zone: tzinfo) -> datetime:
    """Read a date as `date -d` does.

    Args:
        text: What the user wrote; empty means today at midnight.
        now: The present, aware.
        zone: The zone of times without one.

    Returns:
        The moment, in `zone`.

    Raises:
        DateError: It is no date.
    """
    text = text.strip()
    match = re.match(r'^TZ="([^"]*)"\s*', text)
    if match:
        text = text[match.end() :]
        try:
            inner: tzinfo = ZoneInfo(match.group(1)) if match.group(1) else UTC
        except (ZoneInfoNotFoundError, OSError, ValueError):
            inner = UTC
        return parse_date(text, now, inner).astimezone(zone)
    if text.startswith("@"):
        return _epoch(text[1:].strip(), zone)
    reading = _read(_tokens(text.replace("T", " ", 1) if _is_iso(text) else text), now.astimezone(zone))
    return _resolve(reading, now, zone)


def _is_iso(text: str) -> bool:
    return re.match(r"^[-+]?\d+-\d+-\d+T\d+:\d+", text) is not None


def _epoch(text: str, zone: tzinfo) -> datetime:
    if not re.fullmatch(r"[-+]?\d+([.,]\d+)?", text):
        raise DateError(text)
    try:
        start = datetime(1970, 1, 1, tzinfo=UTC)
        return (start + timedelta(seconds=float(text.replace(",", ".")))).astimezone(zone)
    except OverflowError as error:
        raise DateError(text) from error


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.end() == position:
            if not text[position:].strip():
                break
            raise DateError(text)
        kind = match.lastgroup or ""
        if kind == "word":
            tokens.append((kind, match.group(kind).lower().replace(".", "")))
        elif kind != "comment":
            tokens.append((kind, re.sub(r"\s", "", match.group(kind))))
        position = match.end()
    return tokens


def _read(tokens: list[tuple[str, str]], now: datetime) -> _Reading:
    reading = _Reading()
    while tokens:
        kind, value = tokens[0]
        if kind == "number":
            _number_item(reading, tokens, now)
        elif kind == "signed":
            _signed_item(reading, tokens)
        elif kind == "word":
            _word_item(reading, tokens, now)
        elif value == ",":
            tokens.pop(0)
        else:
            raise DateError(value)
    return reading


def _next(tokens: list[tuple[str, str]], index: int = 0) -> tuple[str, str]:
    return tokens[index] if index < len(tokens) else ("end", "")


def _number_item(reading: _Reading, tokens: list[tuple[str, str]], now: datetime) -> None:
    number = tokens.pop(0)[1]
    kind, value = _next(tokens)
    if value == ":":
        _clock(reading, tokens, int(number))
    elif value == "/":
        _slashed(reading, tokens, number, now)
    elif kind == "signed" and value[0] == "-" and _next(tokens, 1)[0] == "signed" and _next(tokens, 1)[1][0] == "-":
        reading.seen("date")
        month, day = value[1:], tokens[1][1][1:]
        del tokens[:2]
        reading.date = (full_year(number), int(month), int(day))
    elif value == "-" and month_of(_next(tokens, 1)[1]) is not None and _next(tokens, 2)[0] == "signed":
        reading.seen("date")
        month_number, year = month_of(tokens[1][1]), tokens[2][1][1:]
        del tokens[:3]
        reading.date = (full_year(year), month_number or 0, int(number))
    elif kind == "word" and value in ("am", "pm"):
        tokens.pop(0)
        reading.seen("time")
        reading.time = (_meridian(int(number), value), 0, 0, 0)
    elif kind == "word" and month_of(value) is not None:
        _day_month(reading, tokens, int(number), now)
    elif kind == "word" and weekday_of(value) is not None:
        tokens.pop(0)
        reading.seen("weekday")
        reading.weekday = (weekday_of(value) or 0, int(number))
    elif kind == "word" and unit_of(value) is not None:
        _relative(reading, tokens, float(number.replace(",", ".")))
    else:
        _bare(reading, number, now)


def _clock(reading: _Reading, tokens: list[tuple[str, str]], hour: int) -> None:
    reading.seen("time")
    tokens.pop(0)
    minute, second, micro = _take_number(tokens), "0", 0
    if _next(tokens)[1] == ":":
        tokens.pop(0)
        second = _take_number(tokens)
    if "." in second or "," in second:
        second, fraction = re.split("[.,]", second)
        micro = int(fraction[:6].ljust(6, "0"))
    kind, value = _next(tokens)
    if kind == "word" and value in ("am", "pm"):
        tokens.pop(0)
        hour = _meridian(hour, value)
    elif kind == "signed":
        tokens.pop(0)
        _zone_offset(reading, value, tokens)
    if hour > 23 or int(minute) > 59 or int(second) > 59:
        raise DateError("time")
    reading.time = (hour, int(minute), int(second), micro)


def _zone_offset(reading: _Reading, value: str, tokens: list[tuple[str, str]]) -> None:
    reading.seen("zone")
    reading.zone = timezone(timedelta(minutes=_offset_minutes(value, tokens)))


def _offset_minutes(value: str, tokens: list[tuple[str, str]]) -> int:
    """Read `+0530`, `+05` or, with what follows, `+05:30`, as minutes east of UTC."""
    digits = value[1:]
    if not digits.isdigit():
        raise DateError(value)
    if _next(tokens)[1] == ":":
        tokens.pop(0)
        minutes = int(digits) * 60 + int(_take_number(tokens))
    elif len(digits) <= 2:
        minutes = int(digits) * 60
    else:
        minutes = int(digits[:-2]) * 60 + int(digits[-2:])
    if minutes > 24 * 60 - 1:
        raise DateError(value)
    return -minutes if value[0] == "-" else minutes


def _take_number(tokens: list[tuple[str, str]]) -> str:
    kind, value = _next(tokens)
    if kind != "number":
        raise DateError(value)
    tokens.pop(0)
    return value


def _meridian(hour: int, word: str) -> int:
    if not 1 <= hour <= 12:
        raise DateError(word)
    return hour % 12 + (12 if word == "pm" else 0)


def _slashed(reading: _Reading, tokens: list[tuple[str, str]], first: str, now: datetime) -> None:
    reading.seen("date")
    tokens.pop(0)
    second = _take_number(tokens)
    if _next(tokens)[1] != "/":
        reading.date = (now.year, int(first), int(second))
        return
    tokens.pop(0)
    third = _take_number(tokens)
    reading.date = (
        (full_year(first), int(second), int(third)) if len(first) >= 4 else (full_year(third), int(first), int(second))
    )


def _day_month(reading: _Reading, tokens: list[tuple[str, str]], day: int, now: datetime) -> None:
    reading.seen("date")
    month = month_of(tokens.pop(0)[1]) or 0
    kind, value = _next(tokens)
    if kind == "number" and _next(tokens, 1)[1] != ":" and not _is_quantity(tokens):
        tokens.pop(0)
        reading.date = (full_year(value), month, day)
        reading.year_given = True
    else:
        reading.date = (now.year, month, day)


def _is_quantity(tokens: list[tuple[str, str]]) -> bool:
    kind, value = _next(tokens, 1)
    return kind == "word" and (unit_of(value) is not None or value in ("am", "pm"))


def _bare(reading: _Reading, number: str, now: datetime) -> None:
    if not number.isdigit():
        raise DateError(number)
    if reading.date and not reading.year_given and reading.time and not reading.relative and len(number) != 2:
        reading.date = (full_year(number), *reading.date[1:])
        reading.year_given = True
    elif len(number) > 4:
        reading.seen("date")
        reading.date = (full_year(number[:-4]), int(number[-4:-2]), int(number[-2:]))
        reading.year_given = True
    else:
        reading.seen("time")
        hour, minute = (int(number), 0) if len(number) <= 2 else (int(number[:-2]), int(number[-2:]))
        if hour > 23 or minute > 59:
            raise DateError(number)
        reading.time = (hour, minute, 0, 0)


def _signed_item(reading: _Reading, tokens: list[tuple[str, str]]) -> None:
    value = tokens.pop(0)[1]
    kind, word = _next(tokens)
    if kind != "word" or unit_of(word) is None:
        raise DateError(value)
    _relative(reading, tokens, float(value.replace(",", ".")))


def _word_item(reading: _Reading, tokens: list[tuple[str, str]], now: datetime) -> None:
    word = tokens.pop(0)[1]
    kind, value = _next(tokens)
    if word in SHIFTS:
        reading.relative = True
        reading.days += SHIFTS[word]
    elif word in ORDINALS and kind == "word" and weekday_of(value) is not None:
        tokens.pop(0)
        reading.seen("weekday")
        reading.weekday = (weekday_of(value) or 0, ORDINALS[word])
    elif word in ORDINALS and kind == "word" and unit_of(value) is not None:
        _relative(reading, tokens, float(ORDINALS[word]))
    elif month_of(word) is not None:
        _month_first(reading, tokens, month_of(word) or 0, now)
    elif weekday_of(word) is not None:
        reading.seen("weekday")
        reading.weekday = (weekday_of(word) or 0, 0)
    elif unit_of(word) is not None:
        tokens.insert(0, ("word", word))
        _relative(reading, tokens, 1.0)
    else:
        _zone_word(reading, tokens, word)


def _month_first(reading: _Reading, tokens: list[tuple[str, str]], month: int, now: datetime) -> None:
    kind, value = _next(tokens)
    if kind == "signed" and value[0] == "-" and _next(tokens, 1)[0] == "signed":
        reading.seen("date")
        reading.date = (full_year(tokens[1][1][1:]), month, int(value[1:]))
        del tokens[:2]
        return
    day = int(_take_number(tokens))
    reading.seen("date")
    reading.date = (now.year, month, day)
    comma = _next(tokens)[1] == ","
    index = 1 if comma else 0
    kind, value = _next(tokens, index)
    if comma and kind == "number" and _next(tokens, 2)[1] != ":":
        del tokens[:2]
        reading.date = (full_year(value), month, day)
        reading.year_given = True
    elif kind == "number" and len(value) == 4 and _next(tokens, index + 1)[1] != ":":
        # GNU reads a bare number after a date as its year only once a time was seen; without one, a number of
        # four digits directly after "Jan 5" is the year of the long form.
        del tokens[: index + 1]
        reading.date = (full_year(value), month, day)
        reading.year_given = True


def _zone_word(reading: _Reading, tokens: list[tuple[str, str]], word: str) -> None:
    minutes = zone_minutes(word)
    if minutes is None:
        raise DateError(word)
    reading.seen("zone")
    if _next(tokens) == ("word", "dst"):
        tokens.pop(0)
        minutes += 60
    kind, value = _next(tokens)
    if kind == "signed" and unit_of(_next(tokens, 1)[1]) is None:
        tokens.pop(0)
        minutes += _offset_minutes(value, tokens)
    reading.zone = timezone(timedelta(minutes=minutes))


def _relative(reading: _Reading, tokens: list[tuple[str, str]], amount: float) -> None:
    unit = unit_of(tokens.pop(0)[1])
    if unit is None:
        raise DateError("unit")
    if _next(tokens) == ("word", "ago"):
        tokens.pop(0)
        amount = -amount
    name, factor = unit
    if amount != int(amount) and factor != 1:
        raise DateError(str(amount))
    reading.relative = True
    if name == "months":
        reading.months += int(amount) * factor
    elif name == "days":
        reading.days += int(amount) * factor
    else:
        reading.seconds += amount * factor


def _resolve(reading: _Reading, now: datetime, zone: tzinfo) -> datetime:
    local = now.astimezone(zone)
    year, month, day = reading.date or (local.year, local.month, local.day)
    if reading.time is not None:
        hour, minute, second, micro = reading.time
    elif reading.relative and reading.date is None and reading.weekday is None:
        hour, minute, second, micro = local.hour, local.minute, local.second, local.microsecond
    else:
        hour = minute = second = micro = 0
    try:
        start = datetime(year, month, day, hour, minute, second, micro)  # noqa: DTZ001
        if reading.weekday is not None and reading.date is None:
            wanted, ordinal = reading.weekday
            current = start.isoweekday() % 7
            start += timedelta(days=(wanted - current) % 7 + 7 * (ordinal - (ordinal > 0 and current != wanted)))
        if reading.months:
            total = start.year * 12 + start.month - 1 + reading.months
            over = timedelta(days=start.day - 1)
            start = start.replace(year=total // 12, month=total % 12 + 1, day=1) + over
        start += timedelta(days=reading.days)
        local = start.replace(tzinfo=reading.zone or zone)
        moment = local.astimezone(UTC)
        if moment.astimezone(local.tzinfo).replace(tzinfo=None) != start:
            raise DateError(str(start))  # the clock leaps over this hour
        moment += timedelta(seconds=reading.seconds)
        return moment.astimezone(zone)
    except (ValueError, OverflowError) as error:
        raise DateError(str(error)) from error
