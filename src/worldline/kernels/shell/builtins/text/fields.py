"""`cut` and `paste`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly, records

__all__ = ["COMMANDS"]

_Ranges = list[tuple[int, int | None]]


@command()
def cut(call: Call) -> Result:
    """Print parts of lines."""
    options, names = parse(
        call,
        "b:c:d:f:nsz",
        ("bytes=", "characters=", "fields=", "delimiter=", "only-delimited", "output-delimiter=", "complement",
         "zero-terminated"),
        same={"--bytes": "-b", "--characters": "-c", "--fields": "-f", "--delimiter": "-d",
              "--only-delimited": "-s", "--zero-terminated": "-z"},
    )  # fmt: skip
    lists = [(name, value) for name, value in options if name in ("-b", "-c", "-f")]
    given = dict(options)
    if "-d" in given and len(given["-d"].encode()) > 1:
        raise UsageError("the delimiter must be a single character")
    if not lists:
        raise UsageError("you must specify a list of bytes, characters, or fields")
    if len(lists) > 1:
        raise UsageError("only one list may be specified")
    by_field = lists[0][0] == "-f"
    if "-d" in given and not by_field:
        raise UsageError("an input delimiter may be specified only when operating on fields")
    if "-s" in given and not by_field:
        raise UsageError("suppressing non-delimited lines makes sense\n\tonly when operating on fields")
    ranges = _ranges(call, lists[0][1], by_field)
    if "--complement" in given:
        ranges = _complement(ranges)
    delimiter = given.get("-d", "\t").encode() or b"\0"
    joiner = given.get("--output-delimiter")
    end = b"\0" if "-z" in given else b"\n"
    out = Output(call)
    for name in names or ["-"]:
        data = out.open(name)
        for line in records(data or b"", end):
            if not by_field:
                out.write((joiner or "").encode().join(_slices(line, ranges)) + end)
            elif delimiter in line:
                out.write(
                    (delimiter if joiner is None else joiner.encode()).join(_picked(line, delimiter, ranges)) + end
                )
            elif "-s" not in given:
                out.write(line + end)
    return out.result()


def _ranges(call: Call, text: str, by_field: bool) -> _Ranges:
    what = "field" if by_field else "byte/character"
    position = "field value" if by_field else "byte/character position"
    first = "fields are numbered from 1" if by_field else "byte/character positions are numbered from 1"
    found: _Ranges = []
    for part in re.split("[, \t]", text):
        if part == "-":
            raise UsageError("invalid range with no endpoint: -")
        pieces = part.split("-")
        if len(pieces) > 2:
            raise UsageError(f"invalid {what if by_field else 'byte or character'} range")
        for piece in pieces:
            if piece and not piece.isdigit():
                wrong = re.sub(r"^\d+", "", part) if not part.startswith("-") and part[0].isdigit() else part
                if wrong != part:
                    call.unknown(f"the list {text}")
                raise UsageError(f"invalid {position} {curly(call, part)}")
        if part == "":
            raise UsageError(first)
        low = int(pieces[0] or 1)
        high = int(pieces[-1]) if pieces[-1] else None
        if low == 0 or (high == 0 and len(pieces) == 1):
            raise UsageError(first)
        if high is not None and high < low:
            raise UsageError("invalid decreasing range")
        found.append((low, high))
    return _merged(found)


def _merged(ranges: _Ranges) -> _Ranges:
    """Sort ranges and join those that overlap; ranges that only touch stay apart, as an output delimiter shows."""
    merged: _Ranges = []
    for low, high in sorted(ranges, key=lambda item: (item[0], item[1] is None, item[1] or 0)):
        if merged and (merged[-1][1] is None or low <= merged[-1][1]):
            last = merged[-1]
            merged[-1] = (last[0], None if high is None or last[1] is None else max(last[1], high))
        else:
            merged.append((low, high))
    return merged


def _complement(ranges: _Ranges) -> _Ranges:
    result: _Ranges = []
    at = 1
    for low, high in ranges:
        if low > at:
            result.append((at, low - 1))
        if high is None:
            return result
        at = max(at, high + 1)
    return [*result, (at, None)]


def _slices(line: bytes, ranges: _Ranges) -> list[bytes]:
    return [line[low - 1 : high] for low, high in ranges if low <= len(line)]


def _picked(line: bytes, delimiter: bytes, ranges: _Ranges) -> list[bytes]:
    fields = line.split(delimiter)
    return [field for low, high in ranges for field in fields[low - 1 : high]]


@command()
def paste(call: Call) -> Result:
    """Join lines side by side."""
    options, names = parse(
        call, "d:sz", ("delimiters=", "serial", "zero-terminated"),
        same={"--delimiters": "-d", "--serial": "-s", "--zero-terminated": "-z"},
    )  # fmt: skip
    given = dict(options)
    delimiters = _delimiters(call, given.get("-d", "\t"))
    end = b"\0" if "-z" in given else b"\n"
    names = names or ["-"]
    out = Output(call)
    if "-s" in given:
        waiting = [(name == "-") for name in names]
        for index, name in enumerate(names):
            # What reads standard input a second time finds it empty.
            data = b"" if name == "-" and True in waiting[:index] else out.open(name)
            if data is not None:
                out.write(_joined(records(data, end), delimiters) + end)
        return out.result()
    shared = iter(records(out.open("-") or b"", end)) if "-" in names else None
    columns = []
    for name in names:
        if name == "-" and shared is not None:
            columns.append(shared)
            continue
        data = out.open(name)
        if data is None:
            return Result(stderr=out.result().stderr, status=1)
        columns.append(iter(records(data, end)))
    live = [True] * len(columns)
    while True:
        row: list[bytes] = []
        for index, column in enumerate(columns):
            cell = next(column, None) if live[index] else None
            live[index] = cell is not None
            row.append(cell or b"")
        if not any(live):
            return out.result()
        out.write(_joined(row, delimiters) + end)


def _delimiters(call: Call, text: str) -> list[bytes]:
    escapes = {"n": b"\n", "t": b"\t", "\\": b"\\", "0": b"", "b": b"\b", "f": b"\f", "r": b"\r", "v": b"\v"}
    found: list[bytes] = []
    data = iter(text.encode().decode("latin-1"))
    for char in data:
        if char != "\\":
            found.append(char.encode("latin-1"))
            continue
        after = next(data, None)
        if after is None:
            raise UsageError(f"delimiter list ends with an unescaped backslash: {text}", hint=False)
        found.append(escapes.get(after, after.encode("latin-1")))
    return found or [b""]


def _joined(cells: list[bytes], delimiters: list[bytes]) -> bytes:
    if not cells:
        return b""
    parts = [cells[0]]
    for index, cell in enumerate(cells[1:]):
        parts += [delimiters[index % len(delimiters)], cell]
    return b"".join(parts)


COMMANDS: dict[str, Builtin] = {"cut": cut, "paste": paste}
