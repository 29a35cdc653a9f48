"""`isutf8` of moreutils: where a file stops being valid UTF-8, and why."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import read, stdin

__all__ = ["COMMANDS", "Fault", "find_fault"]

_Range = tuple[int, int]
_FULL = (0x80, 0xBF)
_FORMS: tuple[tuple[_Range, str, tuple[tuple[_Range, str], ...], str], ...] = (
    ((0xC2, 0xDF), "between C2 and DF", ((_FULL, "expecting a 2nd byte between 80 and BF"),), "expecting a 2nd byte."),
    (
        (0xE0, 0xE0),
        "of E0",
        (((0xA0, 0xBF), "expecting a 2nd byte between A0 and BF."), (_FULL, "expecting a 3nd byte between 80 and BF.")),
        "expecting two following bytes.",
    ),
    (
        (0xE1, 0xEC),
        "between E1 and EC",
        (
            (_FULL, "expecting the 2nd byte between 80 and BF."),
            (_FULL, "expecting the 3rd byte between 80 and BF."),
        ),
        "expecting two following bytes.",
    ),
    (
        (0xED, 0xED),
        "of ED",
        (((0x80, 0x9F), "expecting 2nd byte between 80 and 9F."), (_FULL, "expecting 3rd byte between 80 and BF.")),
        "expecting two following bytes.",
    ),
    (
        (0xEE, 0xEF),
        "between EE and EF",
        ((_FULL, "expecting 2nd byte between 80 and BF."), (_FULL, "expecting 3rd byte between 80 and BF.")),
        "two following bytes.",
    ),
    (
        (0xF0, 0xF0),
        "of F0",
        (
            ((0x90, 0xBF), "expecting 2nd byte between 90 and BF."),
            (_FULL, "expecting 3rd byte between 80 and BF."),
            (_FULL, "expecting 4th byte between 80 and BF."),
        ),
        "expecting three following bytes.",
    ),
    (
        (0xF1, 0xF3),
        "of F1, F2, or F3",
        (
            (_FULL, "expecting a 2nd byte between 80 and BF."),
            (_FULL, "expecting a 3rd byte between 80 and BF."),
            (_FULL, "expecting a 4th byte between 80 and BF."),
        ),
        "expecting three following bytes.",
    ),
    (
        (0xF4, 0xF4),
        "of F4",
        (
            ((0x80, 0x8F), "expecting 2nd byte between 80 and 8F."),
            (_FULL, "expecting 3rd byte between 80 and BF."),
            (_FULL, "expecting 4th byte between 80 and BF."),
        ),
        "expecting three following bytes.",
    ),
)
"""By first byte: how it is named, what each further byte must be, what is said where bytes are missing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The first place that is not UTF-8."""

    offset: int
    line: int
    char: int
    """Characters before it in its line."""
    message: str


def find_fault(data: bytes) -> Fault | None:
    """Return where data stops being UTF-8, or None."""
    offset, line, char = 0, 1, 0
    while offset < len(data):
        length, message = _check(data, offset)
        if message:
            return Fault(offset, line, char, message)
        if data[offset] == 0x0A:
            line, char = line + 1, 0
        else:
            char += 1
        offset += length
    return None


def _check(data: bytes, offset: int) -> tuple[int, str]:
    """Return the length of the character at an offset, and what is wrong with it."""
    first = data[offset]
    if first < 0x80:
        return 1, ""
    for (low, high), name, rest, few in _FORMS:
        if not low <= first <= high:
            continue
        if offset + len(rest) >= len(data):
            return 0, f"After a first byte {name}, {few}"
        for index, ((lowest, highest), text) in enumerate(rest, 1):
            if not lowest <= data[offset + index] <= highest:
                return 0, f"After a first byte {name}, {text}"
        return 1 + len(rest), ""
    return 0, "Expecting bytes in the following ranges: 00..7F C2..F4."


def _isutf8(call: Call) -> Result:
    try:
        options, operands = parse(
            call,
            "hqliv",
            "help quiet list invert verbose",
            same={"--quiet": "-q", "--list": "-l", "--invert": "-i", "--verbose": "-v", "--help": "-h"},
        )
    except UsageError as error:
        call.unknown("the text of the usage", Result(stderr=f"isutf8: {error.message}\n", status=1))
    given = {name for name, _ in options}
    if given & {"-v", "-h"}:
        call.unknown("the detailed error")
    out, status = "", 0
    for name in operands or ["-"]:
        inside = not operands or name == "-"
        if not inside and not call.files.exists(name):
            return Result(out, "open: No such file or directory\n", 1)
        fault = find_fault(stdin(call) if inside else read(call, name))
        shown = "(standard input)" if inside else name
        status |= fault is not None
        if "-i" in given:
            out += f"{shown}\n" if fault is None and "-q" not in given else ""
        elif fault is not None and "-q" not in given:
            char = fault.char if inside else fault.char + 1
            place = f": line {fault.line}, char {char}, byte {fault.offset}: {fault.message}"
            out += f"{shown}\n" if "-l" in given else f"{shown}{place}\n"
    return Result(out, status=int(status))


COMMANDS: dict[str, Builtin] = {"isutf8": _isutf8}
