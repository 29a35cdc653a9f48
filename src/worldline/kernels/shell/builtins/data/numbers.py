"""The commands `seq` and `factor`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import quote
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, missing_operand, parse

__all__ = ["COMMANDS"]

_NUMBER = re.compile(r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")
_FORMAT = re.compile(r"%%|%([-+ #0']*)(\d*)(?:\.(\d*))?([aeEfgG])")
_LARGEST = 200_000
_LARGEST_FACTOR = 10**18


def _read_number(call: Call, text: str) -> tuple[Decimal, int]:
    """Return a number and how many decimals it was written with."""
    if re.fullmatch(r"\s*[-+]?nan(?:\(\w*\))?", text, re.IGNORECASE):
        raise UsageError(f"invalid {quote('not-a-number')} argument: {quote(text)}")
    if re.fullmatch(r"\s*[-+]?0[xX][0-9a-fA-F]+", text):
        return Decimal(int(text, 16)), 0
    if re.fullmatch(r"\s*[-+]?(?:inf(?:inity)?|0[xX][0-9a-fA-F.]+p?.*)", text, re.IGNORECASE):
        call.unknown(f"the number {text}")
    if not _NUMBER.match(text):
        raise UsageError(f"invalid floating point argument: {quote(text)}")
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise UsageError(f"invalid floating point argument: {quote(text)}") from None
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return value, max(0, decimals)


def _check_format(template: str) -> None:
    if not re.search(r"(?<!%)(%%)*%[^%]", template):
        raise UsageError(f"format {quote(template)} has no % directive", hint=False)
    found = [match for match in _FORMAT.finditer(template) if match.group() != "%%"]
    if len(found) > 1:
        raise UsageError(f"format {quote(template)} has too many % directives", hint=False)
    if not found:
        bad = re.search(r"%[-+ #0']*\d*(?:\.\d*)?(.)", template)
        letter = bad.group(1) if bad else ""
        raise UsageError(f"format {quote(template)} has unknown %{letter} directive", hint=False)


def _formatted(call: Call, template: str, value: Decimal) -> str:
    def one(match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        if match.group(4) == "a" or "'" in match.group(1):
            call.unknown(f"the format {template}")
        return match.group() % float(value)

    return _FORMAT.sub(one, template)


@command()
def _seq(call: Call) -> Result:
    argv, operands = list(call.argv), []
    while argv and not re.match(r"^-[\d.]", argv[0]):
        if not argv[0].startswith("-") or argv[0] == "--":
            argv = argv[argv[0] == "--" :]
            break
        takes_value = argv[0] in ("-f", "-s", "--format", "--separator")
        count = 2 if takes_value else 1
        operands += argv[:count]
        argv = argv[count:]
    options, stray = parse(
        call,
        "f:s:w",
        "equal-width format= separator=",
        same={"--format": "-f", "--separator": "-s", "--equal-width": "-w"},
        argv=operands,
    )
    given = dict(options)
    words = stray + argv
    if not words:
        raise missing_operand()
    if len(words) > 3:
        raise extra_operand(words[3])
    numbers = [_read_number(call, word) for word in words]
    first = numbers[0] if len(words) > 1 else (Decimal(1), 0)
    step = numbers[1] if len(words) == 3 else (Decimal(1), 0)
    last = numbers[-1]
    if step[0] == 0:
        raise UsageError(f"invalid Zero increment value: {quote(words[1])}")
    template = given.get("-f")
    if template is not None:
        _check_format(template)
        if "-w" in given:
            raise UsageError("format string may not be specified when printing equal width strings")
    count = int((last[0] - first[0]) / step[0]) + 1 if (last[0] - first[0]) / step[0] >= 0 else 0
    if count > _LARGEST:
        call.unknown("that many numbers")
    values = [first[0] + step[0] * index for index in range(count)]
    decimals = max(first[1], step[1])
    if template is not None:
        texts = [_formatted(call, template, value) for value in values]
    else:
        texts = [f"{value:.{decimals}f}" for value in values]
        if "-w" in given:
            ends = [f"{first[0]:.{decimals}f}", f"{last[0]:.{decimals}f}"]
            width = max(len(text) for text in ends + texts)
            texts = [f"{'-' if text[0] == '-' else ''}{text.lstrip('-').rjust(width - (text[0] == '-'), '0')}"
                     for text in texts]  # fmt: skip
    return Result(given.get("-s", "\n").join(texts) + ("\n" if texts else ""))


def _factors(call: Call, number: int) -> list[int]:
    if number > _LARGEST_FACTOR:
        call.unknown("the factors of so large a number")
    found: list[int] = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1 if divisor == 2 else 2
        if divisor > 2_000_000:
            call.unknown("the factors of so large a number")
    return [*found, number] if number > 1 else found


@command()
def _factor(call: Call) -> Result:
    _, words = parse(call, "")
    words = words or (call.stdin or "").split()
    out, err = "", ""
    for word in words:
        if not re.fullmatch(r"\+?\d+", word):
            err += f"factor: {quote(word)} is not a valid positive integer\n"
            continue
        parts = [str(factor) for factor in _factors(call, int(word))]
        out += f"{int(word)}:" + "".join(f" {part}" for part in parts) + "\n"
    return Result(out, err, 1 if err else 0)


COMMANDS: dict[str, Builtin] = {"seq": _seq, "factor": _factor}
