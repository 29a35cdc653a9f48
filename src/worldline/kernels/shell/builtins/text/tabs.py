"""`expand unexpand fold`: columns and tabs, byte by byte as GNU's versions without locale support do."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly

__all__ = ["COMMANDS"]


class _Stops:
    """Tab stops: at every multiple of one size, or at a list of columns."""

    def __init__(self, call: Call, text: str | None) -> None:
        parts = [part for part in re.split("[, \t]+", text or "8") if part]
        for part in parts:
            if not part.isdigit():
                if re.fullmatch(r"[/+]\d+", part):
                    call.unknown("tab stops that go on")
                raise UsageError(f"tab size contains invalid character(s): {curly(call, part)}", hint=False)
            if int(part) == 0:
                raise UsageError("tab size cannot be 0", hint=False)
        self.columns = [int(part) for part in parts]
        if any(after <= before for before, after in zip(self.columns, self.columns[1:], strict=False)):
            raise UsageError("tab sizes must be ascending", hint=False)

    def next(self, column: int) -> int | None:
        """The next stop after a column; None past the last one."""
        if len(self.columns) == 1:
            return column + self.columns[0] - column % self.columns[0]
        return next((stop for stop in self.columns if stop > column), None)


@command()
def expand(call: Call) -> Result:
    """Turn tabs into blanks."""
    options, names = parse(
        call, "it:0123456789", ("initial", "tabs="), same={"--initial": "-i", "--tabs": "-t"}
    )  # fmt: skip
    given = _numbers(dict(options), options)
    stops = _Stops(call, given.get("-t"))
    out = Output(call)
    for name in names or ["-"]:
        for line in (out.open(name) or b"").splitlines(keepends=True):
            out.write(_expanded(line, stops, "-i" in given))
    return out.result()


def _numbers(given: dict[str, str], options: list[tuple[str, str]]) -> dict[str, str]:
    digits = "".join(name[1] for name, _ in options if name[1].isdigit())
    return {**given, "-t": digits} if digits else given


def _expanded(line: bytes, stops: _Stops, initial: bool) -> bytes:
    result = bytearray()
    column, leading = 0, True
    for byte in line:
        if byte == 9 and (leading or not initial):
            stop = stops.next(column)
            width = 1 if stop is None else stop - column
            result += b" " * width
            column += width
            continue
        leading = leading and byte in b" \t"
        column = max(0, column - 1) if byte == 8 else column + 1
        result.append(byte)
    return bytes(result)


@command()
def unexpand(call: Call) -> Result:
    """Turn blanks into tabs."""
    options, names = parse(
        call, "at:0123456789,", ("all", "first-only", "tabs="), same={"--all": "-a", "--tabs": "-t"}
    )  # fmt: skip
    given = _numbers(dict(options), options)
    stops = _Stops(call, given.get("-t"))
    everywhere = ("-a" in given or "-t" in given) and "--first-only" not in given
    out = Output(call)
    for name in names or ["-"]:
        for line in (out.open(name) or b"").splitlines(keepends=True):
            out.write(_unexpanded(line, stops, everywhere))
    return out.result()


def _unexpanded(line: bytes, stops: _Stops, everywhere: bool) -> bytes:
    result = bytearray()
    pending = bytearray()
    column, convert = 0, True
    blank_before_stop, previous_blank = False, True
    for byte in line:
        if convert and byte in b" \t":
            stop = stops.next(column)
            if stop is None:
                convert = False
                result += pending
                pending.clear()
                result.append(byte)
                continue
            if byte == 9:
                column = stop
                if pending:
                    pending[0] = 9
                # Blanks before a tab that reach the same stop go with it.
                pending = bytearray(pending[:1]) if blank_before_stop and pending else bytearray()
            else:
                column += 1
                if not (previous_blank and column == stop):
                    if column == stop:
                        blank_before_stop = True
                    pending.append(byte)
                    previous_blank = True
                    continue
                pending[:1] = b"\t"
                byte = 9
                pending = bytearray(pending[:1]) if blank_before_stop else bytearray()
            result += pending
            pending.clear()
            result.append(9)
            blank_before_stop, previous_blank = False, True
            continue
        if pending:
            if len(pending) > 1 and blank_before_stop:
                pending[0] = 9
            result += pending
            pending.clear()
        blank_before_stop, previous_blank = False, False
        column = max(0, column - 1) if byte == 8 else column + 1
        convert = convert and (everywhere or byte in b" \t")
        result.append(byte)
    return bytes(result + pending)


@command()
def fold(call: Call) -> Result:
    """Wrap lines at a width."""
    argv = list(call.argv)
    argv = [f"-w{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in argv]
    options, names = parse(
        call, "bsw:", ("bytes", "spaces", "width="),
        same={"--bytes": "-b", "--spaces": "-s", "--width": "-w"}, argv=argv,
    )  # fmt: skip
    given = dict(options)
    text = given.get("-w", "80")
    if not text.isdigit():
        raise UsageError(f"invalid number of columns: {curly(call, text)}", hint=False)
    if int(text) == 0:
        raise UsageError(f"invalid number of columns: {curly(call, text)}: Numerical result out of range", hint=False)
    out = Output(call)
    for name in names or ["-"]:
        out.write(_folded(out.open(name) or b"", int(text), "-b" in given, "-s" in given))
    return out.result()


def _column(column: int, byte: int, in_bytes: bool) -> int:
    if in_bytes:
        return column + 1
    if byte == 8:
        return max(0, column - 1)
    if byte == 13:
        return 0
    return column + 8 - column % 8 if byte == 9 else column + 1


def _folded(data: bytes, width: int, in_bytes: bool, at_spaces: bool) -> bytes:
    result = bytearray()
    line = bytearray()
    column = 0
    for byte in data:
        if byte == 10:
            result += line + b"\n"
            line.clear()
            column = 0
            continue
        while True:
            wider = _column(column, byte, in_bytes)
            if wider <= width:
                break
            cut = max(line.rfind(b" "), line.rfind(b"\t")) + 1 if at_spaces else 0
            if cut:
                result += line[:cut] + b"\n"
                line = line[cut:]
                column = 0
                for kept in line:
                    column = _column(column, kept, in_bytes)
                continue
            if not line:
                break
            result += line + b"\n"
            line.clear()
            column = 0
        column = wider
        line.append(byte)
    return bytes(result + line)


COMMANDS: dict[str, Builtin] = {"expand": expand, "unexpand": unexpand, "fold": fold}
