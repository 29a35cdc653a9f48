"""The command `date`."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.dates import DateError, parse_date
from worldline.kernels.shell.builtins.shared.messages import Report, quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, parse
from worldline.kernels.shell.builtins.shared.times import gnu_format, zone_of

__all__ = ["COMMANDS"]

_DEFAULT = "%a %b %e %H:%M:%S %Z %Y"
_RFC_EMAIL = "%a, %d %b %Y %H:%M:%S %z"
_ISO = {
    "hours": "%Y-%m-%dT%H%:z",
    "minutes": "%Y-%m-%dT%H:%M%:z",
    "date": "%Y-%m-%d",
    "seconds": "%Y-%m-%dT%H:%M:%S%:z",
    "ns": "%Y-%m-%dT%H:%M:%S,%N%:z",
}
_RFC_3339 = {
    "date": "%Y-%m-%d",
    "seconds": "%Y-%m-%d %H:%M:%S%:z",
    "ns": "%Y-%m-%d %H:%M:%S.%N%:z",
}


def _choice(call: Call, option: str, word: str, table: dict[str, str]) -> str:
    found = [name for name in table if name.startswith(word)] if word else []
    if word not in table and len(found) != 1:
        if found:
            call.unknown(f"the ambiguous argument {word}")
        valid = "".join(f"\n  - {quote(name)}" for name in table)
        raise UsageError(f"invalid argument {quote(word)} for {quote(option)}\nValid arguments are:{valid}")
    return table[word if word in table else found[0]]


def _format_of(call: Call, options: list[tuple[str, str]], operands: list[str]) -> str | None:
    chosen = None
    for name, value in options:
        template = None
        if name == "-I":
            template = _choice(call, "--iso-8601", value or "date", _ISO)
        elif name == "-R":
            template = _RFC_EMAIL
        elif name == "--rfc-3339":
            template = _choice(call, name, value, _RFC_3339)
        if template is not None:
            if chosen is not None:
                raise UsageError("multiple output formats specified", hint=False)
            chosen = template
    for operand in operands:
        if operand.startswith("+"):
            if chosen is not None:
                if any(other.startswith("+") for other in operands[: operands.index(operand)]):
                    raise extra_operand(operand)
                raise UsageError("multiple output formats specified", hint=False)
            chosen = operand[1:]
    return chosen


@command()
def _date(call: Call) -> Result:
    options, operands = parse(
        call,
        "d:f:I::r:Rs:u",
        "date= debug file= iso-8601=? reference= rfc-822 rfc-2822 rfc-email rfc-3339= set= uct utc universal"
        " resolution",
        same={
            "--date": "-d",
            "--file": "-f",
            "--iso-8601": "-I",
            "--reference": "-r",
            "--rfc-email": "-R",
            "--rfc-822": "-R",
            "--rfc-2822": "-R",
            "--set": "-s",
            "--utc": "-u",
            "--universal": "-u",
            "--uct": "-u",
        },
    )
    given = dict(options)
    if "--debug" in given or "--resolution" in given:
        call.unknown("--debug and --resolution")
    if sum(name in given for name in ("-d", "-f", "-r")) > 1:
        raise UsageError("the options to specify dates for printing are mutually exclusive")
    template = _format_of(call, options, operands)
    plain = [operand for operand in operands if not operand.startswith("+")]
    if plain and (len(operands) > 1 or "-d" in given):
        return _stray(operands, given, plain)
    if plain:
        if re.fullmatch(r"(?:\d{8}|\d{10}|\d{12})(?:\.\d\d)?", plain[0]):
            call.unknown("setting the clock")
        raise UsageError(f"invalid date {quote(plain[0])}", hint=False)
    zone = UTC if "-u" in given else zone_of(call)
    template = _DEFAULT if template is None else template
    if "-f" in given:
        return _file(call, given["-f"], template, zone)
    try:
        moment = _moment(call, given, zone)
    except DateError:
        raise UsageError(f"invalid date {quote(given.get('-d', given.get('-s', '')))}", hint=False) from None
    if "-s" in given:
        if call.world.user_id == 0:
            call.unknown("setting the clock")
        text = f"{gnu_format(template, moment)}\n"
        return Result(text, "date: cannot set date: Operation not permitted\n", 1)
    return Result(gnu_format(template, moment) + "\n")


def _stray(operands: list[str], given: dict[str, str], plain: list[str]) -> Result:
    if len(operands) > 1:
        raise UsageError(f"extra operand {quote(operands[1])}")
    raise UsageError(
        f"the argument {quote(plain[0])} lacks a leading '+';\nwhen using an option to specify date(s), any"
        " non-option\nargument must be a format string beginning with '+'"
    )


def _moment(call: Call, given: dict[str, str], zone: object) -> datetime:
    place = UTC if zone is UTC else zone_of(call)
    text = given.get("-d", given.get("-s"))
    if text is not None:
        return parse_date(text, call.now, place)
    if "-r" in given:
        try:
            return call.files.stat(given["-r"]).mtime.astimezone(place)
        except OSError as error:
            name = shell_quote_if_needed(given["-r"], colon=True)
            raise UsageError(f"{name}: {strerror(error)}", hint=False) from error
    return call.now.astimezone(place)


def _file(call: Call, path: str, template: str, zone: object) -> Result:
    place = UTC if zone is UTC else zone_of(call)
    report = Report("date")
    try:
        text = (call.stdin or "") if path == "-" else call.files.read(path).decode("utf-8", "surrogateescape")
    except OSError as error:
        report.fail(shell_quote_if_needed(path, colon=True), error)
        return report.result()
    for line in text.splitlines():
        try:
            report.out(gnu_format(template, parse_date(line, call.now, place)) + "\n")
        except DateError:
            report.fail(f"invalid date {quote(line)}")
    return report.result()


COMMANDS: dict[str, Builtin] = {"date": _date}
