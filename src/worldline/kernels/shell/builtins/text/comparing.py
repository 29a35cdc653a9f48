"""`cmp` and `sdiff`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import Output, read
from worldline.kernels.shell.builtins.text.diff_command import line_changes, split_lines
from worldline.kernels.shell.builtins.text.diff_styles import Layout, Sides, side_by_side

__all__ = ["COMMANDS"]


@dataclass
class _Plan:
    shows_bytes: bool = False
    lists: bool = False
    silent: bool = False
    limit: int | None = None
    skips: tuple[int, int] = (0, 0)


def _size(call: Call, text: str) -> int:
    if not text.isdigit():
        call.unknown(f"the size {text}")
    return int(text)


def cmp(call: Call) -> Result:
    """Compare two files byte by byte."""
    try:
        options, names = parse(
            call, "bci:ln:sv",
            ("print-bytes", "print-chars", "ignore-initial=", "verbose", "bytes=", "silent", "quiet"),
            same={"--print-bytes": "-b", "--print-chars": "-b", "--ignore-initial": "-i", "--verbose": "-l",
                  "--bytes": "-n", "--silent": "-s", "--quiet": "-s"},
        )  # fmt: skip
        if not names:
            raise UsageError("missing operand after 'cmp'")
        if len(names) > 4:
            raise UsageError(f"extra operand '{names[4]}'")
    except UsageError as error:
        return Result(stderr=f"cmp: {error.message}\ncmp: Try 'cmp --help' for more information.\n", status=2)
    plan = _Plan()
    for name, value in options:
        if name == "-i":
            first, _, second = value.partition(":")
            plan.skips = (_size(call, first), _size(call, second or first))
        elif name == "-n":
            plan.limit = _size(call, value)
        plan.shows_bytes |= name in ("-b", "-c")
        plan.lists |= name == "-l"
        plan.silent |= name == "-s"
    if len(names) > 2:
        sizes = [_size(call, text) for text in names[2:]]
        plan.skips = (sizes[0], sizes[-1] if len(sizes) > 1 else 0)
    pair = [*names[:2], "-"][:2]
    sides = []
    for name, skip in zip(pair, plan.skips, strict=True):
        try:
            data = read(call, name)[skip:]
        except OSError as error:
            return Result(stderr="" if plan.silent else f"cmp: {name}: {strerror(error)}\n", status=2)
        sides.append(data if plan.limit is None else data[: plan.limit])
    return _compare(call, plan, pair, sides[0], sides[1])


def _visible(byte: int) -> str:
    text = ""
    if byte >= 128:
        text, byte = "M-", byte - 128
    if byte < 32 or byte == 127:
        return f"{text}^{chr(byte ^ 64)}"
    return text + chr(byte)


def _compare(call: Call, plan: _Plan, names: list[str], left: bytes, right: bytes) -> Result:
    if left == right:
        return Result()
    if plan.silent:
        return Result(status=1)
    shared = min(len(left), len(right))
    places = [index for index in range(shared) if left[index] != right[index]]
    out = Output(call)
    out.status = 1
    if plan.lists:
        width = len(str(max(len(left), len(right)) if plan.limit is None else plan.limit))
        if names[0] == "-" or names[1] == "-":
            call.unknown("the width of numbers for standard input")
        width = len(str(shared)) if plan.limit is None else width
        for index in places:
            a, b = left[index], right[index]
            if plan.shows_bytes:
                out.line(f"{index + 1:>{width}} {a:3o} {_visible(a):<4} {b:3o} {_visible(b)}".encode())
            else:
                out.line(f"{index + 1:>{width}} {a:3o} {b:3o}".encode())
    elif places:
        index = places[0]
        line = left[:index].count(b"\n") + 1
        text = f"{names[0]} {names[1]} differ: byte {index + 1}, line {line}"
        if plan.shows_bytes:
            a, b = left[index], right[index]
            text += f" is {a:3o} {_visible(a)} {b:3o} {_visible(b)}"
        out.line(text.encode())
        return out.result()
    if len(left) != len(right):
        short = names[0] if len(left) < len(right) else names[1]
        whole = left if len(left) < len(right) else right
        if not whole:
            out.raw(f"cmp: EOF on {short} which is empty\n")
        elif plan.lists:
            out.raw(f"cmp: EOF on {short} after byte {shared}\n")
        else:
            lines = whole.count(b"\n")
            place = f"line {lines}" if whole.endswith(b"\n") else f"in line {lines + 1}"
            out.raw(f"cmp: EOF on {short} after byte {shared}, {place}\n")
    return out.result()


def sdiff(call: Call) -> Result:
    """Show two files side by side."""
    try:
        options, names = parse(
            call, "abBdEHiI:lo:stvw:WZ",
            ("suppress-common-lines", "left-column", "width=", "expand-tabs"),
            same={"--suppress-common-lines": "-s", "--left-column": "-l", "--width": "-w", "--expand-tabs": "-t"},
        )  # fmt: skip
    except UsageError as error:
        return Result(stderr=f"sdiff: {error.message}\nsdiff: Try 'sdiff --help' for more information.\n", status=2)
    given = dict(options)
    if set(given) - {"-s", "-l", "-w", "-t"} or len(names) != 2 or not re.fullmatch(r"\d+", given.get("-w", "130")):
        call.unknown("these options")
    contents = []
    for name in names:
        try:
            contents.append(read(call, name))
        except OSError as error:
            return Result(stderr=f"diff: {name}: {strerror(error)}\n", status=2)
    if any(b"\0" in data for data in contents):
        call.unknown("binary files")
    old, new = (split_lines(data) for data in contents)
    found = line_changes(call, old, new)
    out = Output(call)
    layout = Layout(int(given.get("-w", "130")), "-l" in given, "-s" in given, "-t" in given)
    out.write(side_by_side(Sides(old, new), found, layout))
    out.status = 1 if found else 0
    return out.result()


COMMANDS: dict[str, Builtin] = {"cmp": cmp, "sdiff": sdiff}
