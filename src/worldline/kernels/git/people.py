"""Who and when: identities, dates given and dates shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from worldline.kernels.git.config import Settings
from worldline.kernels.git.failures import Failure

__all__ = ["Stamp", "identity", "local_zone", "parse_date", "relative", "show_date", "take_apart", "zone_of"]


class Stamp:
    """A moment with the zone it was written in."""

    def __init__(self, seconds: int, zone: str) -> None:
        self.seconds, self.zone = seconds, zone

    @property
    def moment(self) -> datetime:
        """The local time there."""
        sign = -1 if self.zone.startswith("-") else 1
        digits = self.zone.lstrip("+-").rjust(4, "0")
        offset = timedelta(hours=int(digits[:-2]), minutes=int(digits[-2:]))
        return datetime.fromtimestamp(self.seconds, timezone(sign * offset))


def take_apart(line: str) -> tuple[str, str, Stamp]:
    """Split `NAME <EMAIL> SECONDS ZONE`."""
    found = re.fullmatch(r"(.*?) ?<(.*?)> (-?\d+) ([+-]\d+)", line, re.DOTALL)
    if found is None:
        return line, "", Stamp(0, "+0000")
    return found[1], found[2], Stamp(int(found[3]), found[4])


def zone_of(moment: datetime) -> str:
    """`+0200` for an aware moment."""
    return moment.strftime("%z")[:5]


def local_zone(env: Mapping[str, str], default: str) -> timezone | ZoneInfo | None:
    """The zone that TZ names; None where that is not known."""
    name = env.get("TZ", default) or "UTC"
    try:
        return ZoneInfo(name.lstrip(":"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def parse_date(text: str, here: timezone | ZoneInfo) -> Stamp | None:
    """Read a date as the variables and `--date` take it; None where the form is not one that we know."""
    text = text.strip()
    found = re.fullmatch(r"@?(\d{5,}) *([+-]\d{4})?", text)
    if found is not None:
        return Stamp(int(found[1]), found[2] or "+0000")
    iso = re.fullmatch(
        r"(\d{4})[-./](\d\d)[-./](\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)? *(Z|[+-]\d\d:?\d\d)?", text
    )
    try:
        if iso is not None:
            zone = iso[7]
            moment = datetime(*(int(part or 0) for part in iso.groups()[:6]), tzinfo=here)  # type: ignore[arg-type, misc]
            if zone is not None:
                moment = moment.replace(tzinfo=datetime.strptime(zone, "%z").tzinfo)
        else:
            moment = parsedate_to_datetime(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=here)
    except (ValueError, TypeError):
        return None
    return Stamp(int(moment.timestamp()), zone_of(moment))


def identity(
    role: str, env: Mapping[str, str], settings: Settings, now: datetime, zone: timezone | ZoneInfo, *, date: str = ""
) -> str:
    """Return `NAME <EMAIL> SECONDS ZONE` for `author` or `committer`.

    Raises:
        Failure: Nobody is named, or the date cannot be read.
    """
    prefix = f"GIT_{role.upper()}_"
    name = env.get(prefix + "NAME") or settings.get(f"{role}.name") or settings.get("user.name")
    email = env.get(prefix + "EMAIL") or settings.get(f"{role}.email") or settings.get("user.email") or env.get("EMAIL")
    if not email or name is None:
        raise Failure(_WHO.format(role=role.capitalize(), **_guess(env)), prefix="")
    if not _clean(name):
        raise Failure(f"empty ident name (for <{email}>) not allowed")
    given = date or env.get(prefix + "DATE", "")
    local = now.astimezone(zone)
    stamp = parse_date(given, zone) if given else Stamp(int(local.timestamp()), zone_of(local))
    if stamp is None:
        raise Failure(f"invalid date format: {given}")
    return f"{_clean(name)} <{_clean(email)}> {stamp.seconds} {stamp.zone}"


def _clean(text: str) -> str:
    text = re.sub(r"[<>\n]", "", text)
    return text.strip(" .,:;<>\"\\'\t")


_WHO = (
    "{role} identity unknown\n\n*** Please tell me who you are.\n\nRun\n\n"
    '  git config --global user.email "you@example.com"\n  git config --global user.name "Your Name"\n\n'
    "to set your account's default identity.\nOmit --global to set the identity only in this repository.\n\n"
    "fatal: unable to auto-detect email address (got '{user}@{host}.(none)')"
)


def _guess(env: Mapping[str, str]) -> dict[str, str]:
    return {"user": env.get("USER", "user"), "host": env.get("HOSTNAME", "box")}


def show_date(stamp: Stamp, style: str, now: datetime, here: timezone | ZoneInfo) -> str | None:
    """Show a date as `--date=STYLE` does; None where we do not know the style."""
    moment = stamp.moment
    if style.endswith("-local"):
        style, moment = style.removesuffix("-local"), moment.astimezone(here)
        if style in ("default", ""):
            return f"{moment:%a %b} {moment.day} {moment:%H:%M:%S %Y}"
    if style in ("default", ""):
        return f"{moment:%a %b} {moment.day} {moment:%H:%M:%S %Y} {stamp.zone}"
    if style == "local":
        moment = moment.astimezone(here)
        return f"{moment:%a %b} {moment.day} {moment:%H:%M:%S %Y}"
    if style in ("iso", "iso8601"):
        return f"{moment:%Y-%m-%d %H:%M:%S} {zone_of(moment)}"
    if style in ("iso-strict", "iso8601-strict"):
        zone = zone_of(moment)
        return f"{moment:%Y-%m-%dT%H:%M:%S}" + ("Z" if zone == "+0000" else f"{zone[:3]}:{zone[3:]}")
    if style in ("rfc", "rfc2822"):
        return f"{moment:%a}, {moment.day} {moment:%b %Y %H:%M:%S} {zone_of(moment)}"
    if style == "short":
        return f"{moment:%Y-%m-%d}"
    if style == "unix":
        return str(stamp.seconds)
    if style == "raw":
        return f"{stamp.seconds} {stamp.zone}"
    if style == "relative":
        return relative(stamp, now)
    if style.startswith("format:"):
        return moment.strftime(style.removeprefix("format:"))
    return None


def relative(stamp: Stamp, now: datetime) -> str:
    """Show how long ago something was."""
    ago = int(now.timestamp()) - stamp.seconds
    if ago < 0:
        return "in the future"
    if ago < 90:
        return _count(ago, "second") + " ago"
    for unit, seconds, limit in (("minute", 60, 90), ("hour", 3600, 36)):
        count = (ago + seconds // 2) // seconds
        if count < limit:
            return _count(count, unit) + " ago"
    days = (ago + 43200) // 86400
    if days < 14:
        return _count(days, "day") + " ago"
    if days < 70:
        return _count((days + 3) // 7, "week") + " ago"
    if days < 365:
        return _count((days + 15) // 30, "month") + " ago"
    if days < 1825:
        months = (days * 12 * 2 + 365) // (365 * 2)
        years, rest = divmod(months, 12)
        return _count(years, "year") + (f", {_count(rest, 'month')}" if rest else "") + " ago"
    return _count((days + 183) // 365, "year") + " ago"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
