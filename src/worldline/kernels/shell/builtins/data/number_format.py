"""`numfmt`."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_UP, Decimal

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, choice, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly, stdin

__all__ = ["COMMANDS"]

_UNITS = "KMGTPEZY"
_ROUND = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "from-zero": ROUND_UP, "towards-zero": ROUND_DOWN,
          "nearest": ROUND_HALF_UP}  # fmt: skip


@command()
def numfmt(call: Call) -> Result:
    """Convert numbers from and to units."""
    options, names = parse(
        call, "d:z", ("from=", "from-unit=", "to=", "to-unit=", "round=", "padding=", "suffix=", "grouping",
                      "delimiter=", "field=", "format=", "header=?", "invalid=", "zero-terminated", "debug"),
        same={"--delimiter": "-d", "--zero-terminated": "-z"},
    )  # fmt: skip
    given = dict(options)
    if set(given) & {"-z", "--debug"} or given.get("--from", "none") not in ("none", "si", "iec", "iec-i", "auto"):
        call.unknown("these options")
    if "--format" in given:
        _check_format(call, given["--format"])
    out = Output(call, 2)
    lines = names or stdin(call).decode().split("\n")
    if not names and lines and not lines[-1]:
        lines.pop()
    header = int(given["--header"] or 1) if "--header" in given else 0
    try:
        for index, line in enumerate(lines):
            if not names and index < header:
                out.line(line.encode())
                continue
            out.line(_line(call, given, line, out).encode())
    except _NumError as error:
        out.fail(str(error))
    return out.result()


def _check_format(call: Call, text: str) -> None:
    plain = text.replace("%%", "")
    if "%" not in plain:
        raise UsageError(f"format {curly(call, text)} has no % directive", hint=False)
    found = re.search(r"%[0'\- ]*\d*(?:\.\d*)?(.?)", plain)
    if found is None or found[1] != "f":
        if found is not None and not found[1]:
            raise UsageError(f"format {curly(call, text)} ends in %", hint=False)
        shown = curly(call, text)
        raise UsageError(f"invalid format {shown}, directive must be %[0]['][-][N][.][N]f", hint=False)
    if "%" in plain[found.end() :]:
        raise UsageError(f"format {curly(call, text)} has too many % directives", hint=False)


class _NumError(Exception):
    """A number is not valid."""


def _line(call: Call, given: dict[str, str], line: str, out: Output) -> str:
    field = given.get("--field", "1")
    if not re.fullmatch(r"[-\d, ]+", field):
        raise UsageError(f"invalid field value {curly(call, field)}")
    parts = line.split(given["-d"]) if "-d" in given else re.findall(r"[ \t]*[^ \t]+|[ \t]+$", line)
    for place in _places(call, field, len(parts)):
        try:
            if "-d" in given:
                parts[place] = _field(call, given, parts[place], out)
            else:
                _blank(call, given, parts, place, out)
        except _NumError:
            joiner = given.get("-d", " ")
            before = [part if "-d" in given or not index else part[1:] for index, part in enumerate(parts[:place])]
            out.write((joiner.join(before) + joiner if before else "").encode())
            raise
    return given["-d"].join(parts) if "-d" in given else "".join(parts)


def _places(call: Call, text: str, count: int) -> list[int]:
    """Which parts of a line the field list names."""
    found: set[int] = set()
    for part in re.split("[, ]+", text):
        span = re.fullmatch(r"(\d*)(-?)(\d*)", part)
        if span is None or not part or span[1] == "0":
            call.unknown("this list of fields")
        first = int(span[1] or 1)
        last = int(span[3]) if span[3] else count if span[2] else first
        found |= set(range(first - 1, min(last, count)))
    return sorted(found)


def _blank(call: Call, given: dict[str, str], pieces: list[str], place: int, out: Output) -> None:
    """Do one field of a line whose fields are set apart by blanks."""
    piece = pieces[place]
    blanks = piece[: len(piece) - len(piece.lstrip())]
    shown = _field(call, given, piece.strip(), out)
    if place and blanks:
        if "--padding" in given:
            blanks = blanks[:1]
        elif len(blanks) > 1:
            shown = f"{shown:>{len(piece) - 1}}"
            blanks = blanks[:1]
    elif blanks:
        shown, blanks = f"{shown:>{len(piece)}}", ""
    pieces[place] = blanks + shown


def _field(call: Call, given: dict[str, str], text: str, out: Output) -> str:
    try:
        value = _value(call, given, text)
    except _NumError as error:
        mode = given.get("--invalid", "abort")
        if mode == "abort":
            raise
        if mode != "ignore":
            out.fail(str(error))
            if mode == "warn":
                out.status = 0
        return text
    return _shown(call, given, value)


def _value(call: Call, given: dict[str, str], text: str) -> Decimal:
    suffix = given.get("--suffix", "")
    if suffix and text.endswith(suffix):
        text = text[: -len(suffix)]
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)([A-Za-z]*)", text)
    if found is None:
        kind = re.match(r"-?\d", text)
        if kind is None:
            raise _NumError(f"invalid number: {curly(call, text)}")
        raise _NumError(f"invalid suffix in input: {curly(call, text)}")
    number, unit = Decimal(found[1]), found[2]
    source = given.get("--from", "none")
    if unit:
        if source == "none":
            if unit[0] in _UNITS + "k" and len(unit) == 1:
                raise _NumError(f"rejecting suffix in input: {curly(call, text)} (consider using --from)")
            raise _NumError(f"invalid suffix in input: {curly(call, text)}")
        letter = unit[0].upper() if unit[0] == "k" else unit[0]
        if letter not in _UNITS:
            raise _NumError(f"invalid suffix in input: {curly(call, text)}")
        if source == "iec-i" and unit[1:] != "i":
            raise _NumError(f"missing 'i' suffix in input: {curly(call, text)} (e.g Ki/Mi/Gi)")
        if (source in ("si", "iec") and len(unit) > 1) or (source == "auto" and unit[1:] not in ("", "i")):
            raise _NumError(f"invalid suffix in input {curly(call, text)}: {curly(call, unit[1:])}")
        base = 1024 if source in ("iec", "iec-i") or unit[1:] == "i" else 1000
        number *= Decimal(base) ** (_UNITS.index(letter) + 1)
    if "--from-unit" in given:
        number *= _unit(call, given["--from-unit"])
    if "--to-unit" in given:
        places = max(0, -int(number.as_tuple().exponent))
        number /= _unit(call, given["--to-unit"])
        if given.get("--to", "none") == "none" and "--format" not in given:
            number = _rounded(number, places, given.get("--round", "from-zero"))
    return number


def _unit(call: Call, text: str) -> Decimal:
    found = re.fullmatch(r"(\d*)([KMGTPEZY]?)(i?)", text)
    if found is None or not text:
        call.unknown(f"the unit {text}")
    base = Decimal(1024 if found[3] else 1000)
    return Decimal(found[1] or 1) * (base ** (_UNITS.index(found[2]) + 1) if found[2] else 1)


def _rounded(number: Decimal, places: int, mode: str) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), rounding=_ROUND[mode])


def _shown(call: Call, given: dict[str, str], number: Decimal) -> str:
    mode = given.get("--round", "from-zero")
    target = given.get("--to", "none")
    shape = given.get("--format")
    found = None if shape is None else re.fullmatch(r"([^%]*)%('?)(-?)(0?)(\d*)(?:\.(\d+))?f(.*)", shape)
    if ("--format" in given and found is None) or mode not in _ROUND:
        call.unknown("this format")
    places = int(found[6]) if found and found[6] else None
    if target == "none":
        if places is None:
            places = max(0, -int(number.as_tuple().exponent)) if number != number.to_integral_value() else 0
        text = f"{_rounded(number, places, mode):f}"
    else:
        text = _scaled(call, number, target, mode, places)
    text += given.get("--suffix", "")
    if found is not None:
        width = int(found[5] or 0)
        text = f"{text:<{width}}" if found[3] else f"{text:0>{width}}" if found[4] else f"{text:>{width}}"
        text = found[1] + text + found[7]
    if "--padding" in given:
        padding = int(given["--padding"])
        text = f"{text:>{padding}}" if padding > 0 else f"{text:<{-padding}}"
    return text


def _scaled(call: Call, number: Decimal, target: str, mode: str, places: int | None) -> str:
    target = choice(target, "--to", ("none", "si", "iec", "iec-i"))
    base = 1000 if target == "si" else 1024
    power, value = 0, number
    while abs(value) >= base and power < len(_UNITS):
        value /= base
        power += 1
    if places is not None:
        value = _rounded(value, places, mode)
    elif power == 0:
        # Below ten one decimal is kept for the rounding, and then not shown.
        value = _rounded(value, 1 if abs(value) < 10 else 0, mode).quantize(Decimal(1), rounding=ROUND_HALF_EVEN)
    else:
        value = _rounded(value, 1 if abs(value) < 10 else 0, mode)
        if abs(value) >= 10:
            value = _rounded(value, 0, mode)
    if abs(value) >= base and power < len(_UNITS):
        value, power = value / base, power + 1
        value = _rounded(value, 1 if places is None else places, mode)
    if power == 0:
        return f"{value:f}"
    return f"{value:f}{_UNITS[power - 1]}{'i' if target == 'iec-i' else ''}"


COMMANDS: dict[str, Builtin] = {"numfmt": numfmt}
