"""Dates as GNU programs print them: the format language of `date`, `ls --time-style` and `stat`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from worldline.kernels.shell.builtins.base import Call

__all__ = ["FULL_ISO", "gnu_format", "iso_stamp", "zone_of"]

FULL_ISO = "%Y-%m-%d %H:%M:%S.%N %z"
"""What `stat` and `ls --full-time` print."""

_SPEC = re.compile(r"%([-_0^#+]*)(\d*)([EO]?)(:{0,3})(.)", re.DOTALL)
_COMPOUND = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "r": "%I:%M:%S %p",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
    "h": "%b",
}
_NUMBERS: dict[str, tuple[int, str]] = {
    "C": (2, "0"),
    "d": (2, "0"),
    "e": (2, "_"),
    "g": (2, "0"),
    "G": (4, "0"),
    "H": (2, "0"),
    "I": (2, "0"),
    "j": (3, "0"),
    "k": (2, "_"),
    "l": (2, "_"),
    "m": (2, "0"),
    "M": (2, "0"),
    "q": (1, "0"),
    "s": (1, "0"),
    "S": (2, "0"),
    "u": (1, "0"),
    "U": (2, "0"),
    "V": (2, "0"),
    "w": (1, "0"),
    "W": (2, "0"),
    "y": (2, "0"),
    "Y": (4, "0"),
}
_POSIX_ZONE = re.compile(r"^([A-Za-z]{3,})([-+]?)(\d{1,2})(?::?(\d{2}))?$")


def zone_of(call: Call) -> tzinfo:
    """Return the time zone a program would use: `TZ`, otherwise the world's.

    Raises:
        Unknown: The zone is not one we know the rules of.
    """
    name = call.env.get("TZ", call.world.timezone).removeprefix(":")
    if name in ("", "UTC", "UTC0", "GMT", "GMT0"):
        return UTC if "GMT" not in name else timezone(timedelta(0), "GMT")
    match = _POSIX_ZONE.match(name)
    if match:
        offset = timedelta(hours=int(match.group(3)), minutes=int(match.group(4) or 0))
        return timezone(offset if match.group(2) == "-" else -offset, match.group(1))
    if not re.fullmatch(r"[A-Za-z][\w+-]*(/[\w+-]+)*", name):
        call.unknown(f"the time zone {name}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        call.unknown(f"the time zone {name}")


def iso_stamp(moment: datetime, zone: tzinfo) -> str:
    """Return `2026-01-01 00:00:00.000000000 +0000`."""
    return gnu_format(FULL_ISO, moment.astimezone(zone))


def gnu_format(template: str, moment: datetime) -> str:
    """Format a moment by GNU's strftime: flags `-_0^#+`, widths, `%N`, `%:z`, `%s`, ...

    Args:
        template: The format; what is no conversion stands for itself.
        moment: Aware, in the zone to show.
    """
    return _SPEC.sub(lambda match: _convert(match, moment), template)


def _convert(match: re.Match[str], moment: datetime) -> str:
    flags, width, _, colons, letter = match.groups()
    if colons and letter != "z":
        return match.group()
    if letter in "%nt":
        return {"%": "%", "n": "\n", "t": "\t"}[letter]
    pad = next((flag for flag in reversed(flags) if flag in "-_0+"), "")
    if letter == "N":
        return _nanoseconds(moment, width, pad)
    if letter == "z":
        return _offset(moment, colons, pad, width)
    if letter in _NUMBERS:
        digits, default = _NUMBERS[letter]
        return _pad_number(_number(letter, moment), pad or default, int(width) if width else digits, letter)
    text = _text(letter, moment)
    if text is None:
        return match.group()
    if "^" in flags:
        text = text.upper()
    elif "#" in flags:
        text = text.lower() if letter in "pZ" else text.upper()
    if width and pad != "-":
        text = text.rjust(int(width), "0" if pad == "0" else " ")
    return text


def _text(letter: str, moment: datetime) -> str | None:
    if letter in _COMPOUND:
        return gnu_format(_COMPOUND[letter], moment)
    if letter in "aAbBp":
        return moment.strftime(f"%{letter}")
    if letter == "P":
        return moment.strftime("%p").lower()
    if letter == "Z":
        return moment.tzname() or ""
    return None


def _number(letter: str, moment: datetime) -> int:
    iso = moment.isocalendar()
    weekday = moment.isoweekday()
    values = {
        "C": moment.year // 100,
        "d": moment.day,
        "e": moment.day,
        "g": iso.year % 100,
        "G": iso.year,
        "H": moment.hour,
        "k": moment.hour,
        "I": moment.hour % 12 or 12,
        "l": moment.hour % 12 or 12,
        "j": moment.timetuple().tm_yday,
        "m": moment.month,
        "M": moment.minute,
        "q": (moment.month + 2) // 3,
        "s": int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // 1),
        "S": moment.second,
        "u": weekday,
        "w": weekday % 7,
        "U": (moment.timetuple().tm_yday + 6 - weekday % 7) // 7,
        "W": (moment.timetuple().tm_yday + 6 - (weekday - 1)) // 7,
        "V": iso.week,
        "y": moment.year % 100,
        "Y": moment.year,
    }
    return values[letter]


def _pad_number(value: int, pad: str, width: int, letter: str) -> str:
    sign = "-" if value < 0 else ""
    text = str(abs(value))
    if pad == "-":
        return sign + text
    if pad == "_":
        return (sign + text).rjust(width)
    if pad == "+" and letter in "YGC" and len(text) < width:
        sign = sign or "+"
    return sign + text.rjust(width - len(sign), "0")


def _nanoseconds(moment: datetime, width: str, pad: str) -> str:
    digits = f"{moment.microsecond:06d}000"
    if pad == "-":
        return digits.rstrip("0") or "0" if not width else digits[: int(width)].rstrip("0") or "0"
    if not width:
        return digits
    count = int(width)
    text = digits[:count].ljust(count, "0")
    return text if pad != "_" else text.rstrip("0").ljust(count) if text.strip("0") else "0".ljust(count)


def _offset(moment: datetime, colons: str, pad: str, width: str) -> str:
    offset = moment.utcoffset() or timedelta(0)
    total = int(offset.total_seconds())
    sign = "-" if total < 0 else "+"
    hours, rest = divmod(abs(total), 3600)
    minutes, seconds = divmod(rest, 60)
    if pad == "-" and not colons and not hours:
        return f"{sign}{minutes}"
    hour_text = str(hours) if pad == "-" else f"{hours:02d}"
    if len(colons) == 0:
        text = f"{hour_text}{minutes:02d}"
    elif len(colons) == 1:
        text = f"{hour_text}:{minutes:02d}"
    elif len(colons) == 2:
        text = f"{hour_text}:{minutes:02d}:{seconds:02d}"
    else:
        text = hour_text + (f":{minutes:02d}" if minutes or seconds else "") + (f":{seconds:02d}" if seconds else "")
    if width and pad != "-":
        text = text.rjust(int(width) - 1, "0")
    return sign + text
