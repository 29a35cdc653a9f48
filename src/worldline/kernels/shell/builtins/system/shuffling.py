"""The command `shuf`, as far as chance leaves no choice."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result, Unknown
from worldline.kernels.shell.builtins.shared.messages import quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, parse
from worldline.kernels.shell.builtins.shared.textio import escape, read, records

__all__ = ["COMMANDS"]


def _pool(call: Call, given: dict[str, str], operands: list[str]) -> list[str]:
    if "-e" in given:
        return operands
    if "-i" in given:
        if operands:
            raise extra_operand(operands[0])
        match = re.fullmatch(r"(\d+)-(\d+)", given["-i"])
        if match is None or int(match.group(1)) > int(match.group(2)) + 1:
            raise UsageError(f"invalid input range: {quote(given['-i'])}", hint=False)
        low, high = int(match.group(1)), int(match.group(2))
        return [str(number) for number in range(low, min(high + 1, low + 100_000))]
    if len(operands) > 1:
        raise extra_operand(operands[1])
    name = operands[0] if operands else "-"
    try:
        data = read(call, name)
    except IsADirectoryError:
        raise UsageError("read error: Is a directory", hint=False) from None
    except OSError as error:
        text = f"{shell_quote_if_needed(name, colon=True)}: {strerror(error)}"
        raise UsageError(text, hint=False) from error
    return [escape(line) for line in records(data, b"\0" if "-z" in given else b"\n")]


@command()
def _shuf(call: Call) -> Result:
    options, operands = parse(
        call,
        "ei:n:o:rz",
        "echo input-range= head-count= output= random-source= repeat zero-terminated",
        same={
            "--echo": "-e",
            "--input-range": "-i",
            "--head-count": "-n",
            "--output": "-o",
            "--repeat": "-r",
            "--zero-terminated": "-z",
        },
    )
    given = dict(options)
    limit = given.get("-n")
    if limit is not None and not limit.isdigit():
        raise UsageError(f"invalid line count: {quote(limit)}", hint=False)
    pool = _pool(call, given, operands)
    if "-r" in given or "--random-source" in given:
        call.unknown("what chance brings")
    chosen = pool if limit is None else pool[: int(limit)]
    end = "\0" if "-z" in given else "\n"
    result = Result("".join(item + end for item in chosen))
    if chosen and len(set(pool)) > 1:
        raise Unknown("shuf: what chance brings", result)
    if "-o" in given:
        call.files.write(given["-o"], result.stdout.encode())
        return Result()
    return result


COMMANDS: dict[str, Builtin] = {"shuf": _shuf}
