"""The command `touch`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.dates import DateError, parse_date
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.times import zone_of
from worldline.kernels.shell.table import STANDARD_DIRECTORIES

__all__ = ["COMMANDS"]


def _stamp(text: str, now: datetime, zone: tzinfo) -> datetime:
    """Read `[[CC]YY]MMDDhhmm[.ss]`."""
    match = re.fullmatch(r"(\d{2})?(\d{2})?(\d{2})(\d{2})(\d{2})(\d{2})(?:\.(\d{2}))?", text)
    if match is None:
        raise DateError(text)
    first, second_pair, month, day, hour, minute, second = match.groups()
    years = (first or "") + (second_pair or "")
    number = int(years) if years else now.astimezone(zone).year
    if len(years) == 2:
        number += 1900 if number >= 69 else 2000
    try:
        return datetime(number, int(month), int(day), int(hour), int(minute), tzinfo=zone) + timedelta(
            seconds=int(second or 0)
        )
    except ValueError as error:
        raise DateError(text) from error


def _moment(call: Call, given: dict[str, str]) -> datetime:
    zone = zone_of(call)
    now = call.now
    if "-r" in given:
        try:
            now = call.files.stat(given["-r"], follow="-h" not in given).mtime
        except OSError as error:
            message = f"failed to get attributes of {shell_quote(given['-r'])}: {strerror(error)}"
            raise UsageError(message, hint=False) from error
    text = given.get("-d", given.get("-t"))
    if text is None:
        return now
    if "-t" in given and ("-d" in given or "-r" in given):
        raise UsageError("cannot specify times from more than one source")
    try:
        return parse_date(text, now, zone) if "-d" in given else _stamp(text, now, zone)
    except DateError:
        raise UsageError(f"invalid date format {quote(text)}", hint=False) from None


@command()
def _touch(call: Call) -> Result:
    options, operands = parse(
        call,
        "acd:fhmr:t:",
        "time= no-create date= reference= no-dereference",
        same={"--no-create": "-c", "--date": "-d", "--reference": "-r", "--no-dereference": "-h"},
    )
    given = dict(options)
    access_only = "-a" in given and "-m" not in given
    if "--time" in given:
        word = given["--time"]
        if word not in ("atime", "access", "use", "mtime", "modify"):
            raise UsageError(
                f"invalid argument {quote(word)} for {quote('--time')}\nValid arguments are:"
                "\n  - ‘atime’, ‘access’, ‘use’\n  - ‘mtime’, ‘modify’"
            )
        access_only = word not in ("mtime", "modify")
    moment = _moment(call, given)
    if not operands:
        raise UsageError("missing file operand")
    report = Report("touch")
    for operand in operands:
        try:
            _touch_one(call, operand, given, moment, access_only=access_only)
        except OSError as error:
            late = operand.endswith("/")
            late = late or (moment != call.now and call.files.exists(operand))
            verb = "setting times of" if late else "cannot touch"
            report.fail(f"{verb} {shell_quote(operand)}", error)
    return report.result()


def _out_of_reach(call: Call, path: str) -> bool:
    """Whether a file, be it there or not, lies in a directory of the system that only root may change."""
    if path == "":
        return False
    place = call.files.absolute(path)
    parent = place.rpartition("/")[0] or "/"
    if place in (call.world.home, call.cwd):
        return False
    return place not in call.world.files and parent in STANDARD_DIRECTORIES and not call.files.allowed(parent, 2)


def _touch_one(call: Call, path: str, given: dict[str, str], moment: datetime, *, access_only: bool) -> None:
    files = call.files
    if path == "-":
        call.unknown("touching standard output")
    if "-h" in given and files.exists(path, follow=False) and files.stat(path, follow=False).kind == "symlink":
        call.unknown("the time of a link")
    if call.world.user_id and _out_of_reach(call, path):
        raise PermissionError(13, "Permission denied", path)
    if not files.exists(path):
        if path.endswith("/") and files.exists(path.rstrip("/")):
            raise NotADirectoryError(20, "Not a directory", path)
        if "-c" in given or "-h" in given:
            return
        if path.endswith("/"):
            files.stat(path.rstrip("/").rpartition("/")[0] or ".")
            raise FileNotFoundError(2, "No such file or directory", path)
        files.write(path, b"")
    if not access_only:
        files.utime(path, moment)


COMMANDS: dict[str, Builtin] = {"touch": _touch}
