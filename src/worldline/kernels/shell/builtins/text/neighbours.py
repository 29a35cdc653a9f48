"""`uniq comm join look`: sorted lines and their neighbours."""

from __future__ import annotations

import re
from itertools import pairwise

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly, is_c_locale, records

__all__ = ["COMMANDS"]


@command()
def uniq(call: Call) -> Result:
    """Report or omit repeated lines."""
    options, names = parse(
        call,
        "cdDf:is:uw:z",
        ("count", "repeated", "all-repeated=?", "group=?", "ignore-case", "unique", "skip-fields=", "skip-chars=",
         "check-chars=", "zero-terminated"),
        same={"--count": "-c", "--repeated": "-d", "--ignore-case": "-i", "--unique": "-u", "--skip-fields": "-f",
              "--skip-chars": "-s", "--check-chars": "-w", "--zero-terminated": "-z"},
    )  # fmt: skip
    given = dict(options)
    if len(names) > 2:
        raise extra_operand(names[2])
    limits = {}
    for key, what in (("-f", "number of fields to skip"), ("-s", "number of bytes to skip"),
                      ("-w", "number of bytes to compare")):  # fmt: skip
        if key in given and not given[key].isdigit():
            raise UsageError(f"{given[key]}: invalid {what}", hint=False)
        limits[key] = int(given[key]) if key in given else None
    out = Output(call)
    if "-D" in given or "--all-repeated" in given:
        given.setdefault("--all-repeated", "none")
        if "-c" in given:
            raise UsageError("printing all duplicated lines and repeat counts is meaningless")
    if "--group" in given and set(given) & {"-c", "-d", "-D", "-u", "--all-repeated"}:
        raise UsageError("--group is mutually exclusive with -c/-d/-D/-u")
    end = b"\0" if "-z" in given else b"\n"
    data = out.open(names[0] if names else "-", directory="!error reading '{}'")
    if data is None:
        return out.result()
    groups: list[list[bytes]] = []
    last: bytes | None = None
    for line in records(data, end):
        key_text = _compared(line, limits, "-i" in given)
        if groups and key_text == last:
            groups[-1].append(line)
        else:
            groups.append([line])
        last = key_text
    text = _grouped(call, groups, given, end)
    if len(names) == 2 and names[1] != "-":
        try:
            call.files.write(names[1], text)
        except OSError as error:
            out.fail(names[1], error)
    else:
        out.write(text)
    return out.result()


def _compared(line: bytes, limits: dict[str, int | None], fold: bool) -> bytes:
    for _ in range(limits["-f"] or 0):
        line = re.sub(rb"^[ \t]*[^ \t]*", b"", line)
    line = line[limits["-s"] or 0 :]
    if limits["-w"] is not None:
        line = line[: limits["-w"]]
    return line.upper() if fold else line


def _grouped(call: Call, groups: list[list[bytes]], given: dict[str, str], end: bytes) -> bytes:
    parts: list[bytes] = []
    if "--group" in given or "--all-repeated" in given:
        every = "--group" in given
        style = given["--group" if every else "--all-repeated"] or ("separate" if every else "none")
        if style not in (("separate", "prepend", "append", "both") if every else ("none", "prepend", "separate")):
            call.unknown(f"the style {style}")
        shown = groups if every else [group for group in groups if len(group) > 1]
        for index, group in enumerate(shown):
            if style in ("prepend", "both") or (style == "separate" and index):
                parts.append(end)
            parts += [line + end for line in group]
            if style == "append" or (style == "both" and index == len(shown) - 1):
                parts.append(end)
        return b"".join(parts)
    for group in groups:
        if ("-d" in given and len(group) == 1) or ("-u" in given and len(group) > 1):
            continue
        parts.append((b"%7d " % len(group) if "-c" in given else b"") + group[0] + end)
    return b"".join(parts)


@command()
def comm(call: Call) -> Result:
    """Compare two sorted files line by line."""
    options, names = parse(
        call,
        "123z",
        ("check-order", "nocheck-order", "output-delimiter=", "total", "zero-terminated"),
        same={"--zero-terminated": "-z"},
    )
    _two(call, names)
    if not is_c_locale(call):
        call.unknown("the order of another locale")
    given = dict(options)
    end = b"\0" if "-z" in given else b"\n"
    joiner = given.get("--output-delimiter", "\t").encode() or b"\0"
    out = Output(call)
    sides = []
    for name in names:
        data = out.open(name)
        if data is None:
            return out.result()
        sides.append(records(data, end))
    prefixes = {
        1: b"",
        2: b"" if "-1" in given else joiner,
        3: (b"" if "-1" in given else joiner) + (b"" if "-2" in given else joiner),
    }
    totals, warned, done = [0, 0, 0], [False, False], False
    at = [0, 0]
    while not done and (at[0] < len(sides[0]) or at[1] < len(sides[1])):
        left = sides[0][at[0]] if at[0] < len(sides[0]) else None
        right = sides[1][at[1]] if at[1] < len(sides[1]) else None
        column = 3 if left == right else 1 if right is None or (left is not None and left < right) else 2
        line = right if column == 2 else left
        totals[column - 1] += 1
        if f"-{column}" not in given:
            out.write(prefixes[column] + (line or b"") + end)
        for side in (0, 1):
            if column == 3 or column == side + 1:
                done = _advance(out, sides, at, side, given, warned, column) or done
    if "--total" in given:
        out.write(joiner.join(str(total).encode() for total in totals) + joiner + b"total" + end)
    if any(warned) and not done:
        out.fail("input is not in sorted order")
    return out.result()


def _advance(
    out: Output, sides: list[list[bytes]], at: list[int], side: int, given: dict[str, str], warned: list[bool],
    column: int,
) -> bool:  # fmt: skip
    """Go on to a side's next line; True where disorder ends the program."""
    lines = sides[side]
    at[side] += 1
    now = at[side]
    # GNU complains only once there are lines that do not pair, unless it is told to check always.
    always = "--check-order" in given
    if now >= len(lines) or "--nocheck-order" in given or warned[side] or lines[now] >= lines[now - 1]:
        return False
    if not always and column == 3 and _same_so_far(sides, at):
        return False
    warned[side] = True
    out.fail(f"file {side + 1} is not in sorted order")
    return always


def _same_so_far(sides: list[list[bytes]], at: list[int]) -> bool:
    return at[0] == at[1] and sides[0][: at[0]] == sides[1][: at[1]]


def _two(call: Call, names: list[str]) -> None:
    if not names:
        raise UsageError("missing operand")
    if len(names) == 1:
        raise UsageError(f"missing operand after {curly(call, names[0])}")
    if len(names) > 2:
        raise UsageError(f"extra operand {curly(call, names[2])}")


@command()
def look(call: Call) -> Result:
    """Print lines that begin with a string."""
    options, names = parse(call, "adft:", ("alternative", "alphanum", "ignore-case", "terminate="))
    flags = {name for name, _ in options}
    if len(names) < 2:
        call.unknown("the dictionary of words")
    if flags & {"-a", "--alternative", "-t", "--terminate"}:
        call.unknown("-a or -t")
    out = Output(call)
    data = out.open(names[1], "{}")
    if data is None:
        return out.result()
    fold = bool(flags & {"-f", "--ignore-case"})
    plain = bool(flags & {"-d", "--alphanum"})

    def key(line: bytes) -> bytes:
        line = bytes(b for b in line if chr(b).isalnum() or b in b" \t") if plain else line
        return line.lower() if fold else line

    wanted = key(names[0].encode())
    lines = [(key(line), line) for line in records(data)]
    if any(before[0] > after[0] for before, after in pairwise(lines)):
        call.unknown("a binary search in what is not sorted")
    for shown, line in lines:
        if shown.startswith(wanted):
            out.line(line)
    out.status = 0 if out.data else 1
    return out.result()


COMMANDS: dict[str, Builtin] = {"uniq": uniq, "comm": comm, "look": look}
